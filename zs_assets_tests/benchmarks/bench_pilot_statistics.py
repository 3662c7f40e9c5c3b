"""Paired bootstrap of the pilot's metrics: `zs_assets.stats` against a plain loop over row objects.

Run with `python -m zs_assets_tests.benchmarks.bench_pilot_statistics`. Both sides draw the published stream,
score 2,000 resamples of three datasets (100 rows; 4, 6 and 72 labels) and have to agree to 1e-9. The ratio
is taken in one run, since absolute times on a shared machine mean little.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from zs_assets.stats import (
    FAILED,
    Answers,
    Metric,
    PairedDifferences,
    Scheme,
    first_maximum,
    paired_differences,
    published_stream,
)

SEED = 20260917
ROWS = 100
RESAMPLES = 2000
LABELS = {"agnews": 4, "emotiondair": 6, "banking77": 72}
TARGET_RATIO = 80

_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Row:
    """One answered example, the way a row-by-row implementation holds it."""

    example_id: str
    gold: int
    predicted: int
    probabilities: tuple[float, ...]
    # Stored, not recomputed: in floats 0.19 / 0.95 lies below the edge 0.2, and the two sides would bin
    # such a row differently.
    confidence: float


def main() -> None:
    datasets = {name: _pair(k, seed) for seed, (name, k) in enumerate(LABELS.items())}
    ids = [f"demo:{i}" for i in range(ROWS)]
    rows = {name: [_rows(answers, ids) for answers in pair] for name, pair in datasets.items()}
    _vectorised(datasets, ids, resamples=10)  # first calls of numpy and BLAS are not what is measured

    fast_runs = [_timed(lambda: _vectorised(datasets, ids, RESAMPLES)) for _ in range(5)]
    fast, differences = sorted(fast_runs, key=lambda run: run[0])[len(fast_runs) // 2]
    slow, expected = _timed(lambda: {name: _loop(a, b) for name, (a, b) in rows.items()})

    largest = max(
        float(np.abs(differences[name].resampled[metric] - values).max())
        for name, by_metric in expected.items()
        for metric, values in by_metric.items()
    )
    assert largest < 1e-9, f"the two implementations differ by {largest}"
    ratio = slow / fast
    print(f"{RESAMPLES} paired resamples, {len(LABELS)} datasets of {ROWS} rows, 6 metrics")
    print(f"row-object loop   {slow * 1e3:9.1f} ms")
    print(f"zs_assets.stats   {fast * 1e3:9.1f} ms  (median of {len(fast_runs)})")
    print(f"ratio             {ratio:9.0f} x   (target {TARGET_RATIO})")
    print(f"largest difference over all resamples {largest:.1e}")
    assert ratio >= TARGET_RATIO, f"{ratio:.0f}x is below the target of {TARGET_RATIO}x"


def _vectorised(
    datasets: dict[str, tuple[Answers, Answers]], ids: list[str], resamples: int
) -> dict[str, PairedDifferences]:
    result = {}
    for name, (a, b) in datasets.items():
        result[name] = paired_differences(
            a,
            b,
            example_ids=ids,
            scheme=Scheme.TARGET_STRATIFIED,
            resamples=resamples,
            rng=published_stream(SEED),
        )
        result[name].intervals()
    return result


def _loop(a: Sequence[Row], b: Sequence[Row]) -> dict[Metric, np.ndarray]:
    """The same differences, scored resample by resample from lists of rows."""
    of_b = {row.example_id: row for row in b if row.predicted != FAILED}
    left = sorted(
        (row for row in a if row.predicted != FAILED and row.example_id in of_b),
        key=lambda row: row.example_id,
    )
    right = [of_b[row.example_id] for row in left]
    strata = [
        np.array([i for i, row in enumerate(left) if row.gold == label]) for label in sorted({row.gold for row in left})
    ]
    rng = np.random.default_rng(SEED)
    differences: dict[Metric, list[float]] = {}
    for _ in range(RESAMPLES):
        drawn = np.concatenate([rng.choice(s, size=len(s), replace=True) for s in strata])
        scores_a = _score([left[i] for i in drawn])
        scores_b = _score([right[i] for i in drawn])
        for metric, value in scores_a.items():
            differences.setdefault(metric, []).append(value - scores_b[metric])
    for values in differences.values():
        np.quantile(values, [0.025, 0.975])
    return {metric: np.array(values) for metric, values in differences.items()}


def _score(rows: Sequence[Row]) -> dict[Metric, float]:
    gold = np.array([row.gold for row in rows])
    predicted = np.array([row.predicted for row in rows])
    vectors = np.array([row.probabilities for row in rows])
    confidence = np.array([row.confidence for row in rows])
    right = gold == predicted
    f1 = []
    for label in range(vectors.shape[1]):
        meant, chosen = gold == label, predicted == label
        hits, total = np.sum(meant & chosen), np.sum(meant) + np.sum(chosen)
        f1.append(2 * hits / total if total else 0.0)
    ece = 0.0
    for k in range(10):
        inside = (confidence >= k / 10) & ((confidence < (k + 1) / 10) | (k == 9))
        if inside.any():
            ece += inside.mean() * abs(confidence[inside].mean() - right[inside].mean())
    target = vectors[np.arange(len(rows)), gold]
    one_hot = np.eye(vectors.shape[1])[gold]
    return {
        Metric.ACCURACY: float(right.mean()),
        Metric.MACRO_F1: float(np.mean(f1)),
        Metric.BRIER: float(np.mean(np.sum((vectors - one_hot) ** 2, axis=1))),
        Metric.NLL: float(-np.mean(np.log(np.maximum(target, 1e-12)))),
        Metric.NLL_HALF_STEP: float(-np.mean(np.log(np.maximum(target, 0.005)))),
        Metric.ECE: float(ece),
    }


def _pair(n_classes: int, seed: int) -> tuple[Answers, Answers]:
    """A system that rounds to hundredths and one that does not; each fails on a few rows."""
    rng = np.random.default_rng(seed)
    gold = np.arange(ROWS) % n_classes
    return (
        _answers(gold, n_classes, rng, decimals=2),
        _answers(gold, n_classes, rng, decimals=None),
    )


def _answers(gold: np.ndarray, n_classes: int, rng: np.random.Generator, *, decimals: int | None) -> Answers:
    logits = 2 * rng.normal(size=(len(gold), n_classes)) + 5.0 * np.eye(n_classes)[gold]
    vectors = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    if decimals is not None:
        vectors = np.round(vectors, decimals)
    valid = rng.random(len(gold)) >= 0.02
    predicted = np.where(valid, first_maximum(vectors), FAILED)
    return Answers(
        gold,
        predicted,
        valid,
        n_classes,
        probabilities=vectors,
        decimals=decimals,
        renormalise=True,
    )


def _rows(answers: Answers, ids: list[str]) -> list[Row]:
    vectors, confidence = answers.renormalised_vectors, answers.scored_confidence
    assert vectors is not None
    assert confidence is not None
    scored = zip(map(tuple, vectors.tolist()), confidence.levels.tolist(), strict=True)
    answered = zip(ids, answers.gold.tolist(), answers.predicted.tolist(), strict=True)
    return [
        Row(example_id, gold, predicted, *(((), 0.0) if predicted == FAILED else next(scored)))
        for example_id, gold, predicted in answered
    ]


def _timed(call: Callable[[], _Result]) -> tuple[float, _Result]:
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


if __name__ == "__main__":
    main()
