"""Averaging rotations: a bias towards a place fades as one over r and is gone after all K."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zs_assets.stats.order_averaging import AveragedRotations, _window_sums, _windows, averaging, rotation_cycles
from zs_assets.stats.order_scores import OrderScores
from zs_assets.stats.order_sensitivity import sample_sensitivity
from zs_assets_tests.stats.rotation_replies import (
    first_position_bias,
    order_blind,
    random_replies,
    replies,
    rotations,
)

Vector = list[Fraction]


def exact_order_means(scores: OrderScores) -> list[list[Vector]]:
    """Mean of the repeats as a fraction, by sample and order; 0.21 is 21/100."""
    return [
        [mean_vector([[Fraction(str(x)) for x in reply] for reply in order]) for order in orders]
        for orders in scores.scores.tolist()
    ]


def mean_vector(vectors: list[Vector]) -> Vector:
    return [sum(column, Fraction()) / len(vectors) for column in zip(*vectors, strict=True)]


def decisions_by_loop(orders: list[Vector], n_options: int, r: int) -> list[Vector]:
    """Means of r rotations of one sample, listed as the plan lists them: K of one direction, then K of the other."""
    decisions = []
    for first in range(0, len(orders), n_options):
        direction = orders[first : first + n_options]
        decisions += [mean_vector((direction + direction)[start : start + r]) for start in range(n_options)]
    return decisions


def first_maximum(vector: Vector) -> int:
    return vector.index(max(vector))


def figures_by_loop(scores: OrderScores, r: int, gold: list[int], threshold: Fraction) -> dict[str, float]:
    ranges, tied, changed, agreed, right = [], [], [], [], []
    for orders, label in zip(exact_order_means(scores), gold, strict=True):
        decisions = decisions_by_loop(orders, scores.n_options, r)
        winners = [first_maximum(vector) for vector in decisions]
        ranges.append(100 * max(max(column) - min(column) for column in zip(*decisions, strict=True)))
        tied.append(any(vector.count(max(vector)) > 1 for vector in decisions))
        changed.append(not tied[-1] and len(set(winners)) > 1)
        agreed += [winner == first_maximum(mean_vector(orders)) for winner in winners]
        right += [winner == label for winner in winners]
    median, p95 = np.quantile([float(points) for points in ranges], [0.5, 0.95])
    shares = {
        "large_share": [points >= threshold for points in ranges],
        "winner_change_share": changed,
        "tied_share": tied,
        "agreement": agreed,
        "accuracy": right,
    }
    return {"median_range": median, "p95_range": p95} | {name: float(np.mean(seen)) for name, seen in shares.items()}


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10_000), st.integers(2, 5), st.integers(1, 2), st.sampled_from([1, 5, 10, 33.3]))
def test_every_figure_equals_exact_fractions_on_the_grid(
    seed: int, n_options: int, decimals: int, threshold: float
) -> None:
    scores = random_replies(seed, 5, n_options, decimals)
    gold = np.random.default_rng(seed).integers(0, n_options, 5)
    for step in averaging(scores, gold, threshold):
        expected = figures_by_loop(scores, step.rotations, gold.tolist(), Fraction(str(threshold)))
        assert {name: getattr(step, name) for name in expected} == pytest.approx(expected, abs=1e-12)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10_000), st.integers(2, 8), st.sampled_from([None, 2]))
def test_one_rotation_is_the_study_itself(seed: int, n_options: int, decimals: int | None) -> None:
    scores = random_replies(seed, 6, n_options, decimals)
    found, study = averaging(scores, None, 10)[0], sample_sensitivity(scores)
    assert found.median_range == np.quantile(study.range_points, 0.5)
    assert found.large_share == study.reaches(10).mean()
    assert found.winner_change_share == study.winner_change.mean()
    assert found.tied_share == study.tied.mean()


@pytest.mark.parametrize(("n_options", "bias"), [(2, 0.3), (4, 0.2), (7, 0.3), (7, 1.0)])
@pytest.mark.parametrize("decimals", [None, 2])
def test_a_bias_towards_the_first_position_fades_as_one_over_r(
    n_options: int, bias: float, decimals: int | None
) -> None:
    for step in averaging(first_position_bias(n_options, bias, decimals=decimals), None, 10):
        expected = 100 * bias / step.rotations if step.rotations < n_options else 0.0
        assert (step.median_range, step.p95_range) == pytest.approx((expected, expected), abs=1e-12)


def test_after_all_rotations_the_bias_is_gone_exactly() -> None:
    last = averaging(first_position_bias(7, 0.3), None, 1e-6)[-1]
    assert (last.median_range, last.large_share, last.winner_change_share, last.tied_share) == (0.0, 0.0, 0.0, 1.0)


@pytest.mark.parametrize("decimals", [None, 2])
def test_ten_points_over_three_rotations_reach_ten_points(decimals: int | None) -> None:
    # A bias of .30 leaves exactly 10 points at r = 3; .1 + .1 + .4 in floats does not say so by itself.
    large = [step.large_share for step in averaging(first_position_bias(7, 0.3, decimals=decimals), None, 10)]
    assert large == [1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0]


def test_a_first_position_bias_wins_alone_at_one_rotation_and_ties_at_more() -> None:
    steps = averaging(first_position_bias(5, 0.25), None, 10)
    assert [step.winner_change_share for step in steps] == [1.0, 0.0, 0.0, 0.0, 0.0]
    assert [step.tied_share for step in steps] == [0.0, 1.0, 1.0, 1.0, 1.0]


@pytest.mark.parametrize("n_options", [2, 5, 7])
def test_a_biased_guess_finds_the_first_option_as_often_as_it_is_among_the_rotations(n_options: int) -> None:
    # The r options that stood first tie; option 0, the decision of all orders, is among them in r of K windows.
    steps = averaging(first_position_bias(n_options, 0.2, n=3), np.zeros(3, dtype=int), 10)
    shares = np.arange(1, n_options + 1) / n_options
    assert [step.agreement for step in steps] == pytest.approx(shares)
    assert [step.accuracy for step in steps] == pytest.approx(shares)
    assert steps[0].sample_accuracy == pytest.approx([1 / n_options] * 3)


@settings(deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 9), st.sampled_from([None, 2]))
def test_an_order_blind_system_gains_nothing(seed: int, n_options: int, decimals: int | None) -> None:
    vectors = np.random.default_rng(seed).dirichlet(np.ones(n_options), 4)
    vectors = vectors if decimals is None else vectors.round(decimals)
    gold = np.random.default_rng(seed + 1).integers(0, n_options, 4)
    for step in averaging(order_blind(vectors, decimals), gold, 1e-6):
        assert (step.median_range, step.p95_range, step.large_share, step.winner_change_share) == (0.0, 0.0, 0.0, 0.0)
        assert step.agreement == 1.0
        assert step.sample_accuracy is not None
        assert step.sample_accuracy.tolist() == (vectors.argmax(axis=1) == gold).astype(float).tolist()


@settings(deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 7))
def test_a_mean_of_rotations_never_ranges_wider_than_one(seed: int, n_options: int) -> None:
    steps = averaging(random_replies(seed, 1, n_options), None, 10)
    assert all(step.median_range <= steps[0].median_range + 1e-9 for step in steps)


def test_with_one_direction_all_rotations_make_one_decision() -> None:
    both = random_replies(4, 20, 6)
    forwards = replies(both.scores[:, :6], both.orders[:6])
    last = averaging(forwards, None, 1e-6)[-1]
    assert (last.median_range, last.large_share, last.winner_change_share, last.agreement) == (0.0, 0.0, 0.0, 1.0)


def figures(step: AveragedRotations) -> list[float | None]:
    return [step.median_range, step.p95_range, step.winner_change_share, step.tied_share, step.agreement, step.accuracy]


def test_the_sequence_of_the_orders_does_not_matter() -> None:
    scores = random_replies(9, 30, 5)
    gold = np.arange(30) % 5
    mixed = np.random.default_rng(0).permutation(10)
    again = replies(scores.scores[:, mixed], scores.orders[mixed])
    for step, other in zip(averaging(scores, gold, 10), averaging(again, gold, 10), strict=True):
        assert figures(step) == figures(other)


def test_results_do_not_depend_on_the_size_of_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    scores, gold = random_replies(2, 23, 5, 2), np.arange(23) % 5
    expected = [figures(step) for step in averaging(scores, gold, 10)]
    monkeypatch.setattr("zs_assets.stats.order_averaging._BLOCK_CELLS", 900)
    assert [figures(step) for step in averaging(scores, gold, 10)] == expected


def test_the_flags_name_the_samples_that_still_move() -> None:
    still, moving = (first_position_bias(5, bias, n=2).scores for bias in (0.05, 0.4))
    scores = replies(np.concatenate([still, moving]), first_position_bias(5, 0.4).orders)
    flags = [step.large.tolist() for step in averaging(scores, None, 10)]
    # 40 points fade to 20, 13.3, 10 and none; 5 points never are 10.
    assert flags == [[False, False, True, True]] * 4 + [[False] * 4]
    assert [step.large_share for step in averaging(scores, None, 10)] == [0.5] * 4 + [0.0]


def test_calls_count_the_repeats_too() -> None:
    assert [step.calls for step in averaging(random_replies(1, 2, 3), None, 10)] == [3, 6, 9]


def test_without_gold_there_is_no_accuracy() -> None:
    assert all(step.accuracy is None for step in averaging(random_replies(1, 2, 3), None, 10))


@pytest.mark.parametrize("n_options", [3, 7])
def test_a_cycle_lists_orders_one_step_apart(n_options: int) -> None:
    orders = rotations(n_options)
    cycles = rotation_cycles(orders[np.random.default_rng(1).permutation(2 * n_options)])
    assert cycles.shape == (2, n_options)
    shuffled = orders[np.random.default_rng(1).permutation(2 * n_options)]
    for cycle in cycles:
        for this, following in zip(cycle, np.roll(cycle, -1), strict=True):
            assert np.array_equal(np.roll(shuffled[this], -1), shuffled[following])


def test_two_options_have_one_cycle() -> None:
    assert rotation_cycles(rotations(2)).shape == (1, 2)


@pytest.mark.parametrize("kept", [[0, 1, 2, 3], [0], [0, 1, 2, 3, 4, 5, 6, 0], [0, 1, 2, 3, 4, 5, 7]])
def test_orders_that_are_not_all_rotations_are_refused(kept: list[int]) -> None:
    orders = rotations(7)[kept]
    scores = replies(np.full((1, len(kept), 1, 7), 1 / 7), orders)
    with pytest.raises(ValueError, match=f"These {len(kept)} orders are not all rotations"):
        averaging(scores, None, 10)


def test_what_does_not_fit_is_refused() -> None:
    scores = random_replies(1, 3, 4)
    with pytest.raises(ValueError, match="not one label for each of 3 samples"):
        averaging(scores, np.zeros(2, dtype=int), 10)
    with pytest.raises(ValueError, match="no sample"):
        averaging(scores.of(np.zeros(3, dtype=bool)), None, 10)
    missing = scores.scores.copy()
    missing[0, 1, 0] = np.nan
    with pytest.raises(ValueError, match="1 of 3 samples have replies without scores"):
        averaging(replies(missing, scores.orders), None, 10)


def test_sums_of_terms_far_apart_are_those_of_fsum() -> None:
    """Softmax scores of 1e-30 beside 0.9: a running sum and its remainder cannot hold them, so fsum is asked."""
    rng = np.random.default_rng(6)
    answers = rng.dirichlet(np.ones(4), (3, 8)) ** rng.integers(1, 50, (3, 8, 4))
    cycles = rotation_cycles(random_replies(1, 1, 4).orders)
    for r, sums in enumerate(_window_sums(answers, cycles), start=1):
        for window, orders in enumerate(_windows(cycles, r)):
            assert sums[:, window].tolist() == [
                [math.fsum(column) for column in zip(*sample, strict=True)] for sample in answers[:, orders].tolist()
            ]
