"""Verdicts as the page shows them: a card per pair and per cascade, with what belongs together on one line."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from zs_assets.report.cascade_verdicts import ROUTE_WORDS
from zs_assets.report.verdicts import STATUS_WORDS
from zs_assets.report.wording import listed, metric_word

MARKS = {
    **{"supported": "●", "not_supported": "○"},
    **{"route": "●", "route_unconfirmed": "◐", "do_not_route": "○"},
    "not_publishable": "✕",
}
WORDS = STATUS_WORDS | ROUTE_WORDS

Row = dict[str, Any]


def status_counts(verdicts: list[Row]) -> list[tuple[str, str, int]]:
    """(status, words, how many) of the statuses that occur, favourable ones first."""
    counted = {status: sum(verdict["status"] == status for verdict in verdicts) for status in MARKS}
    return [(status, WORDS[status], number) for status, number in counted.items() if number]


def pair_cards(verdicts: list[Row]) -> list[Row]:
    """Verdicts of a pair together; questions that share status and reasons are one line."""
    cards = []
    for (a, b), own in groupby(verdicts, key=lambda verdict: (verdict["backend_a"], verdict["backend_b"])):
        cards.append({"title": f"{a} against {b}", "lines": _lines(list(own), _question)})
    return cards


def cascade_cards(verdicts: list[Row]) -> list[Row]:
    """Verdicts of a cascade together, a line per dataset; datasets that share status and reasons are one line."""
    cards = []
    for (primary, fallback), own in groupby(verdicts, key=lambda verdict: (verdict["primary"], verdict["fallback"])):
        cards.append({"title": f"{primary} then {fallback}", "lines": _lines(list(own), _dataset)})
    return cards


def _question(verdict: Row) -> str:
    return metric_word(verdict["metric"])


def _dataset(verdict: Row) -> str:
    return str(verdict["dataset"])


def _lines(verdicts: list[Row], subject: Any) -> list[Row]:
    lines = []
    for (status, reasons), same in groupby(
        verdicts, key=lambda verdict: (verdict["status"], tuple(verdict["reasons"]))
    ):
        alike = list(same)
        if reasons:
            subjects = listed([subject(verdict) for verdict in alike], shown=len(alike))
            lines.append(_line(status, f"{subjects}, because:", list(reasons)))
        else:
            lines += [_spoken(verdict) for verdict in alike]
    return lines


def _spoken(verdict: Row) -> Row:
    """The sentence in two parts, so that the finding stands out from what is said beside it."""
    finding = verdict["sentence"].removesuffix(verdict["caveats"]).split(": ", 1)[1]
    return _line(verdict["status"], finding, [], verdict["caveats"])


def _line(status: str, sentence: str, reasons: list[str], caveats: str = "") -> Row:
    return {
        "status": status,
        "mark": MARKS[status],
        "words": WORDS[status],
        "sentence": sentence,
        "caveats": caveats,
        "reasons": reasons,
    }
