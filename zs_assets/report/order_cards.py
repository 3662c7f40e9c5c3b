"""Choice-order findings as the page shows them: a card per dataset, a line per finding."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from zs_assets.report.verdict_cards import MARKS, WORDS

Row = dict[str, Any]

DESCRIBED_MARK = "◆"
KIND_WORDS = {
    "stability": "Stability",
    "noise": "Within repeat noise",
    "empty": "No shared sample",
    "meaning": "What this does not say",
}
"""A change between versions is named by its status instead."""


def order_cards(verdicts: list[Row]) -> list[Row]:
    """Cards for the verdicts' macro of the page."""
    return [
        {"title": f"Choice order on {dataset}", "lines": [_line(verdict) for verdict in own]}
        for dataset, own in groupby(verdicts, key=lambda verdict: str(verdict["dataset"]))
    ]


def _line(verdict: Row) -> Row:
    status = verdict["status"]
    return {
        "status": status,
        "mark": MARKS.get(status, DESCRIBED_MARK),
        "words": KIND_WORDS.get(verdict["kind"]) or WORDS[status],
        "sentence": verdict["sentence"],
        "caveats": "",
        "reasons": [],
    }
