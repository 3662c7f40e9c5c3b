"""AUROC counts pairs, ties one half; resamples are the same rows for every score, exactly."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu
from sklearn.metrics import roc_auc_score

from zs_assets.stats import auroc, plain_indices, resampled_wins
from zs_assets_tests.stats.rows import flags

ROWS = st.lists(st.tuples(st.integers(-9, 9), st.booleans()), min_size=2, max_size=40).filter(
    lambda rows: len({right for _, right in rows}) == 2
)


def as_arrays(rows: list[tuple[int, bool]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([score for score, _ in rows]), flags([right for _, right in rows])


def test_the_published_vector() -> None:
    assert auroc(np.array([1, 1, 1, 0.8, 0.8, 0.5, 0.5, 0.2]), flags([1, 1, 0, 1, 0, 1, 0, 0])) == 0.6875


def test_a_constant_score_is_worth_one_half() -> None:
    assert auroc(np.ones(7), flags([1, 0, 0, 1, 1, 1, 0])) == 0.5


def test_perfect_and_reversed_scores() -> None:
    assert auroc(np.array([3, 2, 1]), flags([1, 1, 0])) == 1.0
    assert auroc(np.array([1, 2, 3]), flags([1, 1, 0])) == 0.0


@given(ROWS)
def test_it_equals_two_independent_libraries(rows) -> None:
    scores, correct = as_arrays(rows)
    ours = auroc(scores, correct)
    assert ours == pytest.approx(roc_auc_score(correct, scores), abs=1e-12)
    u = mannwhitneyu(scores[correct], scores[~correct]).statistic
    assert ours == pytest.approx(u / (correct.sum() * (~correct).sum()), abs=1e-12)


@given(ROWS)
def test_negating_the_score_mirrors_it(rows) -> None:
    scores, correct = as_arrays(rows)
    assert auroc(scores, correct) + auroc(-scores, correct) == pytest.approx(1.0, abs=1e-12)


@given(ROWS, st.randoms(use_true_random=False))
def test_it_forgets_the_order_of_rows_and_any_rising_scale(rows, random) -> None:
    scores, correct = as_arrays(rows)
    shuffled = list(rows)
    random.shuffle(shuffled)
    assert auroc(*as_arrays(shuffled)) == auroc(scores, correct) == auroc(np.exp(scores / 3.0), correct)


@pytest.mark.parametrize("correct", [[], [1, 1, 1], [0, 0]])
def test_without_a_pair_there_is_no_area(correct: list[int]) -> None:
    assert auroc(np.linspace(0, 1, len(correct)), flags(correct)) is None


@given(ROWS, st.integers(0, 2**32 - 1))
def test_a_resample_is_the_area_of_the_drawn_rows(rows, seed: int) -> None:
    scores, correct = as_arrays(rows)
    other = scores % 3
    resampled = resampled_wins([scores, other], correct, 20, np.random.default_rng(seed))
    for b, drawn in enumerate(plain_indices(len(rows), 20, np.random.default_rng(seed))):
        for column, values in enumerate((scores, other)):
            expected = auroc(values[drawn], correct[drawn])
            if expected is None:
                assert resampled.doubled_pairs[b] == resampled.doubled_wins[b, column] == 0
            else:
                assert resampled.doubled_wins[b, column] / resampled.doubled_pairs[b] == expected


def test_blocks_draw_what_one_call_draws() -> None:
    n, resamples = 2000, 300  # several blocks, the last one short
    data = np.random.default_rng(0)
    scores, correct = data.integers(0, 50, n), data.random(n) < 0.7
    resampled = resampled_wins([scores], correct, resamples, np.random.default_rng(9))
    draws = np.random.default_rng(9).integers(0, n, (resamples, n))
    for b in (0, 130, 131, 299):
        share = resampled.doubled_wins[b, 0] / resampled.doubled_pairs[b]
        assert share == pytest.approx(roc_auc_score(correct[draws[b]], scores[draws[b]]), abs=1e-12)


def test_counts_stay_exact_where_single_precision_would_not() -> None:
    # 2 * 3,000 * 3,000 pairs pass 2**24, the last integer up to which float32 holds every one.
    n = 6000
    correct = np.arange(n) % 2 == 0
    scores = np.where(correct, 1, 0)
    scores[0] = 0  # one right answer ties with every wrong one
    resampled = resampled_wins([scores], correct, 40, np.random.default_rng(3))
    draws = np.random.default_rng(3).integers(0, n, (40, n))
    right, tied = correct[draws].sum(axis=1), (draws == 0).sum(axis=1)
    assert np.array_equal(resampled.doubled_wins[:, 0], (2 * right - tied) * (n - right))
    assert np.array_equal(resampled.doubled_pairs, 2 * right * (n - right))


def test_bad_scores_are_refused_in_one_sentence() -> None:
    with pytest.raises(ValueError, match="NaN"):
        auroc(np.array([0.5, np.nan]), flags([1, 0]))
    with pytest.raises(ValueError, match="correct must be 2 booleans"):
        auroc(np.array([0.5, 0.6]), flags([1, 0, 1]))
    with pytest.raises(ValueError, match="2 values"):
        resampled_wins([np.zeros(3)], flags([1, 0]), 5, np.random.default_rng(0))
    with pytest.raises(ValueError, match="rows"):
        resampled_wins([np.zeros(0)], flags([]), 5, np.random.default_rng(0))
