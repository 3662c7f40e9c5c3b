"""Accuracy by observed level and by tier: levels are not split, tiers have exact edges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zs_assets.stats import TIER_NAMES, Confidence, level_table, tier_of, tier_table, top_probability
from zs_assets_tests.sources.real_data import needs_real_data
from zs_assets_tests.stats.automation_rows import automation_answers
from zs_assets_tests.stats.rows import flags, on_hundredths, plain_floats

ROWS = st.lists(st.tuples(st.integers(0, 100), st.booleans()), max_size=60)


def test_levels_run_from_the_highest_down_and_the_atom_is_one_row() -> None:
    table = level_table(on_hundredths([0.3, 1, 1, 0.99, 1]), flags([0, 1, 1, 0, 0]))
    assert table.level.tolist() == [1.0, 0.99, 0.3]
    assert table.count.tolist() == [3, 1, 1]
    assert table.correct.tolist() == [2, 0, 0]
    assert table.accuracy[0] == 2 / 3


def test_float_noise_splits_no_level() -> None:
    assert level_table(on_hundredths([0.21, 0.21000000000000002]), flags([1, 0])).count.tolist() == [2]


def test_fewer_than_ten_rows_are_marked_small() -> None:
    table = level_table(on_hundredths([1.0] * 10 + [0.9] * 9), flags([1] * 19))
    assert table.small.tolist() == [False, True]


def test_a_level_without_errors_still_has_a_lower_bound() -> None:
    # Closed form for n of n: the exact lower bound is (0.025)**(1/n), Wilson's n / (n + z**2).
    table = level_table(on_hundredths([0.8] * 12), flags([1] * 12))
    assert table.exact_low[0] == pytest.approx(0.025 ** (1 / 12), abs=1e-12)
    assert table.wilson_low[0] == pytest.approx(12 / (12 + 1.959963984540054**2), abs=1e-12)
    assert (table.exact_high[0], table.wilson_high[0]) == (1.0, 1.0)


def test_no_rows_are_no_levels() -> None:
    assert level_table(on_hundredths([]), flags([])).level.shape == (0,)
    assert tier_table(on_hundredths([]), flags([])).count.tolist() == [0] * 5


@pytest.mark.parametrize("scale", [on_hundredths, plain_floats])
def test_every_hundredth_falls_into_its_tier(scale) -> None:
    hundredths = np.arange(101)
    expected = [0 if h == 100 else 1 if h >= 95 else 2 if h >= 90 else 3 if h >= 70 else 4 for h in hundredths]
    assert tier_of(scale(hundredths / 100)).tolist() == expected


def test_a_fraction_on_a_floor_is_not_lost_to_its_float() -> None:
    # 63 hundredths of a sum of 90 are 0.7 exactly; 0.63 / 0.9 in floats need not be.
    confidence = top_probability(np.array([[0.63, 0.27]]), renormalised=True, decimals=2)
    assert tier_of(confidence).tolist() == [3]


def test_an_empty_tier_has_no_accuracy() -> None:
    table = tier_table(on_hundredths([1.0, 0.96, 0.98]), flags([1, 0, 1]))
    assert table.count.tolist() == [1, 2, 0, 0, 0]
    assert table.accuracy[:2].tolist() == [1.0, 0.5]
    assert table.mean_confidence[1] == pytest.approx(0.97)
    assert np.isnan(table.accuracy[2:]).all()
    assert len(TIER_NAMES) == len(table.count)


@given(ROWS)
def test_levels_and_tiers_lose_no_row(rows) -> None:
    confidence, correct = on_hundredths([h / 100 for h, _ in rows]), flags([right for _, right in rows])
    for table in (level_table(confidence, correct), tier_table(confidence, correct)):
        assert (table.count.sum(), table.correct.sum()) == (len(rows), correct.sum())


@given(ROWS)
def test_the_intervals_hold_the_accuracy(rows) -> None:
    table = level_table(on_hundredths([h / 100 for h, _ in rows]), flags([right for _, right in rows]))
    assert np.all((table.wilson_low <= table.accuracy + 1e-12) & (table.accuracy <= table.wilson_high + 1e-12))
    assert np.all((table.exact_low <= table.accuracy) & (table.accuracy <= table.exact_high))


@pytest.mark.parametrize("value", [1.01, -0.01, np.nan])
def test_a_confidence_that_is_none_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match=r"confidence must hold numbers in \[0, 1\]"):
        level_table(Confidence(np.array([value])), flags([1]))
    with pytest.raises(ValueError, match="confidence"):
        tier_of(Confidence(np.array([value])))


@pytest.mark.parametrize("wrong", [flags([1, 0, 1]), np.array([1, 0])])
def test_flags_of_another_length_or_type_are_refused(wrong: np.ndarray) -> None:
    with pytest.raises(ValueError, match="correct must be 2 booleans"):
        level_table(on_hundredths([0.5, 1.0]), wrong)


@needs_real_data
def test_the_published_rows_have_63_levels() -> None:
    answers = automation_answers()
    table = level_table(answers.scored_confidence, answers.correct)
    assert len(table.level) == 63
    top = list(zip(table.level, table.count, table.correct, strict=True))[:4]
    assert top == [(1.0, 238, 228), (0.99, 46, 37), (0.98, 24, 19), (0.97, 18, 14)]


@needs_real_data
def test_the_published_rows_below_067_and_in_the_atom() -> None:
    answers = automation_answers()
    confidence = answers.scored_confidence
    assert np.count_nonzero(confidence.levels < 0.67) == 58
    tiers = tier_table(confidence, answers.correct)
    assert (tiers.count[0], tiers.correct[0]) == (238, 228)
    assert (tiers.count.sum(), tiers.correct.sum()) == (500, 389)
