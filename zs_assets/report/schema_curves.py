"""The points of the charts in report.json."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from zs_assets.report.schema_part import Part


class ReliabilityCurve(Part):
    """Ten equal bins of the top-label confidence; empty bins have null means."""

    dataset: str = Field(description="dataset partition")
    backend: str = Field(description="backend partition")
    lower: list[float] = Field(description="lower edges")
    upper: list[float] = Field(description="upper edges")
    count: list[int] = Field(description="valid rows in each bin")
    mean_confidence: list[float | None] = Field(description="mean confidence of the rows")
    accuracy: list[float | None] = Field(description="share of them predicted right")


class RiskCoverageCurve(Part):
    """Risk against coverage, from the highest confidence level down."""

    dataset: str = Field(description="dataset partition")
    backend: str = Field(description="backend partition")
    level: list[float] = Field(description="confidence level accepted down to")
    coverage: list[float] = Field(description="accepted over planned")
    risk: list[float] = Field(description="errors over accepted")
    thinned: bool = Field(description="true: only some of the levels are kept")


class LatencyCurve(Part):
    """Empirical distribution of latency over valid rows."""

    dataset: str = Field(description="dataset partition")
    backend: str = Field(description="backend partition")
    deployment: Literal["hosted", "local"] = Field(description="mode of deployment")
    n: int = Field(description="valid rows")
    milliseconds: list[float] = Field(description="distinct latencies, ascending")
    share: list[float] = Field(description="share of rows at or below")
    thinned: bool = Field(description="true: only some of the points are kept")


class CurvesPart(Part):
    """Points of the charts."""

    reliability: list[ReliabilityCurve] = Field(description="one per partition with a confidence")
    risk_coverage: list[RiskCoverageCurve] = Field(description="one per partition with a confidence")
    latency: list[LatencyCurve] = Field(description="one per partition with a latency")
