"""Lines of a journal file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from zs_assets.protocol.errors import JournalError


def broken_journal(path: Path, byte: int) -> JournalError:
    return JournalError(f"{path} is broken at byte {byte}: restore it, or move it aside and ask again.")


def journal_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Complete lines about calls with their byte offset, in order; a torn last line is passed over."""
    offset = 0
    with open(path, "rb") as file:
        for data in file:
            if data.endswith(b"\n"):
                try:
                    line = json.loads(data)
                except ValueError:
                    raise broken_journal(path, offset) from None
                if line["k"] not in ("header", "identity"):
                    yield offset, line
            offset += len(data)
