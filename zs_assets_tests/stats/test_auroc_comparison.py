"""Confidence against other statistics: paired, outside the atom, corrected for three comparisons."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import bootstrap

from zs_assets.stats import Confidence, auroc, compare_auroc, compare_off_atom, holm_adjusted
from zs_assets_tests.sources.real_data import needs_real_data
from zs_assets_tests.stats.automation_rows import automation_answers
from zs_assets_tests.stats.rows import flags, on_hundredths, plain_floats

VECTORS = np.array([[0.99, 0.01, 0.0], [1.0, 0.0, 0.0], [0.6, 0.3, 0.1], [0.5, 0.25, 0.25], [0.7, 0.2, 0.1]])
STATED = [0.99, 1.0, 0.5, 0.4, 0.6]


def compare(confidence: Confidence, vectors: np.ndarray, correct: list[int], decimals: int | None = 2):
    return compare_off_atom(confidence, vectors, flags(correct), decimals=decimals, resamples=200, seed=1)


def test_the_atom_is_the_stated_confidence_not_the_one_hot_vector() -> None:
    vectors = np.eye(3)[[0, 0, 0, 1]]
    comparison = compare(on_hundredths([1.0, 0.99, 0.99, 1.0]), vectors, [1, 0, 1, 1])
    assert comparison.atom == 2
    assert (comparison.integer.n, comparison.integer.right) == (2, 1)


def test_a_system_off_the_grid_has_the_float_form_only() -> None:
    vectors = np.array([[0.123, 0.877], [0.5, 0.5], [0.3, 0.7]])
    comparison = compare(plain_floats([0.8, 0.5, 0.7]), vectors, [1, 0, 1], None)
    assert comparison.integer is None
    assert comparison.floats.n == 3


def test_entropy_counts_the_other_way_round() -> None:
    # The surest vector is the right one: every statistic separates perfectly, entropy too.
    vectors = np.array([[0.9, 0.1, 0.0], [0.5, 0.3, 0.2], [0.4, 0.3, 0.3]])
    comparison = compare(on_hundredths([0.9, 0.5, 0.4]), vectors, [1, 0, 0])
    assert [d.auroc for d in comparison.integer.differences] == [1.0, 1.0, 1.0]


def test_equal_statistics_differ_by_exactly_nothing() -> None:
    scores = np.array([0.3, 0.9, 0.9, 0.1, 0.5])
    same = compare_auroc(scores, {"copy": scores.copy()}, flags([0, 1, 0, 1, 0]), resamples=500, seed=2)
    (difference,) = same.differences
    assert (difference.difference, difference.low, difference.high) == (0.0, 0.0, 0.0)
    assert (difference.p_value, difference.p_holm) == (1.0, 1.0)


def test_resamples_of_one_class_are_dropped_and_counted() -> None:
    # Two rows: a resample holds both with probability 1/2.
    result = compare_auroc(np.array([1.0, 0.0]), {"other": np.zeros(2)}, flags([1, 0]), resamples=4000, seed=5)
    assert result.kept + result.dropped == 4000
    assert result.kept == pytest.approx(2000, abs=4 * np.sqrt(1000))
    assert result.differences[0].low == result.differences[0].high == 0.5
    assert result.differences[0].p_value == 0.0


def test_when_no_resample_holds_both_classes_the_areas_remain() -> None:
    result = next(
        r
        for seed in range(100)
        if (r := compare_auroc(np.array([1.0, 0.0]), {"x": np.zeros(2)}, flags([1, 0]), resamples=1, seed=seed)).dropped
    )
    assert (result.auroc, result.differences[0].auroc, result.differences[0].low) == (1.0, 0.5, None)
    assert "none of 1 resamples" in result.undefined


@pytest.mark.parametrize(("right", "reason"), [(1, "all 5 answers are right"), (0, "all 5 answers are wrong")])
def test_one_class_is_stated_and_raises_nothing(right: int, reason: str) -> None:
    comparison = compare(on_hundredths([0.99, 0.98, 0.5, 0.4, 0.6]), VECTORS, [right] * 5)
    assert comparison.integer.auroc is None
    assert reason in comparison.integer.undefined
    assert {d.difference for d in comparison.integer.differences} == {None}


def test_nothing_outside_the_atom_is_stated() -> None:
    comparison = compare(on_hundredths([1.0, 1.0]), np.eye(3)[:2], [1, 0])
    assert (comparison.atom, comparison.integer.n, comparison.integer.auroc) == (2, 0, None)
    assert "no rows" in comparison.integer.undefined
    assert compare(on_hundredths([]), np.zeros((0, 3)), []).floats.undefined


def test_the_interval_is_that_of_an_independent_bootstrap() -> None:
    rng = np.random.default_rng(11)
    n = 120
    correct = rng.random(n) < 0.6
    confidence, other = (np.round(rng.normal(size=n) + correct, 1) for _ in range(2))
    ours = compare_auroc(confidence, {"other": other}, correct, resamples=6000, seed=3).differences[0]

    def difference(rows: np.ndarray) -> float:
        return auroc(confidence[rows], correct[rows]) - auroc(other[rows], correct[rows])

    theirs = bootstrap(
        (np.arange(n),), difference, n_resamples=2000, vectorized=False, method="percentile", rng=rng
    ).confidence_interval
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.02)


def test_holm_in_closed_form() -> None:
    # .01 * 4, then .02 * 3, then .03 * 2 which may not fall below .06, then .8
    assert holm_adjusted([0.02, 0.8, 0.01, 0.03]) == pytest.approx([0.06, 0.8, 0.04, 0.06])
    assert holm_adjusted([0.7, 0.6]) == [1.0, 1.0]
    assert holm_adjusted([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_holm_never_lowers_a_p_value_and_keeps_their_order(p_values) -> None:
    adjusted = holm_adjusted(p_values)
    assert all(p <= a <= min(1.0, p * len(p_values)) or p == a for p, a in zip(p_values, adjusted, strict=True))
    assert [a for _, a in sorted(zip(p_values, adjusted, strict=True))] == sorted(adjusted)


def test_bad_input_is_refused_in_one_sentence() -> None:
    with pytest.raises(ValueError, match="confidence must hold"):
        compare(Confidence(np.array([1.5])), np.eye(3)[:1], [1])
    with pytest.raises(ValueError, match="raw_vectors must have 2 rows"):
        compare(on_hundredths([0.5, 0.6]), np.eye(3)[:1], [1, 0])
    with pytest.raises(ValueError, match="correct must be 5 booleans"):
        compare(on_hundredths(STATED), VECTORS, [1, 0])


@needs_real_data
def test_the_published_comparison() -> None:
    answers = automation_answers()
    comparison = compare_off_atom(
        answers.scored_confidence, answers.raw_vectors, answers.correct, decimals=2, resamples=10_000, seed=1729
    )
    assert comparison.atom == 238
    for form in (comparison.integer, comparison.floats):
        assert (form.n, form.right, form.dropped) == (262, 161, 0)
        assert form.auroc == pytest.approx(0.706, abs=5e-4)
        assert [d.statistic for d in form.differences] == ["entropy_norm", "margin_top2", "ratio_top2"]
        assert [d.auroc for d in form.differences] == pytest.approx([0.705, 0.695, 0.691], abs=5e-4)
        entropy = form.differences[0]
        assert [entropy.difference, entropy.low, entropy.high] == pytest.approx([0.0015, -0.0124, 0.0152], abs=5e-5)
    intervals = {
        "integer": [[0.0109, 0.0013, 0.0206], [0.0154, 0.0025, 0.0282]],
        "floats": [[0.0109, 0.0013, 0.0207], [0.0154, 0.0026, 0.0281]],
    }
    for name, expected in intervals.items():
        differences = getattr(comparison, name).differences[1:]
        assert [[d.difference, d.low, d.high] for d in differences] == pytest.approx(np.array(expected), abs=5.1e-5)
    margin, ratio = comparison.floats.differences[1:]
    assert (margin.p_value, ratio.p_value) == pytest.approx((0.028, 0.018), abs=5e-4)
    assert (margin.p_holm, ratio.p_holm) == pytest.approx((0.056, 0.055), abs=5e-4)


@needs_real_data
def test_neither_detectable_gap_survives_the_correction() -> None:
    answers = automation_answers()
    comparison = compare_off_atom(
        answers.scored_confidence, answers.raw_vectors, answers.correct, decimals=2, resamples=10_000, seed=1729
    )
    assert all(d.p_holm > 0.05 for form in (comparison.integer, comparison.floats) for d in form.differences)
