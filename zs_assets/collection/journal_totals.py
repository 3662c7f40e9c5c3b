"""What a journal holds, without the system it was asked of: replies, and what they cost.

Of a journal on a remote lake both copies count: what other workers uploaded, and what only this machine has yet.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from zs_assets.collection.journal_merge import calls_of, lacking, refuse_foreign_lines, whole_lines
from zs_assets.collection.journal_reading import journal_lines
from zs_assets.collection.segment_objects import read_segments
from zs_assets.storage.journal_place import JournalPath, JournalPlace
from zs_assets.storage.store_failures import shown


def journalled_replies(path: JournalPath) -> int:
    """How many presentations a journal holds a reply for; 0 where there is none.

    Raises JournalError for a broken one, StorageError where the lake cannot be read.
    """
    return len({line["id"] for line in _calls(path) if line["k"] == "reply"})


def journalled_usd(path: JournalPath) -> float:
    """What a journal's calls cost; a reply of unknown cost and a call without an answer count as the dearest known.

    Raises as `journalled_replies`.
    """
    costs: dict[tuple[str, int], float | None] = {}
    for line in _calls(path):
        call = (line["id"], line["n"])
        if line["k"] == "asked":
            costs[call] = None
        elif line["k"] == "reply":
            costs[call] = line.get("usd")
        elif line.get("status") is not None:
            costs[call] = 0.0  # the system refused the call: it bills no answer
    known = [cost for cost in costs.values() if cost is not None]
    return sum(known) + (len(costs) - len(known)) * max(known, default=0.0)


def _calls(path: JournalPath) -> Iterator[dict[str, Any]]:
    if isinstance(path, JournalPlace):
        yield from _of_both_copies(path)
    elif path.exists():
        for _, line in journal_lines(path):
            yield line


def _of_both_copies(place: JournalPlace) -> Iterator[dict[str, Any]]:
    segments = read_segments(place.folder)
    lake, local = b"".join(segment.lines for segment in segments), b""
    of_this_journal = {segment.journal for segment in segments[:1]} | {None}
    # A marked copy of another journal is of before a reset.
    if place.local.exists() and place.marked() in of_this_journal:
        local = whole_lines(place.local.read_bytes())
    try:
        yield from calls_of(lake + lacking(lake, local))
    except ValueError:
        refuse_foreign_lines(shown(place.remote), lake)
        refuse_foreign_lines(place.local, local)
        raise
