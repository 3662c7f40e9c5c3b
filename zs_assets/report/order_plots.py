"""The dot plot of the choice-order section: what is drawn for each figure, and its drawing without script.

Positions are shares of the width, so that one drawing is right at every width and its text keeps its size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from zs_assets.report import svg
from zs_assets.report.charts.figure import shortened
from zs_assets.report.order_verdicts import by_stability
from zs_assets.report.order_wording import beside, bracketed, exact_interval, percent, points, share_interval

Row = dict[str, Any]

ROW_HEIGHT, TOP = 38, 22
LABEL_LENGTH = 22
"""Characters of a name that fit beside its figure at 400 pixels; the tables have the whole title."""
AXES = (0.1, 1, 2, 5, 10, 20, 50, 100)
"""Where an axis may end: round points, so that a switch of views rarely moves it."""


@dataclass(frozen=True)
class PlottedFigure:
    """A figure one can choose: its column, words, unit, and whether an interval and a noise band exist for it."""

    column: str
    words: str
    unit: str
    has_interval: bool
    has_noise: bool

    @property
    def scale(self) -> float:
        """Stored shares are plotted in percent; stored points as they are."""
        return 100.0 if self.unit == "%" else 1.0


FIGURES = (
    PlottedFigure("large_share", "share of large ranges", "%", True, True),
    PlottedFigure("median_range", "median range", "points", True, True),
    PlottedFigure("p95_range", "95th percentile of ranges", "points", False, False),
    PlottedFigure("winner_change_share", "untied winner changes", "%", True, False),
)


def dot_plot(rows: Sequence[Row], titles: dict[str, str], figure: PlottedFigure) -> Row:
    """What the plot of one figure shows, most stable system first; values in percent or points."""
    marks = [_mark(row, titles, figure) for row in by_stability(list(rows), figure.column)]
    ends = [value for mark in marks for value in (mark["value"], mark["high"], mark["noise_high"]) if value is not None]
    return {
        "axis": axis_end(ends),
        "marks": marks,
        "note": _note(figure),
        "said": _said(marks, figure),
    }


def axis_end(values: Sequence[float]) -> float:
    """The round number at or past every value; points and percent both end at 100."""
    largest = max(values, default=1.0)
    return next((end for end in AXES if end >= largest), 100)


def _mark(row: Row, titles: dict[str, str], figure: PlottedFigure) -> Row:
    ends: dict[str, float | None] = {name: None for name in ("low", "high", "noise_low", "noise_high")}
    if figure.has_interval:
        ends |= {end: _scaled(row[f"{figure.column}_{end}"], figure) for end in ("low", "high")}
    if figure.has_noise:
        ends |= {f"noise_{end}": _scaled(row[f"noise_{figure.column}_{end}"], figure) for end in ("low", "high")}
    return {
        "backend": row["backend"],
        "title": titles[row["backend"]],
        "short": shortened(titles[row["backend"]], LABEL_LENGTH),
        "value": _scaled(row[figure.column], figure),
        **ends,
        "label": _label(row, figure),
    }


def _scaled(value: float | None, figure: PlottedFigure) -> float | None:
    # Six significant digits draw the same picture in half the bytes.
    return None if value is None else float(f"{value * figure.scale:.6g}")


def _label(row: Row, figure: PlottedFigure) -> str:
    value = row[figure.column]
    if figure.unit == "%":
        exact = exact_interval(row) if figure.column == "large_share" else ""
        said = beside(f"{percent(value)} %", share_interval(row, figure.column))
        return said + (f", exact {exact}" if exact else "")
    interval = bracketed(row[f"{figure.column}_low"], row[f"{figure.column}_high"]) if figure.has_interval else ""
    return beside(points(value), interval)


def _note(figure: PlottedFigure) -> str:
    interval = "Lines: 95 % interval, whole texts resampled" if figure.has_interval else "No interval is computed"
    noise = (
        "grey bands: what repeat noise alone would show (none drawn where a system was asked once per order)"
        if figure.has_noise
        else "no noise band is computed for this figure"
    )
    exact = (
        "; “exact” is Clopper-Pearson over texts, where none or all are large" if figure.column == "large_share" else ""
    )
    return f"{interval}; {noise}{exact}. Lower is more stable."


def _said(marks: list[Row], figure: PlottedFigure) -> str:
    if not marks:
        return "No sample is complete for every compared system: nothing to show."
    first, last = marks[0], marks[-1]
    most = f"Most stable by {figure.words}: {first['title']}, {first['label']}"
    return f"{most}." if first is last else f"{most}; least: {last['title']}, {last['label']}."


def drawn(plot: Row, label: str, unit: str) -> Markup:
    """The plot as SVG; a row per system with its name and figure above its line."""
    height = TOP + ROW_HEIGHT * len(plot["marks"])
    share = 100 / plot["axis"]
    parts: list[Markup] = [svg.element("title", label)]
    for step in range(5):
        tick, at = plot["axis"] * step / 4, f"{25 * step}%"
        anchor = ("start", "middle", "middle", "middle", "end")[step]
        parts += [
            svg.element("line", x1=at, x2=at, y1=TOP - 4, y2=height, class_="grid"),
            svg.element(
                "text", f"{tick:g}" + (f" {unit}" if step == 4 else ""), x=at, y=12, class_="tick", text_anchor=anchor
            ),
        ]
    parts += [_row(mark, TOP + ROW_HEIGHT * position, share) for position, mark in enumerate(plot["marks"])]
    return svg.element(
        "svg", *parts, width="100%", height=height, role="img", aria_label=label, class_="chart order-dots"
    )


def _row(mark: Row, top: float, share: float) -> Markup:
    line = top + 27
    parts = [
        svg.element("text", mark["short"], x="0", y=top + 15, class_="row-label"),
        svg.element("text", mark["label"], x="100%", y=top + 15, class_="row-figure", text_anchor="end"),
        svg.element("line", x1="0%", x2="100%", y1=line, y2=line, class_="rule"),
    ]
    if mark["noise_high"] is not None:
        width = f"{(mark['noise_high'] - mark['noise_low']) * share:.3f}%"
        start = f"{mark['noise_low'] * share:.3f}%"
        parts.append(svg.element("rect", x=start, width=width, y=line - 7, height=14, class_="noise"))
    if mark["high"] is not None:
        low, high = f"{mark['low'] * share:.3f}%", f"{mark['high'] * share:.3f}%"
        parts.append(svg.element("line", x1=low, x2=high, y1=line, y2=line, class_="whisker"))
    if mark["value"] is not None:
        parts.append(svg.element("circle", cx=f"{mark['value'] * share:.3f}%", cy=line, r=4.5))
    return svg.element("g", *parts, class_="interval")
