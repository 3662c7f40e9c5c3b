"""Latency as empirical distributions. Hosted and local are different modes and never share a panel."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from zs_assets.report import svg
from zs_assets.report.charts.figure import Figure, PanelGroup, series_class, system_legend

WIDTH, HEIGHT, LEFT, TOP, BOTTOM, RIGHT = 320, 220, 46, 26, 40, 14

MODES = {
    "local": (
        "Local mode: computed on this machine",
        "No network in it. Hardware and threads are in the provenance below.",
    ),
    "hosted": (
        "Hosted mode: answered over the network",
        "Network, the provider's queue and its hardware are in it: not comparable with the local mode.",
    ),
}


def latency_figure(report: dict[str, Any]) -> Figure:
    curves = report["curves"]["latency"]
    groups = []
    for mode, (heading, note) in MODES.items():
        own = [curve for curve in curves if curve["deployment"] == mode]
        values = [value for curve in own for value in curve["milliseconds"]]
        panels = tuple(
            _panel(report, dataset, mode, here, values)
            for dataset in report["study"]["datasets"]
            if (here := [curve for curve in own if curve["dataset"] == dataset])
        )
        if panels:
            groups.append(PanelGroup(heading, panels, note))
    thinned = " Long curves keep evenly spaced points." if any(curve["thinned"] for curve in curves) else ""
    return Figure(
        id="latency",
        title="Latency",
        caption="Share of valid rows answered within a time (empirical distribution, logarithmic time axis, one axis "
        "per mode). Only the successful attempt counts: no waits between attempts, no model loading, no warm-up. "
        f"Dotted lines: half and 95 % of the rows.{thinned}",
        groups=tuple(groups),
        legend=system_legend(report, [curve["backend"] for curve in curves]),
    )


def _panel(
    report: dict[str, Any], dataset: str, mode: str, curves: list[dict[str, Any]], values: list[float]
) -> Markup:
    x = svg.log_scale(values, LEFT, WIDTH - RIGHT)
    y = svg.Scale(0.0, 1.0, HEIGHT - BOTTOM, TOP)
    lines = [
        svg.path(
            _steps(curve, x, y),
            f"curve {series_class(report, curve['backend'])}",
            f"{curve['backend']} on {dataset}, {curve['n']} rows",
        )
        for curve in curves
    ]
    return svg.picture(
        WIDTH,
        HEIGHT,
        f"Latency of {', '.join(curve['backend'] for curve in curves)} on {dataset}, {mode} mode",
        svg.axes(x, y, "milliseconds", "share of rows", 5, 5),
        svg.line(x.start, y(0.5), x.end, y(0.5), "guide"),
        svg.line(x.start, y(0.95), x.end, y(0.95), "guide"),
        *lines,
        svg.text(LEFT, 16, dataset, "panel-title"),
    )


def _steps(curve: dict[str, Any], x: svg.Scale, y: svg.Scale) -> list[tuple[float, float]]:
    """The distribution as a staircase from the bottom."""
    points, reached = [], 0.0
    for value, share in zip(curve["milliseconds"], curve["share"], strict=True):
        points += [(x(value), y(reached)), (x(value), y(share))]
        reached = share
    return points
