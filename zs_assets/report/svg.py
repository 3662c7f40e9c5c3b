"""Hand-written SVG: elements with escaped text, scales and axes.

A chart library would take longer to start than the whole report takes to render, and its pictures would carry
fonts and colours of their own; these take theirs from the page, so that light and dark both read well.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

Number = float | int


def number(value: Number) -> str:
    """A coordinate with a tenth of a pixel."""
    return f"{value:.1f}".removesuffix(".0")


def element(name: str, *children: object, **attributes: object) -> Markup:
    """`<name ...>children</name>`; text and attribute values are escaped, `class_` and `stroke_width` renamed."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(number(value) if isinstance(value, (int, float)) else value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{written}>{''.join(escape(child) for child in children)}</{name}>")


def text(x: Number, y: Number, content: str, class_: str = "", anchor: str | None = None) -> Markup:
    return element("text", content, x=x, y=y, class_=class_ or None, text_anchor=anchor)


def line(x1: Number, y1: Number, x2: Number, y2: Number, class_: str) -> Markup:
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def path(points: Sequence[tuple[float, float]], class_: str, tip: str) -> Markup:
    """A line through the points; `tip` shows on hover."""
    joined = " L".join(f"{number(x)} {number(y)}" for x, y in points)
    return element("path", element("title", tip), d=f"M{joined}", class_=class_, fill="none")


def picture(width: Number, height: Number, label: str, *children: object) -> Markup:
    """The whole drawing; a screen reader hears `label`."""
    return element(
        "svg",
        element("title", label),
        *children,
        viewBox=f"0 0 {number(width)} {number(height)}",
        role="img",
        aria_label=label,
        class_="chart",
    )


@dataclass(frozen=True)
class Scale:
    """Maps [low, high] to pixels [start, end]; `log` for positive values."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high, at = (
            (math.log10(v) for v in (self.low, self.high, max(value, self.low)))
            if self.log
            else (
                self.low,
                self.high,
                value,
            )
        )
        return self.start + (at - low) / (high - low) * (self.end - self.start)

    def ticks(self, about: int = 5) -> list[float]:
        """Round values inside the scale: powers of ten (with 2 and 5 where they fit), or steps of 1, 2 or 5."""
        if self.log:
            return self._log_ticks(about)
        raw = (self.high - self.low) / about
        magnitude = 10.0 ** math.floor(math.log10(raw))
        step = next(m * magnitude for m in (1, 2, 5, 10) if m * magnitude >= raw * 0.999)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [round(k * step, 12) for k in range(first, last + 1)]

    def _log_ticks(self, about: int) -> list[float]:
        exponents = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        for mantissas in ((1, 1.5, 2, 3, 4, 5, 7), (1, 2, 5), (1, 3), (1,)):
            found = [m * 10.0**e for e in exponents for m in mantissas if self.low <= m * 10.0**e <= self.high * 1.001]
            if len(found) <= about:
                break
        every = max(1, math.ceil(len(found) / about))
        return found[::every]


def log_scale(values: Sequence[float], start: float, end: float) -> Scale:
    """A log scale around the values, at least one third of a decade wide."""
    positive = [value for value in values if value > 0] or [1.0]
    low, high = min(positive) / 1.15, max(positive) * 1.15
    if high / low < 2:
        low, high = low / 1.4, high * 1.4
    return Scale(low, high, start, end, log=True)


def tick_label(value: float) -> str:
    return f"{value:g}".replace("-", "−")


def axes(x: Scale, y: Scale, x_title: str, y_title: str, x_ticks: int = 5, y_ticks: int = 5) -> Markup:
    """Grid lines, tick labels and axis titles; `y.start` is the bottom."""
    parts = []
    for tick in x.ticks(x_ticks):
        parts += [
            line(x(tick), y.start, x(tick), y.end, "grid"),
            text(x(tick), y.start + 14, tick_label(tick), "tick", "middle"),
        ]
    for tick in y.ticks(y_ticks):
        parts += [
            line(x.start, y(tick), x.end, y(tick), "grid"),
            text(x.start - 5, y(tick) + 4, tick_label(tick), "tick", "end"),
        ]
    middle = (y.start + y.end) / 2
    parts += [
        text((x.start + x.end) / 2, y.start + 29, x_title, "axis", "middle"),
        element(
            "text",
            y_title,
            transform=f"translate(11 {number(middle)}) rotate(-90)",
            class_="axis",
            text_anchor="middle",
        ),
    ]
    return Markup("").join(parts)
