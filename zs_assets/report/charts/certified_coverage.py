"""Risk against coverage at the observed levels, with what is certified: one panel per dataset and system."""

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
    shortened,
)
from zs_assets.report.charts.selective_rows import cells
from zs_assets.report.wording import exact_share, listed, share

WIDTH, HEIGHT, LEFT, TOP, BOTTOM, RIGHT = 340, 268, 46, 50, 40, 12
MAX_POINTS = 200
FEW_ACCEPTED = 20
"""Below this many accepted rows a bound is so high that it would set the axis; it is cut instead."""

Row = dict[str, Any]


def certified_coverage_figure(report: dict[str, Any]) -> Figure:
    budget = Fraction(report["study"]["scoring"]["error_budget"])
    chosen = {(row["dataset"], row["backend"]): row for row in report["metrics"]}
    panels: dict[str, list[Markup]] = {}
    thinned = False
    for dataset, backend, levels in cells(report, "confidence_levels"):
        certified = strictest(report, dataset, backend)
        thinned |= len(levels) > MAX_POINTS
        panel = _panel(report, levels, certified, chosen.get((dataset, backend)), float(budget))
        panels.setdefault(dataset, []).append(panel)
    cut = f" Panels of more than {MAX_POINTS} levels keep evenly spaced ones." if thinned else ""
    return Figure(
        id="certified",
        title="Risk and coverage at the observed levels, with certified thresholds",
        caption=f"One dot per observed level, accepting from the highest confidence down ({confidence_note(report)}); "
        "nothing lies between two dots. Coverage: accepted over all planned examples, failures included. Thin bars up "
        "to the one-sided 95 % Clopper-Pearson bound of the risk at that one level (an addition): each bound holds by "
        "itself, they do not hold together, and those past the frame are cut. Diamonds: the lowest threshold certified "
        "for a risk limit by exact binomial tests on a fixed grid from 1.00 down, stopped at the first failure, at the "
        "strictest confidence the study asks for (an addition). Ring: the plug-in choice at the error budget of "
        f"{budget}, the protocol's figure, made on the rows that score it and no promise.{cut}",
        groups=tuple(PanelGroup(dataset, tuple(own)) for dataset, own in panels.items()),
        legend=(
            LegendEntry("mark-circle", "observed level"),
            LegendEntry("mark-diamond", "certified threshold, with its risk limit"),
            LegendEntry("mark-circle ring", "plug-in choice at the error budget"),
            LegendEntry("stroke budget", "error budget"),
        ),
        panel_width=300,
    )


def strictest(report: dict[str, Any], dataset: str, backend: str) -> list[Row]:
    """Certified thresholds at the highest confidence level asked for, strictest risk limit first."""
    rows = [
        row
        for row in report["analyses"]["certified_thresholds"]
        if (row["dataset"], row["backend"]) == (dataset, backend)
    ]
    highest = max((Fraction(row["confidence_level"]) for row in rows), default=None)
    kept = [row for row in rows if Fraction(row["confidence_level"]) == highest]
    return sorted(kept, key=lambda row: Fraction(row["risk_limit"]))


