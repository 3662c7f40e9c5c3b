"""One system's answers to one dataset's questions: the door every statistic of a system passes through.

Arrays are checked here once, with one sentence saying what is wrong; the functions behind trust them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from zs_assets.stats.vectors import (
    Booleans,
    Confidence,
    Floats,
    Integers,
    renormalise,
    reported_confidence,
    top_probability,
)

FAILED = -1
"""Predicted index of a row without a usable answer: it equals no label, so it is wrong everywhere."""


@dataclass(frozen=True, eq=False)
class Answers:
    """Answers of one system to n examples, row by row.

    Attributes
    ----------
    gold : int64 (n,)
        Index of the right label.
    predicted : int64 (n,)
        Index of the answered label; -1 exactly on the rows that are not valid.
    valid : bool (n,)
        Rows with a usable answer. The others count as wrong in accuracy, macro-F1 and coverage.
    n_classes : int
        Number of declared labels K.
    probabilities : float64 (n, K) or None
        Raw vectors in declared order; rows that are not valid may hold anything. None for a system that
        answers with labels only.
    confidence : float64 (n,) or None
        The system's own confidence field, when the study scores that one; None takes the largest
        probability of the scored vector.
    decimals : int or None
        Decimals the system rounds to; None when it does not round.
    latency_ms : float64 (n,) or None
    renormalise : bool
        The study's rule: whether proper scores and the confidence use vectors divided by their sums.
    """

    gold: Integers
    predicted: Integers
    valid: Booleans
    n_classes: int
    probabilities: Floats | None = None
    confidence: Floats | None = None
    decimals: int | None = None
    latency_ms: Floats | None = None
    renormalise: bool = False

    def __post_init__(self) -> None:
        n = len(self.gold)
        store = object.__setattr__
        store(self, "gold", _integers(self.gold, "gold", n))
        store(self, "predicted", _integers(self.predicted, "predicted", n))
        valid = np.asarray(self.valid)
        if valid.dtype != np.bool_ or valid.shape != (n,):
            raise ValueError(f"valid must be {n} booleans, one per example.")
        store(self, "valid", valid)
        if self.n_classes < 2:
            raise ValueError(f"n_classes must be at least 2, got {self.n_classes}.")
        if np.any((self.gold < 0) | (self.gold >= self.n_classes)):
            raise ValueError(f"gold must be label indices from 0 to {self.n_classes - 1}.")
        if np.any((self.predicted < FAILED) | (self.predicted >= self.n_classes)):
            raise ValueError(f"predicted must be label indices from 0 to {self.n_classes - 1}, or -1.")
        if np.any((self.predicted == FAILED) == valid):
            raise ValueError("predicted must be -1 on the rows that are not valid, and only there.")
        if self.decimals is not None and not 1 <= self.decimals <= 6:
            raise ValueError(f"decimals must be from 1 to 6 or None, got {self.decimals}.")
        if self.probabilities is not None:
            vectors = _floats(self.probabilities, "probabilities", (n, self.n_classes))
            _require_unit_interval(vectors[valid], "probabilities")
            if np.any(vectors[valid].sum(axis=1) <= 0):
                raise ValueError("probabilities must have a positive sum on every valid row.")
            store(self, "probabilities", vectors)
        if self.confidence is not None:
            store(self, "confidence", _floats(self.confidence, "confidence", (n,)))
            _require_unit_interval(self.confidence[valid], "confidence")
        if self.latency_ms is not None:
            latency = _floats(self.latency_ms, "latency_ms", (n,))
            if not np.all((latency[valid] >= 0) & np.isfinite(latency[valid])):
                raise ValueError("latency_ms must be finite and not negative on every valid row.")
            store(self, "latency_ms", latency)

    def __len__(self) -> int:
        return len(self.gold)

    @cached_property
    def correct(self) -> Booleans:
        """bool (n,): right answers; a failed row is never right."""
        return self.predicted == self.gold

    @cached_property
    def raw_vectors(self) -> Floats | None:
        """float64 (valid rows, K): the vectors as the system sent them."""
        return None if self.probabilities is None else self.probabilities[self.valid]

    @cached_property
    def renormalised_vectors(self) -> Floats | None:
        """float64 (valid rows, K): the vectors divided by their sums."""
        return None if self.raw_vectors is None else renormalise(self.raw_vectors)

    @property
    def scored_vectors(self) -> Floats | None:
        """float64 (valid rows, K): the vectors the study's rule scores."""
        return self.renormalised_vectors if self.renormalise else self.raw_vectors

    @cached_property
    def scored_confidence(self) -> Confidence | None:
        """Confidence of the valid rows; None when the system reports neither vectors nor a confidence."""
        if self.confidence is not None:
            return reported_confidence(self.confidence[self.valid], decimals=self.decimals)
        if self.raw_vectors is None:
            return None
        return top_probability(self.raw_vectors, renormalised=self.renormalise, decimals=self.decimals)

    def take(self, rows: Sequence[int] | Integers) -> Answers:
        """The answers of these rows, in this order.

        Parameters
        ----------
        rows : int (m,)
        """
        index = np.asarray(rows, dtype=np.int64)
        return replace(
            self,
            gold=self.gold[index],
            predicted=self.predicted[index],
            valid=self.valid[index],
            probabilities=None if self.probabilities is None else self.probabilities[index],
            confidence=None if self.confidence is None else self.confidence[index],
            latency_ms=None if self.latency_ms is None else self.latency_ms[index],
        )


def _integers(values: Integers, name: str, n: int) -> Integers:
    array = np.asarray(values)
    if array.shape != (n,) or (n > 0 and array.dtype.kind not in "iu"):
        raise ValueError(f"{name} must be {n} integers, one per example.")
    return array.astype(np.int64)


def _floats(values: Floats, name: str, shape: tuple[int, ...]) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if array.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {array.shape}.")
    return array


def _require_unit_interval(values: Floats, name: str) -> None:
    # NaN compares false with everything, so this one test also refuses it.
    if not np.all((values >= 0) & (values <= 1)):
        raise ValueError(f"{name} must be numbers in [0, 1] on every valid row.")
