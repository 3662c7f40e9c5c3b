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
from zs_assets.report.order_verdicts import by_stability, ends
from zs_assets.report.order_wording import (
    NUMERICAL_NOISE,
    beside,
    bracketed,
    exact_interval,
    percent,
    points,
    share_interval,
)
from zs_assets.report.wording import listed

Row = dict[str, Any]

ROW_HEIGHT, TOP = 38, 22
LABEL_LENGTH = 22
"""Characters of a name that fit beside its figure at 400 pixels; the tables have the whole title."""
AXES = (0.1, 1, 2, 5, 10, 20, 50, 100)
"""Where an axis may end: round points, so that a switch of views rarely moves it."""
NOTHING_AXIS = 10
"""Where it ends when nothing reaches numerical noise: a finer one would magnify zeros."""


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
    drawn_ends = ("value", "high", "noise_high", "exact_high")
    reached = [mark[name] for mark in marks for name in drawn_ends if mark[name] is not None]
    return {
        "axis": axis_end(reached),
        "marks": marks,
        "note": _note(figure),
        "said": _said(marks, figure),
    }


def axis_end(values: Sequence[float]) -> float:
    """The round number at or past every value; points and percent both end at 100."""
    largest = max(values, default=0.0)
    if largest < NUMERICAL_NOISE:
        return NOTHING_AXIS
    return next((end for end in AXES if end >= largest), 100)


def _mark(row: Row, titles: dict[str, str], figure: PlottedFigure) -> Row:
    names = ("low", "high", "noise_low", "noise_high", "exact_low", "exact_high")
    sides: dict[str, float | None] = dict.fromkeys(names)
    if figure.has_interval:
        sides |= {end: _scaled(row[f"{figure.column}_{end}"], figure) for end in ("low", "high")}
    if figure.has_noise:
        sides |= {f"noise_{end}": _scaled(row[f"noise_{figure.column}_{end}"], figure) for end in ("low", "high")}
    if figure.column == "large_share":
        sides |= {f"exact_{end}": _scaled(row[f"large_share_exact_{end}"], figure) for end in ("low", "high")}
    return {
        "backend": row["backend"],
        "title": titles[row["backend"]],
        "short": shortened(titles[row["backend"]], LABEL_LENGTH),
        "value": _scaled(row[figure.column], figure),
        **sides,
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
    exact = ""
    if figure.column == "large_share":
        exact = "; dashed and “exact”: Clopper-Pearson over texts, where none or all are large"
    return f"{interval}; {noise}{exact}. The order of the rows is that of the figures and no ranking."


def _said(marks: list[Row], figure: PlottedFigure) -> str:
    if not marks:
        return "No sample is complete for every compared system: nothing to show."
    present = [mark for mark in marks if mark["value"] is not None]
    if not present:
        return f"No system has a {figure.words}."
    lowest, highest = ends(present, "value")
    if len(lowest) == len(present):
        return f"{figure.words.capitalize()}: {_named(lowest)}."
    return f"Lowest {figure.words}: {_named(lowest)}; highest: {_named(highest)}."


def _named(marks: list[Row]) -> str:
    """All of equal value, with the figure once where it is written alike."""
    labels = list(dict.fromkeys(mark["label"] for mark in marks))
    titles = listed([mark["title"] for mark in marks], shown=len(marks))
    return f"{titles}, {labels[0] if len(labels) == 1 else listed(labels, shown=len(labels))}"


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
    if mark["exact_high"] is not None:
        low, high = f"{mark['exact_low'] * share:.3f}%", f"{mark['exact_high'] * share:.3f}%"
        parts.append(svg.element("line", x1=low, x2=high, y1=line, y2=line, class_="whisker exact"))
    if mark["value"] is not None:
        parts.append(svg.element("circle", cx=f"{mark['value'] * share:.3f}%", cy=line, r=4.5))
    return svg.element("g", *parts, class_="interval")
