"""Workers' copies of one journal on a remote lake, and what the lake holds of it."""

from __future__ import annotations

from pathlib import Path

from zs_assets.collection.segment_objects import read_segments
from zs_assets.storage.journal_place import JournalPlace
from zs_assets.storage.object_store import store_path


def place(tmp_path: Path, lake: str, worker: str = "one") -> JournalPlace:
    return JournalPlace(tmp_path / worker / "journal.jsonl", lake)


def held(lake: str) -> bytes:
    return b"".join(segment.lines for segment in read_segments(store_path(lake)))
