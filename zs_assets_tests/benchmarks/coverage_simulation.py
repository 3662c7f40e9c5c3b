"""Do the intervals of the selective-automation study cover what they say? Seeded repetitions, nothing saved.

Run with `python -m zs_assets_tests.benchmarks.coverage_simulation [repetitions]`; 1,000 repetitions take some
minutes. A population with a known truth is sampled again and again (500 rows with replacement: the
published rows where ZS_TEST_DATA names their folder, else a synthetic population of the same shape), every
interval is computed with 500 resamples, and the share of intervals that hold the truth is printed with its
Monte-Carlo standard error. Intervals that are known to fail are printed too, as such.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from zs_assets.stats import (
    auroc,
    brier_rows,
    calibration_intervals,
    certified_threshold,
    clopper_pearson_interval,
    compare_auroc,
    confidence_statistics,
    corrected_ece,
    corrected_ece_by_level,
    plain_indices,
    reported_confidence,
    stratified_indices,
    wilson_interval,
)
from zs_assets_tests.sources.real_data import TEST_DATA
from zs_assets_tests.stats.automation_rows import automation_answers

REPETITIONS = 1000
ROWS = 500
RESAMPLES = 500
SEED = 1729
RISK_LIMITS = (Fraction(5, 100), Fraction(8, 100), Fraction(10, 100))

# The pilot's Banking77 sample: 100 rows of 72 labels, 44 of which have one row; the others have two here.
PILOT_GOLD = np.repeat(np.arange(72), [1] * 44 + [2] * 28)
PILOT_ACCURACY = 0.778


@dataclass(frozen=True)
class Population:
    """Rows to sample from: hundredths of confidence and margin, right answers, Brier scores."""

    confidence: np.ndarray
    margin: np.ndarray
    correct: np.ndarray
    brier: np.ndarray


@dataclass(frozen=True)
class Calibration:
    """A population of levels: their shares and how often each is right."""

    name: str
    level: np.ndarray
    share: np.ndarray
    accuracy: np.ndarray

    def error(self, group: np.ndarray) -> float:
        """True calibration error when levels are grouped like this."""
        gap = self.share * (self.level / 100 - self.accuracy)
        return float(np.abs(np.bincount(group, weights=gap)).sum())


def main(repetitions: int) -> None:
    population = _published_rows() if TEST_DATA.is_dir() else _synthetic_rows()
    origin = "the published rows" if TEST_DATA.is_dir() else "a synthetic population"
    print(f"{repetitions} samples of {ROWS} rows from {origin}, {RESAMPLES} resamples each; intervals of 95 %")
    _report("means and AUROC", _means(population), repetitions)
    _report("the pilot's sample, accuracy", _pilot(), repetitions)
    for calibration in _calibrations(population):
        _report(f"calibration error, {calibration.name}", _calibration(calibration), repetitions)
    print("\ncertified thresholds, 95 %: share of samples whose threshold breaks its limit (at most 5 %)")
    for limit in RISK_LIMITS:
        broken = sum(_promise_broken(population, limit, repetition) for repetition in range(repetitions))
        _print_share(f"risk <= {float(limit):.2f}", broken / repetitions, repetitions)


def _report(title: str, repeat: Callable[[int], Iterator[tuple[str, bool]]], repetitions: int) -> None:
    covered: dict[str, int] = {}
    for repetition in range(repetitions):
        for name, holds in repeat(repetition):
            covered[name] = covered.get(name, 0) + holds
    print(f"\n{title}")
    for name, count in covered.items():
        _print_share(name, count / repetitions, repetitions)


def _print_share(name: str, share: float, repetitions: int) -> None:
    error = np.sqrt(max(share * (1 - share), 1 / repetitions) / repetitions)
    print(f"  {name:<58}{100 * share:6.1f} % +- {100 * error:.1f}")


def _means(population: Population) -> Callable[[int], Iterator[tuple[str, bool]]]:
    accuracy, brier = population.correct.mean(), population.brier.mean()
    off = population.confidence < 100
    areas = [auroc(values[off], population.correct[off]) for values in (population.confidence, population.margin)]
    assert areas[0] is not None
    assert areas[1] is not None
    lead = areas[0] - areas[1]

    def repeat(repetition: int) -> Iterator[tuple[str, bool]]:
        rows = _sample(population, repetition)
        right = int(rows.correct.sum())
        for name, interval in (("Wilson", wilson_interval), ("Clopper-Pearson", clopper_pearson_interval)):
            bounds = interval(right, ROWS)
            yield f"accuracy, {name}", bool(bounds.low <= accuracy <= bounds.high)
        confidence = reported_confidence(rows.confidence / 100, decimals=2)
        figures = calibration_intervals(confidence, rows.correct, rows.brier, resamples=RESAMPLES, seed=repetition)
        assert figures is not None
        assert figures.brier is not None
        yield "Brier score, percentile bootstrap", figures.brier.low <= brier <= figures.brier.high
        off = rows.confidence < 100
        compared = compare_auroc(
            rows.confidence[off], {"m": rows.margin[off]}, rows.correct[off], resamples=RESAMPLES, seed=repetition
        ).differences[0]
        assert compared.low is not None
        assert compared.high is not None
        yield "AUROC confidence - margin, paired percentile bootstrap", compared.low <= lead <= compared.high

    return repeat


def _calibration(population: Calibration) -> Callable[[int], Iterator[tuple[str, bool]]]:
    by_level = population.error(np.arange(len(population.level)))
    by_bin = population.error(np.minimum(population.level // 10, 9))

    def repeat(repetition: int) -> Iterator[tuple[str, bool]]:
        rng = np.random.default_rng([SEED, repetition])
        count = rng.multinomial(ROWS, population.share)
        right = rng.binomial(count, population.accuracy)
        confidence = reported_confidence(np.repeat(population.level, count) / 100, decimals=2)
        correct = np.concatenate([np.arange(n) < k for n, k in zip(count, right, strict=True)])
        figures = calibration_intervals(confidence, correct, None, resamples=RESAMPLES, seed=repetition)
        assert figures is not None
        intervals = [
            ("ten bins, percentile (protocol)", figures.ece, by_bin),
            ("ten bins, corrected", corrected_ece(confidence, correct, seed=repetition, simulations=RESAMPLES), by_bin),
            ("by level, percentile (protocol, known to fail)", figures.ece_by_level, by_level),
            (
                "by level, corrected",
                corrected_ece_by_level(confidence, correct, seed=repetition, simulations=RESAMPLES),
                by_level,
            ),
        ]
        for name, interval, truth in intervals:
            assert interval is not None
            # A true error of exactly 0 is covered by a bound of exactly 0; sums of gaps carry a last bit.
            yield name, interval.low - 1e-12 <= truth <= interval.high + 1e-12

    return repeat


def _pilot() -> Callable[[int], Iterator[tuple[str, bool]]]:
    def repeat(repetition: int) -> Iterator[tuple[str, bool]]:
        rng = np.random.default_rng([SEED, repetition])
        right = rng.random(len(PILOT_GOLD)) < PILOT_ACCURACY
        draws = {
            "100 rows, stratified by target (protocol, known to fail)": stratified_indices(PILOT_GOLD, RESAMPLES, rng),
            "100 rows, plain": plain_indices(len(PILOT_GOLD), RESAMPLES, rng),
        }
        for name, rows in draws.items():
            low, high = np.quantile(right[rows].mean(axis=1), [0.025, 0.975])
            yield name, bool(low - 1e-12 <= PILOT_ACCURACY <= high + 1e-12)

    return repeat


def _promise_broken(population: Population, limit: Fraction, repetition: int) -> bool:
    rows = _sample(population, repetition)
    confidence = reported_confidence(rows.confidence / 100, decimals=2)
    certified = certified_threshold(confidence, rows.correct, ROWS, limit)
    if certified.threshold is None:
        return False
    accepted = population.confidence >= round(100 * certified.threshold)
    return int((~population.correct[accepted]).sum()) * limit.denominator > int(accepted.sum()) * limit.numerator


def _calibrations(rows: Population) -> Iterator[Calibration]:
    """The rows as they are, and truths without the accident that a rare level is all right or all wrong."""
    level, row_level = np.unique(rows.confidence, return_inverse=True)
    count = np.bincount(row_level)
    share, observed = count / count.sum(), np.bincount(row_level, weights=rows.correct) / count
    smooth = _logistic_fit(level / 100, count, observed)
    yield Calibration("resampled rows", level, share, observed)
    yield Calibration("accuracy a smooth function of the confidence", level, share, smooth)
    yield Calibration("half that gap", level, share, (smooth + level / 100) / 2)
    yield Calibration("a tenth of that gap", level, share, 0.1 * smooth + 0.9 * level / 100)
    yield Calibration("perfectly calibrated", level, share, level / 100)


def _logistic_fit(stated: np.ndarray, count: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Logistic regression of the accuracy on a parabola of the confidence, by Newton steps."""
    terms = np.column_stack([np.ones_like(stated), stated, stated**2])
    weights = np.zeros(3)
    for _ in range(50):
        fitted = 1 / (1 + np.exp(-terms @ weights))
        curvature = (terms.T * (count * fitted * (1 - fitted))) @ terms
        weights += np.linalg.solve(curvature, terms.T @ (count * (observed - fitted)))
    return 1 / (1 + np.exp(-terms @ weights))


