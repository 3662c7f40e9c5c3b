"""Is the cascade better than the better single system, without choosing and scoring on the same rows?

A gain chosen and scored on the same rows can never be negative: the lowest threshold is the primary alone, the
highest the fallback alone. So the study's gain is printed as the in-sample figure it is, beside an out-of-bag
estimate (`cascade_gain`) and, where rows were set apart beforehand, a single test (`confirm_cascade`). Both
are additions to the study's protocol.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from zs_assets.stats.cascade import CascadeRows, cascade_sweep, known
from zs_assets.stats.cascade_verdict import Alone, best_point, cascade_references
from zs_assets.stats.intervals import clopper_pearson_interval
from zs_assets.stats.resampling import plain_indices, resample_counts
from zs_assets.stats.vectors import Booleans, Floats, Integers

GAIN_RESAMPLES = 2000
_CELLS_AT_ONCE = 1 << 17  # a block of resamples stays in the cache: half the time of all at once


@dataclass(frozen=True)
class CascadeGain:
    """Accuracy of the cascade minus that of the better single system.

    Attributes
    ----------
    estimate : float
        Out-of-bag: threshold and single system are chosen on a resample, the gain is scored on the rows
        it left out, and these gains are averaged.
    low, high : float
        2.5 and 97.5 % quantiles of the gains of single resamples. Simulated at 200 and 500 rows, they hold
        the gain of the chosen rule in 94-99 % of the samples where there is one to gain, and in 98-100 %
        where there is none: a resample leaves out only 37 % of the rows, so the interval is wide rather
        than narrow. A normal interval from cross-fitted rows covered 64-87 %.
    in_sample : float
        The study's own figure: chosen and scored on all rows. Without failures it is never negative.
    routed_share : float
        Share of resamples whose best point keeps some rows and escalates some.
    resamples : int
        Resamples scored; those that left no row out are not.
    """

    estimate: float
    low: float
    high: float
    in_sample: float
    routed_share: float
    resamples: int


@dataclass(frozen=True)
class Confirmation:
    """A cascade chosen on validation rows and scored on the other rows.

    Attributes
    ----------
    threshold : float or None
        Chosen on validation rows; None when escalating every row was best there.
    single : Alone
        The better single system of the validation rows.
    validation_rows, test_rows : int
    kept, escalated : int
        Test rows.
    correct : int
    accuracy, low, high : float
        On the test rows, with the exact (Clopper-Pearson) 95 % interval.
    cost : float or None
        USD on the test rows; None when part of it is unknown.
    cost_unknown : int
    single_correct : int
        Right answers of that single system on the test rows.
    difference : float
        Accuracy of the cascade minus that of the single system.
    cascade_wins, single_wins : int
        Test rows only one of the two gets right.
    p_value : float
        Exact two-sided McNemar test on them; 1.0 when there are none.
    """

    threshold: float | None
    single: Alone
    validation_rows: int
    test_rows: int
    kept: int
    escalated: int
    correct: int
    accuracy: float
    low: float
    high: float
    cost: float | None
    cost_unknown: int
    single_correct: int
    difference: float
    cascade_wins: int
    single_wins: int
    p_value: float


def cascade_gain(rows: CascadeRows, *, resamples: int = GAIN_RESAMPLES, seed: int) -> CascadeGain:
    """Out-of-bag bootstrap of the gain over the better single system.

    Every resample chooses as the study does: among its own observed levels, most right answers, then the
    lower threshold; the better single system, the primary when equal. Escalating everything stays that on
    the rows left out, whatever their levels.

    Parameters
    ----------
    rows : CascadeRows
    resamples : int
    seed : int

    Raises
    ------
    ValueError
        No resample left a row out (too few rows).
    """
    rng = np.random.default_rng(seed)
    at_once = max(1, _CELLS_AT_ONCE // len(rows))
    sizes = [min(at_once, resamples - start) for start in range(0, resamples, at_once)]
    blocks = [_left_out_gains(rows, plain_indices(len(rows), size, rng)) for size in sizes]
    gains, routed = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    scored = ~np.isnan(gains)
    if not scored.any():
        raise ValueError(f"An out-of-bag gain needs rows to leave out: no resample of {len(rows)} rows did.")
    low, high = np.quantile(gains[scored], (0.025, 0.975))
    in_sample = best_point(cascade_sweep(rows)).correct - cascade_references(rows).better_single.correct
    return CascadeGain(
        estimate=float(gains[scored].mean()),
        low=float(low),
        high=float(high),
        in_sample=in_sample / len(rows),
        routed_share=float(routed[scored].mean()),
        resamples=int(scored.sum()),
    )


def split_validation(n: int, share: float, seed: int) -> Booleans:
    """Which rows choose the threshold; the others test it. The same split for the same arguments.

    Parameters
    ----------
    n : int
    share : float
        Share of validation rows, rounded to whole rows; at least one row stays on either side.
    seed : int

    Returns
    -------
    bool (n,)
    """
    if n < 2 or not 0 < share < 1:
        raise ValueError(f"A split needs at least 2 rows and a share between 0 and 1, got {n} and {share}.")
    size = min(max(round(share * n), 1), n - 1)
    validation = np.zeros(n, dtype=np.bool_)
    validation[np.random.default_rng(seed).permutation(n)[:size]] = True
    return validation


def confirm_cascade(rows: CascadeRows, validation: Booleans) -> Confirmation:
    """Choose on the validation rows, then score once on the rows that had no say.

    Parameters
    ----------
    rows : CascadeRows
    validation : bool (n,)
        Fixed before anything was scored, for instance by `split_validation`.
    """
    mask = np.asarray(validation)
    if mask.dtype != np.bool_ or mask.shape != (len(rows),) or mask.all() or not mask.any():
        raise ValueError(f"validation must be {len(rows)} booleans, some true and some false.")
    chosen_on, test = rows.take(mask), rows.take(~mask)
    chosen, single = best_point(cascade_sweep(chosen_on)), cascade_references(chosen_on).better_single.which
    threshold = chosen.threshold if chosen.kept else None
    # A comparison with NaN is false: a row without confidence is escalated.
    kept = test.level >= (np.inf if threshold is None else threshold)
    right = np.where(kept, test.primary_correct, test.fallback_correct)
    single_right = test.primary_correct if single is Alone.PRIMARY else test.fallback_correct
    paid = np.concatenate([test.primary_cost, test.fallback_cost[~kept]])
    n, correct, single_correct = len(test), int(right.sum()), int(single_right.sum())
    exact = clopper_pearson_interval(correct, n)
    wins, losses = int((right & ~single_right).sum()), int((single_right & ~right).sum())
    return Confirmation(
        threshold=threshold,
        single=single,
        validation_rows=len(chosen_on),
        test_rows=n,
        kept=int(kept.sum()),
        escalated=int((~kept).sum()),
        correct=correct,
        accuracy=correct / n,
        low=float(exact.low),
        high=float(exact.high),
        cost=known(paid.sum()),
        cost_unknown=int(np.isnan(paid).sum()),
        single_correct=single_correct,
        difference=(correct - single_correct) / n,
        cascade_wins=wins,
        single_wins=losses,
        p_value=float(stats.binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0,
    )


def _left_out_gains(rows: CascadeRows, indices: Integers) -> tuple[Floats, Booleans]:
    """Gain of each resample on the rows it left out (NaN without any), and whether it routes.

    Escalating a row changes the count of right answers by -1, 0 or 1, so a cumulative sum of these changes
    over rows in the order of escalation scores every threshold of every resample at once. Sums are whole
    numbers far below 2**24: exact in float32.
    """
    order = np.argsort(rows.first_escalated, kind="stable")
    change = (rows.fallback_correct.astype(np.float32) - rows.primary_correct)[order]
    # At threshold j the first ends[j] rows of this order are escalated.
    ends = np.searchsorted(rows.first_escalated[order], np.arange(len(rows.thresholds)), side="right")
    counts = resample_counts(indices, len(rows))[:, order].astype(np.float32)
    drawn = _at(counts, ends)
    score = _at(counts * change, ends)
    # A resample may use only levels it drew, and the point that escalates everything.
    observed = np.ones_like(drawn, dtype=np.bool_)
    observed[:, :-1] = np.diff(drawn, axis=1) > 0
    chosen = np.argmax(np.where(observed, score, -np.inf), axis=1)[:, None]
    escalated = np.take_along_axis(drawn, chosen, axis=1)[:, 0]
    # The last point escalates every row, so its score is fallback minus primary.
    fallback_better = score[:, -1] > 0

    left_out = (counts == 0).astype(np.float32)
    gained = _at(left_out * change, ends).astype(np.float64)
    cascade = np.take_along_axis(gained, chosen, axis=1)[:, 0]
    single = np.where(fallback_better, gained[:, -1], 0.0)
    size = left_out.sum(axis=1, dtype=np.float64)
    gains = np.full(len(counts), np.nan)
    np.divide(cascade - single, size, out=gains, where=size > 0)
    return gains, (escalated > 0) & (escalated < len(rows))


def _at(values: NDArray[np.floating], ends: Integers) -> NDArray[np.float32]:
    """Sums over the first ends[j] columns, for each j."""
    sums = np.zeros((len(values), values.shape[1] + 1), dtype=np.float32)
    np.cumsum(values, axis=1, out=sums[:, 1:])
    return sums[:, ends]
