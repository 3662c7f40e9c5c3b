"""Calibration by observed level: how often a system is right at each confidence it states, the atom 1.00 apart."""

from __future__ import annotations

import math
from typing import Any

from markupsafe import Markup

from zs_assets.report import svg
from zs_assets.report.charts.figure import (
    Figure,
    LegendEntry,
    PanelGroup,
    confidence_note,
    series_class,
    shortened,
)
from zs_assets.report.charts.selective_rows import cells
from zs_assets.report.wording import share

WIDTH, HEIGHT, LEFT, TOP, BOTTOM, RIGHT = 300, 250, 42, 36, 36, 12
ATOM_STRIP = 46  # pixels of the strip at the right edge that belongs to confidence 1.00 alone
MAX_LEVELS = 200
"""Past this many distinct confidences a system is not on a grid, and only levels that repeat are drawn."""

Row = dict[str, Any]


def level_calibration_figure(report: dict[str, Any]) -> Figure:
    panels: dict[str, list[Markup]] = {}
    left_out = []
    for dataset, backend, rows in cells(report, "confidence_levels"):
        shown = rows if len(rows) <= MAX_LEVELS else [row for row in rows if not row["small"]]
        if len(shown) < len(rows):
            left_out.append(f"{backend} on {dataset} ({len(rows) - len(shown):,} of {len(rows):,} levels)")
        if shown:
            panels.setdefault(dataset, []).append(_panel(report, backend, rows, shown))
    said = f" Not drawn, since a level of under 10 rows shows nothing there: {'; '.join(left_out)}." if left_out else ""
    return Figure(
        id="levels",
        title="Calibration by observed confidence level",
        caption=f"One mark per confidence the system stated ({confidence_note(report)}); no bins, no interpolation "
        "between levels. Bars: 95 % Wilson intervals of one level each; exact (Clopper-Pearson) ones, an addition, are "
        "in the tables. The mark's area grows with the level's rows; those of fewer than 10 rows are faded. Confidence "
        "1.00 is one level, never split, and stands in a strip of its own with its count. Dashed: stated equals "
        f"right. Valid rows only. Resampling plays no part.{said}",
        groups=tuple(PanelGroup(dataset, tuple(own)) for dataset, own in panels.items()),
        legend=(
            LegendEntry("mark-circle", "level, area by rows"),
            LegendEntry("mark-circle faded", "fewer than 10 rows"),
            LegendEntry("mark-diamond atom", "confidence 1.00"),
        ),
        panel_width=300,
    )


def _panel(report: dict[str, Any], backend: str, rows: list[Row], shown: list[Row]) -> Markup:
    below = [row for row in shown if not row["atom"]]
    lowest = min((row["level"] for row in below), default=0.0)
    end = WIDTH - RIGHT - ATOM_STRIP
    x = svg.Scale(math.floor(min(lowest, 0.9) * 5) / 5, 1.0, LEFT, end)
    y = svg.Scale(0.0, 1.0, HEIGHT - BOTTOM, TOP)
    atom = next((row for row in shown if row["atom"]), None)
    valid = sum(row["count"] for row in rows)
    marks = [_level(row, x, y, valid) for row in sorted(below, key=lambda row: row["count"], reverse=True)]
    strip = [
        svg.element("rect", x=end + 8, y=TOP, width=ATOM_STRIP - 8, height=HEIGHT - BOTTOM - TOP, class_="strip", rx=3),
        svg.text((end + 8 + WIDTH - RIGHT) / 2, HEIGHT - BOTTOM + 14, "1.00", "tick", "middle"),
    ]
    if atom is not None:
        strip.append(_atom(atom, (end + 8 + WIDTH - RIGHT) / 2, y))
    label = f"{backend} on {rows[0]['dataset']}: right answers at each of {len(rows)} stated confidences, {valid} rows"
    return svg.picture(
        WIDTH,
        HEIGHT,
        label,
        svg.axes(x, y, "stated confidence", "share right", 4, 5),
        svg.line(x(x.low), y(x.low), x(1), y(1), "diagonal"),
        svg.element("g", *marks, class_=f"levels {series_class(report, backend)}"),
        svg.element("g", *strip, class_=f"levels {series_class(report, backend)}"),
        svg.text(LEFT, 14, shortened(backend, 26), "panel-title"),
        svg.text(LEFT, 29, f"{len(rows):,} levels · n {valid:,}", "tick"),
    )


def _level(row: Row, x: svg.Scale, y: svg.Scale, valid: int) -> Markup:
    at = x(row["level"])
    return svg.element(
        "g",
        svg.element("title", _tip(row)),
        svg.line(at, y(row["wilson_low"]), at, y(row["wilson_high"]), "whisker"),
        svg.element("circle", cx=at, cy=y(row["accuracy"]), r=1.8 + 9.0 * math.sqrt(row["count"] / valid)),
        class_="level faded" if row["small"] else "level",
    )


def _atom(row: Row, at: float, y: svg.Scale) -> Markup:
    height = y(row["accuracy"])
    count_at = y(row["wilson_low"]) + 14
    return svg.element(
        "g",
        svg.element("title", _tip(row)),
        svg.line(at, y(row["wilson_low"]), at, y(row["wilson_high"]), "whisker"),
        svg.element("path", d=f"M{at:.1f} {height - 6:.1f}l6 6 -6 6 -6 -6z"),
        svg.text(
            at,
            count_at if count_at < y.start - 3 else y(row["wilson_high"]) - 6,
            f"N {row['count']:,}",
            "tick",
            "middle",
        ),
        class_="level faded atom" if row["small"] else "level atom",
    )


def _tip(row: Row) -> str:
    return (
        f"stated {row['level']:.4g}: {row['correct']} of {row['count']} right, {share(row['accuracy'])} "
        f"(Wilson {share(row['wilson_low'])} to {share(row['wilson_high'])}; exact {share(row['exact_low'])} to "
        f"{share(row['exact_high'])})"
    )
