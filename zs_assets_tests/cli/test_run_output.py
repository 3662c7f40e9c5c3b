"""What `run` and `report` print: no old verdict below a run that could not begin, and a rehearsal says it is one."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from zs_assets.cli.app import app
from zs_assets_tests.small_study import write_small_study


@pytest.fixture
def small(home, tmp_path, monkeypatch):
    """The study's folder, on the path of the commands."""
    folder = tmp_path / "studies" / "small"
    write_small_study(folder, backends=["uniform"], analyses={})
    monkeypatch.setenv("ZS_STUDIES", str(tmp_path / "studies"))
    return folder


def run(*arguments: str):
    return CliRunner().invoke(app, list(arguments), catch_exceptions=False)


def test_below_a_failed_manifest_stands_no_verdict_of_an_earlier_run(small):
    first = run("run", "small")
    assert first.exit_code == 0 and "Publishable" in first.output and "Report:" in first.output
    for name in ("first", "second"):
        with (small / f"{name}.csv").open("a") as file:
            file.write("One more text.,rain\n")
    changed = run("run", "small")
    assert changed.exit_code == 1 and "--archive" in changed.output
    assert "Publishable" not in changed.output and "Report:" not in changed.output
    assert json.loads(run("run", "small", "--json").stdout)["report"] is None


def test_where_one_dataset_could_begin_the_report_is_shown(small):
    assert run("run", "small").exit_code == 0
    with (small / "first.csv").open("a") as file:
        file.write("One more text.,rain\n")
    changed = run("run", "small")
    assert changed.exit_code == 1 and "Report:" in changed.output


def test_a_rehearsal_says_so_before_its_sentences_and_its_report_can_be_built_again(small):
    for command in (("run", "small", "--rehearse"), ("report", "small", "--rehearse")):
        said = run(*command)
        assert said.exit_code == 0, said.output
        sentences = said.stdout[said.stdout.index("REHEARSAL: stand-ins answered") :]
        assert "Not publishable" in sentences and "rehearsal" in sentences.split("Report: ")[1]
        assert "- " not in said.stdout[: said.stdout.index("REHEARSAL")].splitlines()


def test_an_estimate_says_what_is_already_received(small):
    before = run("estimate", "small")
    assert "24 calls of 1 system, no cost." in before.output
    assert run("run", "small", "--dataset", "first").exit_code == 0
    after = run("estimate", "small")
    assert "24 calls of 1 system (12 already received), no cost." in after.output
    rows = json.loads(run("estimate", "small", "--json").stdout)
    assert [row["received"] for row in rows["rows"]] == [12, 0] and rows["total"]["received"] == 12
