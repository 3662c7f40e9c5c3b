"""The choice-order section: what stands on the page without script, and the data its script switches between.

Every number is written here, once; the script only chooses and draws. Static and live views share the tables.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from markupsafe import Markup

from zs_assets.report import order_tables
from zs_assets.report.order_asking import asking_table
from zs_assets.report.order_explorer import explorer, sentence_tables
from zs_assets.report.order_plots import FIGURES, axis_end, dot_plot, drawn
from zs_assets.report.order_verdicts import SIGNIFICANT, by_stability
from zs_assets.report.order_wording import (
    NUMERICAL_NOISE,
    RULE_WORDS,
    ZERO_NOTE,
    group_said,
    group_words,
    lead_group,
    report_groups,
)
from zs_assets.report.tables import Table
from zs_assets.storage.order_schemas import FOLLOW_UP_COUNTS_TABLE, STRICT_COMPLETE

Row = dict[str, Any]

READING = (
    "Each text is asked with the options in several balanced orders. A range is the largest change of any option's "
    "mean score over the orders, in percentage points. Strict-complete samples have every score from every compared "
    "system and pass the label check in every reply; score-complete ones need the scores only. Sample groups are "
    "composed differently, so read each by itself."
)
CONTROLS_NOTE = (
    "Same order: replies to identical requests. Excess: different-order minus same-order. Order p: permutation test "
    f"of the mean range; above {SIGNIFICANT:g} the order effect is not beyond the system's own repeat noise. It tests "
    f"any difference, however small: where no range reaches {NUMERICAL_NOISE:g} points it is called numerical noise. "
    "A share of .05 of samples with p ≤ .05 is expected without any order effect."
)
AVERAGING_NOTE = (
    "What the mean of several consecutive rotations as one decision buys, from the first repeat of each order alone. "
    "Decisions whose rotations start next to each other share replies, so their spread shrinks faster than that of "
    "independent decisions; with all rotations only two averages are compared, forwards and backwards. It holds for "
    "the two base orders asked, one and its reverse. Cost is the mean of one decision; n/a where a cost is unknown. "
    "Accuracy needs gold labels."
)
POSITIONS_NOTE = "Mean score of whatever stands at a position; whole texts resampled for the intervals."


@dataclass(frozen=True)
class StaticView:
    """A dataset as it stands without script: strict-complete samples of the study's main group.

    The comparison is `shown`, then what is `folded`; `beside` it stand controls and completeness.
    """

    title: str
    samples: str
    plot: Markup | None
    plot_note: str
    shown: tuple[Table, ...]
    folded: tuple[Table, ...]
    beside: tuple[Table, ...]
    explorer_note: str
    sentences: tuple[Table, ...]


def has_order_section(report: dict[str, Any]) -> bool:
    """The study has an order analysis with something to show."""
    analyses = report["analyses"]
    return any(analyses[name] for name in ("order_sensitivity", "order_coverage", "repeat_verification"))


def order_titles(report: dict[str, Any]) -> dict[str, str]:
    """Titles of the systems; the name beside one that two systems share."""
    titles = [system["title"] for system in report["systems"]]
    return {
        system["name"]: system["title"]
        if titles.count(system["title"]) == 1
        else f"{system['title']} ({system['name']})"
        for system in report["systems"]
    }


def order_datasets(report: dict[str, Any]) -> list[str]:
    tables = ("order_sensitivity", "order_coverage", "repeat_verification")
    present = {row["dataset"] for name in tables for row in report["analyses"][name]}
    return [dataset for dataset in report["study"]["datasets"] if dataset in present]


def static_views(report: dict[str, Any]) -> list[StaticView]:
    """One view per dataset."""
    titles = order_titles(report)
    return [_static(report, dataset, titles) for dataset in order_datasets(report)]


def _static(report: dict[str, Any], dataset: str, titles: dict[str, str]) -> StaticView:
    view = _Rows(report, dataset, STRICT_COMPLETE, lead_group(report, dataset))
    figure = FIGURES[0]
    sensitivity = by_stability(view.of("order_sensitivity"), figure.column)
    plot = dot_plot(sensitivity, titles, figure)
    label = f"{figure.words} by system, {dataset}"
    found = explorer(report, dataset)
    averaging = view.of("order_averaging")
    folded = (
        order_tables.averaging_table(averaging, titles),
        order_tables.ranges_table(view.bins(), titles),
    )
    shown = (
        order_tables.sensitivity_table(sensitivity, titles),
        asking_table(averaging, titles, [row["backend"] for row in sensitivity]),
        order_tables.differences_table(view.of("order_differences"), titles),
    )
    beside = (
        order_tables.controls_table(sensitivity, titles),
        order_tables.positions_table(view.of("order_positions"), titles),
        *_coverage(view, titles),
        *_asked_again(view, titles),
    )
    return StaticView(
        title=dataset,
        samples=f"Strict-complete, {group_said(view.group)}: {order_tables.sample_words(sensitivity)}.",
        plot=drawn(plot, label, figure.unit) if plot["marks"] else None,
        plot_note=plot["note"],
        shown=tuple(table for table in shown if table.rows),
        folded=tuple(table for table in folded if table.rows),
        beside=tuple(table for table in beside if table.rows),
        explorer_note=found["note"] if found else "",
        sentences=tuple(sentence_tables(found, titles)) if found else (),
    )


@dataclass(frozen=True)
class _Rows:
    """The rows of one view."""

    report: dict[str, Any]
    dataset: str
    rule: str
    group: str

    def whole(self, table: str) -> list[Row]:
        """Of the dataset, whatever the rule and group."""
        return [row for row in self.report["analyses"][table] if row["dataset"] == self.dataset]

    def grouped(self, table: str) -> list[Row]:
        return [row for row in self.whole(table) if row["sample_group"] == self.group]

    def of(self, table: str) -> list[Row]:
        """Of the rule and group; rows about no sample are left out."""
        return [row for row in self._ruled(table) if row.get("samples") != 0]

    def bins(self) -> list[Row]:
        """Of the rule and group; an empty bin is a figure."""
        return self._ruled("order_ranges")

    def _ruled(self, table: str) -> list[Row]:
        return [row for row in self.grouped(table) if row["rule"] == self.rule]


def _coverage(view: _Rows, titles: dict[str, str]) -> tuple[Table, Table]:
    return (
        order_tables.coverage_table(view.grouped("order_coverage"), titles),
        order_tables.exclusions_table(view.grouped("order_exclusions"), titles),
    )


def viewer_data(report: dict[str, Any]) -> Row:
    """What the script switches between, with every figure already written."""
    titles = order_titles(report)
    return {
        "figures": [{"key": figure.column, "words": figure.words, "unit": figure.unit} for figure in FIGURES],
        "rules": [{"key": rule, "words": words} for rule, words in RULE_WORDS.items()],
        "notes": {
            "zero": ZERO_NOTE,
            "controls": CONTROLS_NOTE,
            "averaging": AVERAGING_NOTE,
            "positions": POSITIONS_NOTE,
        },
        "averaging_columns": order_tables.AVERAGING_COLUMNS,
        "titles": titles,
        "datasets": [_dataset(report, dataset, titles) for dataset in order_datasets(report)],
    }


def _dataset(report: dict[str, Any], dataset: str, titles: dict[str, str]) -> Row:
    groups = report_groups(report, dataset)
    rows = _Rows(report, dataset, "", "")
    shown = [*rows.whole("order_sensitivity"), *rows.whole("order_scores")]
    backends = {row["backend"] for row in shown}
    return {
        "name": dataset,
        "groups": [{"key": group, "words": group_words(group), "said": group_said(group)} for group in groups],
        "systems": [backend for backend in report["study"]["backends"] if backend in backends],
        "views": {
            f"{rule}|{group}": _view(_Rows(report, dataset, rule, group), titles)
            for rule in RULE_WORDS
            for group in groups
        },
        "coverage": {group: _with_rows(_coverage(_Rows(report, dataset, "", group), titles)) for group in groups},
        "verification": _with_rows(_asked_again(rows, titles)),
        "explorer": explorer(report, dataset),
    }


def _asked_again(rows: _Rows, titles: dict[str, str]) -> tuple[Table, ...]:
    """Follow-up and repeat verification: both stand apart from the comparison."""
    return (
        order_tables.follow_up_table(rows.whole(FOLLOW_UP_COUNTS_TABLE), titles),
        order_tables.verification_table(rows.whole("repeat_verification"), titles),
    )


def _view(rows: _Rows, titles: dict[str, str]) -> Row:
    """A rule and group: plots of every figure, tables in the order of the sensitivity rows, details by system."""
    sensitivity = rows.of("order_sensitivity")
    backends = [row["backend"] for row in sensitivity]
    return {
        "samples": order_tables.sample_words(sensitivity),
        "backends": backends,
        "plots": {figure.column: dot_plot(sensitivity, titles, figure) for figure in FIGURES},
        "sensitivity": _table(order_tables.sensitivity_table(sensitivity, titles)),
        "controls": _table(order_tables.controls_table(sensitivity, titles)),
        "asking": _table(asking_table(rows.of("order_averaging"), titles, backends)),
        "differences": _with_rows((order_tables.differences_table(rows.of("order_differences"), titles),)),
        "threshold": sensitivity[0]["threshold_points"] if sensitivity else None,
        "widest": axis_end([row["high"] for row in rows.bins()]),
        "details": {backend: _details(rows, backend) for backend in backends},
    }


def _details(rows: _Rows, backend: str) -> Row:
    positions = sorted(_own(rows.of("order_positions"), backend), key=lambda row: row["position"])
    averaging = sorted(_own(rows.of("order_averaging"), backend), key=lambda row: row["rotations"])
    return {
        "bins": [[row["low"], row["high"], row["samples"]] for row in _own(rows.bins(), backend)],
        "even": positions[0]["even"] if positions else None,
        "positions": [
            [*(row[name] for name in ("mean_score", "mean_score_low", "mean_score_high")), order_tables.mean_score(row)]
            for row in positions
        ],
        "averaging": [order_tables.averaging_cells(row) for row in averaging],
        "curve": [order_tables.averaging_point(row) for row in averaging],
        "gain": order_tables.gain_words(averaging),
    }


def _own(rows: Sequence[Row], backend: str) -> list[Row]:
    return [row for row in rows if row["backend"] == backend]


def _table(table: Table) -> Row:
    return {name: value for name, value in asdict(table).items() if name != "prose_last"}


def _with_rows(tables: Sequence[Table]) -> list[Row]:
    return [_table(table) for table in tables if table.rows]


def script_json(value: Any) -> Markup:
    """JSON that may stand inside a script element: no `</script>`, no `<!--`, no line separators of JavaScript."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def script_hash(script: str) -> str:
    """The source expression of a Content-Security-Policy that allows exactly this inline script (CSP level 2)."""
    digest = hashlib.sha256(script.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"
