"""Choice-order findings as the page shows them: a card per dataset, a line per finding."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from zs_assets.report.order_asking import asking_sentences
from zs_assets.report.order_viewer import order_titles
from zs_assets.report.order_wording import lead_group
from zs_assets.report.verdict_cards import MARKS, WORDS
from zs_assets.storage.order_schemas import STRICT_COMPLETE

Row = dict[str, Any]

DESCRIBED_MARK = "◆"
KIND_WORDS = {
    "stability": "Stability",
    "noise": "Within repeat noise",
    "empty": "No shared sample",
    "meaning": "What this does not say",
}
"""A change between versions is named by its status instead."""

NO_FIGURE = "Not measured"


def order_cards(report: Row) -> list[Row]:
    """Cards for the verdicts' macro of the page; how many orders to ask stands before what all this does not say."""
    cards = []
    for dataset, own in groupby(report["order_verdicts"], key=lambda verdict: str(verdict["dataset"])):
        *lines, last = [_line(verdict) for verdict in own]
        cards.append({"title": f"Choice order on {dataset}", "lines": [*lines, *_asking(report, dataset), last]})
    return cards


def _asking(report: Row, dataset: str) -> list[Row]:
    rows = [
        row
        for row in report["analyses"]["order_averaging"]
        if (row["dataset"], row["rule"], row["sample_group"]) == (dataset, STRICT_COMPLETE, lead_group(report, dataset))
    ]
    sentences = asking_sentences(rows, order_titles(report))
    if not sentences:
        return []
    said = (
        "large ranges between decisions that are each the mean of so many consecutive rotations, one reply per order. "
        "With all rotations only two means are compared, forwards and backwards."
    )
    line = {"status": "described", "mark": DESCRIBED_MARK, "words": "How many orders to ask", "sentence": said}
    return [{**line, "caveats": "", "reasons": sentences}]


def _line(verdict: Row) -> Row:
    status = verdict["status"]
    words = NO_FIGURE if (verdict["kind"], status) == ("pair", "described") else None
    return {
        "status": status,
        "mark": MARKS.get(status, DESCRIBED_MARK),
        "words": words or KIND_WORDS.get(verdict["kind"]) or WORDS[status],
        "sentence": verdict["sentence"],
        "caveats": "",
        "reasons": [],
    }
