"""The gated pipeline on a remote lake: from the files to a publication, by workers that share nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import duckdb
import pytest

from zs_assets.assets import cells
from zs_assets.assets.cells import imported_spec
from zs_assets.assets.gated_reading import load_gated
from zs_assets.assets.graph import StudyGraph
from zs_assets.assets.resources import Workspace
from zs_assets.components.catalogue import load_study
from zs_assets.components.partition_loop import PartitionLoop, State
from zs_assets.components.partition_status import partition_status
from zs_assets.components.study_reset import archive_study
from zs_assets.protocol.names import AssetName
from zs_assets.storage.object_store import object_bytes, object_names, store_path
from zs_assets.storage.shared_imports import share_imported_run
from zs_assets_tests.remote_lake import s3_lake
from zs_assets_tests.small_study import write_small_study

# What differs between two runs of the same study.
TIMES = ["latency_ms", "run_date", "in_flight"]


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    with s3_lake() as url:
        yield url


@pytest.fixture(params=["memory", "s3"])
def lake(request: pytest.FixtureRequest, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    base = request.getfixturevalue("s3") if request.param == "s3" else "memory://bucket"
    url = f"{base}/{tmp_path.name}"
    monkeypatch.setenv("ZS_LAKE", url)
    return url


def another_worker(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """From here on the folders are those of a machine that has none of the first one's."""
    monkeypatch.setenv("ZS_HOME", str(tmp_path / "elsewhere"))


def test_a_study_on_a_remote_lake_equals_the_local_one(
    lake: str, small_study: StudyGraph, instance: dg.DagsterInstance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    loop = PartitionLoop(small_study, instance)
    assert loop.run().failed == []
    assert loop.publish().state is State.MADE
    study = store_path(lake) / "small"
    hashes = json.loads(object_bytes(study / "publication" / "hashes.json") or b"")
    assert len(hashes["partitions"]) == 4 and hashes["left_out"] == []
    assert (object_bytes(study / "manifest.jsonl") or b"").count(b"\n") == 24
    with duckdb.connect(str(loop.workspace.places.warehouse), read_only=True) as connection:
        rows = connection.execute("select dataset, backend, count(*) from small.predictions group by all order by all")
        assert rows.fetchall() == [(d, b, 12) for d in ("first", "second") for b in ("sparrow", "uniform")]

    monkeypatch.delenv("ZS_LAKE")
    monkeypatch.setenv("ZS_HOME", str(tmp_path / "local"))
    local = PartitionLoop(small_study, instance)
    assert local.run().failed == []
    for dataset in ("first", "second"):
        for backend in ("sparrow", "uniform"):
            one, other = (
                load_gated(each.lake, small_study, dataset, backend).predictions.drop_columns(TIMES)
                for each in (loop, local)
            )
            assert one.equals(other)


def test_another_worker_sees_what_is_done_and_asks_nothing_again(
    lake: str, small_study: StudyGraph, instance: dg.DagsterInstance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    PartitionLoop(small_study, instance).run()
    another_worker(monkeypatch, tmp_path)
    assert not any((tmp_path / "elsewhere").rglob("*.jsonl"))
    rows = partition_status(Workspace.from_environment(), small_study)
    assert [(row["state"], row["journalled"]) for row in rows] == [("passed", 12)] * 4
    monkeypatch.setattr(cells, "build_backend", lambda *args, **options: pytest.fail("a kept partition was asked"))
    with dg.DagsterInstance.ephemeral() as other:
        states = {step.state for step in PartitionLoop(small_study, other).run().steps if step.step == "predictions"}
    assert states == {State.KEPT}


def test_a_changed_sample_is_refused_from_every_worker(
    lake: str, small_study: StudyGraph, instance: dg.DagsterInstance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    PartitionLoop(small_study, instance).run()
    another_worker(monkeypatch, tmp_path)
    folder = tmp_path / "changed"
    path = write_small_study(folder)
    (folder / "first.csv").write_text((folder / "first.csv").read_text().replace("day 0", "day 99"))
    with dg.DagsterInstance.ephemeral() as other:
        failed = PartitionLoop(load_study(path), other).run().failed
    assert "is frozen with hash" in failed[0].reason
    assert "zs-assets reset small --archive" in failed[0].reason


def test_reset_moves_everything_aside_and_no_worker_brings_old_replies_back(
    lake: str, small_study: StudyGraph, instance: dg.DagsterInstance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    first = PartitionLoop(small_study, instance)
    first.run()
    another_worker(monkeypatch, tmp_path)
    moved = archive_study(Workspace.from_environment(), small_study, instance)
    (old, new), *_ = moved
    assert str(old) == f"{lake}/small"
    assert object_names(old) == []
    assert "predictions" in object_names(new) and "journal" in object_names(new)
    rows = partition_status(first.workspace, small_study)
    assert [(row["state"], row["journalled"]) for row in rows] == [("not run", 0)] * 4
    # The first worker's own copy of the journal is of before the reset: it is set aside, not uploaded again.
    monkeypatch.setenv("ZS_HOME", str(first.workspace.places.home))
    with dg.DagsterInstance.ephemeral() as other:
        steps = PartitionLoop(small_study, other).run().steps
    assert {step.state for step in steps if step.step == "predictions"} == {State.MADE}
    folder = first.workspace.places.home / "journal" / "small" / "dataset=first" / "backend=uniform"
    (aside,) = folder.glob("journal.jsonl.before-reset-*")
    assert aside.read_bytes().count(b'"k":"reply"') == 12
    attempts = first.lake.read("small", AssetName.ATTEMPTS, dataset="first", backend="uniform")
    assert attempts.num_rows == 12


def test_an_imported_run_is_found_by_workers_elsewhere(
    lake: str, small_study: StudyGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    places = Workspace.from_environment().places
    cell = ("small", "first", "uniform")
    local = places.imported_run(*cell, "janus")
    local.parent.mkdir(parents=True)
    local.write_bytes(b"one")
    share_imported_run(places, *cell, "janus")

    another_worker(monkeypatch, tmp_path)
    elsewhere = Workspace.from_environment().places
    found = imported_spec(elsewhere, small_study, "first", "uniform")
    assert found is not None and found.interface == "recorded"
    assert Path(found.settings["path"]).read_bytes() == b"one"
    assert str(found.settings["path"]).startswith(str(tmp_path / "elsewhere"))
    assert imported_spec(elsewhere, small_study, "second", "uniform") is None

    local.write_bytes(b"two")  # imported anew after a reset
    share_imported_run(places, *cell, "janus")
    again = imported_spec(elsewhere, small_study, "first", "uniform")
    assert again is not None and Path(again.settings["path"]).read_bytes() == b"two"
