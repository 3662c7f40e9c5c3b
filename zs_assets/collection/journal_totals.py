"""What a journal holds, without the system it was asked of: replies, and what they cost."""

from __future__ import annotations

from pathlib import Path

from zs_assets.collection.journal import journal_lines


def journalled_replies(path: Path) -> int:
    """How many presentations a journal holds a reply for; 0 where there is none."""
    if not path.exists():
        return 0
    return len({line["id"] for _, line in journal_lines(path) if line["k"] == "reply"})


def journalled_usd(path: Path) -> float:
    """What a journal's calls cost; a reply of unknown cost and a call without an answer count as the dearest known."""
    if not path.exists():
        return 0.0
    costs: dict[tuple[str, int], float | None] = {}
    for _, line in journal_lines(path):
        call = (line["id"], line["n"])
        if line["k"] == "asked":
            costs[call] = None
        elif line["k"] == "reply":
            costs[call] = line.get("usd")
        elif line.get("status") is not None:
            costs[call] = 0.0  # the system refused the call: it bills no answer
    known = [cost for cost in costs.values() if cost is not None]
    return sum(known) + (len(costs) - len(known)) * max(known, default=0.0)