def _panel(
    report: dict[str, Any], levels: list[Row], certified: list[Row], plug_in: Row | None, budget: float
) -> Markup:
    dataset, backend = levels[0]["dataset"], levels[0]["backend"]
    x = svg.Scale(0.0, 1.0, LEFT, WIDTH - RIGHT)
    y = svg.Scale(0.0, _highest(levels, budget), HEIGHT - BOTTOM, TOP)
    every = -(-len(levels) // MAX_POINTS)
    shown = [row for position, row in enumerate(levels) if position % every == 0 or row is levels[-1]]
    return svg.picture(
        WIDTH,
        HEIGHT,
        f"Risk against coverage of {backend} on {dataset} at {len(levels)} observed levels",
        svg.axes(x, y, "coverage (share accepted)", "risk (share wrong)", 5, 5),
        svg.line(x(0), y(budget), x(1), y(budget), "budget"),
        svg.element("g", *(_level(row, x, y) for row in shown), class_=f"levels {series_class(report, backend)}"),
        *_plug_in(plug_in, x, y),
        *_certified(certified, x, y),
        svg.text(LEFT, 14, shortened(backend, 30), "panel-title"),
        *(svg.text(LEFT, 28 + 13 * line, said, "tick") for line, said in enumerate(_said(certified))),
    )


def _highest(levels: list[Row], budget: float) -> float:
    risks = [2 * budget, *(row["risk"] for row in levels)]
    risks += [row["risk_upper"] for row in levels if row["accepted"] >= FEW_ACCEPTED]
    return min(1.0, max(risks) * 1.08)


def _level(row: Row, x: svg.Scale, y: svg.Scale) -> Markup:
    at, bound = x(row["coverage"]), min(row["risk_upper"], y.high)
    tip = (
        f"accepting from {row['level']:.4g}: coverage {share(row['coverage'])}, {row['errors']} of {row['accepted']} "
        f"wrong ({share(row['risk'])}), at most {share(row['risk_upper'])} (one-sided 95 %, this level alone)"
    )
    return svg.element(
        "g",
        svg.element("title", tip),
        svg.line(at, y(row["risk"]), at, y(bound), "bound"),
        svg.element("circle", cx=at, cy=y(row["risk"]), r=3.6 if row["atom"] else 2.2),
        class_="level",
    )


def _plug_in(row: Row | None, x: svg.Scale, y: svg.Scale) -> list[Markup]:
    if row is None or row["risk"] is None:
        return []
    tip = (
        f"plug-in choice: from {row['threshold']:.4g}, coverage {share(row['coverage'])}, {row['errors']} of "
        f"{row['accepted']} wrong; chosen on the rows that score it"
    )
    return [
        svg.element(
            "circle",
            svg.element("title", tip),
            cx=x(row["coverage"]),
            cy=y(row["risk"]),
            r=8,
            class_="mark-circle ring",
        )
    ]


def _certified(rows: list[Row], x: svg.Scale, y: svg.Scale) -> list[Markup]:
    """A diamond per certified threshold; limits that share one are labelled together, so that none is hidden."""
    places: dict[tuple[float, int, int], list[Row]] = {}
    for row in rows:
        if row["threshold"] is not None:
            places.setdefault((row["coverage"], row["errors"], row["accepted"]), []).append(row)
    marks: list[Markup] = []
    for (coverage, errors, accepted), own in places.items():
        risk = errors / accepted if accepted else 0.0
        limits = listed([exact_share(row["risk_limit"]) for row in own])
        tip = f"certified for risk {limits}: from {own[0]['threshold']:.4g}, {errors} of {accepted} wrong"
        at, height = x(coverage), y(min(risk, y.high))
        marks.append(
            svg.element(
                "path",
                svg.element("title", tip),
                d=f"M{at:.1f} {height - 5:.1f}l5 5 -5 5 -5 -5z",
                class_="mark-diamond",
            )
        )
        anchor, offset = ("end", -9) if at > x.end - 40 else ("start", 9)
        marks.append(svg.text(at + offset, height + 14, f"≤ {limits}", "tick halo", anchor))
    return marks


def _said(rows: list[Row]) -> list[str]:
    """Two short lines: what is certified at all, and what is not."""
    if not rows:
        return ["no certified threshold was asked for"]
    level = exact_share(rows[0]["confidence_level"])
    none = [exact_share(row["risk_limit"]) for row in rows if row["threshold"] is None]
    best = next((row for row in rows if row["threshold"] is not None), None)
    said = (
        []
        if best is None
        else [f"certified ({level}): errors ≤ {exact_share(best['risk_limit'])} from {best['threshold']:.2f}"]
    )
    return said + ([f"no threshold certified ({level}) for {listed(none)}"] if none else [])
