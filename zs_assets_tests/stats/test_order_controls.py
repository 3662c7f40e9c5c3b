"""Repeat controls: which pairs of replies are compared, and what they come to."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings

from zs_assets.stats import repeat_controls
from zs_assets_tests.stats.order_cases import (
    favours_first,
    order_blind,
    order_scores,
    plain_controls,
    small_scores,
    study_scores,
)

UNROUNDED = np.random.default_rng(21).dirichlet(np.ones(7), 30)


def test_42_same_order_and_182_different_order_comparisons_per_sample():
    controls = repeat_controls(study_scores(np.random.default_rng(1), samples=2))
    assert controls.same_comparisons == 42
    assert controls.different_comparisons == 182


def test_each_comparison_is_made_once_and_counted_in_both_directions():
    """One reply apart from all others: same-order pairs see it twice, different-order pairs once per other order."""
    values = np.zeros((3, 14, 3, 7))
    for sample, repeat in enumerate((0, 1, 2)):
        values[sample, 5, repeat] = 1.0
    controls = repeat_controls(order_scores(values))
    assert controls.same_order == pytest.approx(np.full(3, 100 * 2 / 42))
    # The third repeat takes part in no comparison between orders.
    assert controls.different_order == pytest.approx(100 * np.array([13 / 182, 13 / 182, 0]))


def test_721_samples_are_10_094_groups_of_repeats():
    controls = repeat_controls(study_scores(np.random.default_rng(2), samples=721))
    assert controls.winner_groups.size == 10_094
    assert controls.winner_groups.any(axis=1).shape == (721,)


@pytest.mark.parametrize("decimals", [None, 4])
def test_a_deterministic_order_blind_system_differs_nowhere(decimals):
    vectors = UNROUNDED if decimals is None else UNROUNDED.round(decimals)
    controls = repeat_controls(order_blind(vectors, decimals=decimals))
    assert not controls.same_order.any()
    assert not controls.different_order.any()
    assert not controls.winner_groups.any()


def test_order_variation_without_repeat_noise_is_all_excess():
    """Mass for what stands first: two orders differ by it in two options of seven, unless the same one is first.

    Each option is first in two of 14 orders, so 14 of the 182 comparisons see no difference.
    """
    controls = repeat_controls(favours_first(UNROUNDED * 0.7, 0.3))
    assert not controls.same_order.any()
    expected = 30 * 2 / 7 * (182 - 14) / 182
    assert controls.excess == pytest.approx(np.full(30, expected))
    assert controls.different_order == pytest.approx(np.full(30, expected))


def test_noise_that_knows_no_order_has_no_excess_on_average():
    controls = repeat_controls(study_scores(np.random.default_rng(3)))
    standard_error = controls.excess.std() / math.sqrt(len(controls.excess))
    assert abs(controls.excess.mean()) < 4 * standard_error


def test_a_group_counts_once_and_ties_do_not_count():
    a, b, tie = [0.6, 0.4], [0.4, 0.6], [0.5, 0.5]
    orders = [[a, a, a], [a, b, a], [a, b, b], [a, tie, tie], [a, tie, b], [tie, tie, tie]]
    controls = repeat_controls(order_scores([orders], decimals=2))
    assert controls.winner_groups.tolist() == [[False, True, True, False, True, False]]


def test_float_noise_breaks_no_tie_on_the_grid():
    controls = repeat_controls(order_scores([[[[0.1 + 0.2, 0.3], [0.3, 0.1 + 0.2]]] * 2], decimals=2))
    assert not controls.winner_groups.any()


def test_without_repeats_only_orders_can_be_compared():
    controls = repeat_controls(order_scores([[[[0.6, 0.4]], [[0.5, 0.5]], [[0.5, 0.5]]]], decimals=2))
    assert controls.same_order is None
    assert controls.excess is None
    assert controls.different_comparisons == 3
    assert controls.different_order == pytest.approx([20 / 3])
    assert not controls.winner_groups.any()


@settings(deadline=None)
@given(small_scores(least_orders=2))
def test_they_are_what_fractions_say_pair_by_pair(scores):
    controls = repeat_controls(scores)
    same, different, groups = zip(*plain_controls(scores), strict=True)
    assert controls.different_order == pytest.approx(np.array(different), abs=1e-12)
    assert controls.winner_groups.tolist() == list(groups)
    if scores.n_repeats == 1:
        assert same[0] is None
    else:
        assert controls.same_order == pytest.approx(np.array(same), abs=1e-12)
        assert controls.excess == pytest.approx(np.array(different) - np.array(same), abs=1e-12)


def test_a_single_order_and_incomplete_samples_are_refused():
    with pytest.raises(ValueError, match="at least two orders"):
        repeat_controls(order_scores(np.full((1, 1, 3, 2), 0.5)))
    with pytest.raises(ValueError, match="1 of 1 samples have replies without scores"):
        repeat_controls(order_scores([[[[0.5, 0.5]], [[math.nan, math.nan]]]]))
