"""Percentile intervals as published, and the noise a perfectly calibrated system shows."""

from __future__ import annotations

import numpy as np
import pytest

from zs_assets.stats import (
    Confidence,
    brier_rows,
    calibration_intervals,
    ece_by_level,
    ece_by_level_noise_floor,
    ece_noise_floor,
    plain_indices,
    top_label_ece,
)
from zs_assets_tests.sources.real_data import needs_real_data
from zs_assets_tests.stats.automation_rows import automation_answers
from zs_assets_tests.stats.rows import flags, on_hundredths, plain_floats

LEVELS = [0.25, 0.3, 0.35, 0.6, 0.65, 0.7, 0.75, 0.95, 1, 1]
CORRECT = flags([0, 1, 0, 1, 0, 0, 1, 1, 0, 1])


def test_a_resample_is_scored_like_the_drawn_rows_alone() -> None:
    brier = np.linspace(0, 1, 10)
    intervals = calibration_intervals(on_hundredths(LEVELS), CORRECT, brier, resamples=300, seed=4)
    drawn = plain_indices(10, 300, np.random.default_rng(4))
    confidence = np.array(LEVELS)
    expected = {
        "ece_by_level": [ece_by_level(on_hundredths(confidence[rows]), CORRECT[rows]) for rows in drawn],
        "ece": [top_label_ece(on_hundredths(confidence[rows]), CORRECT[rows]) for rows in drawn],
        "accuracy": CORRECT[drawn].mean(axis=1),
        "mean_confidence": confidence[drawn].mean(axis=1),
        "gap": confidence[drawn].mean(axis=1) - CORRECT[drawn].mean(axis=1),
        "brier": brier[drawn].mean(axis=1),
    }
    for name, values in expected.items():
        interval = getattr(intervals, name)
        assert (interval.low, interval.high) == pytest.approx(tuple(np.quantile(values, [0.025, 0.975])), abs=1e-12)
    assert (intervals.ece.estimate, intervals.ece_by_level.estimate) == pytest.approx((0.225, 0.435))


def test_many_rows_are_resampled_in_blocks_from_one_stream() -> None:
    n, resamples = 60_000, 150  # 69 resamples fit into a block
    right = np.random.default_rng(0).random(n) < 0.8
    interval = calibration_intervals(on_hundredths([0.8] * n), right, None, resamples=resamples, seed=1).accuracy
    means = right[np.random.default_rng(1).integers(0, n, (resamples, n))].mean(axis=1)
    assert (interval.low, interval.high) == pytest.approx(tuple(np.quantile(means, [0.025, 0.975])), abs=1e-12)


def test_off_the_grid_there_is_no_error_by_level() -> None:
    intervals = calibration_intervals(plain_floats(LEVELS), CORRECT, None, resamples=20, seed=1)
    assert (intervals.ece_by_level, intervals.brier) == (None, None)
    assert ece_by_level_noise_floor(plain_floats(LEVELS), 5, np.random.default_rng(0)) is None


def test_without_rows_there_are_no_intervals() -> None:
    assert calibration_intervals(on_hundredths([]), flags([]), None, resamples=20, seed=1) is None


def test_all_right_at_full_confidence_leaves_no_gap() -> None:
    intervals = calibration_intervals(on_hundredths([1.0] * 5), flags([1] * 5), None, resamples=20, seed=1)
    assert (intervals.ece.low, intervals.ece.high, intervals.gap.high) == (0.0, 0.0, 0.0)


def test_bad_input_is_refused_in_one_sentence() -> None:
    with pytest.raises(ValueError, match="confidence must hold"):
        calibration_intervals(Confidence(np.array([np.nan])), flags([1]), None, resamples=5, seed=1)
    with pytest.raises(ValueError, match="correct must be 1 booleans"):
        calibration_intervals(on_hundredths([0.5]), flags([1, 0]), None, resamples=5, seed=1)
    with pytest.raises(ValueError, match="brier must be 1 finite"):
        calibration_intervals(on_hundredths([0.5]), flags([1]), np.array([np.nan]), resamples=5, seed=1)


def test_the_noise_of_one_level_is_the_mean_deviation_of_a_binomial() -> None:
    # Two rows at one half: the share right is 0, 1/2 or 1, so the gap is 1/2 half of the time: mean 1/4.
    mean, p95 = ece_by_level_noise_floor(on_hundredths([0.5, 0.5]), 20_000, np.random.default_rng(0))
    assert mean == pytest.approx(0.25, abs=0.01)
    assert p95 == 0.5


@needs_real_data
def test_published_intervals() -> None:
    answers = automation_answers()
    intervals = calibration_intervals(
        answers.scored_confidence,
        answers.correct,
        brier_rows(answers.raw_vectors, answers.gold),
        resamples=10_000,
        seed=1729,
    )
    published = {
        "ece_by_level": (0.1568, 0.1418, 0.2000),
        "ece": (0.1302, 0.1015, 0.1636),
        "brier": (0.3518, 0.2947, 0.4102),
    }
    for name, figures in published.items():
        interval = getattr(intervals, name)
        assert (interval.estimate, interval.low, interval.high) == pytest.approx(figures, abs=5.1e-5)
    assert intervals.gap.estimate == pytest.approx(0.129, abs=5e-4)


@needs_real_data
def test_published_noise_floors() -> None:
    confidence = automation_answers().scored_confidence
    bins = ece_noise_floor(confidence, 4000, np.random.default_rng(0))
    levels = ece_by_level_noise_floor(confidence, 4000, np.random.default_rng(0))
    assert bins == pytest.approx((0.023, 0.034), abs=1e-3)
    assert levels == pytest.approx((0.070, 0.080), abs=1e-3)
