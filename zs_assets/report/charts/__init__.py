"""The report's charts, one module each: report.json in, a figure of small inline pictures out."""

from __future__ import annotations

from typing import Any

from zs_assets.report.charts.accuracy_cost import accuracy_cost_figure
from zs_assets.report.charts.auroc_forest import auroc_figure
from zs_assets.report.charts.certified_coverage import certified_coverage_figure
from zs_assets.report.charts.figure import Figure
from zs_assets.report.charts.forest import forest_figure
from zs_assets.report.charts.funnel import funnel_figure
from zs_assets.report.charts.latency import latency_figure
from zs_assets.report.charts.level_calibration import level_calibration_figure
from zs_assets.report.charts.reference_agreement import reference_agreement_figure
from zs_assets.report.charts.reliability import reliability_figure
from zs_assets.report.charts.risk_coverage import risk_coverage_figure
from zs_assets.report.charts.tier_disagreements import tier_disagreements_figure

FIGURES = (
    forest_figure,
    accuracy_cost_figure,
    tier_disagreements_figure,
    level_calibration_figure,
    reliability_figure,
    certified_coverage_figure,
    risk_coverage_figure,
    auroc_figure,
    reference_agreement_figure,
    latency_figure,
    funnel_figure,
)


def figures(report: dict[str, Any]) -> list[Figure]:
    """Every figure that has something to show, in the order of the page."""
    drawn = (make(report) for make in FIGURES)
    return [figure for figure in drawn if figure.groups]
