"""`zs-assets follow-up` and the stability check, against the stand-in of a system that refuses, over real HTTP."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import dagster as dg
import pytest
import typer
from typer.testing import CliRunner

from zs_assets.backends.systems import known_systems
from zs_assets.cli import order_checks
from zs_assets.cli.app import app
from zs_assets.collection.journal import journal_lines
from zs_assets.components.catalogue import find_study
from zs_assets.components.partition_loop import PartitionLoop
from zs_assets.components.stability_part import StabilityPart
from zs_assets.emulator.server import LocalServer
from zs_assets.protocol.names import AssetName
from zs_assets.storage.places import Places
from zs_assets_tests.small_study import write_small_study

KEY = "sk-0123456789"
PRESENTATIONS = 48  # 12 texts; two options: two different orders, each asked twice as often as the plan says
PLAN = {"orders": {"kind": "rotations", "seed": 3}, "repeats": 1, "shuffle_seed": 5}
REFUSED = "first: It will rain on day 3."
FOLLOW_UP = ["follow-up", "small", "--dataset", "first"]


@pytest.fixture
def server(monkeypatch):
    pytest.importorskip("starlette")
    with LocalServer("openai_luna", key=KEY) as running:
        monkeypatch.setenv("OPENAI_DECISIONS_BASE_URL", running.url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        yield running


def write_study(folder: Path, **limits: float) -> None:
    entry = known_systems()["openai_luna"].model_dump(exclude={"name"}, exclude_unset=True, mode="json")
    luna = {**entry, "limits": {"concurrency": 1, "max_wait_s": 0.05, **limits}}
    write_small_study(folder, backends=["luna"], systems={"luna": luna}, plan=PLAN, analyses={})


@pytest.fixture
def measured(home, tmp_path, server, instance, monkeypatch):
    """The study's folder; one text of its first dataset was refused four times and will be once more."""
    write_study(tmp_path / "studies" / "small")
    monkeypatch.setenv("ZS_STUDIES", str(tmp_path / "studies"))
    server.set_faults([{"fault": "refusal", "marker": REFUSED, "first": 5}])
    loop = PartitionLoop(find_study("small"), instance)
    loop.prepare(["first"])
    keys = [loop.graph.key(name) for name in (AssetName.PREDICTIONS, AssetName.ATTEMPTS)]
    cell = loop.graph.cell("first", "luna")
    dg.materialize(loop.assets, selection=keys, partition_key=cell, instance=instance, resources=loop.resources)
    assert server.stats()["requests"] == PRESENTATIONS
    return tmp_path / "studies" / "small"


