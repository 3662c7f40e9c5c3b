"""Certified thresholds: exact tests in a fixed order, the first failure ends them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from zs_assets.stats import Confidence, certified_threshold, clopper_pearson_upper, rows_to_certify
from zs_assets_tests.sources.real_data import needs_real_data
from zs_assets_tests.stats.automation_rows import automation_answers
from zs_assets_tests.stats.rows import flags, on_hundredths, plain_floats

FIVE_PERCENT = Fraction(1, 20)
ROWS = st.lists(st.tuples(st.integers(0, 100), st.integers(0, 9)), max_size=400)
LIMITS = st.sampled_from([Fraction(1, 20), Fraction(1, 10), Fraction(1, 4)])


@pytest.mark.parametrize(("errors", "rows"), [(0, 59), (1, 93), (2, 124), (3, 153), (4, 181), (5, 208)])
def test_published_numbers_of_rows_that_certify_five_percent(errors: int, rows: int) -> None:
    assert rows_to_certify(errors, FIVE_PERCENT) == rows


def test_without_errors_the_number_of_rows_has_a_closed_form() -> None:
    for limit in (Fraction(1, 100), Fraction(1, 20), Fraction(1, 2)):
        assert rows_to_certify(0, limit) == np.ceil(np.log(0.05) / np.log(1 - float(limit)))


@pytest.mark.parametrize(("rows", "coverage"), [(58, 0.0), (59, 1.0)])
def test_fifty_nine_clean_rows_certify_and_one_fewer_does_not(rows: int, coverage: float) -> None:
    certified = certified_threshold(on_hundredths([1.0] * rows), flags([1] * rows), rows, FIVE_PERCENT)
    assert certified.coverage == coverage
    assert certified.threshold == (0.0 if coverage else None)


def test_the_first_failure_ends_the_search_though_a_lower_threshold_would_pass() -> None:
    levels, correct = [1.0] * 60 + [0.5] * 300, flags([0] * 3 + [1] * 357)
    certified = certified_threshold(on_hundredths(levels), correct, 360, FIVE_PERCENT)
    assert (certified.coverage, certified.threshold, certified.stopped_at) == (0.0, None, 1.0)
    assert certified.stopped_p_value > 0.05


def test_thresholds_that_no_outcome_could_certify_are_passed_over_by_their_rows_alone() -> None:
    levels = [1.0] * 20 + [0.5] * 200
    certified = certified_threshold(on_hundredths(levels), flags([1] * 220), 220, FIVE_PERCENT)
    assert (certified.coverage, certified.threshold, certified.stopped_at) == (1.0, 0.0, None)
    # Their errors were not looked at: with some among them the same threshold is tried first.
    one_wrong = certified_threshold(on_hundredths(levels), flags([0] + [1] * 219), 220, FIVE_PERCENT)
    assert (one_wrong.threshold, one_wrong.errors, one_wrong.stopped_at) == (0.0, 1, None)


def test_thresholds_above_the_highest_confidence_are_passed_over() -> None:
    certified = certified_threshold(on_hundredths([0.97] * 60), flags([1] * 60), 60, FIVE_PERCENT)
    assert certified.coverage == 1.0


def test_the_threshold_is_the_last_one_passed() -> None:
    levels, correct = [1.0] * 60 + [0.4] * 60, flags([1] * 60 + [0] * 60)
    certified = certified_threshold(on_hundredths(levels), correct, 120, FIVE_PERCENT)
    # 0.99 to 0.41 accept the same rows as 1.00 and pass with it.
    assert (certified.threshold, certified.accepted, certified.errors) == (0.41, 60, 0)
    assert certified.p_value == pytest.approx(0.95**60)
    assert certified.stopped_at == 0.4


def test_coverage_divides_by_all_planned_examples() -> None:
    assert certified_threshold(on_hundredths([1.0] * 59), flags([1] * 59), 118, FIVE_PERCENT).coverage == 0.5


@pytest.mark.parametrize("scale", [on_hundredths, plain_floats])
def test_a_confidence_on_a_threshold_is_accepted_there(scale) -> None:
    correct = flags([1] * 60 + [0] * 60)
    for h in range(1, 101):
        confidence = scale([h / 100] * 60 + [(h - 1) / 100] * 60)
        certified = certified_threshold(confidence, correct, 120, FIVE_PERCENT)
        assert (certified.threshold, certified.accepted, certified.stopped_at) == (h / 100, 60, (h - 1) / 100)


def test_no_rows_or_only_errors_certify_nothing() -> None:
    empty = certified_threshold(on_hundredths([]), flags([]), 5, FIVE_PERCENT)
    assert (empty.coverage, empty.threshold, empty.stopped_at) == (0.0, None, None)
    wrong = certified_threshold(on_hundredths([1.0] * 80), flags([0] * 80), 80, FIVE_PERCENT)
    assert (wrong.coverage, wrong.stopped_p_value) == (0.0, 1.0)


@given(ROWS, LIMITS)
def test_it_equals_a_plain_walk_down_the_grid(rows, limit: Fraction) -> None:
    confidence, correct = on_hundredths([h / 100 for h, _ in rows]), flags([luck > 0 for _, luck in rows])
    accepted_then = 0
    for threshold in range(100, -1, -1):
        taken = [luck > 0 for h, luck in rows if h >= threshold]
        if binomtest(0, max(len(taken), 1), float(limit), "less").pvalue > 0.05:
            continue  # so few rows could not pass without an error either
        if binomtest(taken.count(False), len(taken), float(limit), "less").pvalue > 0.05:
            break
        accepted_then = len(taken)
    assert certified_threshold(confidence, correct, len(rows) + 1, limit).accepted == accepted_then


@given(ROWS, LIMITS)
def test_what_is_certified_has_its_upper_bound_below_the_limit(rows, limit: Fraction) -> None:
    confidence, correct = on_hundredths([h / 100 for h, _ in rows]), flags([luck > 0 for _, luck in rows])
    certified = certified_threshold(confidence, correct, len(rows), limit)
    if certified.threshold is not None:
        assert clopper_pearson_upper(certified.errors, certified.accepted) <= float(limit) + 1e-9


def test_bad_input_is_refused_in_one_sentence() -> None:
    with pytest.raises(ValueError, match="Fraction"):
        certified_threshold(on_hundredths([1.0]), flags([1]), 1, 0.05)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="confidence must hold"):
        certified_threshold(Confidence(np.array([np.nan])), flags([1]), 1, FIVE_PERCENT)
    with pytest.raises(ValueError, match="planned"):
        certified_threshold(on_hundredths([1.0]), flags([1]), 0, FIVE_PERCENT)
    with pytest.raises(ValueError, match="correct must be 1 booleans"):
        certified_threshold(on_hundredths([1.0]), flags([1, 0]), 2, FIVE_PERCENT)
    with pytest.raises(ValueError, match="negative"):
        rows_to_certify(-1, FIVE_PERCENT)


@needs_real_data
@pytest.mark.parametrize(
    ("level", "coverages"), [(0.95, [0.0, 0.476, 0.568, 0.732]), (0.90, [0.0, 0.476, 0.568, 0.786])]
)
def test_published_rows(level: float, coverages: list[float]) -> None:
    answers = automation_answers()
    certified = [
        certified_threshold(
            answers.scored_confidence, answers.correct, 500, Fraction(percent, 100), confidence_level=level
        )
        for percent in (5, 8, 10, 15)
    ]
    assert [c.coverage for c in certified] == coverages
