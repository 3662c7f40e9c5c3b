"""Scores of one system: the label check, completeness, the grid, and sums that are rounded once."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zs_assets.stats.order_scores import NO_LABEL, OrderScores, correctly_rounded_sums
from zs_assets_tests.stats.order_cases import order_scores


def one_reply(vector: list[float], chosen: int, decimals: int | None = 2) -> OrderScores:
    return order_scores([[[vector]]], decimals=decimals, chosen=[[[chosen]]])


@pytest.mark.parametrize(
    ("vector", "chosen", "fits"),
    [
        ([0.5, 0.3, 0.2], 0, True),
        ([0.4, 0.4, 0.2], 0, True),
        ([0.4, 0.4, 0.2], 1, True),
        ([0.40, 0.41, 0.19], 0, False),
        ([0.5, 0.3, 0.2], NO_LABEL, True),
    ],
    ids=["highest", "first of a tie", "second of a tie", "one grid step below", "no label"],
)
def test_the_chosen_label_must_be_among_the_highest_scores(vector, chosen, fits):
    assert one_reply(vector, chosen).label_fits.item() is fits


def test_the_label_check_has_no_tolerance():
    assert not one_reply([0.5, math.nextafter(0.5, 1), 0.0], 0, decimals=None).label_fits.any()


def test_a_reply_without_scores_passes_no_check_even_with_a_label():
    scores = one_reply([math.nan] * 3, 0)
    assert not scores.scored.any()
    assert not scores.label_fits.any()


def test_one_missing_reply_makes_its_sample_incomplete_and_no_other():
    values = np.full((2, 4, 3, 2), 0.5)
    values[1, 2, 1] = math.nan
    scores = order_scores(values, decimals=2)
    assert scores.score_complete.tolist() == [True, False]
    assert scores.of(scores.score_complete).score_complete.tolist() == [True]


def test_one_label_mismatch_makes_a_score_complete_sample_not_strict():
    chosen = np.zeros((2, 2, 3), dtype=int)
    chosen[0, 1, 2] = 1
    scores = order_scores(np.broadcast_to([0.6, 0.4], (2, 2, 3, 2)), decimals=2, chosen=chosen)
    assert scores.score_complete.tolist() == [True, True]
    assert scores.strict_complete.tolist() == [False, True]


def test_float_noise_is_on_the_grid_and_half_a_step_is_not():
    assert one_reply([0.1 + 0.2, 0.7], 1).grid.ravel().tolist() == [30, 70]
    assert one_reply([0.305, 0.695], 1).grid is None
    assert one_reply([0.30, 0.70], 1, decimals=None).grid is None


def test_missing_replies_do_not_take_a_system_off_its_grid():
    scores = order_scores([[[[0.25, 0.75], [math.nan, math.nan]]]], decimals=2)
    assert scores.grid.tolist() == [[[[25, 75], [0, 0]]]]


def test_sums_of_incomplete_samples_are_refused_with_the_way_out():
    values = np.full((3, 2, 2, 2), 0.5)
    values[0, 0, 0] = math.nan
    with pytest.raises(ValueError, match=r"1 of 3 samples .* pass scores\.of\(scores\.score_complete\)"):
        _ = order_scores(values).order_sums


def test_orders_with_the_same_replies_in_another_sequence_have_equal_sums():
    """(0.1 + 0.2) + 0.3 and 0.1 + (0.2 + 0.3) differ as doubles; the winner must not hang on that."""
    replies = [[a, 0.5] for a in (0.1, 0.2, 0.3)]
    scores = order_scores([[list(sequence) for sequence in permutations(replies)]])
    assert np.unique(scores.order_sums[0, :, 0]).tolist() == [math.fsum([0.1, 0.2, 0.3])]


@settings(deadline=None)
@given(
    st.integers(1, 7).flatmap(
        lambda r: st.lists(st.lists(st.floats(-1e100, 1e100), min_size=r, max_size=r), min_size=1)
    )
)
def test_sums_are_those_of_fsum(columns):
    assert correctly_rounded_sums(np.array(columns).T).tolist() == [math.fsum(column) for column in columns]


def test_sums_are_those_of_fsum_where_the_remainders_round_too():
    # 1 + 2^-53 lies half way between two doubles; the third term decides, and it is too small for the remainder.
    columns = [[1.0, 2.0**-53, 2.0**-120], [1.0, 2.0**-53, -(2.0**-120)], [1.0, 2.0**-53, 0.0]]
    sums = correctly_rounded_sums(np.array(columns).T)
    assert sums.tolist() == [math.nextafter(1, 2), 1.0, 1.0]


@pytest.mark.parametrize("decimals", [-1, 10])
def test_decimals_out_of_range_are_refused(decimals):
    with pytest.raises(ValueError, match=f"decimals is {decimals}: give 0 to 9"):
        order_scores(np.full((1, 2, 1, 2), 0.5), decimals=decimals)


def test_shapes_that_do_not_belong_together_are_refused():
    scores, chosen, orders = np.zeros((2, 4, 3, 2)), np.zeros((2, 4, 3), dtype=int), np.zeros((4, 2), dtype=int)
    with pytest.raises(ValueError, match=r"are not \(n, O, R, K\), \(n, O, R\)"):
        OrderScores(scores, chosen[:, :3], orders)
    with pytest.raises(ValueError, match="do not fit 4 orders"):
        OrderScores(scores, chosen, orders[:3])
