"""A log of decisions against a reference system, where nobody labelled anything.

What comes out is agreement with the reference, and nothing more: the reference may be the one that errs. No
name or sentence here says otherwise. A high agreement can come from one frequent decision alone, so the
baseline of always giving that one stands beside it, and every decision has a row of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from zs_assets.stats.answers import FAILED
from zs_assets.stats.intervals import wilson_interval
from zs_assets.stats.vectors import Booleans, Integers


@dataclass(frozen=True)
class AgreementShare:
    """How many of n logged decisions the reference shares.

    Attributes
    ----------
    n, agree : int
    share : float or None
        agree / n; None when n is 0.
    low, high : float or None
        Wilson 95 % interval of the share.
    """

    n: int
    agree: int
    share: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class DecisionAgreement:
    """One row per logged decision: how often the reference says the same."""

    decision: int
    agreement: AgreementShare


@dataclass(frozen=True)
class TierAgreement:
    """One row per tier of the logged confidence.

    Attributes
    ----------
    tier : int
    agreement : AgreementShare
    by_decision : DecisionAgreement, in the order of label indices
        The same tier decision by decision: a tier may agree only because it holds one easy decision.
    """

    tier: int
    agreement: AgreementShare
    by_decision: tuple[DecisionAgreement, ...]


@dataclass(frozen=True)
class DecisionLog:
    """Agreement of logged decisions with a reference.

    Attributes
    ----------
    overall : AgreementShare
        Over rows where both decided.
    logged_failed, reference_failed : int
        Rows without a decision of the log, and rows without one of the reference. A row may be in both.
    by_decision : DecisionAgreement, in the order of label indices
        Only decisions that occur in the log.
    majority_decision : int or None
        Most frequent decision of the log, the lower index when equal; None without any row.
    majority_baseline : AgreementShare
        Agreement of always giving that decision.
    tiers : TierAgreement
        Empty when no tiers were given.
    """

    overall: AgreementShare
    logged_failed: int
    reference_failed: int
    by_decision: tuple[DecisionAgreement, ...]
    majority_decision: int | None
    majority_baseline: AgreementShare
    tiers: tuple[TierAgreement, ...]

    def sentence(self) -> str:
        """What the log shows, in one sentence."""
        if self.overall.share is None:
            return "No row has a decision of both the log and the reference: there is no agreement to report."
        return (
            f"The reference agrees with {self.overall.agree} of {self.overall.n} logged decisions "
            f"({_percent(self.overall.share)}, 95 % interval {_percent(self.overall.low)} to "
            f"{_percent(self.overall.high)}); always giving the most frequent decision would reach "
            f"{_percent(self.majority_baseline.share)}. This is agreement with the selected reference only."
        )


def decision_log(decisions: Integers, reference: Integers, *, tier: Integers | None = None) -> DecisionLog:
    """Compare logged decisions with those of a reference on the same inputs.

    Parameters
    ----------
    decisions, reference : int64 (n,)
        Label indices; -1 where there is no decision. Rows where either is missing are counted apart: an
        agreement is between two decisions.
    tier : int64 (n,) or None
        Tier of the logged confidence of each row, numbered from 0; -1 for a row in none.

    Raises
    ------
    ValueError
        Lengths differ, or a value is below -1.
    """
    logged, given = _indices(decisions, "decisions", len(decisions)), _indices(reference, "reference", len(decisions))
    both = (logged != FAILED) & (given != FAILED)
    agree = both & (logged == given)
    majority = int(np.argmax(np.bincount(logged[both]))) if both.any() else None
    tiers: tuple[TierAgreement, ...] = ()
    if tier is not None:
        row_tier = _indices(tier, "tier", len(logged))
        tiers = tuple(
            TierAgreement(index, _share(inside, agree), _by_decision(logged, inside, agree))
            for index in range(int(row_tier.max(initial=FAILED)) + 1)
            for inside in [both & (row_tier == index)]
        )
    return DecisionLog(
        overall=_share(both, agree),
        logged_failed=int((logged == FAILED).sum()),
        reference_failed=int((given == FAILED).sum()),
        by_decision=_by_decision(logged, both, agree),
        majority_decision=majority,
        majority_baseline=_share(both, both & (given == majority)),
        tiers=tiers,
    )


def _share(rows: Booleans, agree: Booleans) -> AgreementShare:
    n, hits = int(rows.sum()), int((rows & agree).sum())
    if n == 0:
        return AgreementShare(0, 0, None, None, None)
    interval = wilson_interval(hits, n)
    return AgreementShare(n, hits, hits / n, float(interval.low), float(interval.high))


def _by_decision(logged: Integers, rows: Booleans, agree: Booleans) -> tuple[DecisionAgreement, ...]:
    return tuple(
        DecisionAgreement(int(decision), _share(rows & (logged == decision), agree))
        for decision in np.unique(logged[rows])
    )


def _indices(values: Integers, name: str, n: int) -> Integers:
    array = np.asarray(values)
    if array.shape != (n,) or (n > 0 and array.dtype.kind not in "iu") or np.any(array < FAILED):
        raise ValueError(f"{name} must be {n} integers from -1, one per row.")
    return array.astype(np.int64)


def _percent(share: float | None) -> str:
    return "n/a" if share is None else f"{100 * share:.1f} %"
