"""The systems table says of every system what it needs, and the README shows the table that the code prints."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from zs_assets.backends.systems import known_systems
from zs_assets.components.systems_table import COLUMNS, system_facts, systems_markdown, systems_rows
from zs_assets.protocol.errors import StudyError

README = Path(__file__).parents[2] / "README.md"


def test_every_system_has_a_row_and_no_cell_is_empty(home):
    rows = systems_rows()
    assert [row[0] for row in rows] == list(known_systems())
    assert all(len(row) == len(COLUMNS) and all(row) for row in rows)


def test_unverified_codecs_and_unknown_prices_are_said(home):
    rows = {row[0]: dict(zip(COLUMNS, row, strict=True)) for row in systems_rows()}
    assert rows["subq_snap"]["codec"] == "unverified"
    assert rows["jev_1_14"]["price in / out"] == "unknown"
    assert rows["deepseek"]["price in / out"] == "0.66 / 1.98, dated"
    assert rows["jev"]["needs"] == "TYPESAFE_API_KEY"


def test_the_readme_shows_the_table_of_the_code(home):
    assert systems_markdown() in README.read_text(encoding="utf-8")


def test_an_unknown_system_is_one_sentence(home):
    with pytest.raises(StudyError, match="There is no system 'jevv': use one of"):
        system_facts("jevv")


def test_the_command_prints_one_system_as_json(home):
    command = [sys.executable, "-m", "zs_assets.cli", "systems", "jev", "--json"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert json.loads(result.stdout)["interface"] == "systemone"
