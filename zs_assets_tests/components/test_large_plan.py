"""A plan of many orders through the whole pipeline, stored by repeat: the limit of one file is lowered for it."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import duckdb
import pyarrow.parquet as pq
import pytest

from zs_assets.assets.gated_reading import load_gated, read_manifest
from zs_assets.collection.journal import journal_lines
from zs_assets.components.catalogue import load_study
from zs_assets.components.partition_loop import PartitionLoop, State
from zs_assets.components.study_reset import archive_study
from zs_assets.protocol.errors import GateRefused
from zs_assets.protocol.names import AssetName
from zs_assets.protocol.plan import asking_sequence
from zs_assets.storage import lake as lake_module
from zs_assets_tests.small_study import study_yaml, write_small_study

PLAN = {"orders": {"kind": "rotations", "seed": 5}, "repeats": 2, "shuffle_seed": 6}
PER_REPEAT, REPEATS = 12 * 2, 4  # two options: two orders, asked twice as often
ROWS = PER_REPEAT * REPEATS
BY_REPEAT = [f"part-{repeat}.parquet" for repeat in range(REPEATS)]


@pytest.fixture
def loop(home: Path, tmp_path: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch) -> PartitionLoop:
    """The first dataset in many orders, the second in the declared one."""
    monkeypatch.setattr(lake_module, "ROWS_OF_ONE_FILE", 20)
    first, second = study_yaml()["attributes"]["datasets"]
    datasets = [first | {"plan": PLAN}, second]
    path = write_small_study(tmp_path / "studies" / "small", datasets=datasets, analyses={}, backends=["sparrow"])
    return PartitionLoop(load_study(path), instance)


def parquet_files(loop: PartitionLoop, asset: AssetName, dataset: str = "first") -> list[str]:
    folder = Path(loop.lake.folder("small", asset, dataset=dataset, backend="sparrow"))
    return sorted(path.name for path in folder.glob("*.parquet"))


def test_a_dataset_of_many_orders_is_collected_by_its_own_plan_and_stored_by_repeat(loop: PartitionLoop):
    assert loop.run().failed == []
    assert parquet_files(loop, AssetName.PREDICTIONS) == BY_REPEAT
    assert parquet_files(loop, AssetName.ATTEMPTS) == ["part.parquet"]
    assert parquet_files(loop, AssetName.PREDICTIONS, "second") == ["part.parquet"]
    gated = load_gated(loop.lake, loop.graph, "first", "sparrow")
    ids = [presentation.id for presentation in gated.planned.presentations]
    assert gated.predictions["presentation_id"].to_pylist() == ids
    assert len(ids) == ROWS
    assert load_gated(loop.lake, loop.graph, "second", "sparrow").predictions.num_rows == 12


def test_the_calls_of_a_run_follow_the_shuffled_sequence(loop: PartitionLoop):
    loop.run()
    planned = read_manifest(loop.lake, loop.graph, "first")
    journal = loop.workspace.places.journal("small", "first", "sparrow")
    asked = [line["id"] for _, line in journal_lines(journal) if line["k"] == "asked"]
    assert asked == [presentation.id for presentation in asking_sequence(planned.presentations, planned.plan)]
    assert asked != [presentation.id for presentation in planned.presentations]


def test_the_warehouse_shows_every_part(loop: PartitionLoop):
    loop.run()
    with duckdb.connect(str(loop.workspace.places.warehouse), read_only=True) as connection:
        shown = connection.execute(
            "select dataset, count(*) from small.predictions group by all order by all"
        ).fetchall()
        assert shown == [("first", ROWS), ("second", 12)]
        assert connection.execute("select count(*) from small.attempts").fetchone() == (ROWS + 12,)


def test_a_tampered_part_is_refused_by_every_reader_and_made_again_from_the_journal(loop: PartitionLoop):
    loop.run()
    folder = Path(loop.lake.folder("small", AssetName.PREDICTIONS, dataset="first", backend="sparrow"))
    (folder / "part-4.parquet").write_bytes((folder / "part-3.parquet").read_bytes())
    with pytest.raises(GateRefused, match=r"part-4\.parquet is none of the files that were checked"):
        load_gated(loop.lake, loop.graph, "first", "sparrow")
    again = PartitionLoop(loop.graph, loop.instance)
    states = {step.partition: step.state for step in again.run().steps if step.step == "predictions"}
    assert states["first x sparrow"] is State.MADE
    assert parquet_files(loop, AssetName.PREDICTIONS) == BY_REPEAT
    journal = loop.workspace.places.journal("small", "first", "sparrow")
    assert sum(line["k"] == "asked" for _, line in journal_lines(journal)) == ROWS, "nothing was asked again"


def test_materialising_over_the_other_form_leaves_no_stale_file(loop: PartitionLoop, monkeypatch: pytest.MonkeyPatch):
    loop.run()
    monkeypatch.setattr(lake_module, "ROWS_OF_ONE_FILE", 10_000)
    assert PartitionLoop(loop.graph, loop.instance).run(force=True).failed == []
    assert parquet_files(loop, AssetName.PREDICTIONS) == ["part.parquet"]
    table = pq.ParquetFile(
        Path(loop.lake.folder("small", AssetName.PREDICTIONS, dataset="first", backend="sparrow")) / "part.parquet"
    ).read()
    assert table.num_rows == ROWS
    assert load_gated(loop.lake, loop.graph, "first", "sparrow").predictions.num_rows == ROWS


def test_reset_moves_every_part_aside(loop: PartitionLoop):
    loop.run()
    moved = dict(archive_study(loop.workspace, loop.graph, loop.instance))
    archived = next(new for new in moved.values() if new.name == "lake")
    assert sorted(path.name for path in archived.rglob("dataset=first/backend=sparrow/part-*.parquet")) == BY_REPEAT
    assert not loop.lake.has("small", AssetName.PREDICTIONS, dataset="first", backend="sparrow")
