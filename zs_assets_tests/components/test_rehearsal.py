"""A rehearsal runs the whole study against stand-ins: no key, no cost, marked everywhere, published nowhere."""

from __future__ import annotations

import json
import os
from pathlib import Path

import dagster as dg
import pyarrow.parquet as pq
import pytest

from zs_assets.assets.gated_reading import load_gated
from zs_assets.assets.resources import Workspace
from zs_assets.backends.systems import known_systems
from zs_assets.components.catalogue import load_study
from zs_assets.components.partition_loop import PartitionLoop, State
from zs_assets.components.rehearsal import profile_of, rehearsing
from zs_assets.emulator.profiles import PROFILES
from zs_assets.protocol.errors import GateRefused
from zs_assets.protocol.names import AssetName
from zs_assets_tests.small_study import write_small_study

SERVED = [name for name, system in known_systems().items() if profile_of(system)]
REAL_KEY = "sk-real-0123456789"


@pytest.fixture
def graph(home, tmp_path, monkeypatch):
    """A study of every served system and one local backend; a real key lies in the environment."""
    pytest.importorskip("starlette")
    monkeypatch.setenv("TYPESAFE_API_KEY", REAL_KEY)
    analyses = {"cascades": {"pairs": [["jev", "deepseek"]], "resamples": 100}}
    return load_study(write_small_study(tmp_path / "study", backends=["uniform", *SERVED], analyses=analyses))


def test_every_served_system_has_a_stand_in():
    assert set(SERVED) == set(PROFILES)


def test_all_systems_rehearse_to_a_report_that_publication_refuses(graph, home, instance: dg.DagsterInstance):
    with rehearsing(graph) as rehearsed:
        loop = PartitionLoop(rehearsed, instance)
        result = loop.run(datasets=["first"])
        assert result.failed == [] and result.unavailable == {}
        assert loop.publish().state is State.FAILED
        assert "nothing of a rehearsal is published" in loop.result.steps[-1].reason
        folder = Path(loop.lake.folder("small", AssetName.REPORT))
        lake = Path(loop.lake.root)
    assert os.environ["TYPESAFE_API_KEY"] == REAL_KEY
    assert lake == home / "rehearsal" / "lake"
    report = json.loads((folder / "report.json").read_text())
    assert report["rehearsal"] is True
    assert report["publication"]["possible"] is False
    assert {row["backend"] for row in report["metrics"]} == {"uniform", *SERVED}
    assert all(row["rehearsal"] for row in report["metrics"])
    assert "REHEARSAL" in (folder / "index.html").read_text()
    table = pq.read_table(lake / "small" / "predictions" / "dataset=first" / "backend=jev" / "part.parquet")
    assert table.schema.metadata[b"rehearsal"] == b"true"
    everything = [path.read_bytes() for path in (home / "rehearsal").rglob("*") if path.is_file()]
    assert not any(REAL_KEY.encode() in content for content in everything)


def test_a_rehearsed_partition_copied_into_the_real_lake_is_refused(home, tmp_path, instance: dg.DagsterInstance):
    graph = load_study(write_small_study(tmp_path / "study", analyses={}))
    with rehearsing(graph) as rehearsed:
        loop = PartitionLoop(rehearsed, instance)
        assert loop.run(["uniform"], ["first"]).failed == []
    (home / "rehearsal" / "lake").rename(home / "lake")
    with pytest.raises(GateRefused, match="comes from a rehearsal"):
        load_gated(Workspace.from_environment().lake, graph, "first", "uniform")


def test_a_second_rehearsal_asks_nothing_again(graph, instance: dg.DagsterInstance):
    for expected in (State.MADE, State.KEPT):
        with rehearsing(graph) as rehearsed:
            result = PartitionLoop(rehearsed, instance).run(["jev"], ["first"])
            assert [step.state for step in result.steps if step.step == "predictions"] == [expected]
