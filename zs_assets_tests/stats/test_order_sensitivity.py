"""Ranges, ties and winner changes: closed forms, exact thresholds, and a slow exact form on small cases."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings

from zs_assets.stats import range_histogram, sample_sensitivity, summarise_ranges
from zs_assets.stats.order_sensitivity import RANGE_TOLERANCE
from zs_assets_tests.stats.order_cases import favours_first, order_blind, order_scores, plain_sensitivity, small_scores

UNROUNDED = np.random.default_rng(11).dirichlet(np.ones(7), 50)
HUNDREDTHS = np.random.default_rng(12).multinomial(100, np.full(7, 1 / 7), 50) / 100


def two_orders(first: list[list[float]], second: list[list[float]], decimals: int | None = 2):
    """One sample with two orders of repeats."""
    return order_scores([[first, second]], decimals=decimals)


def two_options(sums: tuple[int, int], repeats: int, decimals: int):
    """One sample whose first option has these sums of grid units in its two orders, spread over the repeats."""
    unit = 10**decimals
    orders = []
    for total in sums:
        units = [total // repeats + (r < total % repeats) for r in range(repeats)]
        orders.append([[u / unit, (unit - u) / unit] for u in units])
    return order_scores([orders], decimals=decimals)


@pytest.mark.parametrize(("vectors", "decimals"), [(UNROUNDED, None), (HUNDREDTHS, 2), (UNROUNDED.round(4), 4)])
def test_an_order_blind_system_has_no_range_and_no_winner_change(vectors, decimals):
    sensitivity = sample_sensitivity(order_blind(vectors, decimals=decimals))
    assert not sensitivity.range_points.any()
    assert not sensitivity.winner_change.any()
    assert not sensitivity.reaches(10).any()
    assert sensitivity.reaches(0).all()


@pytest.mark.parametrize("mass", [0.001, 0.1, 0.37, 1.0])
def test_mass_for_whatever_stands_first_is_the_range(mass):
    sensitivity = sample_sensitivity(favours_first(UNROUNDED * (1 - mass), mass))
    assert sensitivity.range_points == pytest.approx(np.full(50, 100 * mass), abs=1e-12)
    assert sensitivity.reaches(100 * mass).all()
    assert not sensitivity.reaches(100 * mass + 1e-6).any()


@pytest.mark.parametrize("hundredths", [1, 10, 37, 100])
@pytest.mark.parametrize("repeats", [1, 2, 3, 6])
def test_on_the_grid_it_is_the_range_to_the_last_bit(hundredths, repeats):
    rest = np.random.default_rng(hundredths).multinomial(100 - hundredths, np.full(7, 1 / 7), 50) / 100
    sensitivity = sample_sensitivity(favours_first(rest, hundredths / 100, decimals=2, repeats=repeats))
    assert (sensitivity.range_points == hundredths).all()
    assert sensitivity.reaches(hundredths).all()
    assert not sensitivity.reaches(hundredths + 0.01).any()


def test_the_winner_is_always_what_stands_first_when_that_gets_most():
    sensitivity = sample_sensitivity(favours_first(UNROUNDED * 0.4, 0.6))
    assert sensitivity.winner_change.all()
    assert not sensitivity.tied.any()


def test_ten_points_exactly_reach_ten_points_on_the_grid():
    """Thirty hundredths of three repeats; as floats 0.29 + 0.29 + 0.29 - 3 x 0.19 is 0.30 only nearly."""
    reached = {difference: sample_sensitivity(two_options((57 + difference, 57), 3, 2)) for difference in (29, 30, 31)}
    assert {d: s.reaches(10).item() for d, s in reached.items()} == {29: False, 30: True, 31: True}
    assert reached[30].range_points.item() == 10.0
    assert reached[30].range_tolerance == 0


def test_a_range_prints_as_published():
    assert f"{sample_sensitivity(two_options((60, 22), 3, 2)).range_points.item():.2f}" == "12.67"


@pytest.mark.parametrize(("repeats", "decimals"), [(1, 2), (2, 2), (3, 4), (6, 4), (7, 3)])
@pytest.mark.parametrize("threshold", [10, 0.1, 12.5])
def test_the_threshold_is_exact_for_any_repeats_and_decimals(repeats, decimals, threshold):
    least = math.ceil(round(threshold * 10) * repeats * 10**decimals / 1000)
    for difference in (least - 1, least):
        sums = (repeats + difference, repeats)
        reaches = sample_sensitivity(two_options(sums, repeats, decimals)).reaches(threshold)
        assert reaches.item() is (difference == least)


def test_a_system_that_does_not_round_reaches_the_threshold_within_the_stated_tolerance():
    below, at, above = [[0.2, 0.8]] * 3, [[0.3, 0.7]] * 3, [[0.4, 0.6]] * 3
    # The same ten points, as doubles just below, at, or above 0.3 for three repeats.
    assert sample_sensitivity(two_orders(below, at, None)).reaches(10).all()
    assert sample_sensitivity(two_orders(at, above, None)).reaches(10).all()
    short = [[0.3 - RANGE_TOLERANCE, 0.7 + RANGE_TOLERANCE]] * 3
    sensitivity = sample_sensitivity(two_orders(below, short, None))
    assert not sensitivity.reaches(10).any()
    assert sensitivity.range_tolerance == pytest.approx(RANGE_TOLERANCE / 3 * 100)


def test_a_winner_change_needs_different_winners_and_no_tie_anywhere():
    first, second, tie = [[0.6, 0.3, 0.1]], [[0.3, 0.6, 0.1]], [[0.45, 0.45, 0.1]]
    sensitivity = sample_sensitivity(
        order_scores([[first, first, first], [first, second, first], [first, second, tie], [first, tie, first]])
    )
    assert sensitivity.winner_change.tolist() == [False, True, False, False]
    assert sensitivity.tied.tolist() == [False, False, True, True]


def test_a_tie_of_single_replies_is_none_when_the_repeats_break_it():
    order = [[0.45, 0.45, 0.1], [0.46, 0.44, 0.1], [0.45, 0.45, 0.1]]
    assert not sample_sensitivity(two_orders(order, order)).tied.any()


def test_repeats_that_even_out_are_a_tie_on_the_grid():
    """0.1 + 0.2 + 0.3 and 0.2 + 0.2 + 0.2 are equal in tenths, not as a running sum of doubles."""
    order = [[0.1, 0.2], [0.2, 0.2], [0.3, 0.2]]
    assert sample_sensitivity(two_orders(order, order)).tied.all()


@settings(deadline=None)
@given(small_scores())
def test_it_is_what_fractions_say(scores):
    sensitivity = sample_sensitivity(scores)
    ranges, tied, changes = zip(*plain_sensitivity(scores), strict=True)
    assert sensitivity.range_points == pytest.approx(np.array(ranges), abs=1e-12)
    assert sensitivity.tied.tolist() == list(tied)
    assert sensitivity.winner_change.tolist() == list(changes)


def test_incomplete_samples_are_refused():
    values = np.full((2, 2, 3, 2), 0.5)
    values[1, 1, 1] = math.nan
    with pytest.raises(ValueError, match="1 of 2 samples have replies without scores"):
        sample_sensitivity(order_scores(values))


def test_percentiles_interpolate_between_ranks():
    """Type 7 on 0 .. 10 in ten steps: rank .95 * 10 lies half way between 9 and 10."""
    summary = summarise_ranges(np.arange(11.0)[::-1])
    assert (summary.median, summary.p95, summary.maximum) == (5.0, 9.5, 10.0)
    assert summarise_ranges(np.array([])) is None


def test_bins_include_their_lower_edge_and_the_last_one_its_upper():
    counts = range_histogram(np.array([0.0, 0.5, 1.0, 9.999, 10.0, 99.0, 100.0]))
    assert len(counts) == 100
    assert {at: int(counts[at]) for at in np.flatnonzero(counts)} == {0: 2, 1: 1, 9: 1, 10: 1, 99: 2}


def test_a_range_outside_the_bins_is_refused():
    with pytest.raises(ValueError, match=r"1 ranges, the first 12\.0, lie outside 0\.0 to 10\.0"):
        range_histogram(np.array([3.0, 12.0]), np.array([0.0, 5.0, 10.0]))
