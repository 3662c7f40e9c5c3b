"""Lines that no journal holds: refused with file and line before anything is asked, and when tables are made."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from zs_assets.collection import journalled_replies
from zs_assets.collection.compaction import compact
from zs_assets.protocol.errors import JournalError
from zs_assets_tests.collection.jev_run import presentations
from zs_assets_tests.collection.remote_copies import place
from zs_assets_tests.collection.scripted import Scripted, collect_scripted

COUNT = 4
FOREIGN = [
    (b'{"k":"asked","n":1,"t":"x","f":1}\n', "of kind asked lacks id"),
    (b'{"k":"reply","id":"d:1/o0r0","n":7}\n', "of kind reply lacks body, ms, r, s"),
    (b'{"k":"note","id":"d:1/o0r0"}\n', "is of no kind that a journal has"),
    (b'{"k":["asked"]}\n', "is of no kind that a journal has"),
    (b'{"k":"asked","id":[],"n":1,"t":"x","f":1}\n', "of kind asked names no call"),
    (b"[1, 2]\n", "is of no kind that a journal has"),
    (b"not JSON\n", "is no JSON"),
]


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    path = tmp_path / "one" / "journal.jsonl"
    collect_scripted(path, Scripted(), COUNT)
    return path


def test_a_reply_whose_announcement_is_missing_is_said_with_its_line(journal: Path):
    lines = journal.read_bytes().splitlines(keepends=True)
    asked = next(place for place, line in enumerate(lines) if json.loads(line)["k"] == "asked")
    left = lines[:asked] + lines[asked + 1 :]
    name = json.loads(lines[asked])["id"]
    reply = next(n for n, line in enumerate(left, 1) if json.loads(line).get("id") == name)
    journal.write_bytes(b"".join(left))
    said = rf"journal\.jsonl is broken at byte \d+: line {reply} ends call 1 of {name}, which is not in flight there\. "
    backend = Scripted()
    with pytest.raises(JournalError, match=said + "Restore it"):
        compact(journal, backend, presentations(COUNT), "p")
    with pytest.raises(JournalError, match=said):
        collect_scripted(journal, backend, COUNT + 1)
    assert backend.asked == [], "found before anything was asked"


def test_a_call_that_ends_twice_is_said(journal: Path):
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines) + lines[-1])
    with pytest.raises(JournalError, match=rf"line {len(lines) + 1} ends call 1 of .*, which is not in flight"):
        compact(journal, Scripted(), presentations(COUNT), "p")


@pytest.mark.parametrize(("line", "says"), FOREIGN)
def test_a_foreign_line_is_said_with_file_and_line(journal: Path, line: bytes, says: str):
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join([*lines[:3], line, *lines[3:]]))
    before, backend = journal.read_bytes(), Scripted()
    for read in (
        lambda: compact(journal, backend, presentations(COUNT), "p"),
        lambda: journalled_replies(journal),
        lambda: collect_scripted(journal, backend, COUNT + 1),
    ):
        with pytest.raises(JournalError, match=rf"journal\.jsonl is broken at byte \d+: line 4 {says}\."):
            read()
    assert backend.asked == [] and journal.read_bytes() == before


@pytest.mark.parametrize(("line", "says"), FOREIGN)
@pytest.mark.usefixtures("short_waits")
def test_a_foreign_line_in_a_copy_that_parted_is_said(tmp_path: Path, lake: str, journal: Path, line: bytes, says: str):
    collect_scripted(place(tmp_path, lake, "two"), Scripted(), COUNT)
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join([*lines[:3], line, *lines[3:]]))
    backend = Scripted()
    for read in (
        lambda: journalled_replies(place(tmp_path, lake)),
        lambda: collect_scripted(place(tmp_path, lake), backend, COUNT + 1),
    ):
        with pytest.raises(JournalError, match=rf"one/journal\.jsonl is broken: line 4 {says}\."):
            read()
    assert backend.asked == []


@pytest.mark.parametrize("first", [b"5\n{}\n", b"[]\n{}\n", b"no JSON\n{}\n"])
def test_a_file_that_begins_with_something_else_is_no_journal(tmp_path: Path, first: bytes):
    path = tmp_path / "j.jsonl"
    path.write_bytes(first)
    with pytest.raises(JournalError, match=r"j\.jsonl (does not begin with a header|is broken at byte 0: line 1)"):
        collect_scripted(path, Scripted(), COUNT)
    assert path.read_bytes() == first
