"""The gain of a cascade is scored on rows that did not choose it; the in-sample gain only flatters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from zs_assets.stats import (
    Alone,
    CascadeRows,
    best_point,
    cascade_gain,
    cascade_references,
    cascade_sweep,
    confirm_cascade,
    plain_indices,
    split_validation,
)
from zs_assets_tests.stats.cascade_rows import cascade_rows, random_rows, rows_from_counts

FIELDS = [name for name in CascadeRows.__dataclass_fields__ if name != "decimals"]


def gain_by_the_definition(rows: CascadeRows, resamples: int, seed: int) -> np.ndarray:
    """Resample by resample: choose on the drawn rows with the sweep itself, score on the others."""
    gains = []
    for drawn in plain_indices(len(rows), resamples, np.random.default_rng(seed)):
        left_out = np.setdiff1d(np.arange(len(rows)), drawn)
        if len(left_out) == 0:
            continue
        chosen = best_point(cascade_sweep(rows.take(drawn)))
        single = cascade_references(rows.take(drawn)).better_single.which
        rest = rows.take(left_out)
        keep = (rest.level >= chosen.threshold) & (chosen.kept > 0)
        right = np.where(keep, rest.primary_correct, rest.fallback_correct)
        alone = rest.primary_correct if single is Alone.PRIMARY else rest.fallback_correct
        gains.append(right.mean() - alone.mean())
    return np.array(gains)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 40), st.sampled_from([None, 1, 2]))
def test_the_gain_equals_the_definition_read_resample_by_resample(seed: int, n: int, decimals: int | None) -> None:
    rows = random_rows(seed, n, decimals=decimals, without_level=0.1)
    expected = gain_by_the_definition(rows, 40, seed)
    found = cascade_gain(rows, resamples=40, seed=seed)
    assert found.resamples == len(expected)
    assert found.estimate == pytest.approx(expected.mean(), abs=1e-9)
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(expected, [0.025, 0.975])), abs=1e-9)


@given(st.integers(0, 10_000), st.integers(5, 60))
def test_the_in_sample_gain_is_never_negative(seed: int, n: int) -> None:
    assert cascade_gain(random_rows(seed, n), resamples=20, seed=1).in_sample >= 0


def test_without_anything_to_gain_the_in_sample_figure_still_claims_one() -> None:
    # Two systems of the same accuracy at every level: the true gain of any rule is zero.
    rng = np.random.default_rng(3)
    estimates, claimed = [], []
    for seed in range(60):
        rows = random_rows(seed, 200)
        right = 0.2 + 0.6 * rows.level
        rows = replace(rows, primary_correct=rng.random(200) < right, fallback_correct=rng.random(200) < right)
        gain = cascade_gain(rows, resamples=200, seed=seed)
        estimates.append(gain.estimate)
        claimed.append(gain.in_sample)
    error = np.std(estimates, ddof=1) / np.sqrt(60)
    assert abs(np.mean(estimates)) < 3 * error
    assert np.mean(claimed) > 5 * error


def test_identical_systems_gain_exactly_nothing() -> None:
    rows = random_rows(1, 100)
    gain = cascade_gain(replace(rows, fallback_correct=rows.primary_correct), resamples=100, seed=1)
    assert (gain.estimate, gain.low, gain.high, gain.in_sample, gain.routed_share) == (0.0, 0.0, 0.0, 0.0, 0.0)


def test_a_clear_gain_is_found_again_out_of_bag() -> None:
    # The primary is right exactly above .5 and the fallback exactly below: any resample finds the threshold.
    level = np.tile([0.2, 0.4, 0.6, 0.8, 0.9], 40)
    gain = cascade_gain(cascade_rows(level.tolist(), (level > 0.5).tolist(), (level < 0.5).tolist()), seed=1)
    assert gain.in_sample == 0.4
    assert gain.estimate == pytest.approx(0.4, abs=0.005)
    assert gain.low < 0.4 < gain.high and gain.routed_share == 1.0


def test_the_same_seed_gives_the_same_gain() -> None:
    rows = random_rows(5, 80)
    assert cascade_gain(rows, resamples=50, seed=9) == cascade_gain(rows, resamples=50, seed=9)
    assert cascade_gain(rows, resamples=50, seed=9) != cascade_gain(rows, resamples=50, seed=10)


def test_one_row_leaves_none_to_score() -> None:
    with pytest.raises(ValueError, match="no resample of 1 rows"):
        cascade_gain(cascade_rows([0.5], [1], [0]), resamples=10, seed=1)


def test_the_split_is_deterministic_and_disjoint() -> None:
    validation = split_validation(500, 0.4, 7)
    assert validation.sum() == 200
    assert np.array_equal(validation, split_validation(500, 0.4, 7))
    assert not np.array_equal(validation, split_validation(500, 0.4, 8))
    assert [split_validation(3, share, 1).sum() for share in (0.01, 0.99)] == [1, 2]


@pytest.mark.parametrize(("n", "share"), [(1, 0.5), (10, 0.0), (10, 1.0)])
def test_a_split_with_an_empty_side_is_refused(n: int, share: float) -> None:
    with pytest.raises(ValueError, match="needs at least 2 rows and a share between 0 and 1"):
        split_validation(n, share, 1)


def test_confirmation_scores_only_rows_that_had_no_say() -> None:
    # Validation rows put the threshold at .6; on the test rows that rule is right twice out of four.
    level = [0.3, 0.6, 0.9, 0.2, 0.6, 0.59, 0.7]
    primary, fallback = [0, 1, 1, 0, 1, 1, 0], [1, 0, 1, 1, 0, 0, 1]
    validation = np.array([True] * 3 + [False] * 4)
    found = confirm_cascade(cascade_rows(level, primary, fallback), validation)
    assert (found.threshold, found.single) == (0.6, Alone.PRIMARY)
    assert (found.validation_rows, found.test_rows, found.kept, found.escalated) == (3, 4, 2, 2)
    assert (found.correct, found.single_correct, found.difference) == (2, 2, 0.0)
    assert found.cost == 4 * 1.0 + 2 * 10.0
    assert (found.cascade_wins, found.single_wins, found.p_value) == (1, 1, 1.0)


def test_confirmation_intervals_and_mcnemar_have_their_closed_forms() -> None:
    # Test rows: 10 below the threshold that only the fallback gets right, 10 above that only the primary does.
    level = [0.2, 0.9] + [0.2] * 10 + [0.9] * 10
    low, high = [1 if x < 0.5 else 0 for x in level], [0 if x < 0.5 else 1 for x in level]
    validation = np.array([True] * 2 + [False] * 20)
    found = confirm_cascade(cascade_rows(level, high, low), validation)
    assert (found.correct, found.high, found.low) == (20, 1.0, pytest.approx(0.025 ** (1 / 20)))
    assert (found.cascade_wins, found.single_wins, found.p_value) == (10, 0, pytest.approx(2 / 2**10))


def test_clopper_pearson_of_the_published_primary() -> None:
    rows = rows_from_counts(both=367, primary_only=22, fallback_only=27, neither=84)
    # One validation row that the primary alone gets right: the primary answers all of the test rows.
    first = cascade_rows([0.1], [1], [0])
    joined = CascadeRows(**{k: np.concatenate([getattr(first, k), getattr(rows, k)]) for k in FIELDS})
    found = confirm_cascade(joined, np.arange(501) == 0)
    assert (found.correct, found.test_rows) == (389, 500)
    assert (found.low, found.high) == pytest.approx((0.73898, 0.81369), abs=5e-6)


def test_escalating_everything_stays_that_on_rows_above_the_levels_seen() -> None:
    rows = cascade_rows([0.5, 0.9, 0.2], [0, 0, 1], [1, 1, 1])
    found = confirm_cascade(rows, np.array([True, False, False]))
    assert (found.threshold, found.kept, found.escalated, found.correct) == (None, 0, 2, 2)


def test_an_unknown_cost_of_a_test_row_is_said() -> None:
    rows = cascade_rows([0.5, 0.9, 0.2], [1, 0, 1], [0, 1, 1], fallback_cost=[1.0, np.nan, np.nan])
    found = confirm_cascade(rows, np.array([True, False, False]))
    assert (found.cost, found.cost_unknown) == (None, 1)


def test_mcnemar_is_the_exact_binomial_test() -> None:
    rows = random_rows(2, 300)
    found = confirm_cascade(rows, split_validation(300, 0.3, 1))
    smaller, both = min(found.cascade_wins, found.single_wins), found.cascade_wins + found.single_wins
    assert found.p_value == pytest.approx(min(1.0, 2 * stats.binom.cdf(smaller, both, 0.5)))
    assert found.difference == pytest.approx((found.cascade_wins - found.single_wins) / found.test_rows)


@pytest.mark.parametrize("validation", [np.zeros(3, bool), np.ones(3, bool), np.ones(2, bool), np.array([1, 0, 0])])
def test_a_mask_without_both_sides_is_refused(validation: np.ndarray) -> None:
    with pytest.raises(ValueError, match="some true and some false"):
        confirm_cascade(cascade_rows([0.1, 0.2, 0.3], [1, 1, 1], [1, 1, 1]), validation)
