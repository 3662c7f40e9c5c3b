"""Scores by position: an order-blind system is even everywhere, a bias towards a place shows at that place."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zs_assets.stats.order_positions import is_balanced, position_means
from zs_assets.stats.order_scores import OrderScores
from zs_assets_tests.stats.rotation_replies import (
    first_position_bias,
    order_blind,
    random_replies,
    replies,
    rotations,
)


def position_means_by_loop(scores: OrderScores) -> np.ndarray:
    means = np.zeros((len(scores), scores.n_options))
    for position in range(scores.n_options):
        there = [scores.scores[:, o, :, order[position]] for o, order in enumerate(scores.orders)]
        means[:, position] = 100 * np.mean(there, axis=(0, 2))
    return means


@settings(deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 9), st.sampled_from([None, 1, 2, 4]))
def test_position_means_equal_the_loop_over_orders(seed: int, n_options: int, decimals: int | None) -> None:
    scores = random_replies(seed, 3, n_options, decimals)
    assert position_means(scores) == pytest.approx(position_means_by_loop(scores), abs=1e-9)


@pytest.mark.parametrize("decimals", [2, None])
def test_an_order_blind_system_is_even_in_every_position(decimals: int | None) -> None:
    vectors = np.array([[0.7, 0.1, 0.1, 0.05, 0.05], [0.2, 0.2, 0.2, 0.2, 0.2], [0.0, 1.0, 0.0, 0.0, 0.0]])
    means = position_means(order_blind(vectors, decimals))
    assert np.ptp(means, axis=1).tolist() == [0.0, 0.0, 0.0]
    assert means == pytest.approx(20.0, abs=1e-12)


def test_on_the_grid_even_is_exactly_100_over_options() -> None:
    vectors = np.array([[0.29, 0.57, 0.01, 0.13], [0.07, 0.55, 0.36, 0.02]])
    assert (position_means(order_blind(vectors, decimals=2)) == 25.0).all()


@settings(deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 9))
def test_any_order_blind_system_has_equal_positions_to_the_last_bit(seed: int, n_options: int) -> None:
    vectors = np.random.default_rng(seed).dirichlet(np.ones(n_options), 4)
    assert (np.ptp(position_means(order_blind(vectors)), axis=1) == 0).all()


@pytest.mark.parametrize(("n_options", "bias"), [(2, 0.3), (4, 0.2), (7, 0.25), (7, 1.0)])
def test_a_bias_towards_the_first_position_shows_there(n_options: int, bias: float) -> None:
    means = position_means(first_position_bias(n_options, bias))
    others = 100 * (1 - bias) / n_options
    assert means[:, 0] == pytest.approx(100 * bias + others)
    assert means[:, 1:] == pytest.approx(others, abs=1e-12)


@settings(deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 9), st.sampled_from([None, 2]))
def test_the_mean_over_positions_is_the_mean_sum_over_options(seed: int, n_options: int, decimals: int | None) -> None:
    # Rounded vectors do not all sum to one: what a position is compared with is this mean, not 100 / K.
    scores = random_replies(seed, 3, n_options, decimals)
    expected = 100 * scores.scores.sum(axis=3).mean(axis=(1, 2)) / n_options
    assert position_means(scores).mean(axis=1) == pytest.approx(expected)


@pytest.mark.parametrize("n_options", [2, 3, 4, 7, 12])
def test_rotations_of_an_order_and_of_its_reverse_are_balanced(n_options: int) -> None:
    orders = rotations(n_options)
    assert is_balanced(orders)
    assert is_balanced(orders[:n_options])
    assert not is_balanced(orders[:-1])


def test_as_many_orders_as_options_need_not_be_balanced() -> None:
    assert not is_balanced(np.array([[0, 1, 2], [0, 2, 1], [1, 0, 2]]))


def test_unbalanced_orders_are_refused() -> None:
    orders = rotations(7)[:4]
    with pytest.raises(ValueError, match="In these 4 orders the options do not stand equally often"):
        position_means(replies(np.full((1, 4, 1, 7), 1 / 7), orders))


def test_a_sample_with_a_missing_reply_is_refused() -> None:
    scores = first_position_bias(4, 0.2).scores.copy()
    scores[1, 3, 2] = np.nan
    with pytest.raises(ValueError, match="1 of 2 samples have replies without scores"):
        position_means(replies(scores, rotations(4)))
