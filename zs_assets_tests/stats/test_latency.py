"""Latency percentiles interpolate linearly, and say so."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as scipy_stats

from zs_assets.stats import empirical_distribution, latency_percentiles


def test_percentiles_are_type_7() -> None:
    percentiles = latency_percentiles(np.array([10.0, 20.0, 30.0, 40.0]))
    assert percentiles.p50 == 25.0
    assert percentiles.p95 == pytest.approx(38.5)


def test_percentiles_equal_scipy_with_its_default_plotting_positions() -> None:
    latency = np.random.default_rng(5).gamma(4.0, 60.0, 101)
    p50, p95 = scipy_stats.mstats.mquantiles(latency, [0.5, 0.95], alphap=1, betap=1)
    ours = latency_percentiles(latency)
    assert (ours.p50, ours.p95) == pytest.approx((p50, p95))


def test_the_distribution_counts_ties_once_and_equals_scipy() -> None:
    values = np.array([3.0, 1.0, 3.0, 2.0])
    ours, theirs = empirical_distribution(values), scipy_stats.ecdf(values).cdf
    assert ours.value.tolist() == theirs.quantiles.tolist() == [1.0, 2.0, 3.0]
    assert ours.share.tolist() == theirs.probabilities.tolist() == [0.25, 0.5, 1.0]


def test_no_row_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one row"):
        latency_percentiles(np.array([]))
