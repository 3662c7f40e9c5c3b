"""One row per system and dataset: denominators, missing parts, and the published figures."""

from __future__ import annotations

from dataclasses import asdict
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zs_assets.stats import FAILED, Answers, evaluate
from zs_assets_tests.stats.rows import labelled, random_answers, vectored

BUDGET = Fraction(1, 20)


def rows_with_counts(groups: list[tuple[float, int, int]]) -> Answers:
    """Two-label answers: for every (confidence, right, wrong) that many rows on the 0.01 grid."""
    confidence = np.concatenate([np.full(right + wrong, c) for c, right, wrong in groups])
    gold = np.concatenate([np.repeat([0, 1], [right, wrong]) for _, right, wrong in groups])
    return vectored(gold, np.column_stack([confidence, 1 - confidence]), decimals=2, renormalise=True)


def test_91_of_100_and_83_accepted_with_4_errors_print_the_published_floats() -> None:
    scores = evaluate(rows_with_counts([(1.0, 70, 2), (0.94, 9, 2), (0.8, 12, 5)]), budget=BUDGET)
    assert scores.accuracy == 0.91
    assert (scores.accepted, scores.errors) == (83, 4)
    assert scores.coverage == 0.83
    assert scores.risk == 0.04819277108433735
    assert scores.threshold == 0.94


def test_86_accepted_with_4_errors_print_the_published_floats() -> None:
    scores = evaluate(rows_with_counts([(1.0, 80, 4), (0.78, 2, 0), (0.6, 5, 9)]), budget=BUDGET)
    assert (scores.accuracy, scores.coverage) == (0.87, 0.86)
    assert (scores.risk, scores.threshold) == (0.046511627906976744, 0.78)


def test_zero_rate_16_of_100_and_no_threshold_within_the_budget() -> None:
    scores = evaluate(rows_with_counts([(1.0, 40, 16), (0.7, 8, 36)]), budget=BUDGET)
    assert scores.accuracy == 0.48
    assert (scores.p_gold_zero_count, scores.p_gold_zero_rate) == (16, 0.16)
    assert (scores.coverage, scores.risk, scores.threshold) == (0.0, None, None)


@pytest.mark.parametrize(
    ("accepted", "errors", "risk"),
    [(24, 1, 0.041666666666666664), (27, 1, 0.037037037037037035), (2, 0, 0.0)],
)
def test_the_other_published_coverages(accepted: int, errors: int, risk: float) -> None:
    rest = 100 - accepted
    scores = evaluate(rows_with_counts([(0.9, accepted - errors, errors), (0.6, 0, rest)]), budget=BUDGET)
    assert (scores.coverage, scores.risk) == (accepted / 100, risk)


def test_failed_examples_stay_in_the_denominator() -> None:
    gold = np.array([0, 0, 1, 1])
    vectors = np.array([[1.0, 0.0], [1.0, 0.0], [np.nan, 7.0], [0.0, 1.0]])
    valid = np.array([True, True, False, True])
    answers = Answers(
        gold,
        np.array([0, 0, FAILED, 1]),
        valid,
        2,
        probabilities=vectors,
        latency_ms=np.array([1, 2, np.nan, 3.0]),
    )
    scores = evaluate(answers, budget=BUDGET)
    assert (scores.n, scores.valid, scores.failures) == (4, 3, 1)
    assert scores.accuracy == scores.coverage == 0.75
    assert scores.macro_f1 == pytest.approx((1 + 2 / 3) / 2)


def test_vector_and_latency_figures_are_of_valid_rows_only() -> None:
    whole = random_answers(60, 4, seed=5, decimals=2, fail_rate=0.2)
    scores = evaluate(whole, budget=BUDGET)
    valid_only = evaluate(whole.take(np.flatnonzero(whole.valid)), budget=BUDGET)
    assert scores.failures > 0
    for name in ("brier", "nll", "ece", "mean_confidence", "p_gold_zero_rate", "latency_p95_ms"):
        assert getattr(scores, name) == getattr(valid_only, name)
    assert scores.accuracy < valid_only.accuracy
    assert scores.coverage < valid_only.coverage


