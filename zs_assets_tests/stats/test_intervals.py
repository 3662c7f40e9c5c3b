"""Intervals of shares: published figures, scipy's own, and the coverage that exact means."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from zs_assets.stats import clopper_pearson_interval, clopper_pearson_upper, wilson_interval

INTERVALS = [wilson_interval, clopper_pearson_interval]
COUNTS = st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


def test_published_interval_of_389_of_500() -> None:
    exact = clopper_pearson_interval(389, 500)
    wilson = wilson_interval(389, 500)
    assert (exact.low, exact.high) == pytest.approx((0.73898, 0.81369), abs=5e-6)
    assert (wilson.low, wilson.high) == pytest.approx((0.73953, 0.81223), abs=5e-6)


@pytest.mark.parametrize(("errors", "accepted", "bound"), [(4, 83, 0.1069), (10, 238, 0.0702), (0, 59, 0.0495)])
def test_published_upper_bounds_of_an_error_rate(errors: int, accepted: int, bound: float) -> None:
    assert float(clopper_pearson_upper(errors, accepted)) == pytest.approx(bound, abs=5e-5)


@given(COUNTS, st.sampled_from([0.8, 0.9, 0.95, 0.99]))
def test_both_intervals_equal_those_of_scipy(counts: tuple[int, int], level: float) -> None:
    test = binomtest(*counts)
    for interval, method in zip(INTERVALS, ("wilson", "exact"), strict=True):
        ours, theirs = interval(*counts, confidence_level=level), test.proportion_ci(level, method)
        assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-10)


@given(COUNTS, st.sampled_from([0.8, 0.9, 0.95, 0.99]))
def test_at_the_upper_bound_the_lower_tail_is_what_the_level_leaves(counts: tuple[int, int], level: float) -> None:
    right, n = counts
    bound = float(clopper_pearson_upper(right, n, confidence_level=level))
    if right == n:
        assert bound == 1.0
    else:
        assert binom.cdf(right, n, bound) == pytest.approx(1 - level, abs=1e-9)


@pytest.mark.parametrize("n", [1, 7, 30, 83])
def test_the_exact_interval_covers_every_share(n: int) -> None:
    shares = np.linspace(0.001, 0.999, 333)
    right = np.arange(n + 1)
    interval = clopper_pearson_interval(right, n)
    inside = (interval.low[:, None] <= shares) & (shares <= interval.high[:, None])
    assert np.all((binom.pmf(right[:, None], n, shares) * inside).sum(axis=0) >= 0.95 - 1e-12)


@pytest.mark.parametrize("interval", INTERVALS)
def test_none_and_all_right_end_at_zero_and_one(interval) -> None:
    ends = interval([0, 12], 12)
    assert (ends.low[0], ends.high[1]) == (0.0, 1.0)
    assert ends.high[0] == pytest.approx(1 - ends.low[1], abs=1e-12)


def test_without_trials_there_is_no_interval() -> None:
    for interval in INTERVALS:
        assert np.isnan(interval(0, 0).low)
        assert np.isnan(interval(0, 0).high)
    assert np.isnan(clopper_pearson_upper([0, 1], [0, 9])).tolist() == [True, False]


def test_no_counts_at_all_are_no_intervals() -> None:
    assert clopper_pearson_interval([], []).low.shape == (0,)


@pytest.mark.parametrize("interval", [*INTERVALS, clopper_pearson_upper])
def test_wrong_counts_are_refused_in_one_sentence(interval) -> None:
    with pytest.raises(ValueError, match=r"between 0 and trials\."):
        interval(3, 2)
    with pytest.raises(ValueError, match="counts, not shares"):
        interval(0.5, 2)
    with pytest.raises(ValueError, match="confidence_level"):
        interval(1, 2, confidence_level=95)
