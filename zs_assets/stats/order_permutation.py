"""Does order matter at all, and how much range would repeat noise alone show?

Two questions, two shufflings of a sample's orders x repeats. Shuffling whole replies tests whether the order matters;
its null ranges still hold what the orders did, so they are no noise band. Shuffling what repeats differ by gives the
band: it is zero for a system that always repeats itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from zs_assets.stats.order_scores import OrderScores
from zs_assets.stats.vectors import Floats

PERMUTATIONS = 200
"""The smallest p value is 1/201."""

SAMPLE_LEVEL = 0.05
"""A sample counts as one where order matters from here down; without an effect this share of samples is expected."""

TIE_TOLERANCE = 1e-12
"""Ranges of sums of scores closer than this count as equal where a system does not round.

The same three doubles added in another sequence differ by about 1e-16; the smallest ranges published are 1e-8.
"""

BAND_QUANTILES = (0.025, 0.975)

_BLOCK_CELLS = 1 << 22  # scores gathered at a time, 32 MB: 300 options in 600 orders would take gigabytes at once


@dataclass(frozen=True)
class Band:
    """A figure over the shuffles: its mean, and its 2.5 and 97.5 % quantiles (type 7)."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class NoiseBand:
    """What summaries of the range would be if orders did nothing and repeats varied as they do.

    Attributes
    ----------
    median_range : Band
        Median over samples, in points.
    large_share : Band
        Share of samples whose range reaches the threshold.
    """

    median_range: Band
    large_share: Band


@dataclass(frozen=True, eq=False)
class OrderEffect:
    """Permutation test of the order, and the noise band.

    Attributes
    ----------
    p_value : float
        Of the mean range over samples: (1 + shuffles with at least this mean) / (1 + shuffles).
    sample_p_values : float64 (n,)
        Likewise for each sample's own range.
    sample_share : float
        Samples with p <= SAMPLE_LEVEL.
    noise : NoiseBand or None
        None without repeats.
    """

    p_value: float
    sample_p_values: Floats
    sample_share: float
    noise: NoiseBand | None


@dataclass(frozen=True, eq=False)
class OrderShuffles:
    """The ranges of every sample under every shuffle, from which any group of samples is summarised.

    Attributes
    ----------
    observed : float64 (n,)
        Range of each sample, as a difference of two sums of R values.
    shuffled : float64 (N, n)
        The same with whole replies shuffled.
    noise_points : float64 (N, n) or None
        Ranges of the shuffled residuals, in points; None without repeats.
    tolerance : float
        Ranges closer than this are equal.
    """

    observed: Floats
    shuffled: Floats
    noise_points: Floats | None
    tolerance: float

    def of(self, samples: np.ndarray) -> OrderShuffles:
        """The same for these samples: a bool mask (n,) or positions."""
        noise = None if self.noise_points is None else self.noise_points[:, samples]
        return OrderShuffles(self.observed[samples], self.shuffled[:, samples], noise, self.tolerance)

    def effect(self, threshold_points: float = 10) -> OrderEffect | None:
        """p values and noise band of these samples; None without any."""
        permutations, n = self.shuffled.shape
        if n == 0:
            return None
        as_wide = (self.shuffled >= self.observed - self.tolerance).sum(axis=0)
        # Grid ranges are whole numbers, so their sums are exact; a mean of the others is as uncertain as one of them.
        mean_as_wide = int((self.shuffled.sum(axis=1) >= self.observed.sum() - self.tolerance * n).sum())
        p_values = (1 + as_wide) / (1 + permutations)
        return OrderEffect(
            p_value=(1 + mean_as_wide) / (1 + permutations),
            sample_p_values=p_values,
            sample_share=float((p_values <= SAMPLE_LEVEL).mean()),
            noise=None if self.noise_points is None else _noise_band(self.noise_points, threshold_points),
        )


def order_effect(
    scores: OrderScores,
    *,
    permutations: int = PERMUTATIONS,
    threshold_points: float = 10,
    rng: np.random.Generator,
) -> OrderEffect | None:
    """`order_shuffles` summarised over all samples; None without samples.

    `threshold_points` says from which range on a sample counts for the band's `large_share`.
    """
    return order_shuffles(scores, permutations=permutations, rng=rng).effect(threshold_points)


