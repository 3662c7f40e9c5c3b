"""How far scores move between orders: the range of each sample, its ties, and changes of its winner.

The range is a maximum over options of a difference of two extremes, so repeat noise alone makes it positive.
`order_permutation` says how much of it noise would make; nothing here does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from zs_assets.stats.order_scores import OrderScores
from zs_assets.stats.vectors import Booleans, Floats, Integers

RANGE_TOLERANCE = 1e-9
"""By how much the range of a system that does not round may miss a threshold, as a difference of two sums of scores.

Decimal thresholds have no exact float: replies that a person would call ten points apart may differ by
0.29999999999999993 in three repeats. Systems that round need no tolerance, their ranges are integers.
"""

RANGE_EDGES = np.arange(101.0)
"""Edges of bins of one point."""


@dataclass(frozen=True, eq=False)
class SampleSensitivity:
    """What the order of the options does to each sample.

    Attributes
    ----------
    range_points : float64 (n,)
        Largest over options of highest minus lowest order mean, in percentage points.
    tied : bool (n,)
        In some order more than one option has the highest sum.
    winner_change : bool (n,)
        Not tied, and the option with the highest sum differs between orders.
    widest : int64 or float64 (n,)
        The range as a difference of two sums of R replies: grid units as integers, else scores.
    repeats : int
        R.
    units_per_score : int or None
        10^decimals for a system on its grid, None for one that does not round.
    """

    range_points: Floats
    tied: Booleans
    winner_change: Booleans
    widest: np.ndarray
    repeats: int
    units_per_score: int | None

    def reaches(self, threshold_points: float) -> Booleans:
        """Bool (n,): the range is at least so many points.

        On the grid this compares integers: widest * 100 >= threshold * R * 10^decimals. A system that does not round
        has RANGE_TOLERANCE.

        Parameters
        ----------
        threshold_points : float
            Read as the decimal it prints as: 0.1 is one tenth.
        """
        threshold = Fraction(str(threshold_points)) * self.repeats / 100
        if self.units_per_score is None:
            return np.asarray(self.widest >= float(threshold) - RANGE_TOLERANCE)
        return np.asarray(self.widest >= math.ceil(threshold * self.units_per_score))

    @property
    def range_tolerance(self) -> float:
        """RANGE_TOLERANCE in points of a mean over the repeats; 0 on the grid."""
        return 0.0 if self.units_per_score is not None else RANGE_TOLERANCE * 100 / self.repeats


def sample_sensitivity(scores: OrderScores) -> SampleSensitivity:
    """Range, ties and untied winner change of each sample ("Score ranges and winner changes").

    The system counts as rounding when its values lie on the grid of its decimals (`OrderScores.grid`); then sums,
    ties and winners are integers. Otherwise sums are rounded once and compared as they are.

    Parameters
    ----------
    scores : OrderScores of n score-complete samples

    Returns
    -------
    SampleSensitivity

    Raises
    ------
    ValueError
        A sample has a reply without scores.
    """
    sums = scores.order_sums
    widest = (sums.max(axis=1) - sums.min(axis=1)).max(axis=1)
    at_top = sums == sums.max(axis=2, keepdims=True)
    tied = (at_top.sum(axis=2) > 1).any(axis=1)
    winner = at_top.argmax(axis=2)
    winner_change = ~tied & (winner != winner[:, :1]).any(axis=1)
    # One division of integers: 30 hundredths over three repeats are 10.0, to the last bit.
    points = widest * 100 / (scores.n_repeats * scores.units_per_score)
    units = None if scores.grid is None else scores.units_per_score
    return SampleSensitivity(points, tied, winner_change, widest, scores.n_repeats, units)


@dataclass(frozen=True)
class RangeSummary:
    """Three points of the distribution of ranges, in percentage points; percentiles of type 7."""

    median: float
    p95: float
    maximum: float


def summarise_ranges(range_points: Floats) -> RangeSummary | None:
    """Median, 95th percentile (linear interpolation, type 7) and maximum of n ranges; None without samples."""
    if len(range_points) == 0:
        return None
    median, p95 = np.quantile(range_points, [0.5, 0.95])
    return RangeSummary(float(median), float(p95), float(range_points.max()))


def range_histogram(range_points: Floats, edges: Floats = RANGE_EDGES) -> Integers:
    """Samples by range, in bins that include their lower edge; the last bin includes its upper edge too.

    A bin edge has no tolerance. A system that does not round can therefore have a sample that reaches a threshold
    within RANGE_TOLERANCE in the bin below it.

    Parameters
    ----------
    range_points : float64 (n,)
    edges : float64 (bins + 1,)
        Increasing.

    Returns
    -------
    int64 (bins,)

    Raises
    ------
    ValueError
        A range lies outside the edges.
    """
    outside = (range_points < edges[0]) | (range_points > edges[-1])
    if outside.any():
        raise ValueError(
            f"{int(outside.sum())} ranges, the first {range_points[outside][0]}, lie outside {edges[0]} to {edges[-1]}:"
            " give wider edges."
        )
    return np.histogram(range_points, bins=edges)[0].astype(np.int64)
