"""The cascade: a primary system answers above a confidence threshold, a paid fallback answers the rest.

The primary is asked on every row, since its confidence decides; so its cost is always paid, and an escalated
row waits for both. Thresholds are the observed levels and one above them all, never a grid between them.
Definitions follow the protocol of the selective automation study.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from zs_assets.stats.vectors import Booleans, Floats, Integers, reported_confidence

ABOVE_MAXIMUM = 0.01
"""How far above the highest level the last threshold lies: there every row is escalated."""

PERCENTILES = (0.50, 0.95)
_CELLS_AT_ONCE = 1 << 22


@dataclass(frozen=True, eq=False)
class CascadeRows:
    """What two systems did on the same n examples: the door of every statistic of a cascade.

    Attributes
    ----------
    level : float64 (n,)
        Confidence of the primary, equal between two rows exactly when their confidences are
        (`Confidence.levels`). NaN where it gave no usable answer or no confidence: always escalated.
    primary_correct, fallback_correct : bool (n,)
        A failed row is wrong.
    primary_cost, fallback_cost : float64 (n,)
        USD of one call; NaN when unknown, which is not free.
    primary_latency_ms, fallback_latency_ms : float64 (n,)
        NaN when not measured.
    decimals : int or None
        Decimals the primary's confidence is rounded to. Levels are then put on that grid, so that
        0.29 and 0.29000000000000004 stay one level. None takes them as they are.
    """

    level: Floats
    primary_correct: Booleans
    fallback_correct: Booleans
    primary_cost: Floats
    fallback_cost: Floats
    primary_latency_ms: Floats
    fallback_latency_ms: Floats
    decimals: int | None = None

    def __post_init__(self) -> None:
        level = np.array(self.level, dtype=np.float64)
        if level.ndim != 1 or len(level) == 0:
            raise ValueError("level must hold one confidence per row, for at least one row.")
        usable = level[~np.isnan(level)]
        if np.any((usable < 0) | (usable > 1)):
            raise ValueError("level must be numbers in [0, 1], or NaN where the primary has no confidence.")
        level[~np.isnan(level)] = reported_confidence(usable, decimals=self.decimals).levels
        object.__setattr__(self, "level", level)
        for name in ("primary_correct", "fallback_correct"):
            flags = np.asarray(getattr(self, name))
            if flags.dtype != np.bool_ or flags.shape != level.shape:
                raise ValueError(f"{name} must be {len(level)} booleans, one per row.")
            object.__setattr__(self, name, flags)
        for name in ("primary_cost", "fallback_cost", "primary_latency_ms", "fallback_latency_ms"):
            object.__setattr__(self, name, _amounts(getattr(self, name), name, len(level)))

    def __len__(self) -> int:
        return len(self.level)

    @cached_property
    def observed_levels(self) -> Floats:
        """float64 (L,): the distinct levels, ascending; L = 0 when no row has a confidence."""
        return np.unique(self.level[~np.isnan(self.level)])

    @cached_property
    def thresholds(self) -> Floats:
        """float64 (L + 1,): the observed levels and one above the highest (1.01 when there is no level)."""
        highest = self.observed_levels[-1] if len(self.observed_levels) else 1.0
        # 0.28 + 0.01 is 0.29000000000000004 in floats; a printed threshold should be 0.29.
        return np.append(self.observed_levels, np.round(highest + ABOVE_MAXIMUM, 12))

    @cached_property
    def first_escalated(self) -> Integers:
        """int64 (n,): index of the lowest threshold at which a row is escalated; 0 without a confidence."""
        above = np.searchsorted(self.observed_levels, self.level, side="right")
        return np.where(np.isnan(self.level), 0, above).astype(np.int64)

    def take(self, rows: Booleans | Integers) -> CascadeRows:
        """These rows only, as a mask or as indices."""
        names = [name for name in self.__dataclass_fields__ if name != "decimals"]
        return replace(self, **{name: getattr(self, name)[rows] for name in names})


@dataclass(frozen=True)
class CascadePoint:
    """One way to run the two systems and what it gives on the rows; None is unknown."""

    threshold: float
    kept: int
    escalated: int
    coverage: float
    correct: int
    accuracy: float
    cost: float | None
    cost_unknown: int
    latency_p50: float | None
    latency_p95: float | None
    saving: float | None


@dataclass(frozen=True, eq=False)
class CascadeSweep:
    """One row per threshold, ascending: what the cascade gives there.

    Attributes
    ----------
    threshold : float64 (P,)
        A row is kept when its level is at least this.
    kept, escalated : int64 (P,)
    coverage : float64 (P,)
        Kept over all rows.
    correct : int64 (P,)
    accuracy : float64 (P,)
    cost : float64 (P,)
        USD: the primary on every row and the fallback on the escalated ones; NaN when part is unknown.
    cost_unknown : int64 (P,)
        Unknown amounts in that sum.
    latency_p50, latency_p95 : float64 (P,)
        Milliseconds, linear interpolation (type 7); NaN when a latency in it was not measured.
    saving : float64 (P,)
        1 - cost / cost of the fallback alone: 0.53 is printed as -53 % in the study. NaN when unknown.
    """

    threshold: Floats
    kept: Integers
    escalated: Integers
    coverage: Floats
    correct: Integers
    accuracy: Floats
    cost: Floats
    cost_unknown: Integers
    latency_p50: Floats
    latency_p95: Floats
    saving: Floats

    def __len__(self) -> int:
        return len(self.threshold)

    def point(self, index: int) -> CascadePoint:
        """One row of the sweep as plain numbers."""
        return CascadePoint(
            threshold=float(self.threshold[index]),
            kept=int(self.kept[index]),
            escalated=int(self.escalated[index]),
            coverage=float(self.coverage[index]),
            correct=int(self.correct[index]),
            accuracy=float(self.accuracy[index]),
            cost=known(self.cost[index]),
            cost_unknown=int(self.cost_unknown[index]),
            latency_p50=known(self.latency_p50[index]),
            latency_p95=known(self.latency_p95[index]),
            saving=known(self.saving[index]),
        )


def cascade_sweep(rows: CascadeRows) -> CascadeSweep:
    """The cascade at every observed level and above the highest; keep a row iff level >= threshold.

    Escalation only grows with the threshold, so every figure but the latency is a cumulative sum over
    levels.

    Parameters
    ----------
    rows : CascadeRows of n rows with L distinct levels

    Returns
    -------
    CascadeSweep of L + 1 points
    """
    n, entry = len(rows), rows.first_escalated
    escalated = _cumulative(entry, None, len(rows.thresholds)).astype(np.int64)
    change = rows.fallback_correct.astype(np.int64) - rows.primary_correct
    correct = rows.primary_correct.sum() + _cumulative(entry, change, len(rows.thresholds)).astype(np.int64)
    unknown = np.isnan(rows.fallback_cost)
    cost_unknown = np.isnan(rows.primary_cost).sum() + _cumulative(entry, unknown, len(rows.thresholds)).astype(
        np.int64
    )
    paid = _cumulative(entry, np.where(unknown, 0.0, rows.fallback_cost), len(rows.thresholds))
    # One unknown primary cost makes the first term NaN, and with it every point: a null stays a null.
    cost = np.where(cost_unknown > 0, np.nan, rows.primary_cost.sum() + paid)
    p50, p95 = _latency_percentiles(rows)
    return CascadeSweep(
        threshold=rows.thresholds,
        kept=n - escalated,
        escalated=escalated,
        coverage=(n - escalated) / n,
        correct=correct,
        accuracy=correct / n,
        cost=cost,
        cost_unknown=cost_unknown,
        latency_p50=p50,
        latency_p95=p95,
        saving=saving_against(cost, float(rows.fallback_cost.sum())),
    )


def saving_against(cost: Floats, fallback_alone: float) -> Floats:
    """1 - cost / fallback_alone; NaN where one is unknown or the fallback is free."""
    if not fallback_alone > 0:
        return np.full(np.shape(cost), np.nan)
    return 1.0 - cost / fallback_alone


def known(value: float) -> float | None:
    """A plain float, or None for NaN."""
    return None if np.isnan(value) else float(value)


def _amounts(values: Floats, name: str, n: int) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (n,):
        raise ValueError(f"{name} must be {n} numbers, one per row, got shape {array.shape}.")
    if np.any(array < 0) or np.any(np.isinf(array)):
        raise ValueError(f"{name} must be finite and not negative, or NaN where unknown.")
    return array


def _cumulative(entry: Integers, weights: Floats | Integers | Booleans | None, points: int) -> Floats:
    """float64 (points,): at each threshold, the sum of weights over the rows escalated there."""
    return np.cumsum(np.bincount(entry, weights=weights, minlength=points))


def _latency_percentiles(rows: CascadeRows) -> tuple[Floats, Floats]:
    """p50 and p95 at every threshold.

    Both candidate latencies of all rows are sorted once; at each threshold exactly n of the 2n are in
    force, and an order statistic is the position of the k-th of them.
    """
    n, points = len(rows), len(rows.thresholds)
    both = np.concatenate([rows.primary_latency_ms, rows.primary_latency_ms + rows.fallback_latency_ms])
    order = np.argsort(both, kind="stable")
    ascending, is_escalation = both[order], order >= n
    entry = rows.first_escalated[order % n]
    rank = [(n - 1) * q for q in PERCENTILES]
    below = np.array([int(r) for r in rank])
    above = np.minimum(below + 1, n - 1)
    share = np.array(rank) - below
    found = []
    for start in range(0, points, max(1, _CELLS_AT_ONCE // (2 * n))):
        at = np.arange(start, min(points, start + max(1, _CELLS_AT_ONCE // (2 * n))))
        in_force = (entry <= at[:, None]) == is_escalation
        position = (np.flatnonzero(in_force) % (2 * n)).reshape(len(at), n)
        low, high = ascending[position[:, below]], ascending[position[:, above]]
        # NaN sorts last, so one unknown latency sits in the last place in force.
        unknown = np.isnan(ascending[position[:, -1:]])
        found.append(np.where(unknown, np.nan, low + share * (high - low)))
    p50, p95 = np.concatenate(found).T
    return p50, p95
