"""report.json -> one self-contained HTML page: no script, no font, no request."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import Any

import jinja2
from markupsafe import Markup

from zs_assets.report import tables
from zs_assets.report.charts import figures
from zs_assets.report.verdicts import REHEARSAL, STATUS_WORDS
from zs_assets.report.wording import metric_word

STATUS_MARKS = {"supported": "●", "not_supported": "○", "not_publishable": "✕"}

Row = dict[str, Any]


def render_page(report: dict[str, Any]) -> str:
    """The page of a report; everything on it is in report.json."""
    troubles, passed = tables.gate_tables(report)
    return _template().render(
        report=report,
        study=report["study"],
        css=Markup(_resource("page.css")),
        counts=_counts(report["verdicts"]),
        pairs=_pair_cards(report["verdicts"]),
        figures=figures(report),
        means=tables.means_table(report),
        metric_tables=tables.metric_tables(report),
        difference_tables=tables.difference_tables(report),
        troubles=troubles,
        passed=passed,
        datasets=tables.datasets_table(report),
        systems=tables.systems_table(report),
        rehearsal_reason=REHEARSAL,
        terms=[system for system in report["systems"] if system["deployment"] == "hosted"],
    )


def _counts(verdicts: list[Row]) -> list[tuple[str, str, int]]:
    """(status, words, how many) of the statuses that occur."""
    counted = {status: sum(verdict["status"] == status for verdict in verdicts) for status in STATUS_WORDS}
    return [(status, STATUS_WORDS[status], number) for status, number in counted.items() if number]


def _pair_cards(verdicts: list[Row]) -> list[Row]:
    """Verdicts of a pair together; questions that share status and reasons are one line."""
    cards = []
    for (a, b), own in groupby(verdicts, key=lambda verdict: (verdict["backend_a"], verdict["backend_b"])):
        lines = []
        for (status, reasons), same in groupby(own, key=lambda verdict: (verdict["status"], tuple(verdict["reasons"]))):
            alike = list(same)
            if reasons:
                words = ", ".join(metric_word(verdict["metric"]) for verdict in alike)
                lines.append(_line(status, f"{words}, because:", list(reasons)))
            else:
                lines += [_spoken(verdict) for verdict in alike]
        cards.append({"title": f"{a} against {b}", "lines": lines})
    return cards


def _spoken(verdict: Row) -> Row:
    """The sentence in two parts, so that the finding stands out from what is said beside it."""
    finding = verdict["sentence"].removesuffix(verdict["caveats"]).split(": ", 1)[1]
    return _line(verdict["status"], finding, [], verdict["caveats"])


def _line(status: str, sentence: str, reasons: list[str], caveats: str = "") -> Row:
    return {
        "status": status,
        "mark": STATUS_MARKS[status],
        "words": STATUS_WORDS[status],
        "sentence": sentence,
        "caveats": caveats,
        "reasons": reasons,
    }


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    return environment.from_string(_resource("page.html.j2"))


def _resource(name: str) -> str:
    return files("zs_assets.report").joinpath(name).read_text(encoding="utf-8")
