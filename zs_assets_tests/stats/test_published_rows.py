"""Figures of 500 published rows of another study, where its data is at hand."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from zs_assets.stats import (
    Answers,
    Metric,
    confidence_levels,
    ece_noise_floor,
    evaluate,
    plain_indices,
    resample_counts,
)
from zs_assets.stats.resampled_metrics import MacroAverage, resampled_metrics
from zs_assets_tests.sources.real_data import needs_real_data
from zs_assets_tests.stats.automation_rows import automation_answers

pytestmark = needs_real_data


@pytest.fixture(scope="module")
def answers() -> Answers:
    return automation_answers()


def test_accuracy_zero_count_latency_and_confidence(answers: Answers) -> None:
    scores = evaluate(answers, budget=Fraction(1, 20))
    assert scores.accuracy == 389 / 500
    assert scores.p_gold_zero_count == 44
    assert scores.mean_confidence == pytest.approx(0.907, abs=5e-4)
    assert round(scores.latency_p50_ms) == 296
    assert scores.on_grid


def test_proper_scores_by_both_rules(answers: Answers) -> None:
    scores = evaluate(answers, budget=Fraction(1, 20))
    assert scores.brier_raw == pytest.approx(0.351759, abs=5e-7)
    assert scores.brier_renormalised == pytest.approx(0.35208, abs=5e-6)
    assert (scores.nll_half_step_raw, scores.nll_raw) == pytest.approx((0.83912, 2.80440), abs=5e-6)
    renormalised = scores.nll_half_step_renormalised, scores.nll_renormalised
    assert renormalised == pytest.approx((0.83853, 2.80381), abs=5e-6)


def test_calibration_by_bins_and_by_levels(answers: Answers) -> None:
    scores = evaluate(answers, budget=Fraction(1, 20))
    assert scores.ece == pytest.approx(0.1302, abs=5e-5)
    assert scores.ece_by_level == pytest.approx(0.1568, abs=5e-5)
    assert scores.confidence_level_count == 63


def test_the_top_levels_hold_the_published_counts(answers: Answers) -> None:
    levels = confidence_levels(answers.scored_confidence, answers.correct)
    top = list(zip(levels.level, levels.count, levels.correct, strict=True))[:-5:-1]
    assert top == [(1.0, 238, 228), (0.99, 46, 37), (0.98, 24, 19), (0.97, 18, 14)]


def test_plug_in_coverage(answers: Answers) -> None:
    scores = evaluate(answers, budget=Fraction(1, 20))
    assert (scores.coverage, scores.threshold) == (0.476, 1.0)


def test_the_noise_floor_of_calibration(answers: Answers) -> None:
    mean, p95 = ece_noise_floor(answers.scored_confidence, 4000, np.random.default_rng(0))
    assert mean == pytest.approx(0.023, abs=1e-3)
    assert p95 == pytest.approx(0.034, abs=1e-3)


def test_published_percentile_intervals_from_the_published_seed(answers: Answers) -> None:
    draws = plain_indices(500, 10_000, np.random.default_rng(1729))
    resampled = resampled_metrics(answers, resample_counts(draws, 500), MacroAverage.OCCURRING)
    brier = np.quantile(resampled[Metric.BRIER], [0.025, 0.975])
    ece = np.quantile(resampled[Metric.ECE], [0.025, 0.975])
    assert brier == pytest.approx([0.2947, 0.4102], abs=5e-5)
    assert ece == pytest.approx([0.1015, 0.1636], abs=5e-5)


def test_renormalising_changes_the_confidence_to_fractions(answers: Answers) -> None:
    renormalised = replace(answers, confidence=None, renormalise=True)
    denominators = np.unique(renormalised.scored_confidence.denominator, return_counts=True)
    assert [part.tolist() for part in denominators] == [[99, 100], [33, 467]]
    assert set(answers.scored_confidence.denominator) == {100}
