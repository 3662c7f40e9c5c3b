"""How often a system decides as its reference does, where nobody labelled anything. Nothing here says who errs."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from zs_assets.report import svg
from zs_assets.report.charts.figure import Figure, LegendEntry, PanelGroup
from zs_assets.report.charts.selective_rows import log_cells
from zs_assets.report.wording import share

WIDTH, LABELS, RIGHT, TOP, ROW = 340, 132, 12, 28, 34
STRATA = {"all": "all rows", "majority_baseline": "one decision always"}

Row = dict[str, Any]


def reference_agreement_figure(report: dict[str, Any]) -> Figure:
    groups: dict[str, list[Markup]] = {}
    for dataset, backend, reference, rows in log_cells(report):
        shown = [row for row in rows if row["share"] is not None and (row["stratum"] in STRATA or _is_tier(row))]
        if shown:
            groups.setdefault(f"{backend} beside {reference}", []).append(_panel(dataset, shown))
    return Figure(
        id="agreement",
        title="Agreement with the reference system",
        caption="Share of rows on which the system and its reference decide alike, of the rows on which both decided, "
        "with 95 % Wilson intervals: over all rows, and by tier of the system's stated confidence. Hollow: what always "
        "giving the system's most frequent decision would share with the reference. Nobody labelled these rows: the "
        "figures are agreement between two systems and nothing more.",
        groups=tuple(PanelGroup(name, tuple(panels)) for name, panels in groups.items()),
        legend=(
            LegendEntry("mark-circle", "agreement"),
            LegendEntry("mark-circle hollow", "one decision always given"),
        ),
        panel_width=300,
    )


def _is_tier(row: Row) -> bool:
    return bool(row["stratum"] == "tier")


def _panel(dataset: str, rows: list[Row]) -> Markup:
    bottom = TOP + ROW * len(rows)
    x = svg.Scale(0.0, 1.0, LABELS, WIDTH - RIGHT)
    parts: list[Markup] = [svg.text(0, 14, dataset, "panel-title")]
    for tick in x.ticks(4):
        parts += [
            svg.line(x(tick), TOP - 4, x(tick), bottom, "grid"),
            svg.text(x(tick), bottom + 14, svg.tick_label(tick), "tick", "middle"),
        ]
    for position, row in enumerate(rows):
        y = TOP + ROW * position + ROW / 2 - 2
        name = row["tier"] if _is_tier(row) else STRATA[row["stratum"]]
        parts += [
            svg.text(0, y - 1, name, "row-label"),
            svg.text(0, y + 12, f"{row['agree']:,} of {row['n']:,}", "tick"),
            _interval(row, name, x, y),
        ]
    return svg.picture(WIDTH, bottom + 20, f"Agreement with the reference on {dataset}", *parts)


def _interval(row: Row, name: str, x: svg.Scale, y: float) -> Markup:
    tip = f"{name}: {share(row['share'])} ({share(row['ci95_low'])} to {share(row['ci95_high'])})"
    return svg.element(
        "g",
        svg.element("title", tip),
        svg.line(x(row["ci95_low"]), y, x(row["ci95_high"]), y, "whisker"),
        svg.element("circle", cx=x(row["share"]), cy=y, r=4.5),
        class_=f"interval{' hollow' if row['stratum'] == 'majority_baseline' else ''}",
    )
