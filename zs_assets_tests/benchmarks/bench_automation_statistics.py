"""Statistics of the selective-automation study against plain forms; both sides have to agree.

Run with `python -m zs_assets_tests.benchmarks.bench_automation_statistics`. Ratios are taken in one run, since
absolute times on a shared machine mean little; nothing is asserted on time. Slow forms are timed on fewer
resamples and scaled, where the line says so. Rows are synthetic: 500 or 5,000, on a grid of hundredths.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from scipy.stats import bootstrap, rankdata

from zs_assets.stats import (
    Confidence,
    calibration_intervals,
    corrected_ece,
    corrected_ece_by_level,
    level_table,
    reported_confidence,
    resampled_wins,
    tier_table,
    wilson_interval,
)

SEED = 1729
RESAMPLES = 10_000
SCORES = 4
LOOPED = 500
"""Resamples of the plain loop over every interval of the study, scaled to all of them."""

_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Rows:
    """What the study's statistics read: hundredths of confidence, the scores compared, right answers, Brier."""

    confidence: np.ndarray
    scores: list[np.ndarray]
    correct: np.ndarray
    brier: np.ndarray


@dataclass(frozen=True)
class Timed:
    """Seconds by the wall clock and of the processor."""

    wall: float
    cpu: float


def main() -> None:
    small, large = _rows(500), _rows(5000)
    _fast_wins(small, 200)  # first calls of numpy are not what is measured
    print(f"AUROC bootstrap, {RESAMPLES} paired resamples of {SCORES} scores")
    _bench_auroc(small, looped=RESAMPLES, with_scipy=True)
    _bench_auroc(large, looped=1000, with_scipy=False)
    _bench_study(small)


def _bench_auroc(rows: Rows, *, looped: int, with_scipy: bool) -> None:
    n = len(rows.correct)
    fast, areas = _median_of_five(lambda: _fast_wins(rows, RESAMPLES))
    slow, expected = _timed(lambda: _rank_loop(rows, looped))
    assert np.array_equal(areas[:looped], expected), "the two implementations differ"
    scaled = slow.wall * RESAMPLES / looped
    note = "" if looped == RESAMPLES else f", {looped} timed and scaled"
    print(f"  n = {n}: zs_assets.stats {fast.wall * 1e3:9.1f} ms (processor {fast.cpu * 1e3:.1f} ms)")
    _print_ratio(f"rank loop{note}", scaled, fast.wall)
    lean, again = _timed(lambda: _level_loop(rows, looped))
    assert np.array_equal(areas[:looped], again), "the two implementations differ"
    _print_ratio(f"rank loop on levels found beforehand{note}", lean.wall * RESAMPLES / looped, fast.wall)
    if with_scipy:
        _print_ratio("scipy.stats.bootstrap, paired, vectorised", _timed(lambda: _scipy(rows))[0].wall, fast.wall)


def _bench_study(rows: Rows) -> None:
    """AUROC, both forms of ECE, Brier, gap and levels, by loops over resamples and rows."""
    fast, (_, areas) = _median_of_five(lambda: _study(rows))
    slow, (looped, looped_areas) = _timed(lambda: _study_loop(rows, LOOPED))
    assert np.array_equal(areas[:LOOPED], looped_areas), "the two implementations differ"
    again = calibration_intervals(_confidence(rows), rows.correct, rows.brier, resamples=LOOPED, seed=SEED)
    assert again is not None
    assert again.ece_by_level is not None
    assert again.brier is not None
    ours = [again.ece_by_level, again.ece, again.brier]
    for interval, values in zip(ours, looped.T, strict=True):
        assert np.allclose((interval.low, interval.high), np.quantile(values, [0.025, 0.975]), atol=1e-9)
    print(f"all intervals of the study, n = {len(rows.correct)}, {RESAMPLES} resamples")
    print(f"  zs_assets.stats {fast.wall * 1e3:9.1f} ms (processor {fast.cpu * 1e3:.1f} ms)")
    _print_ratio(f"loops over rows, {LOOPED} resamples timed and scaled", slow.wall * RESAMPLES / LOOPED, fast.wall)
    confidence = _confidence(rows)
    both = corrected_ece_by_level, corrected_ece
    corrected, _ = _timed(lambda: [figure(confidence, rows.correct, seed=SEED) for figure in both])
    print(f"  the two corrected ECE intervals beside them {corrected.cpu:.2f} s of processor time")


def _fast_wins(rows: Rows, resamples: int) -> np.ndarray:
    wins = resampled_wins(rows.scores, rows.correct, resamples, np.random.default_rng(SEED))
    return wins.doubled_wins / wins.doubled_pairs[:, None]


def _rank_loop(rows: Rows, resamples: int) -> np.ndarray:
    """Every resample ranked anew, score by score, by scipy's average ranks."""
    rng, n = np.random.default_rng(SEED), len(rows.correct)
    areas = np.empty((resamples, len(rows.scores)))
    for b in range(resamples):
        drawn = rng.integers(0, n, n)
        right = rows.correct[drawn]
        hits = int(right.sum())
        for k, score in enumerate(rows.scores):
            ranks = rankdata(score[drawn])
            # Ranks are multiples of 1/2, so the doubled count is exact.
            areas[b, k] = (2 * ranks[right].sum() - hits * (hits + 1)) / (2 * hits * (n - hits))
    return areas


