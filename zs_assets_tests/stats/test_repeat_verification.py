"""Identical requests: distinct vectors, labels and winners are counted, and the range is exact."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zs_assets.stats.order_scores import NO_LABEL, OrderScores
from zs_assets.stats.repeat_verification import RepeatVerification, repeat_verification

FIRST, SECOND = [0.60, 0.30, 0.10], [0.30, 0.60, 0.10]
NOTHING = [np.nan, np.nan, np.nan]


def asked(vectors: list[list[float]], chosen: list[int] | None = None, decimals: int | None = 2) -> RepeatVerification:
    """One example's replies in one order; each chooses its highest option unless said otherwise."""
    scores = np.array(vectors)[None, None]
    labels = np.nan_to_num(scores, nan=-1).argmax(axis=3) if chosen is None else np.array(chosen)[None, None]
    [found] = repeat_verification(OrderScores(scores, labels, np.arange(scores.shape[3])[None], decimals))
    return found


def test_twenty_equal_replies_are_one_vector() -> None:
    assert asked([FIRST] * 20) == RepeatVerification(20, 20, 1, 1, 1, 0.0)


def test_eight_points_of_range_with_a_label_that_stays() -> None:
    # The published check printed 8 points for Jev 1.14 on the mixed sentence, its label fixed.
    found = asked([[0.50, 0.44, 0.06], [0.46, 0.45, 0.09], [0.54, 0.40, 0.06], [0.50, 0.44, 0.06]])
    assert found == RepeatVerification(4, 4, 3, 1, 1, 8.0)


def test_the_range_belongs_to_one_option_not_to_two() -> None:
    # .60 and .10 are 50 points apart, but in different options.
    assert asked([FIRST, [0.60, 0.28, 0.12]]).largest_range == 2.0


def test_a_reply_without_scores_is_planned_but_not_scored() -> None:
    assert asked([FIRST, NOTHING, SECOND]) == RepeatVerification(3, 2, 2, 2, 2, 30.0)


def test_without_any_scored_reply_there_is_no_range() -> None:
    assert asked([NOTHING, NOTHING]) == RepeatVerification(2, 0, 0, 0, 0, None)


def test_a_tie_is_nobodys_win() -> None:
    tied = [0.45, 0.45, 0.10]
    assert asked([tied, FIRST]).distinct_winners == 1
    assert asked([tied, tied]).distinct_winners == 0
    assert asked([tied, FIRST, SECOND]).distinct_winners == 2


def test_labels_are_the_systems_own() -> None:
    found = asked([FIRST, FIRST, FIRST], chosen=[0, 1, NO_LABEL])
    assert (found.distinct_labels, found.distinct_winners) == (2, 1)


def test_float_noise_makes_no_second_vector_on_the_grid() -> None:
    noisy = [[0.21, 0.79], [0.21000000000000002, 0.79]]
    assert asked(noisy).distinct_vectors == 1
    assert asked(noisy, decimals=None).distinct_vectors == 2


def test_a_system_that_does_not_round_keeps_its_tiny_ranges() -> None:
    found = asked([[0.5, 0.5], [0.5 + 2**-25, 0.5 - 2**-25]], decimals=None)
    assert found.largest_range == 100 * 2**-25
    assert (found.distinct_vectors, found.distinct_winners) == (2, 1)


@settings(deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 12), st.integers(2, 6), st.sampled_from([None, 1]))
def test_counts_equal_the_sets_of_what_was_replied(seed: int, times: int, n_options: int, decimals: int | None) -> None:
    rng = np.random.default_rng(seed)
    vectors = rng.integers(0, 3, (4, 1, times, n_options)) / 10
    chosen = rng.integers(-1, n_options, (4, 1, times))
    found = repeat_verification(OrderScores(vectors, chosen, np.arange(n_options)[None], decimals))
    for example, replies, labels in zip(found, vectors[:, 0], chosen[:, 0], strict=True):
        winners = {int(reply.argmax()) for reply in replies if np.sum(reply == reply.max()) == 1}
        assert example.distinct_vectors == len({tuple(reply) for reply in replies.tolist()})
        assert example.distinct_labels == len(set(labels.tolist()) - {NO_LABEL})
        assert example.distinct_winners == len(winners)
        assert example.largest_range == pytest.approx(100 * np.ptp(replies, axis=0).max())


def test_replies_in_two_orders_are_not_identical_requests() -> None:
    scores = np.full((1, 2, 3, 2), 0.5)
    with pytest.raises(ValueError, match="have one order, these have 2"):
        repeat_verification(OrderScores(scores, np.zeros((1, 2, 3), dtype=int), np.array([[0, 1], [1, 0]])))
