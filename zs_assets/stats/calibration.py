"""Does a confidence of 0.8 mean right in 80 of 100: top-label expected calibration error and its tables.

Ten equal bins [k/10, (k+1)/10), the last one closed. Where a confidence falls on an edge the bin must not
depend on float noise, so systems on a decimal grid are binned with integers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from zs_assets.stats.vectors import Booleans, Confidence, Floats, Integers

ECE_BINS = 10
# The doubles nearest to k/10. np.linspace has 0.30000000000000004, 0.6000000000000001 and
# 0.7000000000000001 in their place and sends a confidence of 0.3 one bin down.
_EDGES: Floats = np.arange(ECE_BINS + 1) / ECE_BINS


@dataclass(frozen=True, eq=False)
class CalibrationBins:
    """One row per bin, empty bins included with NaN: lower and upper edge, rows, means of its rows."""

    lower: Floats
    upper: Floats
    count: Integers
    mean_confidence: Floats
    accuracy: Floats


@dataclass(frozen=True, eq=False)
class ConfidenceLevels:
    """One row per distinct confidence, ascending: the level, rows at it, right answers among them."""

    level: Floats
    count: Integers
    correct: Integers


def equal_width_bin(confidence: Confidence) -> Integers:
    """Bin of each row, 0 to 9.

    On a grid it is min(10 h // S, 9) in integers. A plain float is compared with the double nearest to
    each edge; rounding keeps order, so this gives the same bin as the decimal the float prints as. A float
    that was computed and lost its last bit on the way (0.1 * 3 for 0.3) is taken as it is.

    Parameters
    ----------
    confidence : Confidence of n rows

    Returns
    -------
    int64 (n,)
    """
    if confidence.numerator is not None and confidence.denominator is not None:
        exact = ECE_BINS * confidence.numerator // confidence.denominator
        return np.minimum(exact, ECE_BINS - 1)
    return _bin_between(_EDGES, confidence.values)


def top_label_ece(confidence: Confidence, correct: Booleans) -> float:
    """Expected calibration error over ten equal bins, edges exact.

    Parameters
    ----------
    confidence : Confidence of n >= 1 rows
    correct : bool (n,)
    """
    gaps = _bin_gaps(equal_width_bin(confidence), confidence.levels, correct)
    return float(np.abs(gaps).sum() / len(correct))


def top_label_ece_linspace(confidence: Confidence, correct: Booleans) -> float:
    """The same with float edges from `np.linspace` and the float confidence: the form the pilot published.

    Parameters
    ----------
    confidence : Confidence of n >= 1 rows
    correct : bool (n,)
    """
    bins = _bin_between(np.linspace(0.0, 1.0, ECE_BINS + 1), confidence.values)
    gaps = _bin_gaps(bins, confidence.values, correct)
    return float(np.abs(gaps).sum() / len(correct))


def ece_by_level(confidence: Confidence, correct: Booleans) -> float | None:
    """Calibration error with every distinct confidence as its own bin; None off the grid.

    Without a grid nearly every row is a level of its own, and the figure says nothing about calibration.

    Parameters
    ----------
    confidence : Confidence of n >= 1 rows
    correct : bool (n,)
    """
    if not confidence.on_grid:
        return None
    levels = confidence_levels(confidence, correct)
    return float(np.abs(levels.level * levels.count - levels.correct).sum() / len(correct))


def confidence_levels(confidence: Confidence, correct: Booleans) -> ConfidenceLevels:
    """Rows and right answers at every distinct confidence.

    Parameters
    ----------
    confidence : Confidence of n rows
    correct : bool (n,)
    """
    level, row_level = np.unique(confidence.levels, return_inverse=True)
    count = np.bincount(row_level, minlength=len(level))
    return ConfidenceLevels(level, count, np.bincount(row_level[correct], minlength=len(level)))


def calibration_bins(confidence: Confidence, correct: Booleans) -> CalibrationBins:
    """The ten bins of `top_label_ece` as a table for the chart.

    Parameters
    ----------
    confidence : Confidence of n rows
    correct : bool (n,)
    """
    bins = equal_width_bin(confidence)
    count = np.bincount(bins, minlength=ECE_BINS)
    sums = (
        np.bincount(bins, weights=weights, minlength=ECE_BINS)
        for weights in (confidence.levels, correct.astype(np.float64))
    )
    means = [np.divide(total, count, out=np.full(ECE_BINS, np.nan), where=count > 0) for total in sums]
    return CalibrationBins(_EDGES[:-1], _EDGES[1:], count, *means)


def ece_noise_floor(confidence: Confidence, draws: int, rng: np.random.Generator) -> tuple[float, float]:
    """Mean and 95th percentile of the error a perfectly calibrated system would show at this n.

    ECE is biased upwards: with few rows per bin even answers that are right exactly as often as stated
    leave gaps. Answers are drawn as right with their own confidence.

    Parameters
    ----------
    confidence : Confidence of n >= 1 rows
    draws : int
    rng : Generator
    """
    return _noise_floor(confidence.levels, equal_width_bin(confidence), draws, rng)


def ece_by_level_noise_floor(
    confidence: Confidence, draws: int, rng: np.random.Generator
) -> tuple[float, float] | None:
    """The same floor for the error by observed level; None off the grid.

    Far higher than with ten bins: a level with one row always leaves a gap, however well calibrated.

    Parameters
    ----------
    confidence : Confidence of n >= 1 rows
    draws : int
    rng : Generator
    """
    if not confidence.on_grid:
        return None
    _, row_level = np.unique(confidence.levels, return_inverse=True)
    return _noise_floor(confidence.levels, row_level, draws, rng)


def _noise_floor(values: Floats, group: Integers, draws: int, rng: np.random.Generator) -> tuple[float, float]:
    member = (group[:, None] == np.arange(group.max() + 1)).astype(np.float64)
    gaps = ((rng.random((draws, len(values))) < values) - values) @ member
    simulated = np.abs(gaps).sum(axis=1) / len(values)
    return float(simulated.mean()), float(np.quantile(simulated, 0.95))


def _bin_gaps(bins: Integers, confidence: Floats, correct: Booleans) -> Floats:
    """Sum of confidence minus number of right answers in each bin, float64 (10,)."""
    gaps = np.bincount(bins, weights=confidence - correct, minlength=ECE_BINS)
    return gaps.astype(np.float64, copy=False)


def _bin_between(edges: Floats, values: Floats) -> Integers:
    return np.searchsorted(edges[1:-1], values, side="right").astype(np.int64)
