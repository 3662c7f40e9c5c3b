"""The objects of a journal on the lake: a head of one line, then whole lines of the journal; checked when read.

The head says which journal the lines are of, where in it they begin, how many bytes they are and their sha256. So a
segment that was cut off, changed, exchanged with another or brought from another journal is refused, as is a missing
one that others follow. What no segment can tell is that the last ones were deleted: what is left is then a journal that
was stopped earlier, and its missing calls are asked again. A bucket that keeps versions guards against that.

Segments of earlier versions have no such fields; of them only whole lines and the journal are checked.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, cast

from upath import UPath

from zs_assets.collection.journal_merge import line_bytes, whole_lines
from zs_assets.collection.segments import MissingSegments, Span, spans_of, standing
from zs_assets.collection.writer import Writer
from zs_assets.protocol.errors import JournalError
from zs_assets.storage.object_store import object_bytes, object_names
from zs_assets.storage.store_failures import shown

READS = 5
WAY_OUT = "from a version of the bucket, or move the study's outputs aside with `zs-assets reset STUDY --archive`."


@dataclass(frozen=True)
class Segment:
    """One object. `journal` is the journal's number for life (a reset begins a new one), `lines` are its own lines."""

    span: Span
    journal: str
    writer: Writer
    ends: bool  # its writer closed the journal
    claim: bool
    lines: bytes
    offset: int | None = None  # bytes of the journal before these lines; None: written by an earlier version


def segment_bytes(segment: Segment) -> bytes:
    """The object of a segment, whose `span` is its name."""
    head: dict[str, Any] = {
        "k": "segment",
        "journal": segment.journal,
        "writer": segment.writer.as_json(),
        "ends": segment.ends,
        "claim": segment.claim,
        "offset": segment.offset,
        "bytes": len(segment.lines),
        "sha256": hashlib.sha256(segment.lines).hexdigest(),
        "t": datetime.now(timezone.utc).isoformat(timespec="milliseconds"),
    }
    return line_bytes(head) + segment.lines


def read_segments(folder: UPath) -> list[Segment]:
    """The standing segments in order; none where there is no journal.

    Raises JournalError where segments are missing, damaged or of another journal, and StorageError.
    """
    missing = ""
    for _ in range(READS):  # a merge between listing and reading takes objects away: what replaced them is listed anew
        try:
            segments = [read_segment(folder, span) for span in standing(spans_of(object_names(folder)))]
        except MissingSegments as error:
            missing = str(error)
            continue
        if None not in segments:
            whole = cast(list[Segment], segments)
            _refuse_what_does_not_follow(folder, whole)
            return whole
    raise JournalError(
        f"The journal {shown(folder)} lacks segments ({missing or 'they change while they are read'}): restore them "
        f"{WAY_OUT}"
    )


def read_segment(folder: UPath, span: Span) -> Segment | None:
    """One object; None where there is none. Raises JournalError for a damaged one, and StorageError."""
    path = folder / span.name
    data = object_bytes(path)
    if data is None:
        return None
    head, _, lines = data.partition(b"\n")
    try:
        entry = json.loads(head)
        writer = Writer.from_json(entry["writer"])
        segment = Segment(span, entry["journal"], writer, entry["ends"], entry["claim"], lines, entry.get("offset"))
        size, digest = entry.get("bytes"), entry.get("sha256")
    except (ValueError, KeyError, TypeError, AttributeError):
        raise JournalError(f"{shown(path)} is no segment of a journal: restore it {WAY_OUT}") from None
    torn = whole_lines(lines) != lines if size is None else size != len(lines)
    if torn:
        of = "" if size is None else f" of {size}"
        raise JournalError(f"{shown(path)} is not whole, it holds {len(lines)} bytes{of}: restore it {WAY_OUT}")
    if digest not in (None, hashlib.sha256(lines).hexdigest()):
        raise JournalError(f"{shown(path)} was changed after it was written: restore it {WAY_OUT}")
    return segment


def _refuse_what_does_not_follow(folder: UPath, segments: list[Segment]) -> None:
    offset = 0
    for segment in segments:
        path = shown(folder / segment.span.name)
        if segment.journal != segments[0].journal:
            raise JournalError(f"{path} is a segment of another journal: restore this one's {WAY_OUT}")
        if segment.offset not in (None, offset):
            raise JournalError(
                f"{path} does not go on where the segment before it ends (byte {offset} of the journal, its own begin "
                f"at {segment.offset}): restore both {WAY_OUT}"
            )
        offset += len(segment.lines)
