"""What a cascade is worth: the best point, its references, the accuracy targets, and whether to route at all.

Everything here is read from the same rows that choose it, as the protocol of the study does; `cascade_gain`
holds the estimates that do not flatter themselves. Comparisons of accuracy are made in integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

import numpy as np

from zs_assets.stats.cascade import CascadePoint, CascadeRows, CascadeSweep, cascade_sweep, known, saving_against
from zs_assets.stats.vectors import Booleans, Floats

ACCURACY_TARGETS = (Fraction(90, 100), Fraction(95, 100), Fraction(98, 100))
"""Targets the study fixed before it knew its fallback. A target out of reach is reported, never revised."""


class Alone(str, Enum):
    """Ways to answer that need no threshold."""

    PRIMARY = "primary"
    FALLBACK = "fallback"
    ORACLE = "oracle"


@dataclass(frozen=True)
class Reference:
    """One system on every row, or the oracle; None is unknown.

    The oracle asks the primary on every row and the fallback exactly where the primary is wrong. It is right
    when either is, and no rule that routes between the two can do better.
    """

    which: Alone
    n: int
    correct: int
    accuracy: float
    escalated: int
    cost: float | None
    cost_unknown: int
    latency_p50: float | None
    latency_p95: float | None
    saving: float | None


@dataclass(frozen=True)
class References:
    """The rows every cascade is compared with.

    Attributes
    ----------
    primary, fallback, oracle : Reference
    neither : int
        Rows both systems get wrong: lost to every routing between the two.
    """

    primary: Reference
    fallback: Reference
    oracle: Reference
    neither: int

    @property
    def better_single(self) -> Reference:
        """The system with more right answers; the primary when equal, since a cascade asks it anyway."""
        return self.fallback if self.fallback.correct > self.primary.correct else self.primary


@dataclass(frozen=True)
class TargetResult:
    """The cheapest way to reach one accuracy target.

    Attributes
    ----------
    target : Fraction
    reached_by : CascadePoint, Reference or None
        None when no threshold and no single system reaches the target.
    best_correct, n : int
        The highest number of right answers reached, of n.
    best_accuracy : float
    oracle_misses : bool
        Even the oracle stays below the target: no threshold could have reached it.
    """

    target: Fraction
    reached_by: CascadePoint | Reference | None
    best_correct: int
    n: int
    best_accuracy: float
    oracle_misses: bool


@dataclass(frozen=True)
class RouteVerdict:
    """Route or do not route, and why in one sentence.

    Attributes
    ----------
    route : bool
        The best routed point is right on more rows than the better single system. Equality is no route.
    best_routed : CascadePoint or None
        Best point that keeps some rows and escalates some; None when there is none.
    better_single : Reference
    gain : int or None
        Right answers of the best routed point minus those of the better single system: an in-sample
        figure.
    reason : str
    """

    route: bool
    best_routed: CascadePoint | None
    better_single: Reference
    gain: int | None
    reason: str


def best_point(sweep: CascadeSweep) -> CascadePoint:
    """Most right answers; ties to the lower cost (an unknown one last), then to the lower threshold.

    Costs are not negative and escalation grows with the threshold, so both the known cost and the count of
    unknown ones grow with it too. All three ties therefore go to the lowest threshold.

    Parameters
    ----------
    sweep : CascadeSweep
    """
    return sweep.point(int(np.argmax(sweep.correct)))


def best_routed_point(sweep: CascadeSweep) -> CascadePoint | None:
    """The best point among those that keep some rows and escalate some; None when there is none.

    Parameters
    ----------
    sweep : CascadeSweep
    """
    routed = np.flatnonzero((sweep.kept > 0) & (sweep.escalated > 0))
    if len(routed) == 0:
        return None
    return sweep.point(int(routed[np.argmax(sweep.correct[routed])]))


def cascade_references(rows: CascadeRows) -> References:
    """Always the primary, always the fallback, and the oracle, on the rows of a cascade.

    Parameters
    ----------
    rows : CascadeRows
    """
    n = len(rows)
    asked, not_asked = np.ones(n, dtype=np.bool_), np.zeros(n, dtype=np.bool_)
    wrong = ~rows.primary_correct
    right_somewhere = rows.primary_correct | rows.fallback_correct
    return References(
        primary=_reference(rows, Alone.PRIMARY, rows.primary_correct, asked, not_asked),
        fallback=_reference(rows, Alone.FALLBACK, rows.fallback_correct, not_asked, asked),
        oracle=_reference(rows, Alone.ORACLE, right_somewhere, asked, wrong),
        neither=int(np.count_nonzero(~right_somewhere)),
    )


def accuracy_targets(
    rows: CascadeRows, targets: Sequence[Fraction | str] = ACCURACY_TARGETS
) -> tuple[TargetResult, ...]:
    """For each target, the cheapest threshold or single system that reaches it.

    Equal costs go to the single system, which needs no rule; unknown costs come after known ones.

    Parameters
    ----------
    rows : CascadeRows
    targets : Fraction or decimal string such as "0.95"
        Exact: 0.95 as a float lies below 95/100, and reaching exactly 95 % has to count.
    """
    sweep, references = cascade_sweep(rows), cascade_references(rows)
    points = [sweep.point(index) for index in range(len(sweep))]
    candidates: list[CascadePoint | Reference] = [references.primary, references.fallback, *points]
    return tuple(_target(_exact(target), candidates, references.oracle) for target in targets)


def route_verdict(rows: CascadeRows) -> RouteVerdict:
    """Whether any routed point beats the better single system on these rows.

    Parameters
    ----------
    rows : CascadeRows
    """
    single, routed = cascade_references(rows).better_single, best_routed_point(cascade_sweep(rows))
    alone = f"the {single.which.value} alone ({single.correct}/{single.n})"
    if routed is None:
        return RouteVerdict(False, None, single, None, f"Do not route: no threshold splits the rows; use {alone}.")
    gain = routed.correct - single.correct
    found = f"the best threshold, {routed.threshold:.4g}, gets {routed.correct}/{single.n} right"
    if gain > 0:
        reason = f"Route: {found}, {gain} more than {alone}."
    elif gain == 0:
        reason = f"Do not route: {found}, no more than {alone}."
    else:
        reason = f"Do not route: {found}, {-gain} fewer than {alone}."
    return RouteVerdict(gain > 0, routed, single, gain, reason)


def _reference(
    rows: CascadeRows, which: Alone, correct: Booleans, primary_asked: Booleans, fallback_asked: Booleans
) -> Reference:
    paid = np.concatenate([rows.primary_cost[primary_asked], rows.fallback_cost[fallback_asked]])
    cost = paid.sum()
    waited = _where(primary_asked, rows.primary_latency_ms) + _where(fallback_asked, rows.fallback_latency_ms)
    p50, p95 = np.quantile(waited, (0.5, 0.95)) if not np.isnan(waited).any() else (np.nan, np.nan)
    return Reference(
        which=which,
        n=len(rows),
        correct=int(correct.sum()),
        accuracy=float(correct.mean()),
        escalated=int(fallback_asked.sum()),
        cost=known(cost),
        cost_unknown=int(np.isnan(paid).sum()),
        latency_p50=known(p50),
        latency_p95=known(p95),
        saving=known(float(saving_against(cost, float(rows.fallback_cost.sum())))),
    )


def _where(asked: Booleans, latency: Floats) -> Floats:
    return np.where(asked, latency, 0.0)


def _exact(target: Fraction | str) -> Fraction:
    if isinstance(target, float) or not 0 <= (exact := Fraction(target)) <= 1:
        raise ValueError(f'An accuracy target must be a Fraction or a decimal string from "0" to "1", got {target!r}.')
    return exact


def _target(target: Fraction, candidates: Sequence[CascadePoint | Reference], oracle: Reference) -> TargetResult:
    def reaches(correct: int) -> bool:
        return correct * target.denominator >= oracle.n * target.numerator

    reaching = [c for c in candidates if reaches(c.correct)]
    # min keeps the first of equals: single systems come first, then the lower threshold.
    cheapest = min(reaching, key=lambda c: np.inf if c.cost is None else c.cost, default=None)
    best = max(c.correct for c in candidates)
    return TargetResult(target, cheapest, best, oracle.n, best / oracle.n, not reaches(oracle.correct))
