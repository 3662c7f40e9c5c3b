"""Segments that were cut off, changed, exchanged, deleted or brought from elsewhere: refused by name, never read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from upath import UPath

from zs_assets.collection import journalled_replies
from zs_assets.collection.journal import Journal
from zs_assets.collection.segment_objects import Segment, read_segments, segment_bytes
from zs_assets.collection.segments import Span
from zs_assets.collection.writer import Writer
from zs_assets.protocol.errors import JournalError
from zs_assets.storage.object_store import delete_objects, object_bytes, object_names, put_object, store_path
from zs_assets_tests.collection.jev_run import header
from zs_assets_tests.collection.remote_copies import held, place
from zs_assets_tests.collection.scripted import Scripted, collect_scripted

pytestmark = pytest.mark.usefixtures("short_waits")
COUNT = 3
WAY_OUT = r"restore .* from a version of the bucket, or .*`zs-assets reset STUDY --archive`\.$"
Damage = Callable[[UPath], None]


@pytest.fixture
def folder(tmp_path: Path, lake: str) -> UPath:
    """A journal of six segments: its end is long enough to be cut, changed and exchanged."""
    collect_scripted(place(tmp_path, lake, "first"), Scripted(), COUNT)
    whole, old = held(lake), store_path(lake)
    writer, journal = Writer.here(), read_segments(old)[0].journal
    delete_objects([old / name for name in object_names(old)])
    lines, offset = whole.splitlines(keepends=True), 0
    for number, group in enumerate([lines[:2], *([line] for line in lines[2:])], 1):
        span, data = Span(number, number), b"".join(group)
        segment = Segment(span, journal, writer, number == len(lines) - 1, number == 1, data, offset)
        put_object(old / span.name, segment_bytes(segment))
        offset += len(data)
    assert held(lake) == whole and len(object_names(old)) >= 6
    return old


def name(number: int) -> str:
    return Span(number, number).name


def change(number: int, edit: Callable[[bytes], bytes]) -> Damage:
    def damage(folder: UPath) -> None:
        path = folder / name(number)
        put_object(path, edit(object_bytes(path) or b""))

    return damage


def exchange(folder: UPath) -> None:
    third, fourth = (object_bytes(folder / name(number)) or b"" for number in (3, 4))
    put_object(folder / name(3), fourth)
    put_object(folder / name(4), third)


def duplicate(folder: UPath) -> None:
    last = len(object_names(folder))
    put_object(folder / name(last + 1), object_bytes(folder / name(3)) or b"")


def from_another_journal(folder: UPath) -> None:
    segment = read_segments(folder)[3]
    foreign = Segment(segment.span, "0" * 32, *list(vars(segment).values())[2:])
    put_object(folder / name(4), segment_bytes(foreign))


def delete(number: int) -> Damage:
    return lambda folder: delete_objects([folder / name(number)])


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (change(4, lambda data: data[:-9]), r"000004-000004.jsonl is not whole, it holds \d+ bytes of \d+"),
        (change(4, lambda data: data[: data.index(b"\n") + 1]), r"000004.jsonl is not whole, it holds 0 bytes of \d+"),
        (change(4, lambda data: data[:20]), r"000004.jsonl is no segment of a journal"),
        (change(4, lambda data: b""), r"000004.jsonl is no segment of a journal"),
        (change(4, lambda data: data[:-3] + b"9" + data[-2:]), r"000004.jsonl was changed after it was written"),
        (exchange, r"000003-000003.jsonl does not go on where the segment before it ends"),
        (duplicate, r"jsonl does not go on where the segment before it ends"),
        (from_another_journal, r"000004-000004.jsonl is a segment of another journal"),
        (delete(1), r"lacks segments \(1 to 1\)"),
        (delete(3), r"lacks segments \(3 to 3\)"),
    ],
    ids=["cut", "body gone", "head cut", "empty", "changed", "exchanged", "twice", "foreign", "no first", "no third"],
)
def test_a_damaged_journal_is_refused_by_name_with_the_way_out(tmp_path: Path, lake: str, folder, damage, says: str):
    damage(folder)
    before = {name: object_bytes(folder / name) for name in object_names(folder)}
    with pytest.raises(JournalError, match=f"{lake}.*{says}.*{WAY_OUT}" if "lacks" in says else f"{says}.*{WAY_OUT}"):
        journalled_replies(place(tmp_path, lake, "two"))
    backend = Scripted()
    with pytest.raises(JournalError, match=says):
        collect_scripted(place(tmp_path, lake, "two"), backend, COUNT)
    assert backend.asked == []
    assert {name: object_bytes(folder / name) for name in object_names(folder)} == before


def test_a_deleted_merged_segment_that_others_follow_is_refused(tmp_path: Path, lake: str, folder: UPath):
    segments = read_segments(folder)[:3]
    lines = b"".join(segment.lines for segment in segments)
    whole = Segment(Span(1, 3), segments[0].journal, segments[0].writer, False, False, lines, 0)
    put_object(folder / whole.span.name, segment_bytes(whole))
    delete_objects([folder / name(2), folder / name(3)])  # the first one is the claim
    assert journalled_replies(place(tmp_path, lake, "two")) == COUNT
    delete_objects([folder / whole.span.name])
    with pytest.raises(JournalError, match=r"lacks segments \(2 to 3\)"):
        journalled_replies(place(tmp_path, lake, "two"))


def without_checks(data: bytes) -> bytes:
    head, _, lines = data.partition(b"\n")
    entry = {key: value for key, value in json.loads(head).items() if key not in ("offset", "bytes", "sha256")}
    return json.dumps(entry).encode() + b"\n" + lines


def test_segments_of_an_earlier_version_are_read_and_gone_on_from(tmp_path: Path, lake: str, folder: UPath):
    for number in range(1, len(object_names(folder)) + 1):
        change(number, without_checks)(folder)
    backend = Scripted()
    collected = collect_scripted(place(tmp_path, lake, "two"), backend, COUNT + 2)
    assert len(backend.asked) == 2 and collected.predictions.num_rows == COUNT + 2
    assert journalled_replies(place(tmp_path, lake, "three")) == COUNT + 2


@pytest.mark.parametrize("end", [b"", b"\n"], ids=["torn", "torn, with a line's end"])
def test_a_segment_of_an_earlier_version_that_ends_within_a_line_is_refused(tmp_path: Path, lake: str, folder, end):
    """Whoever went on behind the torn bytes would join its first line to them."""
    last = len(object_names(folder))
    change(last, without_checks)(folder)
    change(last, lambda data: data[:-9] + end)(folder)
    with pytest.raises(JournalError, match=rf"-{last:06d}.jsonl is not whole, it holds \d+ bytes: {WAY_OUT}"):
        journalled_replies(place(tmp_path, lake, "two"))


def test_every_line_of_the_next_worker_reaches_the_lake(tmp_path: Path, lake: str, folder: UPath):
    """What counts as uploaded is what the lake holds, byte for byte."""
    two = place(tmp_path, lake, "two")
    collect_scripted(two, Scripted(), COUNT + 2)
    assert held(lake) == two.local.read_bytes()


@pytest.mark.parametrize("field", ["study", "dataset", "backend"])
def test_a_whole_journal_of_another_cell_is_refused(tmp_path: Path, lake: str, folder: UPath, field: str):
    """Copied as a whole, its segments fit each other; its first line says what it was asked for."""
    before = held(lake)
    with (
        pytest.raises(JournalError, match=rf"was written for another {field}: it holds .*, this run has changed"),
        Journal(place(tmp_path, lake, "two"), header(**{field: "changed"})),
    ):
        pass
    assert held(lake) == before