def order_shuffles(scores: OrderScores, *, permutations: int = PERMUTATIONS, rng: np.random.Generator) -> OrderShuffles:
    """Shuffle replies, then repeat residuals, over the orders x repeats of each sample.

    Every sample has shuffles of its own. Sharing one among all samples would be valid too, but samples react to a
    position alike: by chance a shared shuffle restores the effect in all of them at once, and the mean range tells
    little. A system that without any noise gives .3 to whatever stands first has p = .13 with shared shuffles, 1/201
    with own ones, which take no more time: a matrix of 0 and 1 for all samples was as slow as these gathers.

    The residual of a reply is its distance from its order's mean times sqrt(R / (R - 1)): repeats lie closer to their
    own mean than to the true one, by that factor. Residuals are formed from differences, so equal repeats give zero
    also where scores are not rounded.

    Parameters
    ----------
    scores : OrderScores of n score-complete samples
    permutations : int
        Called N.
    rng : numpy.random.Generator

    Returns
    -------
    OrderShuffles

    Raises
    ------
    ValueError
        A sample has a reply without scores, or there is no permutation.
    """
    scores.require_complete()
    if permutations < 1:
        raise ValueError(f"permutations is {permutations}: give at least 1.")
    sums = scores.order_sums
    values = scores.values.astype(np.float64)
    # One gather serves both: replies and residuals lie side by side in the last axis.
    cells = values if scores.n_repeats == 1 else np.concatenate([values, _residuals(values)], axis=3)
    ranges = _shuffled_ranges(cells, scores.n_options, permutations, rng)
    repeats, units = scores.n_repeats, scores.units_per_score
    return OrderShuffles(
        observed=(sums.max(axis=1) - sums.min(axis=1)).max(axis=1).astype(np.float64),
        shuffled=ranges[0],
        noise_points=ranges[1] * _residual_points(repeats, units) if repeats > 1 else None,
        tolerance=TIE_TOLERANCE if scores.grid is None else 0.0,
    )


def _residuals(values: Floats) -> Floats:
    """R times the distance of each reply from its order's mean, (n, O, R, K): whole numbers on the grid."""
    from_first = values - values[:, :, :1]
    return values.shape[2] * from_first - from_first.sum(axis=2, keepdims=True)


def _residual_points(repeats: int, units_per_score: int) -> float:
    """Points of a mean over the repeats, widened, per unit of a sum of `_residuals`."""
    return math.sqrt(repeats / (repeats - 1)) * 100 / (repeats * repeats * units_per_score)


def _shuffled_ranges(cells: Floats, n_options: int, permutations: int, rng: np.random.Generator) -> Floats:
    """Ranges under each shuffle as differences of two sums of R values, float64 (blocks, N, n).

    Parameters
    ----------
    cells : float64 (n, O, R, blocks * K)
        Blocks are shuffled alike, and each has its own range.
    n_options : int
        K.
    """
    n, n_orders, n_repeats, width = cells.shape
    replies = cells.reshape(n, n_orders * n_repeats, width)
    ranges = np.empty((width // n_options, permutations, n))
    step = max(1, _BLOCK_CELLS // (n_orders * n_repeats * width))
    for sample, of_sample in enumerate(replies):
        # Rows are permuted one after the other, so smaller blocks take the same numbers from the stream.
        for start in range(0, permutations, step):
            rows = min(step, permutations - start)
            in_sequence = np.tile(np.arange(n_orders * n_repeats), (rows, 1))
            shuffles = rng.permuted(in_sequence, axis=1).reshape(rows, n_orders, n_repeats)
            # Repeats and orders first: sums and extremes then run over long rows.
            sums = of_sample[shuffles.transpose(2, 1, 0)].sum(axis=0)
            widest = sums.max(axis=0) - sums.min(axis=0)
            ranges[:, start : start + rows, sample] = widest.reshape(rows, -1, n_options).max(axis=2).T
    return ranges


def _noise_band(points: Floats, threshold_points: float) -> NoiseBand:
    return NoiseBand(
        median_range=_band(np.median(points, axis=1)),
        large_share=_band((points >= threshold_points).mean(axis=1)),
    )


def _band(figure: Floats) -> Band:
    low, high = np.quantile(figure, BAND_QUANTILES)
    return Band(float(figure.mean()), float(low), float(high))
