"""Where the two systems of a cascade disagree, tier by tier of the primary's confidence: who is right."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from zs_assets.report import svg
from zs_assets.report.charts.figure import Figure, LegendEntry, PanelGroup
from zs_assets.report.charts.selective_rows import cascade_cells

WIDTH, LABELS, RIGHT, TOP, ROW, BAR = 340, 96, 12, 28, 40, 15
OUTCOMES = {
    "primary_wins": "only the primary is right",
    "fallback_wins": "only the fallback is right",
    "neither": "different, both wrong",
}

Row = dict[str, Any]


def tier_disagreements_figure(report: dict[str, Any]) -> Figure:
    groups: dict[str, list[Markup]] = {}
    for dataset, primary, fallback, rows in cascade_cells(report, "tier_disagreements"):
        groups.setdefault(f"{primary} then {fallback}", []).append(_panel(dataset, rows))
    return Figure(
        id="disagreements",
        title="Who is right where the two systems disagree",
        caption="Rows on which the two systems answer differently, by tier of the primary's confidence (tiers fixed by "
        "the protocol; 1.00 is a tier of its own). Bars are counts on one scale per panel; the line above each says "
        "how many rows of the tier they are. A cascade can gain only where the fallback alone is right, and loses "
        "where it overrules a primary that alone is right. Counts of these rows: no intervals, no resampling.",
        groups=tuple(PanelGroup(name, tuple(panels)) for name, panels in groups.items()),
        legend=tuple(LegendEntry(f"swatch wins-{name.split('_')[0]}", words) for name, words in OUTCOMES.items()),
        panel_width=300,
    )


def _panel(dataset: str, rows: list[Row]) -> Markup:
    most = max([1, *(row["disagreements"] for row in rows)])
    parts: list[Markup] = [svg.text(0, 14, dataset, "panel-title")]
    for position, row in enumerate(rows):
        y = TOP + ROW * position
        parts += [
            svg.text(0, y + 26, row["tier"], "row-label"),
            svg.text(LABELS, y + 11, f"{row['disagreements']:,} of {row['n']:,} rows differ", "tick"),
            *_bars(row, y + 15, most),
        ]
    total = sum(row["disagreements"] for row in rows)
    return svg.picture(
        WIDTH, TOP + ROW * len(rows) + 2, f"{total} disagreements on {dataset} by tier and who is right", *parts
    )


def _bars(row: Row, y: float, most: int) -> list[Markup]:
    """One segment per outcome with its count on it; a short segment keeps its count in the tooltip and the line."""
    x, parts = float(LABELS), []
    for name, words in OUTCOMES.items():
        width = row[name] / most * (WIDTH - RIGHT - LABELS)
        if not row[name]:
            continue
        tip = svg.element("title", f"{row['tier']}: {row[name]} rows, {words}")
        style = f"wins-{name.split('_')[0]}"
        parts.append(svg.element("rect", tip, x=x, y=y, width=width, height=BAR, class_=style))
        if width >= 7 * len(str(row[name])) + 4:
            parts.append(svg.text(x + width / 2, y + BAR - 4, str(row[name]), f"on-bar {style}", "middle"))
        x += width
    if not row["disagreements"]:
        parts.append(svg.line(x, y, x, y + BAR, "rule"))
    return parts