def test_label_only_rows_have_no_proper_scores() -> None:
    scores = evaluate(labelled([0, 1, 2], [0, 1, FAILED], 3), budget=BUDGET)
    assert scores.accuracy == pytest.approx(2 / 3)
    counted = {"n", "valid", "failures", "accuracy", "macro_f1"}
    assert all(value is None for name, value in asdict(scores).items() if name not in counted)


def test_without_a_valid_row_only_the_planned_figures_remain() -> None:
    answers = Answers(
        np.array([0, 1]),
        np.array([FAILED, FAILED]),
        np.array([False, False]),
        2,
        probabilities=np.full((2, 2), np.nan),
        latency_ms=np.array([np.nan, np.nan]),
    )
    scores = evaluate(answers, budget=BUDGET)
    assert (scores.accuracy, scores.macro_f1, scores.coverage) == (0.0, 0.0, 0.0)
    assert scores.brier is scores.ece is scores.threshold is scores.latency_p50_ms is None


def test_values_off_the_stated_grid_are_reported() -> None:
    vectors = np.array([[0.875, 0.125], [0.9, 0.1]])
    scores = evaluate(vectored([0, 0], vectors, decimals=2), budget=BUDGET)
    assert scores.on_grid is False
    assert scores.ece_by_level is None


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"gold": np.array([0, 2])}, "gold must be label indices from 0 to 1"),
        ({"gold": np.array([0.0, 1.0])}, "gold must be 2 integers"),
        ({"predicted": np.array([0, 5])}, "predicted must be label indices"),
        ({"predicted": np.array([0, -1])}, "-1 on the rows that are not valid"),
        ({"valid": np.array([True, False])}, "-1 on the rows that are not valid"),
        ({"valid": np.array([1, 1])}, "valid must be 2 booleans"),
        ({"n_classes": 1}, "n_classes must be at least 2"),
        ({"decimals": 0}, "decimals must be from 1 to 6"),
        ({"probabilities": np.ones((2, 3))}, r"probabilities must have shape \(2, 2\)"),
        (
            {"probabilities": np.array([[np.nan, 1], [0, 1]])},
            r"probabilities must be numbers in \[0, 1\]",
        ),
        (
            {"probabilities": np.array([[1.2, 0], [0, 1]])},
            r"probabilities must be numbers in \[0, 1\]",
        ),
        ({"probabilities": np.zeros((2, 2))}, "positive sum"),
        ({"confidence": np.array([0.5, np.nan])}, r"confidence must be numbers in \[0, 1\]"),
        ({"latency_ms": np.array([1.0, -1.0])}, "latency_ms must be finite"),
    ],
)
def test_wrong_arrays_are_refused_at_the_door(change: dict, sentence: str) -> None:
    right = {
        "gold": np.array([0, 1]),
        "predicted": np.array([0, 1]),
        "valid": np.array([True, True]),
        "n_classes": 2,
    }
    with pytest.raises(ValueError, match=sentence):
        Answers(**{**right, **change})


@settings(max_examples=40, deadline=None)
@given(
    st.integers(2, 9),
    st.integers(3, 40),
    st.sampled_from([None, 2]),
    st.randoms(use_true_random=False),
)
def test_scores_do_not_depend_on_the_order_of_rows(k: int, n: int, decimals: int | None, random) -> None:
    answers = random_answers(n, k, seed=n, decimals=decimals, fail_rate=0.2)
    order = list(range(n))
    random.shuffle(order)
    straight = asdict(evaluate(answers, budget=BUDGET))
    shuffled = asdict(evaluate(answers.take(order), budget=BUDGET))
    assert shuffled == pytest.approx(straight, abs=1e-12)