def _level_loop(rows: Rows, resamples: int) -> np.ndarray:
    """The leanest loop: levels are found once, a resample counts and sums them. It needs a coarse grid."""
    rng, n = np.random.default_rng(SEED), len(rows.correct)
    codes = [np.unique(score, return_inverse=True)[1] for score in rows.scores]
    areas = np.empty((resamples, len(codes)))
    for b in range(resamples):
        drawn = rng.integers(0, n, n)
        right = rows.correct[drawn]
        hits = int(right.sum())
        for k, code in enumerate(codes):
            at_level = code[drawn]
            count = np.bincount(at_level)
            doubled_rank = 2 * np.cumsum(count) - count + 1
            doubled = doubled_rank @ np.bincount(at_level[right], minlength=len(count))
            areas[b, k] = (doubled - hits * (hits + 1)) / (2 * hits * (n - hits))
    return areas


def _scipy(rows: Rows) -> None:
    """Differences of the first score to the others, the form a user of scipy would write."""

    def differences(drawn: np.ndarray, axis: int = -1) -> np.ndarray:
        right = rows.correct[drawn]
        hits = right.sum(axis=axis)
        areas = []
        for score in rows.scores:
            ranked = (rankdata(score[drawn], axis=axis) * right).sum(axis=axis)
            areas.append((2 * ranked - hits * (hits + 1)) / (2 * hits * (drawn.shape[axis] - hits)))
        return np.stack([areas[0] - other for other in areas[1:]])

    bootstrap(
        (np.arange(len(rows.correct)),),
        differences,
        n_resamples=RESAMPLES,
        batch=500,
        vectorized=True,
        method="percentile",
        rng=np.random.default_rng(SEED),
    )


def _study(rows: Rows) -> tuple[object, np.ndarray]:
    confidence = _confidence(rows)
    figures = calibration_intervals(confidence, rows.correct, rows.brier, resamples=RESAMPLES, seed=SEED)
    tables = level_table(confidence, rows.correct), tier_table(confidence, rows.correct)
    return (figures, *tables), _fast_wins(rows, RESAMPLES)


def _study_loop(rows: Rows, resamples: int) -> tuple[np.ndarray, np.ndarray]:
    rng, n = np.random.default_rng(SEED), len(rows.correct)
    answered = list(zip(rows.confidence.tolist(), rows.correct.tolist(), rows.brier.tolist(), strict=True))
    scores = [score.tolist() for score in rows.scores]
    figures, areas = [], []
    for _ in range(resamples):
        drawn = rng.integers(0, n, n).tolist()
        figures.append(_figures_by_row([answered[i] for i in drawn]))
        right = [rows.correct[i] for i in drawn]
        areas.append([_area_by_row([score[i] for i in drawn], right) for score in scores])
    for level in set(rows.confidence.tolist()):
        at = [right for h, right, _ in answered if h == level]
        wilson_interval(sum(at), len(at))
    return np.array(figures), np.array(areas)


def _figures_by_row(drawn: list[tuple[int, bool, float]]) -> tuple[float, float, float]:
    by_level: dict[int, float] = {}
    by_bin: dict[int, float] = {}
    total = 0.0
    for hundredths, right, brier in drawn:
        gap = hundredths / 100 - right
        by_level[hundredths] = by_level.get(hundredths, 0.0) + gap
        tenth = min(hundredths // 10, 9)
        by_bin[tenth] = by_bin.get(tenth, 0.0) + gap
        total += brier
    n = len(drawn)
    return sum(map(abs, by_level.values())) / n, sum(map(abs, by_bin.values())) / n, total / n


def _area_by_row(scores: list[float], right: list[bool]) -> float:
    """Mann-Whitney by one pass over the sorted rows, ties together."""
    ordered = sorted(zip(scores, right, strict=True))
    doubled = wrong_below = i = hits = 0
    while i < len(ordered):
        level, here, wrong_here = ordered[i][0], 0, 0
        while i < len(ordered) and ordered[i][0] == level:
            here += bool(ordered[i][1])
            wrong_here += not ordered[i][1]
            i += 1
        doubled += here * (2 * wrong_below + wrong_here)
        wrong_below += wrong_here
        hits += here
    return doubled / (2 * hits * wrong_below)


def _rows(n: int) -> Rows:
    rng = np.random.default_rng(n)
    confidence = np.where(rng.random(n) < 0.48, 100, np.clip(rng.beta(4, 1, n) * 100, 15, 99).astype(int))
    correct = rng.random(n) < np.where(confidence == 100, 0.96, confidence / 100 - 0.2)
    others = [np.clip(confidence - rng.integers(0, 9 * k, n), 0, 100) for k in range(1, SCORES)]
    return Rows(confidence, [confidence, *others], correct, 2 * (confidence / 100 - correct) ** 2)


def _confidence(rows: Rows) -> Confidence:
    return reported_confidence(rows.confidence / 100, decimals=2)


def _median_of_five(call: Callable[[], _Result]) -> tuple[Timed, _Result]:
    return sorted((_timed(call) for _ in range(5)), key=lambda run: run[0].wall)[2]


def _timed(call: Callable[[], _Result]) -> tuple[Timed, _Result]:
    wall, cpu = time.perf_counter(), time.process_time()
    result = call()
    return Timed(time.perf_counter() - wall, time.process_time() - cpu), result


def _print_ratio(name: str, slow: float, fast: float) -> None:
    print(f"    {name:<58}{slow * 1e3:10.1f} ms  {slow / fast:7.1f} x")


if __name__ == "__main__":
    main()
