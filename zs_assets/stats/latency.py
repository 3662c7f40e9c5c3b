"""How long one answer took: percentiles and the empirical distribution, of valid rows only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from zs_assets.stats.vectors import Floats


@dataclass(frozen=True)
class LatencyPercentiles:
    """Median and 95th percentile in the unit of the input."""

    p50: float
    p95: float


@dataclass(frozen=True, eq=False)
class EmpiricalDistribution:
    """One row per distinct value, ascending, with the share of rows at or below it."""

    value: Floats
    share: Floats


def latency_percentiles(latency: Floats) -> LatencyPercentiles:
    """Median and 95th percentile by linear interpolation (type 7 of Hyndman and Fan).

    The type is stated because libraries differ: polars takes the nearest rank by default.

    Parameters
    ----------
    latency : float64 (n,), n >= 1
    """
    if latency.size == 0:
        raise ValueError("latency needs at least one row.")
    p50, p95 = np.quantile(latency, [0.50, 0.95], method="linear")
    return LatencyPercentiles(float(p50), float(p95))


def empirical_distribution(values: Floats) -> EmpiricalDistribution:
    """Points of the empirical cumulative distribution.

    Parameters
    ----------
    values : float64 (n,), n >= 1
    """
    if values.size == 0:
        raise ValueError("values needs at least one row.")
    distinct, count = np.unique(values, return_counts=True)
    return EmpiricalDistribution(distinct, np.cumsum(count) / len(values))
