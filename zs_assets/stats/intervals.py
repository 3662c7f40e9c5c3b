"""Intervals of a share of right answers (or errors) from counts: Wilson, and exact by Clopper and Pearson.

Counts come in as integers and arrays of them work like one of them. With no trial there is no share:
every bound is NaN there, never 0 or 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, ndtri

from zs_assets.stats.vectors import Floats, Integers

CONFIDENCE_LEVEL = 0.95
"""Confidence of an interval unless a study says otherwise."""


@dataclass(frozen=True, eq=False)
class ProportionInterval:
    """Bounds of a share, float64 of the shape of the counts; NaN where there was no trial."""

    low: Floats
    high: Floats


def wilson_interval(
    successes: ArrayLike, trials: ArrayLike, *, confidence_level: float = CONFIDENCE_LEVEL
) -> ProportionInterval:
    """Score interval of a share (Wilson 1927), without continuity correction.

    Parameters
    ----------
    successes, trials : int, scalars or arrays that broadcast
        0 <= successes <= trials.
    confidence_level : float
        Two-sided, between 0 and 1.

    Returns
    -------
    ProportionInterval
        Covers the level on average over shares; single shares may fall a few points below it.

    Raises
    ------
    ValueError
        Counts that are not integers or not in order, or a level outside (0, 1).
    """
    right, n = _counts(successes, trials)
    z = float(ndtri(0.5 + _level(confidence_level) / 2))
    share = _share(right, n)
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = 1 + z * z / n
        centre = (share + z * z / (2 * n)) / scale
        half = z / scale * np.sqrt(share * (1 - share) / n + z * z / (4.0 * n * n))
    # At 0 of n and n of n the bound is 0 or 1 exactly; the formula leaves a last bit there.
    low = np.where(right == 0, 0.0, centre - half)
    high = np.where(right == n, 1.0, centre + half)
    return ProportionInterval(_without_trials_nan(low, n), _without_trials_nan(high, n))


def clopper_pearson_interval(
    successes: ArrayLike, trials: ArrayLike, *, confidence_level: float = CONFIDENCE_LEVEL
) -> ProportionInterval:
    """Exact two-sided interval of a share (Clopper and Pearson 1934).

    Each bound is the share at which a binomial tail holds half of what the level leaves over, so the
    interval covers at least its level for every share and every number of trials.

    Parameters
    ----------
    successes, trials : int, scalars or arrays that broadcast
        0 <= successes <= trials.
    confidence_level : float
        Two-sided, between 0 and 1.

    Returns
    -------
    ProportionInterval

    Raises
    ------
    ValueError
        Counts that are not integers or not in order, or a level outside (0, 1).
    """
    right, n = _counts(successes, trials)
    tail = (1 - _level(confidence_level)) / 2
    low = 1.0 - _upper_bound(n - right, n, tail)
    return ProportionInterval(low, _upper_bound(right, n, tail))


def clopper_pearson_upper(
    successes: ArrayLike, trials: ArrayLike, *, confidence_level: float = CONFIDENCE_LEVEL
) -> Floats:
    """Exact one-sided upper bound of a share: what an error rate is below, with this confidence.

    Parameters
    ----------
    successes, trials : int, scalars or arrays that broadcast
        0 <= successes <= trials; to bound an error rate, count the errors.
    confidence_level : float
        One-sided, between 0 and 1.

    Returns
    -------
    float64 of the shape of the counts, NaN where there was no trial.

    Raises
    ------
    ValueError
        Counts that are not integers or not in order, or a level outside (0, 1).
    """
    right, n = _counts(successes, trials)
    return _upper_bound(right, n, 1 - _level(confidence_level))


def _upper_bound(right: Integers, n: Integers, tail: float) -> Floats:
    """The share at which P(X <= right) = tail; 1 when every trial was a success."""
    with np.errstate(invalid="ignore"):
        # Raised to 1 where the formula does not apply, so that betaincinv is asked nothing undefined.
        bound = betaincinv(right + 1.0, np.maximum(n - right, 1), 1 - tail)
    return _without_trials_nan(np.where(right == n, 1.0, bound), n)


def _counts(successes: ArrayLike, trials: ArrayLike) -> tuple[Integers, Integers]:
    right, n = np.asarray(successes), np.asarray(trials)
    for counts, name in ((right, "successes"), (n, "trials")):
        if counts.size and counts.dtype.kind not in "iu":
            raise ValueError(f"{name} must be integers, got {counts.dtype}: pass counts, not shares.")
    right, n = np.broadcast_arrays(right.astype(np.int64), n.astype(np.int64))
    if np.any((right < 0) | (right > n)):
        raise ValueError("successes must lie between 0 and trials.")
    return right, n


def _level(confidence_level: float) -> float:
    if not 0 < confidence_level < 1:
        raise ValueError(f"confidence_level must lie between 0 and 1, got {confidence_level}.")
    return confidence_level


def _share(right: Integers, n: Integers) -> Floats:
    return np.divide(right, n, out=np.full(right.shape, np.nan), where=n > 0)


def _without_trials_nan(bound: Floats, n: Integers) -> Floats:
    return np.where(n > 0, bound, np.nan)
