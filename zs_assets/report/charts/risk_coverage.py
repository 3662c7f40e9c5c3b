"""Risk against coverage: how many answers can be taken without a look before the errors exceed the budget."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from markupsafe import Markup

from zs_assets.report import svg
from zs_assets.report.charts.figure import (
    Figure,
    LegendEntry,
    PanelGroup,
    confidence_note,
    series_class,
    system_legend,
)

WIDTH, HEIGHT, LEFT, TOP, BOTTOM, RIGHT = 320, 240, 46, 26, 40, 12


def risk_coverage_figure(report: dict[str, Any]) -> Figure:
    curves = report["curves"]["risk_coverage"]
    if _shown_with_certified_thresholds(report, curves):
        curves = []
    budget = Fraction(report["study"]["scoring"]["error_budget"])
    chosen = {(row["dataset"], row["backend"]): row for row in report["metrics"]}
    panels = [
        _panel(report, dataset, own, chosen, float(budget))
        for dataset in report["study"]["datasets"]
        if (own := [curve for curve in curves if curve["dataset"] == dataset])
    ]
    thinned = " Long curves keep evenly spaced levels." if any(curve["thinned"] for curve in curves) else ""
    return Figure(
        id="coverage",
        title=f"Coverage at an error budget of {float(budget):.3g}",
        caption=f"Answers accepted from the highest confidence down ({confidence_note(report)}; unrounded levels, "
        "equal confidences together). Coverage: accepted over all planned examples, failures included. The large mark "
        f"is the largest coverage whose errors stay within {budget} of the accepted (integers, no float noise); a "
        "system without one has coverage 0. It is chosen on the rows that score it: descriptive, no guarantee for a "
        f"deployed threshold.{thinned}",
        groups=(PanelGroup("", tuple(panels)),) if panels else (),
        legend=(
            *system_legend(report, [curve["backend"] for curve in curves]),
            LegendEntry("stroke budget", "error budget"),
        ),
    )


def _shown_with_certified_thresholds(report: dict[str, Any], curves: list[dict[str, Any]]) -> bool:
    """The figure with certified thresholds has every curve of this one, and no dataset has two curves to compare."""
    levels = {(row["dataset"], row["backend"]) for row in report["analyses"]["confidence_levels"]}
    partitions = [(curve["dataset"], curve["backend"]) for curve in curves]
    datasets = [dataset for dataset, _ in partitions]
    return levels.issuperset(partitions) and len(set(datasets)) == len(datasets)


def _panel(
    report: dict[str, Any],
    dataset: str,
    curves: list[dict[str, Any]],
    chosen: dict[tuple[str, str], dict[str, Any]],
    budget: float,
) -> Markup:
    highest = max([2 * budget, *(risk for curve in curves for risk in curve["risk"])])
    x = svg.Scale(0.0, 1.0, LEFT, WIDTH - RIGHT)
    y = svg.Scale(0.0, min(1.0, highest * 1.05), HEIGHT - BOTTOM, TOP)
    marks = []
    for curve in curves:
        name, row = curve["backend"], chosen.get((dataset, curve["backend"]))
        style = series_class(report, name)
        points = [(x(c), y(r)) for c, r in zip(curve["coverage"], curve["risk"], strict=True)]
        if len(points) == 1:  # one level (the control): a line of no length would not show
            marks.append(
                svg.element(
                    "circle", svg.element("title", name), cx=points[0][0], cy=points[0][1], r=3, class_=f"dot {style}"
                )
            )
        else:
            marks.append(svg.path(points, f"curve {style}", f"{name} on {dataset}"))
        if row is not None and row["risk"] is not None:
            tip = (
                f"{name}: coverage {row['coverage']:.3f} ({row['accepted']} accepted, {row['errors']} errors), "
                f"threshold {row['threshold']:.4g}"
            )
            marks.append(
                svg.element(
                    "circle",
                    svg.element("title", tip),
                    cx=x(row["coverage"]),
                    cy=y(row["risk"]),
                    r=5,
                    class_=f"dot {style}",
                )
            )
    return svg.picture(
        WIDTH,
        HEIGHT,
        f"Risk against coverage on {dataset}: " + ", ".join(curve["backend"] for curve in curves),
        svg.axes(x, y, "coverage (share accepted)", "risk (share wrong)", 5, 5),
        svg.line(x(0), y(budget), x(1), y(budget), "budget"),
        *marks,
        svg.text(LEFT, 16, dataset, "panel-title"),
    )
