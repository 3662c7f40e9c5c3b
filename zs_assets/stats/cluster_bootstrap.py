"""Bootstrap over whole texts: copies of one text are drawn together, with all their orders and repeats.

Copies of a text get nearly the same scores, so they are not independent samples: an interval from single samples is
too narrow as soon as one text has many copies. One matrix of draws serves every system, figure and difference. That
pairs the systems for free, and makes "draws of a minus draws of b" the draws of the difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zs_assets.stats.intervals import CONFIDENCE_LEVEL, clopper_pearson_interval
from zs_assets.stats.resampling import resample_counts
from zs_assets.stats.vectors import Booleans, Floats, Integers

CLUSTER_RESAMPLES = 2000
"""Resamples of the choice-order study ("Repeat controls and uncertainty")."""

_BLOCK_CELLS = 1 << 21  # 16 MB of float64 at a time, whatever the number of samples


@dataclass(frozen=True, eq=False)
class ClusterDraws:
    """Resamples of whole texts, drawn once.

    A resample takes as many texts as there are, with replacement: `rng.integers(0, n_texts, (resamples, n_texts))` of
    `numpy.random.default_rng(seed)`, where number t is the t-th smallest code. The draws depend on nothing else, so
    two objects with the same number of texts, seed and resamples hold the same draws.

    Attributes
    ----------
    texts : int (n,)
        Code of each sample's text: equal exactly where the texts are equal byte for byte.
    seed : int
    resamples : int
        Called B below.

    Raises
    ------
    ValueError
        Without samples or resamples, or with codes that are not one integer per sample.

    Notes
    -----
    With a single text every resample is the sample itself, and each interval is the point: such an interval says
    nothing about other texts.

    In simulations the 95 % intervals cover 93 to 96 % with one text of up to 60 copies among 150 texts, but 91 %
    (weighted by sample) where three texts are more than a third of the samples; single samples in place of texts
    gave 91 % to 17 % (`zs_assets_tests/benchmarks/coverage_of_cluster_interval.py`).
    """

    texts: NDArray[np.integer]
    seed: int
    resamples: int = CLUSTER_RESAMPLES

    def __post_init__(self) -> None:
        if self.texts.ndim != 1 or self.texts.dtype.kind not in "iu":
            raise ValueError(f"texts must be one integer code per sample, got {self.texts.dtype} {self.texts.shape}.")
        if len(self.texts) == 0 or self.resamples < 1:
            raise ValueError(f"Texts cannot be drawn: {len(self.texts)} samples, {self.resamples} resamples.")

    @cached_property
    def text_of_sample(self) -> Integers:
        """int64 (n,): number of each sample's text, 0 for the smallest code."""
        return np.unique(self.texts, return_inverse=True)[1].astype(np.int64).reshape(-1)

    @cached_property
    def sizes(self) -> Integers:
        """int64 (n_texts,): samples of each text."""
        return np.bincount(self.text_of_sample)

    @property
    def n_texts(self) -> int:
        return len(self.sizes)

    @cached_property
    def counts(self) -> NDArray[np.uint8]:
        """uint8 (B, n_texts): how often each resample drew each text; every row sums to n_texts.

        One byte is enough: the count of a text has mean 1, and 256 of them has a probability below 1e-500.
        """
        rng = np.random.default_rng(self.seed)
        counts = np.empty((self.resamples, self.n_texts), dtype=np.uint8)
        # Smaller batches take the same numbers from the stream in the same order as one large one.
        for rows in self._blocks(self.n_texts):
            indices = rng.integers(0, self.n_texts, (rows.stop - rows.start, self.n_texts))
            counts[rows] = resample_counts(indices, self.n_texts)
        return counts

    def sample_weighted(self, values: ArrayLike) -> Floats:
        """Mean over the drawn samples: sum of the values over sum of the sizes of the drawn texts.

        Both sums vary between resamples, since a text with many copies may be drawn or not. This weighting is the
        protocol's primary one.

        Parameters
        ----------
        values : float or bool (n,) or (n, M)
            M figures at once; all of them see the same draws.

        Returns
        -------
        float64 (B,) or (B, M)

        Raises
        ------
        ValueError
            Values that are not finite, or not one per sample.
        """
        figures = self._checked(values)
        sums = self._sums_by_text(figures)
        totals = self._drawn(np.column_stack([sums.reshape(self.n_texts, -1), self.sizes]))
        means = totals[:, :-1] / totals[:, -1:]
        return means.reshape(self.resamples, *figures.shape[1:])

    def text_weighted(self, values: ArrayLike) -> Floats:
        """Mean over the drawn texts of the mean of each text: every text counts alike, however many copies it has.

        Parameters, shapes and errors are those of `sample_weighted`.
        """
        figures = self._checked(values)
        means = self._means_by_text(figures).reshape(self.n_texts, -1)
        return (self._drawn(means) / self.n_texts).reshape(self.resamples, *figures.shape[1:])

    def sample_quantiles(self, values: ArrayLike, q: float) -> Floats:
        """Quantile of the drawn samples, each counted as often as its text was drawn; linear (type 7).

        Equal to `numpy.quantile` of every resample written out sample by sample.

        Parameters
        ----------
        values : float (n,)
        q : float
            Between 0 and 1.

        Returns
        -------
        float64 (B,)

        Raises
        ------
        ValueError
            As in `sample_weighted`, or a q outside [0, 1].
        """
        figures = self._checked(values)
        if figures.ndim != 1 or not 0 <= q <= 1:
            raise ValueError(f"A quantile needs one value per sample and 0 <= q <= 1, got {figures.shape} and q = {q}.")
        ascending = np.argsort(figures, kind="stable")
        text, ordered = self.text_of_sample[ascending], figures[ascending]
        quantiles = np.empty(self.resamples)
        for rows in self._blocks(len(ordered)):
            quantiles[rows] = _weighted_quantiles(ordered, self.counts[rows][:, text], q)
        return quantiles

    def sample_mean(self, values: ArrayLike) -> Floats:
        """The figure that `sample_weighted` resamples: float64 () or (M,), every sample counting alike."""
        return np.asarray(self._checked(values).mean(axis=0))

    def text_mean(self, values: ArrayLike) -> Floats:
        """The figure that `text_weighted` resamples: float64 () or (M,), every text counting alike."""
        return np.asarray(self._means_by_text(self._checked(values)).mean(axis=0))

    @staticmethod
    def interval(draws: Floats) -> tuple[float, float]:
        """Percentile interval of one figure: quantiles .025 and .975 of its draws (B,), linear (type 7).

        With one text it is the point itself, see the notes of the class.
        """
        low, high = np.quantile(draws, [(1 - CONFIDENCE_LEVEL) / 2, (1 + CONFIDENCE_LEVEL) / 2])
        return float(low), float(high)

    def _checked(self, values: ArrayLike) -> Floats:
        figures = np.asarray(values, dtype=np.float64)
        if figures.ndim not in (1, 2) or len(figures) != len(self.texts):
            raise ValueError(f"Values {figures.shape} are not one row for each of {len(self.texts)} samples.")
        if not np.isfinite(figures).all():
            raise ValueError("Values must be finite: leave out samples without a value before texts are drawn.")
        return figures

    def _sums_by_text(self, figures: Floats) -> Floats:
        sums = np.zeros((self.n_texts, *figures.shape[1:]))
        np.add.at(sums, self.text_of_sample, figures)
        return sums

    def _means_by_text(self, figures: Floats) -> Floats:
        sizes = self.sizes.reshape(-1, *[1] * (figures.ndim - 1))
        return self._sums_by_text(figures) / sizes

    def _drawn(self, by_text: Floats) -> Floats:
        """(n_texts, M) -> (B, M): sum over the drawn texts."""
        totals = np.empty((self.resamples, by_text.shape[1]))
        for rows in self._blocks(self.n_texts):
            totals[rows] = self.counts[rows].astype(np.float64) @ by_text
        return totals

    def _blocks(self, width: int) -> Iterator[slice]:
        """Resamples in blocks whose rows of this width fit the memory meant for them."""
        step = max(1, _BLOCK_CELLS // width)
        for start in range(0, self.resamples, step):
            yield slice(start, min(start + step, self.resamples))


def exact_edge_interval(hits: Booleans, n_texts: int) -> tuple[float, float] | None:
    """Clopper-Pearson over texts where none or all of the samples are hits; None where the bootstrap has a width.

    Every resample of 0 of n is 0 of n, so the bootstrap prints 0.0-0.0 however few texts there are. Texts, not
    samples, are the trials: copies add no evidence.

    Parameters
    ----------
    hits : bool (n,)
    n_texts : int
        Distinct texts among the samples.

    Returns
    -------
    (low, high) of the share, or None
    """
    if len(hits) == 0 or (hits.any() and not hits.all()):
        return None
    exact = clopper_pearson_interval(n_texts if hits.all() else 0, n_texts)
    return float(exact.low), float(exact.high)


def _weighted_quantiles(ordered: Floats, weights: NDArray[np.uint8], q: float) -> Floats:
    """Type 7 quantile of each row of a multiset: value i of the ascending ones stands weights[row, i] times in it."""
    # One running count through all rows: it only grows, so a single search finds a place in every row.
    running = np.cumsum(weights, axis=None, dtype=np.int64)
    ends = running[len(ordered) - 1 :: len(ordered)]
    starts = np.concatenate([[0], ends[:-1]])
    place = (ends - starts - 1) * q
    lower = np.floor(place).astype(np.int64)
    upper = np.minimum(lower + 1, ends - starts - 1)
    below, above = (
        ordered[np.searchsorted(running, starts + rank, side="right") % len(ordered)] for rank in (lower, upper)
    )
    part = place - lower
    # Interpolated from the nearer end, as numpy does, so that two equal neighbours give exactly their value.
    return np.where(part < 0.5, below + (above - below) * part, above - (above - below) * (1 - part))