def _sample(population: Population, repetition: int) -> Population:
    rows = np.random.default_rng([SEED, repetition]).integers(0, len(population.correct), ROWS)
    return Population(*(getattr(population, field)[rows] for field in ("confidence", "margin", "correct", "brier")))


def _published_rows() -> Population:
    answers = automation_answers()
    confidence, vectors = answers.scored_confidence, answers.raw_vectors
    assert confidence is not None
    assert confidence.numerator is not None
    assert vectors is not None
    grid = confidence_statistics(vectors, 2).grid
    assert grid is not None
    return Population(confidence.numerator, grid.margin, answers.correct, brier_rows(vectors, answers.gold))


def _synthetic_rows() -> Population:
    """Half of the rows at 1.00 and nearly all right, the others overconfident; two options make the vector."""
    rng = np.random.default_rng(SEED)
    n = 4000
    confidence = np.where(rng.random(n) < 0.48, 100, np.clip(rng.beta(4, 1, n) * 100, 15, 99).astype(int))
    correct = rng.random(n) < np.where(confidence == 100, 0.96, confidence / 100 - 0.2)
    margin = np.clip(confidence - rng.integers(0, 15, n), 0, 100)
    return Population(confidence, margin, correct, 2 * (confidence / 100 - correct) ** 2)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else REPETITIONS)
