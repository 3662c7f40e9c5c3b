"""Coverage at an error budget is decided in integers, ties together, over all planned examples."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zs_assets.stats import coverage_at_error_budget, risk_coverage
from zs_assets_tests.stats.rows import flags

BUDGET = Fraction(1, 20)
C1_LEVELS, C1_CORRECT = np.array([1.0] * 8 + [0.9] * 6), flags([1] * 8 + [0] + [1] * 5)


def test_ties_are_accepted_together() -> None:
    chosen = coverage_at_error_budget(C1_LEVELS, C1_CORRECT, 14, BUDGET)
    assert (chosen.coverage, chosen.risk, chosen.threshold) == (8 / 14, 0.0, 1.0)


def test_a_risk_of_exactly_five_percent_passes() -> None:
    levels = np.append(C1_LEVELS, [0.8] * 6)
    chosen = coverage_at_error_budget(levels, np.append(C1_CORRECT, [True] * 6), 20, BUDGET)
    assert (chosen.accepted, chosen.errors) == (20, 1)
    assert (chosen.coverage, chosen.risk, chosen.threshold) == (1.0, 0.05, 0.8)


def test_nothing_qualifies_is_coverage_zero_with_null_threshold() -> None:
    chosen = coverage_at_error_budget(np.array([1.0, 0.5]), flags([0, 1]), 2, BUDGET)
    assert (chosen.coverage, chosen.risk, chosen.threshold) == (0.0, None, None)
    assert (chosen.accepted, chosen.errors) == (0, 0)


def test_no_valid_row_is_coverage_zero() -> None:
    assert coverage_at_error_budget(np.array([]), flags([]), 5, BUDGET).coverage == 0.0


def test_coverage_divides_by_all_planned_examples() -> None:
    assert coverage_at_error_budget(np.ones(8), flags([1] * 8), 10, BUDGET).coverage == 0.8


def test_risk_coverage_points_at_observed_levels() -> None:
    levels = np.array([1, 1, 1, 1, 0.9, 0.9, 0.8, 0.5])
    points = risk_coverage(levels, ~flags([0, 0, 1, 0, 0, 1, 0, 1]), 8)
    assert points.coverage.tolist() == [0.5, 0.75, 0.875, 1.0]
    assert points.risk == pytest.approx([0.25, 1 / 3, 2 / 7, 0.375])
    assert points.level.tolist() == [1.0, 0.9, 0.8, 0.5]


def test_a_budget_is_a_fraction() -> None:
    with pytest.raises(ValueError, match="Fraction"):
        coverage_at_error_budget(np.ones(1), flags([1]), 1, 0.05)  # type: ignore[arg-type]


ROWS = st.lists(st.tuples(st.integers(0, 100), st.booleans()), max_size=40)
BUDGETS = st.fractions(0, 1, max_denominator=40)


@given(ROWS, BUDGETS, BUDGETS)
def test_coverage_grows_with_the_budget(rows, one: Fraction, other: Fraction) -> None:
    levels, correct = np.array([h / 100 for h, _ in rows]), flags([right for _, right in rows])
    n = len(rows) + 1
    small, large = (coverage_at_error_budget(levels, correct, n, b) for b in sorted([one, other]))
    assert small.coverage <= large.coverage


@given(ROWS, BUDGETS)
def test_coverage_equals_a_search_over_all_thresholds(rows, budget: Fraction) -> None:
    levels, correct = np.array([h / 100 for h, _ in rows]), flags([right for _, right in rows])
    best = 0
    for level in {h for h, _ in rows}:
        taken = [right for h, right in rows if h >= level]
        if Fraction(taken.count(False), len(taken)) <= budget:
            best = max(best, len(taken))
    assert coverage_at_error_budget(levels, correct, len(rows), budget).accepted == best