def test_the_command_says_what_asking_again_brought_and_does_not_ask_twice(measured, server):
    result = CliRunner().invoke(app, FOLLOW_UP, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    said = "first x luna: 4 affected, 4 asked again, 4 recovered, 5 further replies"
    assert said in result.output
    assert "complete samples before / after 11 / 12 of 12" in result.output
    assert "reading  first x luna" in result.output
    assert server.stats()["requests"] == PRESENTATIONS + 5
    again = CliRunner().invoke(app, [*FOLLOW_UP, "--json"], catch_exceptions=False)
    (row,) = json.loads(again.stdout)["follow_up"]
    assert row["kept"] is True and row["further_replies"] == 5
    assert server.stats()["requests"] == PRESENTATIONS + 5


def test_what_cannot_be_followed_up_says_why(measured, server, monkeypatch):
    never_run = CliRunner().invoke(app, ["follow-up", "small", "--dataset", "second"], catch_exceptions=False)
    assert never_run.exit_code == 1
    assert "1 system has no predictions on second: not followed up." in never_run.output
    poor = CliRunner().invoke(app, [*FOLLOW_UP, "--max-usd", "0.0000001"], catch_exceptions=False)
    assert poor.exit_code == 1 and "would be passed" in poor.output
    monkeypatch.delenv("OPENAI_API_KEY")
    no_key = CliRunner().invoke(app, FOLLOW_UP, catch_exceptions=False)
    assert no_key.exit_code == 3 and "set OPENAI_API_KEY" in no_key.output
    monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong")
    wrong_key = CliRunner().invoke(app, FOLLOW_UP, catch_exceptions=False)
    assert wrong_key.exit_code == 1 and "check the key in OPENAI_API_KEY" in wrong_key.output
    assert server.stats()["requests"] == PRESENTATIONS


def test_after_a_kill_the_round_goes_on_and_no_reply_received_is_asked_again(measured, server):
    write_study(measured, requests_per_second=8)
    server.set_faults([{"fault": "refusal", "marker": REFUSED}])  # for ever
    journal = Places.from_environment().follow_up_journal("small", "first", "luna", 1)
    command = [sys.executable, "-c", "from zs_assets.cli import main; main()", *FOLLOW_UP]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while process.poll() is None and time.monotonic() < deadline and len(replied(journal)) < 2:
        time.sleep(0.01)
    process.kill()
    assert process.wait() == -9, "the process ended before it was killed"
    received = replied(journal)
    requests = server.stats()["requests"]
    assert 2 <= sum(received.values()) <= requests
    write_study(measured)
    result = CliRunner().invoke(app, FOLLOW_UP, catch_exceptions=False)
    assert "4 affected, 4 asked again, 0 recovered, 12 further replies" in result.output
    # All that was not received yet, and nothing else, was asked after the kill.
    assert server.stats()["requests"] - requests == 12 - sum(received.values())
    places = Places.from_environment().follow_up_journals("small", "first", "luna")
    assert len(places) == 3
    assert all(set(replied(path).values()) == {1} for path in places)


def replied(journal: Path) -> Counter[str]:
    """Presentations with a reply in the journal, and how many."""
    if not journal.exists():
        return Counter()
    return Counter(line["id"] for _, line in journal_lines(journal) if line["k"] == "reply")


def test_stability_in_a_rehearsal_needs_no_key_and_names_its_bound(home, tmp_path, monkeypatch, capsys):
    pytest.importorskip("starlette")
    write_study(tmp_path / "studies" / "small")
    monkeypatch.setenv("ZS_STUDIES", str(tmp_path / "studies"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    order_checks.stability("small", ["luna"], ["first"], StabilityPart(orders=2, repeats=2, limit=3), rehearse=True)
    said = capsys.readouterr().out
    first, *lines = said.strip().splitlines()
    assert first.startswith("REHEARSAL: stand-ins answered") and all(line.startswith("REHEARSAL  ") for line in lines)
    assert "first x luna: 3 of 3 samples complete; 2 of 2 orders, 2 of 2 repeats; 12 replies." in said
    assert "Clopper-Pearson 95 %" in said
    assert "With more orders the range of a text can only grow" in said
    assert "cost" not in said.lower().replace("would cost", "")
    assert not (home / "journal").exists() and not (home / "lake").exists()


def test_stability_without_a_key_cannot_run_here(home, tmp_path, monkeypatch, capsys):
    write_study(tmp_path / "studies" / "small")
    monkeypatch.setenv("ZS_STUDIES", str(tmp_path / "studies"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(typer.Exit) as stopped:
        order_checks.stability("small", ["luna"], ["first"], StabilityPart(limit=3), as_json=True)
    assert stopped.value.exit_code == 3
    printed = json.loads(capsys.readouterr().out)
    assert printed["stability"] == [] and "OPENAI_API_KEY" in printed["not_run"]["luna"]


def test_a_rehearsed_check_is_marked_in_json(home, tmp_path, monkeypatch, capsys):
    pytest.importorskip("starlette")
    write_study(tmp_path / "studies" / "small")
    monkeypatch.setenv("ZS_STUDIES", str(tmp_path / "studies"))
    part = StabilityPart(orders=2, repeats=1, limit=2)
    order_checks.stability("small", ["luna"], ["first"], part, rehearse=True, as_json=True)
    assert json.loads(capsys.readouterr().out)["rehearsal"] is True


def test_a_follow_up_is_on_the_page_at_once(measured, server, instance):
    assert PartitionLoop(find_study("small"), instance).run(["luna"], ["first"]).failed == []  # with its metrics
    result = CliRunner().invoke(app, FOLLOW_UP, catch_exceptions=False)
    page = Path(result.output.split("Report: ")[1].splitlines()[0])
    report = json.loads((page.parent / "report.json").read_text())
    (row,) = report["analyses"]["follow_up_counts"]
    assert (row["affected"], row["recovered"], row["complete_after"]) == (4, 4, 12)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--orders", "1"], "is not in the range x>=2"),
        (["--orders", "2", "--publish"], "Nothing of a stability check is published"),
        (["--limit", "1", "--publish"], "Nothing of a stability check is published"),
    ],
)
def test_options_that_make_no_sense_are_usage_errors(home, options, sentence):
    refused = CliRunner().invoke(app, ["run", "choice_order", *options])
    assert refused.exit_code == 2 and sentence in " ".join(refused.output.replace("│", " ").split())
