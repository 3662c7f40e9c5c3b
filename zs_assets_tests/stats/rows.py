"""Small builders of answers for the tests of `stats`."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from zs_assets.stats import FAILED, Answers, Confidence, first_maximum, reported_confidence


def on_hundredths(confidence: ArrayLike) -> Confidence:
    """Confidences of a system that rounds to two decimals."""
    return reported_confidence(np.asarray(confidence, dtype=np.float64), decimals=2)


def plain_floats(confidence: ArrayLike) -> Confidence:
    """Confidences of a system that does not round."""
    return Confidence(np.asarray(confidence, dtype=np.float64))


def flags(zeros_and_ones: ArrayLike) -> np.ndarray:
    return np.asarray(zeros_and_ones).astype(bool)


def labelled(gold: ArrayLike, predicted: ArrayLike, n_classes: int, **more: object) -> Answers:
    """Answers with labels only; a prediction of -1 is a failed row."""
    chosen = np.asarray(predicted)
    return Answers(np.asarray(gold), chosen, chosen != FAILED, n_classes, **more)


def vectored(gold: ArrayLike, vectors: ArrayLike, **more: object) -> Answers:
    """Answers with vectors, all valid, the first maximum as the prediction."""
    rows = np.asarray(vectors, dtype=np.float64)
    n, n_classes = rows.shape
    return Answers(
        np.asarray(gold),
        first_maximum(rows),
        np.ones(n, bool),
        n_classes,
        probabilities=rows,
        **more,
    )


def random_answers(
    n: int, n_classes: int, seed: int, *, decimals: int | None = None, fail_rate: float = 0.0
) -> Answers:
    """Imperfect answers to a nearly balanced sample, on a grid when `decimals` is given."""
    rng = np.random.default_rng(seed)
    gold = np.arange(n) % n_classes
    logits = rng.normal(size=(n, n_classes)) + 2.5 * np.eye(n_classes)[gold]
    vectors = np.exp(2 * logits)
    vectors /= vectors.sum(axis=1, keepdims=True)
    if decimals is not None:
        vectors = np.round(vectors, decimals)
    valid = rng.random(n) >= fail_rate
    predicted = np.where(valid, first_maximum(vectors), FAILED)
    vectors[~valid] = np.nan
    return Answers(
        gold,
        predicted,
        valid,
        n_classes,
        probabilities=vectors,
        decimals=decimals,
        latency_ms=rng.gamma(4.0, 60.0, n),
        renormalise=True,
    )
