"""Reliability diagrams: stated confidence against the share that was right, one panel per dataset and system."""

from __future__ import annotations

import math
from typing import Any

from markupsafe import Markup

from zs_assets.report import svg
from zs_assets.report.charts.figure import Figure, PanelGroup, confidence_note, series_class, shortened
from zs_assets.report.wording import figure as written
from zs_assets.stats import ECE_BINS

WIDTH, HEIGHT, LEFT, TOP, BOTTOM, RIGHT = 196, 220, 40, 36, 34, 8


def reliability_figure(report: dict[str, Any]) -> Figure:
    curves = report["curves"]["reliability"]
    ece = {(row["dataset"], row["backend"]): row["ece"] for row in report["metrics"]}
    groups = []
    for dataset in report["study"]["datasets"]:
        panels = [
            _panel(report, curve, ece.get((dataset, curve["backend"])))
            for curve in curves
            if curve["dataset"] == dataset
        ]
        if panels:
            groups.append(PanelGroup(dataset, tuple(panels)))
    return Figure(
        id="reliability",
        title="Reliability",
        caption=f"Valid rows in {ECE_BINS} equal-width bins [k/{ECE_BINS}, (k+1)/{ECE_BINS}), the last one closed, "
        f"edges exact on the system's decimal grid. Confidence: {confidence_note(report)}. A mark stands at the bin's "
        "mean confidence and its share of right answers, its area grows with the bin's rows, and the line to the "
        "diagonal is the gap that ECE averages. ECE is biased upwards at small n.",
        groups=tuple(groups),
        panel_width=196,
    )


def _panel(report: dict[str, Any], curve: dict[str, Any], ece: float | None) -> Markup:
    x = svg.Scale(0.0, 1.0, LEFT, WIDTH - RIGHT)
    y = svg.Scale(0.0, 1.0, HEIGHT - BOTTOM, TOP)
    rows = sum(curve["count"])
    marks = []
    for lower, upper, count, confidence, accuracy in zip(
        *(curve[key] for key in ("lower", "upper", "count", "mean_confidence", "accuracy")), strict=True
    ):
        if confidence is None or accuracy is None:
            continue
        tip = f"{lower:g} to {upper:g}: {count} rows, mean confidence {confidence:.3f}, right {accuracy:.3f}"
        radius = 2.5 + 9.0 * math.sqrt(count / rows)
        marks.append(
            svg.element(
                "g",
                svg.element("title", tip),
                svg.line(x(confidence), y(confidence), x(confidence), y(accuracy), "gap"),
                svg.element("circle", cx=x(confidence), cy=y(accuracy), r=radius),
            )
        )
    name = curve["backend"]
    return svg.picture(
        WIDTH,
        HEIGHT,
        f"Reliability of {name} on {curve['dataset']}: ECE {written(ece)}, {rows} rows",
        svg.axes(x, y, "confidence", "share right", 4, 4),
        svg.line(x(0), y(0), x(1), y(1), "diagonal"),
        svg.element("g", *marks, class_=f"bubbles {series_class(report, name)}"),
        svg.text(LEFT, 14, shortened(name, 20), "panel-title"),
        svg.text(LEFT, 29, f"ECE {written(ece)} · n {rows}", "tick"),
    )
