"""A pilot draws from the whole sample by its seed, asks those few, shows mechanics, and its replies count later."""

from __future__ import annotations

import json
import random
import subprocess
import sys

import pytest

from zs_assets.assets import cells
from zs_assets.backends.base import CallFault, Remedy
from zs_assets.components.catalogue import load_study
from zs_assets.components.partition_loop import PartitionLoop
from zs_assets.components.pilot_run import drawn, run_pilot
from zs_assets.protocol.errors import StudyError
from zs_assets_tests.small_study import ScriptedBackend, write_small_study

SIZE, SEED = 4, 8191


@pytest.fixture
def asked(monkeypatch):
    """Ids of the presentations that were really asked, over all backends."""
    seen = []

    class Counting(ScriptedBackend):
        async def ask(self, presentation):
            seen.append(presentation.id)
            return await super().ask(presentation)

    def build(spec, question, folder=None):
        return Counting(spec, question, lambda presentation: {"rain": 0.7, "bread": 0.3})

    monkeypatch.setattr(cells, "build_backend", build)
    return seen


@pytest.fixture
def loop(home, small_study, instance):
    loop = PartitionLoop(small_study, instance)
    loop.prepare(["first"])
    return loop


def test_the_draw_depends_on_the_seed_alone_and_its_replies_count_for_the_whole_run(loop, asked):
    (row,) = run_pilot(loop.workspace, loop.graph, [("first", "uniform")], SIZE, SEED)
    expected = {str(i) for i in random.Random(SEED).sample([str(i) for i in range(12)], SIZE)}
    assert {name.split("/")[0] for name in asked} == expected
    assert (row.asked, row.planned, row.outcomes, row.models) == (SIZE, 12, {"ok": SIZE}, ["scripted-1"])
    assert not hasattr(row, "accuracy")
    # Drawn before what is done is removed: the same pilot again asks nothing and draws nobody else.
    list(run_pilot(loop.workspace, loop.graph, [("first", "uniform")], SIZE, SEED))
    assert len(asked) == SIZE
    assert loop.run(["uniform"], ["first"]).failed == []
    assert len(asked) == len(set(asked)) == 12


def test_a_pilot_publishes_no_partition(loop, asked):
    list(run_pilot(loop.workspace, loop.graph, [("first", "uniform")], SIZE, SEED))
    assert loop.lake.read_verdicts("small", "first", "uniform") is None


def test_every_presentation_of_a_drawn_example_is_asked(home, instance, tmp_path, asked):
    loop = PartitionLoop(load_study(write_small_study(tmp_path / "study", plan={"repeats": 3})), instance)
    loop.prepare(["first"])
    (row,) = run_pilot(loop.workspace, loop.graph, [("first", "uniform")], 2, 1)
    assert row.asked == len(asked) == 6


@pytest.mark.parametrize("size", [0, 13])
def test_a_pilot_larger_than_the_sample_is_refused(size):
    with pytest.raises(StudyError, match=r"asks for \d+ examples of a sample of 0"):
        drawn([], size, SEED)


@pytest.mark.parametrize("given", [("--sample", "4"), ("--seed", "8191")])
def test_the_command_wants_both_options_or_neither(home, given):
    result = subprocess.run(
        [sys.executable, "-m", "zs_assets.cli", "run", "demo", *given], capture_output=True, text=True
    )
    assert result.returncode == 2
    assert "both --sample and --seed" in result.stderr


def test_the_command_shows_mechanics_as_json(home):
    result = subprocess.run(
        [
            *(sys.executable, "-m", "zs_assets.cli", "run", "demo", "--backend", "uniform"),
            *("--sample", "3", "--seed", "1", "--json"),
        ],
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    rows = json.loads(result.stdout)["pilot"]
    assert {row["asked"] for row in rows} == {3}
    assert all("accuracy" not in row for row in rows)


def test_help_says_what_an_argument_is():
    result = subprocess.run(
        [sys.executable, "-m", "zs_assets.cli", "run", "--help"], capture_output=True, text=True, env={"COLUMNS": "200"}
    )
    assert "Name of a study" in result.stdout


def test_a_backend_that_stops_stops_nobody_else(loop, monkeypatch):
    class Refused(ScriptedBackend):
        async def ask(self, presentation):
            if self.spec.name == "uniform":
                raise CallFault("http_401", Remedy.STOP, "wrong key", status=401)
            return await super().ask(presentation)

    def build(spec, question, folder=None):
        return Refused(spec, question, lambda presentation: {"rain": 0.7, "bread": 0.3})

    monkeypatch.setattr(cells, "build_backend", build)
    loop.prepare(["second"])
    asked = [(dataset, backend) for backend in ("uniform", "sparrow") for dataset in ("first", "second")]
    found = list(run_pilot(loop.workspace, loop.graph, asked, 2, 1))
    assert [(type(row).__name__, row.dataset, row.backend) for row in found] == [
        ("PilotStop", "first", "uniform"),
        ("PilotRow", "first", "sparrow"),
        ("PilotRow", "second", "sparrow"),
    ]
    assert "wrong key" in found[0].reason


def test_a_budget_that_limits_nothing_is_wrong_usage(home):
    command = [sys.executable, "-m", "zs_assets.cli", "run", "demo", "--backend", "uniform", "--max-usd", "nan"]
    refused = subprocess.run(command, capture_output=True, text=True)
    assert refused.returncode == 2
    assert "nan is no budget" in " ".join(refused.stderr.split())
