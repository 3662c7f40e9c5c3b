"""Brier score and NLL: known vectors, both rules, both floors, and other libraries."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats as scipy_stats
from sklearn.metrics import log_loss

from zs_assets.stats import (
    HALF_STEP_FLOOR,
    PILOT_FLOOR,
    brier_rows,
    evaluate,
    nll_rows,
    renormalise,
    row_sums,
)
from zs_assets_tests.stats.rows import random_answers, vectored

# The known vector B1: five rows on the 0.01 grid, one of them sums to 0.99.
GOLD = np.array([0, 1, 2, 0, 1])
VECTORS = np.array([[1, 0, 0], [0.5, 0.5, 0], [1, 0, 0], [0.34, 0.33, 0.32], [0, 0.21, 0.79]], dtype=np.float64)
BUDGET = Fraction(1, 20)


def test_brier_is_the_sum_over_classes_up_to_2() -> None:
    assert brier_rows(VECTORS, GOLD) == pytest.approx([0, 0.5, 2, 0.6469, 1.2482], abs=1e-12)


def test_both_rules_and_both_floors_are_printed() -> None:
    scores = evaluate(vectored(GOLD, VECTORS, decimals=2), budget=BUDGET)
    assert scores.brier == scores.brier_raw == pytest.approx(0.87902, abs=1e-12)
    assert scores.brier_renormalised == pytest.approx(0.878974, abs=5e-7)
    assert scores.nll_half_step == scores.nll_half_step_raw == pytest.approx(1.72618, abs=5e-6)
    assert scores.nll == scores.nll_raw == pytest.approx(6.19273, abs=5e-6)
    assert scores.nll_half_step_renormalised == pytest.approx(1.72417, abs=5e-6)
    assert scores.nll_renormalised == pytest.approx(6.190715, abs=5e-7)


def test_the_study_decides_which_rule_is_primary() -> None:
    scores = evaluate(vectored(GOLD, VECTORS, decimals=2, renormalise=True), budget=BUDGET)
    assert scores.brier == scores.brier_renormalised
    assert scores.nll == scores.nll_renormalised
    assert scores.nll_half_step == scores.nll_half_step_renormalised


def test_one_row_with_p_gold_zero_adds_its_floor() -> None:
    row, gold = np.array([[1.0, 0.0]]), np.array([1])
    assert nll_rows(row, gold, HALF_STEP_FLOOR)[0] == pytest.approx(5.298, abs=5e-4)
    assert nll_rows(row, gold, PILOT_FLOOR)[0] == pytest.approx(27.631, abs=5e-4)


def test_a_certain_right_answer_costs_zero_and_not_minus_zero() -> None:
    assert str(nll_rows(np.array([[1.0, 0.0]]), np.array([0]), PILOT_FLOOR)[0]) == "0.0"


def test_p_gold_zero_is_counted_before_any_floor() -> None:
    scores = evaluate(vectored(GOLD, VECTORS, decimals=2), budget=BUDGET)
    assert (scores.p_gold_zero_count, scores.p_gold_zero_rate) == (1, 0.2)


@pytest.mark.parametrize(
    ("k", "brier", "nll"),
    [(4, 0.75, 1.386294), (6, 0.83333, 1.791759), (72, 0.98611, 4.276666)],
)
def test_uniform_control(k: int, brier: float, nll: float) -> None:
    scores = evaluate(vectored(np.arange(100) % k, np.full((100, k), 1 / k)), budget=BUDGET)
    assert scores.brier == pytest.approx(brier, abs=5e-6)
    assert scores.nll == pytest.approx(nll, abs=5e-7)
    assert scores.coverage == 0.0
    assert scores.risk is None
    assert scores.threshold is None


@pytest.mark.parametrize(("k", "count_of_first", "accuracy"), [(4, 25, 0.25), (6, 17, 0.17), (72, 2, 0.02)])
def test_uniform_control_predicts_the_first_label(k: int, count_of_first: int, accuracy: float) -> None:
    gold = np.concatenate([np.zeros(count_of_first, int), 1 + np.arange(100 - count_of_first) % (k - 1)])
    assert evaluate(vectored(gold, np.full((100, k), 1 / k)), budget=BUDGET).accuracy == accuracy


def test_nll_equals_scikit_learn() -> None:
    answers = random_answers(90, 6, seed=3)
    vectors = answers.renormalised_vectors
    ours = nll_rows(vectors, answers.gold, PILOT_FLOOR).mean()
    assert ours == pytest.approx(log_loss(answers.gold, vectors, labels=range(6)), abs=1e-12)


def test_brier_equals_scikit_learn_in_the_multiclass_case() -> None:
    from sklearn.metrics import brier_score_loss

    answers = random_answers(90, 6, seed=3)
    vectors = answers.renormalised_vectors
    try:
        theirs = brier_score_loss(answers.gold, vectors, labels=range(6), scale_by_half=False)
    except (TypeError, ValueError):
        pytest.skip("this scikit-learn has no multiclass Brier score")
    assert brier_rows(vectors, answers.gold).mean() == pytest.approx(theirs, abs=1e-12)


def test_nll_equals_the_entropy_when_gold_follows_the_vector() -> None:
    vector = np.array([0.5, 0.25, 0.25])
    rows = np.tile(vector, (4, 1))
    expected = scipy_stats.entropy(vector)
    assert nll_rows(rows, np.array([0, 0, 1, 2]), PILOT_FLOOR).mean() == pytest.approx(expected)


def test_row_sums_do_not_depend_on_the_order_of_options() -> None:
    row = np.random.default_rng(1).random(72)
    orders = np.array([np.random.default_rng(i).permutation(row) for i in range(50)])
    assert len(set(row_sums(orders))) == 1


def test_a_row_without_mass_cannot_be_renormalised() -> None:
    with pytest.raises(ValueError, match="positive, finite sum"):
        renormalise(np.array([[0.0, 0.0]]))
