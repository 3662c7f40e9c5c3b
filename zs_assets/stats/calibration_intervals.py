"""The protocol's intervals of calibration: percentile bootstrap of ECE, Brier score, and the raw gap.

Brier score and gap are means and these intervals cover. ECE is a sum of absolute values, biased upwards in
the sample and once more in every resample: its percentile interval by level lies too high and covers 0 to
71 % where it says 95 (simulated, n = 500). It is given because it is what was published;
`corrected_ece` gives one that covers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from zs_assets.stats.calibration import ECE_BINS, equal_width_bin
from zs_assets.stats.resampling import plain_indices, resample_counts
from zs_assets.stats.scored_rows import require_confidence, right_answers
from zs_assets.stats.vectors import Booleans, Confidence, Floats

PERCENTILES = (0.025, 0.975)
"""Bounds of a 95 % percentile interval, read off by linear interpolation (type 7)."""

# Resamples handled at once, in cells of the counts matrix (32 MB): memory stays flat.
_CELLS_PER_BLOCK = 2**22


@dataclass(frozen=True)
class BootstrapInterval:
    """A figure of the sample and the 2.5 and 97.5 percentiles of its resamples."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True)
class CalibrationIntervals:
    """Figures of one system with their percentile intervals, all from the same resamples.

    Attributes
    ----------
    ece_by_level : BootstrapInterval or None
        Every observed confidence a bin; None off the grid.
    ece : BootstrapInterval
        Ten equal bins, exact edges.
    gap : BootstrapInterval
        Mean confidence minus accuracy: positive when the system is overconfident.
    accuracy, mean_confidence : BootstrapInterval
    brier : BootstrapInterval or None
        None without vectors.
    """

    ece_by_level: BootstrapInterval | None
    ece: BootstrapInterval
    gap: BootstrapInterval
    accuracy: BootstrapInterval
    mean_confidence: BootstrapInterval
    brier: BootstrapInterval | None


def calibration_intervals(
    confidence: Confidence,
    correct: Booleans,
    brier: Floats | None,
    *,
    resamples: int,
    seed: int,
) -> CalibrationIntervals | None:
    """Percentile bootstrap of calibration figures over n rows.

    The published study makes its generator anew for every figure. On the same n rows that is one set of
    resamples, so one matrix product serves them all.

    Parameters
    ----------
    confidence : Confidence of n rows
    correct : bool (n,)
    brier : float64 (n,) or None
        Brier score of each row (`brier_rows`).
    resamples, seed : int
        10,000 and 1729 in the published study.

    Returns
    -------
    CalibrationIntervals, or None without rows.

    Raises
    ------
    ValueError
        Confidence outside [0, 1], NaN, or lengths that differ.
    """
    require_confidence(confidence)
    n = len(confidence.values)
    flags = right_answers(correct, n)
    if brier is not None and (brier.shape != (n,) or not np.all(np.isfinite(brier))):
        raise ValueError(f"brier must be {n} finite numbers, one per row.")
    if n == 0:
        return None
    levels, features = _features(confidence, flags, brier)
    rng = np.random.default_rng(seed)
    block = max(1, _CELLS_PER_BLOCK // n)
    point = _figures(np.ones((1, n)) @ features / n, levels)
    resampled = np.concatenate(
        [
            _figures(resample_counts(plain_indices(n, min(block, resamples - start), rng), n) @ features / n, levels)
            for start in range(0, resamples, block)
        ]
    )
    low, high = np.quantile(resampled, PERCENTILES, axis=0)
    by_level, ece, gap, accuracy, mean, score = (
        BootstrapInterval(*map(float, figure)) for figure in zip(point[0], low, high, strict=True)
    )
    return CalibrationIntervals(
        by_level if levels else None, ece, gap, accuracy, mean, None if brier is None else score
    )


def _features(confidence: Confidence, correct: Booleans, brier: Floats | None) -> tuple[int, Floats]:
    """Number of levels (0 off the grid) and float64 (n, levels + 10 + 4): gaps by level, by bin, and means."""
    n, gap = len(correct), confidence.levels - correct
    row_level = np.unique(confidence.levels, return_inverse=True)[1] if confidence.on_grid else None
    n_levels = 0 if row_level is None else int(row_level.max()) + 1
    features = np.zeros((n, n_levels + ECE_BINS + 4))
    if row_level is not None:
        features[np.arange(n), row_level] = gap
    features[np.arange(n), n_levels + equal_width_bin(confidence)] = gap
    means = [gap, correct, confidence.levels, np.zeros(n) if brier is None else brier]
    features[:, -4:] = np.column_stack(means)
    return n_levels, features


def _figures(sums: Floats, n_levels: int) -> Floats:
    """float64 (B, 6): ECE by level, ECE, and the four means."""
    by_level = np.abs(sums[:, :n_levels]).sum(axis=1)
    by_bin = np.abs(sums[:, n_levels:-4]).sum(axis=1)
    return np.column_stack([by_level, by_bin, sums[:, -4:]])
