"""The gates stop what they must: in the step itself, in every later run, in every reader and in publication."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import dagster as dg
import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from zs_assets.assets import cells
from zs_assets.assets.gated_reading import load_gated
from zs_assets.assets.graph import StudyGraph
from zs_assets.assets.resources import Workspace
from zs_assets.components.catalogue import load_study
from zs_assets.components.partition_loop import PartitionLoop, State
from zs_assets.components.partition_status import partition_status
from zs_assets.components.study_reset import archive_study
from zs_assets.protocol.errors import GateRefused
from zs_assets.protocol.names import AssetName
from zs_assets.storage.lake import write_table
from zs_assets_tests.small_study import ScriptedBackend, write_small_study

CELLS = 4


@pytest.fixture
def loop(home: Path, small_study: StudyGraph, instance: dg.DagsterInstance) -> PartitionLoop:
    return PartitionLoop(small_study, instance)


def answer_with(monkeypatch: pytest.MonkeyPatch, vector) -> None:
    """Every backend of the study answers as `vector` says."""
    monkeypatch.setattr(
        cells, "build_backend", lambda spec, question, folder=None: ScriptedBackend(spec, question, vector)
    )


def predictions_path(loop: PartitionLoop, dataset: str, backend: str) -> Path:
    return Path(loop.lake.table(loop.graph.name, AssetName.PREDICTIONS, dataset=dataset, backend=backend))


def test_a_study_runs_from_its_files_to_a_publication(loop: PartitionLoop):
    result = loop.run()
    assert result.failed == []
    assert sum(step.step == "predictions" and step.state is State.MADE for step in result.steps) == CELLS
    assert loop.publish().state is State.MADE
    folder = Path(loop.lake.folder("small", AssetName.PUBLICATION))
    hashes = json.loads((folder / "hashes.json").read_text())
    assert len(hashes["partitions"]) == CELLS
    assert hashes["left_out"] == []
    assert (folder / "index.html").read_text().lower().startswith("<!doctype html>")
    uniform = [row for row in pq.read_table(folder / "metrics.parquet").to_pylist() if row["backend"] == "uniform"]
    assert [row["accuracy"] for row in uniform] == [0.5, 0.5]  # the declared first label of two balanced ones


def test_a_second_run_keeps_what_passes_and_asks_nothing_again(loop: PartitionLoop, monkeypatch: pytest.MonkeyPatch):
    loop.run()
    answer_with(monkeypatch, lambda presentation: pytest.fail("a kept partition was asked again"))
    again = PartitionLoop(loop.graph, loop.instance)
    states = {step.state for step in again.run().steps if step.step == "predictions"}
    assert states == {State.KEPT}


def test_the_warehouse_answers_plain_sql(loop: PartitionLoop):
    loop.run()
    with duckdb.connect(str(loop.workspace.places.warehouse), read_only=True) as connection:
        rows = connection.execute(
            "select dataset, backend, count(*) from small.predictions group by all order by all"
        ).fetchall()
        assert rows == [(d, b, 12) for d in ("first", "second") for b in ("sparrow", "uniform")]
        assert connection.execute("select count(*) from small.metrics").fetchone() == (CELLS,)


def test_the_warehouse_of_an_empty_lake_has_an_empty_predictions_view(loop: PartitionLoop):
    loop.summarise()
    with duckdb.connect(str(loop.workspace.places.warehouse), read_only=True) as connection:
        assert connection.execute("select count(*) from small.predictions").fetchone() == (0,)


def fail_first_dataset(presentation) -> dict[str, float]:
    return {"rain": 0.5, "bread": 0.3 if presentation.example.text.startswith("first") else 0.5}


def test_a_failing_gate_writes_nothing_and_is_recorded_for_its_partition(
    loop: PartitionLoop, monkeypatch: pytest.MonkeyPatch
):
    answer_with(monkeypatch, fail_first_dataset)
    result = loop.run(["uniform"])
    (failed,) = result.failed
    assert failed.partition == "first x uniform"
    assert "max_invalid_rate" in failed.reason
    assert "12 of 12 replies are invalid" in failed.reason
    assert not predictions_path(loop, "first", "uniform").exists()
    assert predictions_path(loop, "second", "uniform").exists()
    assert loop.workspace.places.journal("small", "first", "uniform").exists(), "paid replies are kept"


def test_a_failed_gate_stops_what_is_downstream_in_later_runs_too(loop: PartitionLoop, monkeypatch: pytest.MonkeyPatch):
    answer_with(monkeypatch, fail_first_dataset)
    loop.run()
    later = dg.materialize(
        loop.assets,
        selection=[loop.graph.key(AssetName.METRICS)],
        partition_key=loop.graph.cell("first", "uniform"),
        instance=loop.instance,
        resources=loop.resources,
        raise_on_error=False,
    )
    assert not later.success
    pair = dg.materialize(
        loop.assets,
        selection=[loop.graph.key(AssetName.PAIRED_DIFFERENCES)],
        partition_key=loop.graph.pair_cell("first", "sparrow__vs__uniform"),
        instance=loop.instance,
        resources=loop.resources,
        raise_on_error=False,
    )
    assert not pair.success
    refused = loop.publish()
    assert refused.state is State.FAILED
    assert "small first x uniform failed gate max_invalid_rate: 12 of 12 replies are invalid" in refused.reason


def test_the_check_of_a_failed_partition_shows_in_the_event_log(loop: PartitionLoop, monkeypatch: pytest.MonkeyPatch):
    answer_with(monkeypatch, fail_first_dataset)
    loop.run(["uniform"])
    checks = loop.instance.event_log_storage.get_asset_check_execution_history(
        dg.AssetCheckKey(loop.graph.key(AssetName.PREDICTIONS), "max_invalid_rate"), limit=10
    )
    found = {record.partition: record.event.asset_check_evaluation.passed for record in checks if record.event}
    assert found == {"uniform|first": False, "uniform|second": True}


def tamper(path: Path, *, forge_receipt: bool, vector: list[float]) -> None:
    table = pq.read_table(path)
    rows = table["probabilities"].to_pylist()
    rows[0] = vector
    column = pa.array(rows, table.schema.field("probabilities").type)
    table = table.set_column(table.schema.get_field_index("probabilities"), table.schema.field("probabilities"), column)
    if forge_receipt:
        write_table(path.parent, table)
    else:
        pq.write_table(table, path)


@pytest.mark.parametrize(
    ("forge_receipt", "vector", "reason"),
    [
        (False, [0.25, 0.75], "was changed after it was checked"),
        (True, [0.9, 0.9], "fails gate vector_integrity"),
    ],
)
def test_a_partition_tampered_with_after_its_checks_passed_is_refused_by_every_reader(
    loop: PartitionLoop, forge_receipt: bool, vector: list[float], reason: str
):
    loop.run()
    path = predictions_path(loop, "first", "sparrow")
    tamper(path, forge_receipt=forge_receipt, vector=vector)
    graph = loop.graph

    with pytest.raises(GateRefused, match=reason):
        load_gated(loop.lake, graph, "first", "sparrow")

    for asset, partition in (
        (AssetName.METRICS, graph.cell("first", "sparrow")),
        (AssetName.PAIRED_DIFFERENCES, graph.pair_cell("first", "sparrow__vs__uniform")),
    ):
        run = dg.materialize(
            loop.assets,
            selection=[graph.key(asset)],
            partition_key=partition,
            instance=loop.instance,
            resources=loop.resources,
            raise_on_error=False,
        )
        assert not run.success, asset

    state = {(row["dataset"], row["backend"]): row for row in partition_status(Workspace.from_environment(), graph)}
    assert state["first", "sparrow"]["state"] == "refused"
    assert reason in state["first", "sparrow"]["why"]

    loop.summarise()
    with duckdb.connect(str(loop.workspace.places.warehouse), read_only=True) as connection:
        shown = connection.execute("select distinct dataset, backend from small.predictions order by all").fetchall()
    assert ("first", "sparrow") not in shown
    assert len(shown) == CELLS - 1
    report = json.loads((Path(loop.lake.folder("small", AssetName.REPORT)) / "report.json").read_text())
    assert reason in json.dumps(report)

    refused = loop.publish()
    assert refused.state is State.FAILED
    assert reason in refused.reason


def test_a_partition_copied_from_another_backend_is_refused(loop: PartitionLoop):
    loop.run()
    source, target = (predictions_path(loop, "first", backend) for backend in ("sparrow", "uniform"))
    for name in ("part.parquet", "receipt.json"):
        (target.parent / name).write_bytes((source.parent / name).read_bytes())
    with pytest.raises(GateRefused, match=r"made for another backend \(sparrow, now uniform\)"):
        load_gated(loop.lake, loop.graph, "first", "uniform")


def test_a_frozen_manifest_is_not_replaced_and_the_refusal_names_the_way_out(
    loop: PartitionLoop, home: Path, tmp_path: Path, instance: dg.DagsterInstance
):
    loop.run()
    frozen = loop.workspace.lake.read("small", AssetName.MANIFEST, dataset="first")
    csv = tmp_path / "studies" / "small" / "first.csv"
    csv.write_text(csv.read_text() + "first: More rain.,rain\n")
    changed = load_study(tmp_path / "studies" / "small" / "defs.yaml")
    again = PartitionLoop(changed, instance)
    (failed,) = again.run().failed
    old = frozen.schema.metadata[b"manifest_hash"].decode()
    assert failed.partition == "first"
    assert f"frozen with hash {old}" in failed.reason
    assert "zs-assets reset small --archive" in failed.reason
    assert loop.workspace.lake.read("small", AssetName.MANIFEST, dataset="first").num_rows == 12

    moved = archive_study(Workspace.from_environment(), changed, instance)
    assert {new.name for _, new in moved} == {"lake", "journal"}
    assert PartitionLoop(changed, instance).run().failed == []


def test_a_changed_backend_is_made_anew_and_only_that_one(home: Path, tmp_path: Path, instance: dg.DagsterInstance):
    def with_temperature(value: float) -> StudyGraph:
        systems = {
            "embedder": {
                "interface": "minilm",
                "title": "MiniLM",
                "deployment": "local",
                "settings": {"temperature": value},
            }
        }
        path = write_small_study(
            tmp_path / "s", name="tuned", backends=["uniform", "embedder"], systems=systems, analyses={}
        )
        return load_study(path)

    first, second = with_temperature(0.05), with_temperature(0.1)
    assert first.systems["uniform"].spec_hash() == second.systems["uniform"].spec_hash()
    assert first.systems["embedder"].spec_hash() != second.systems["embedder"].spec_hash()
    PartitionLoop(first, instance).run()
    changed = PartitionLoop(second, instance)
    with pytest.raises(GateRefused, match="made for another spec_hash"):
        load_gated(changed.lake, second, "first", "embedder")
    load_gated(changed.lake, second, "first", "uniform")
    # The journal holds replies of the old entry: it is refused, never mixed.
    failed = changed.run().failed
    assert {step.partition for step in failed} == {"first x embedder", "second x embedder"}
    assert all("zs-assets reset tuned --archive" in step.reason for step in failed)


def test_two_models_behind_one_backend_block_publication_and_the_report_says_so(
    loop: PartitionLoop, monkeypatch: pytest.MonkeyPatch
):
    class Moving(ScriptedBackend):
        """Resolves to another model for the second dataset, as an alias does that moved between two runs."""

        def read(self, reply, presentation):
            model = "m-1" if presentation.example.text.startswith("first") else "m-2"
            return replace(super().read(reply, presentation), model=model)

    def build(spec, question, folder=None):
        return Moving(spec, question, lambda presentation: {"rain": 0.5, "bread": 0.5})

    monkeypatch.setattr(cells, "build_backend", build)
    assert loop.run().failed == []
    refused = loop.publish()
    assert refused.state is State.FAILED
    assert "small fails gate one_model: uniform answered as several models (first: m-1, second: m-2)" in refused.reason
    report = (Path(loop.lake.folder("small", AssetName.REPORT)) / "report.json").read_text()
    assert "answered as several models" in report


def test_a_sample_that_is_not_the_published_one_blocks_publication(
    home: Path, tmp_path: Path, instance: dg.DagsterInstance
):
    graph = load_study(write_small_study(tmp_path / "s", backends=["uniform"], analyses={}, manifest_sha256="0" * 64))
    loop = PartitionLoop(graph, instance)
    failed = loop.run().failed
    assert [step.step for step in failed] == ["summary"]
    assert "manifest_published" in failed[0].reason
    refused = loop.publish()
    assert refused.state is State.FAILED
    assert "fails gate manifest_published: manifest has sha256" in refused.reason


def test_our_own_sentence_is_shown_and_not_the_librarys(home: Path, tmp_path: Path, instance: dg.DagsterInstance):
    path = write_small_study(tmp_path / "study")
    (path.parent / "first.csv").write_bytes(b"text,label\n\xff\xfe,rain\n")
    result = PartitionLoop(load_study(path), instance).run()
    (failed,) = result.failed
    assert "first.csv is not UTF-8" in failed.reason and failed.reason.endswith("save it as UTF-8.")
    assert not failed.reason.startswith("zs_assets.")
