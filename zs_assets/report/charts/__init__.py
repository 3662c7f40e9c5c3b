"""The report's charts, one module each: report.json in, a figure of small inline pictures out."""

from __future__ import annotations

from typing import Any

from zs_assets.report.charts.figure import Figure
from zs_assets.report.charts.forest import forest_figure
from zs_assets.report.charts.funnel import funnel_figure
from zs_assets.report.charts.latency import latency_figure
from zs_assets.report.charts.reliability import reliability_figure
from zs_assets.report.charts.risk_coverage import risk_coverage_figure

FIGURES = (forest_figure, reliability_figure, risk_coverage_figure, latency_figure, funnel_figure)


def figures(report: dict[str, Any]) -> list[Figure]:
    """Every figure that has something to show, in the order of the page."""
    drawn = (make(report) for make in FIGURES)
    return [figure for figure in drawn if figure.groups]
