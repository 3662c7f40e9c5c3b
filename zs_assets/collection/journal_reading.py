"""Lines of a journal file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from zs_assets.protocol.errors import JournalError

FIELDS: dict[str, frozenset[str]] = {
    "header": frozenset(),
    "identity": frozenset({"identity"}),
    "asked": frozenset({"id", "n", "t", "f"}),
    "reply": frozenset({"id", "n", "ms", "s", "r", "body"}),
    "fault": frozenset({"id", "n", "ms", "kind", "remedy", "status"}),
}
"""Kind of a line -> the entries that every such line has."""


class ForeignLine(ValueError):
    """A line that no journal holds; the text completes "line 7 ..."."""


def line_of(data: bytes) -> dict[str, Any]:
    """A line with all that its kind needs. Raises ForeignLine, and ValueError for what is no JSON."""
    line = json.loads(data)
    kind = line.get("k") if isinstance(line, dict) else None
    if not isinstance(kind, str) or kind not in FIELDS:
        raise ForeignLine("is of no kind that a journal has")
    if not FIELDS[kind] <= line.keys():
        raise ForeignLine(f"of kind {kind} lacks {', '.join(sorted(FIELDS[kind] - line.keys()))}")
    if "id" in FIELDS[kind] and not (isinstance(line["id"], str) and isinstance(line["n"], int)):
        raise ForeignLine(f"of kind {kind} names no call")
    return line


def never_began(line: dict[str, Any]) -> ForeignLine:
    """For the end of a call whose beginning is not before it, or that has ended already."""
    return ForeignLine(f"ends call {line['n']} of {line['id']}, which is not in flight there")


def what_is_wrong(error: ValueError) -> str:
    """Completes "line 7 ..."."""
    return str(error) if isinstance(error, ForeignLine) else "is no JSON"


def broken_journal(path: Path, byte: int, error: ValueError) -> JournalError:
    """The line is counted here, since only a broken journal needs its number."""
    with open(path, "rb") as file:
        number = file.read(byte).count(b"\n") + 1
    return JournalError(
        f"{path} is broken at byte {byte}: line {number} {what_is_wrong(error)}. Restore it, or move it aside and ask "
        "again."
    )


def journal_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Complete lines about calls with their byte offset, in order; a torn last line is passed over.

    Raises JournalError, naming file and line, for what is no line of a journal.
    """
    offset = 0
    with open(path, "rb") as file:
        for data in file:
            if data.endswith(b"\n"):
                try:
                    line = line_of(data)
                except ValueError as error:
                    raise broken_journal(path, offset, error) from None
                if line["k"] not in ("header", "identity"):
                    yield offset, line
            offset += len(data)
