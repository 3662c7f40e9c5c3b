"""Does order matter at all, and how much range would repeat noise alone show?

Two questions, two shufflings of a sample's orders x repeats. Shuffling whole replies tests whether the order matters;
its null ranges still hold what the orders did, so they are no noise band. Shuffling what repeats differ by gives the
band: it is zero for a system that always repeats itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from zs_assets.stats.order_scores import OrderScores
from zs_assets.stats.vectors import Floats

PERMUTATIONS = 200
"""Shared by all samples. The smallest p value is 1/201."""

SAMPLE_LEVEL = 0.05
"""A sample counts as one where order matters from here down; without an effect this share of samples is expected."""

TIE_TOLERANCE = 1e-12
"""Ranges of sums of scores closer than this count as equal where a system does not round.

The same three doubles added in another sequence differ by about 1e-16; the smallest ranges published are 1e-8.
"""

BAND_QUANTILES = (0.025, 0.975)

# float32 holds every integer up to here, and a product with 0 and 1 adds whole numbers only.
_EXACT_IN_FLOAT32 = 2**24
# Sums handled at once: 16 MB as float32, 32 MB as float64, and as much again for what is made of them.
_CELLS_PER_BLOCK = 2**22


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

    A shuffle is shared by all samples. If orders do nothing, replies of a sample can be exchanged, so permuting all
    samples alike is a valid joint permutation; samples with the same shuffle are not independent of each other, which
    the test of the mean allows for by shuffling the whole mean. The shuffles are one product with a matrix of 0 and 1.

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
    assignments = _assignments(scores.n_orders, scores.n_repeats, permutations, rng)
    sums = scores.order_sums
    return OrderShuffles(
        observed=(sums.max(axis=1) - sums.min(axis=1)).max(axis=1).astype(np.float64),
        shuffled=_shuffled_ranges(scores.values, assignments, _product_type(scores, scores.units_per_score)),
        noise_points=_noise_points(scores, assignments) if scores.n_repeats > 1 else None,
        tolerance=TIE_TOLERANCE if scores.grid is None else 0.0,
    )


def _noise_points(scores: OrderScores, assignments: np.ndarray) -> Floats:
    """float64 (N, n): ranges of the shuffled residuals."""
    repeats = scores.n_repeats
    # R times the residual: whole numbers on the grid, and as doubles none of them overflows.
    from_first = (scores.values - scores.values[:, :, :1]).astype(np.float64)
    residuals = repeats * from_first - from_first.sum(axis=2, keepdims=True)
    exact = _product_type(scores, repeats * scores.units_per_score)
    widened = math.sqrt(repeats / (repeats - 1))
    in_points = widened * 100 / (repeats * repeats * scores.units_per_score)
    return _shuffled_ranges(residuals, assignments, exact) * in_points


def _noise_band(points: Floats, threshold_points: float) -> NoiseBand:
    return NoiseBand(
        median_range=_band(np.median(points, axis=1)),
        large_share=_band((points >= threshold_points).mean(axis=1)),
    )


def _band(figure: Floats) -> Band:
    low, high = np.quantile(figure, BAND_QUANTILES)
    return Band(float(figure.mean()), float(low), float(high))


def _product_type(scores: OrderScores, largest: int) -> type[np.floating]:
    """Type in which sums of R values of at most `largest` are exact, or double where nothing is."""
    exact = scores.grid is not None and scores.n_repeats * largest <= _EXACT_IN_FLOAT32
    return np.float32 if exact else np.float64


def _assignments(n_orders: int, n_repeats: int, permutations: int, rng: np.random.Generator) -> np.ndarray:
    """0 and 1, float32 (N, O, O * R): which replies shuffle i puts into order o; R of them."""
    cells = np.tile(np.arange(n_orders * n_repeats), (permutations, 1))
    shuffled = rng.permuted(cells, axis=1).reshape(permutations, n_orders, n_repeats)
    assignments = np.zeros((permutations, n_orders, n_orders * n_repeats), dtype=np.float32)
    np.put_along_axis(assignments, shuffled, 1, axis=2)
    return assignments


def _shuffled_ranges(values: np.ndarray, assignments: np.ndarray, kind: type[np.floating]) -> Floats:
    """Range of each sample under each shuffle, float64 (N, n), as a difference of two sums of R values.

    Parameters
    ----------
    values : (n, O, R, K)
    assignments : (N, O, O * R)
    kind : type
        Of the product.
    """
    n, n_orders, _, n_options = values.shape
    n_shuffles, _, n_cells = assignments.shape
    ranges = np.empty((n_shuffles, n))
    stacked = assignments.astype(kind, copy=False)
    for samples, shuffles in _blocks(n, n_shuffles, n_orders * n_options):
        cells = np.moveaxis(values[samples].reshape(-1, n_cells, n_options), 1, 0).reshape(n_cells, -1).astype(kind)
        sums = (stacked[shuffles].reshape(-1, n_cells) @ cells).reshape(-1, n_orders, cells.shape[1])
        widest = sums.max(axis=1) - sums.min(axis=1)
        ranges[shuffles, samples] = widest.reshape(len(widest), -1, n_options).max(axis=2)
    return ranges


def _blocks(n: int, n_shuffles: int, cells_of_one: int) -> Iterator[tuple[slice, slice]]:
    """Slices of samples and shuffles whose sums fit the memory of a block."""
    samples = min(n, max(1, _CELLS_PER_BLOCK // cells_of_one))
    shuffles = max(1, _CELLS_PER_BLOCK // (cells_of_one * samples))
    for first in range(0, n, samples):
        for start in range(0, n_shuffles, shuffles):
            yield slice(first, first + samples), slice(start, start + shuffles)
