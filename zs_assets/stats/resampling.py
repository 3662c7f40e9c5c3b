"""Which rows each bootstrap resample draws: the pilot's published stream, and plain independent ones.

A resample is used as a row of counts (how often each example was drawn). One counts matrix serves every
metric and both systems of a pair, which is what makes the comparison paired.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from enum import Enum

import numpy as np

from zs_assets.stats.vectors import Floats, Integers


class Scheme(str, Enum):
    """How a resample is drawn."""

    TARGET_STRATIFIED = "target_stratified"
    """As many rows of each label as the sample has: the pilot's protocol."""
    PLAIN = "plain"
    """Rows drawn from the whole sample: our own intervals."""


def sorted_by_id(example_ids: Sequence[str]) -> Integers:
    """Positions of the examples in the order of their ids as strings ("a:10" before "a:9").

    Both streams number the rows in this order, so an interval does not depend on how rows arrived.

    Parameters
    ----------
    example_ids : str (n,)
        All different.

    Returns
    -------
    int64 (n,)
    """
    if len(set(example_ids)) != len(example_ids):
        raise ValueError("example_ids must all be different.")
    return np.array(sorted(range(len(example_ids)), key=example_ids.__getitem__), dtype=np.int64)


def published_stream(seed: int) -> np.random.Generator:
    """The pilot's generator, made anew from the same seed for every dataset.

    The restart makes resamples of different datasets move together: fine for one dataset's interval,
    wrong for the mean over datasets.

    Parameters
    ----------
    seed : int
    """
    return np.random.default_rng(seed)


def dataset_stream(seed: int, dataset: str) -> np.random.Generator:
    """An independent generator for one dataset, spawned from the seed by the dataset's name.

    By name and not by position, so that adding or reordering datasets changes no other interval.

    Parameters
    ----------
    seed : int
    dataset : str
    """
    key = int.from_bytes(hashlib.sha256(dataset.encode()).digest()[:8], "big")
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(key,)))


def stratified_indices(gold: Integers, resamples: int, rng: np.random.Generator) -> Integers:
    """Rows of target-stratified resamples, equal draw by draw to the published loop.

    That loop calls `rng.choice(rows of the label, size, replace=True)` for each label in ascending order,
    resample after resample. `rng.integers` with an array of upper bounds takes the same values from the
    stream in the same order, some 300 times faster.

    Parameters
    ----------
    gold : int64 (n,)
        Labels of the rows, already in the order of their ids.
    resamples : int
    rng : Generator

    Returns
    -------
    int64 (resamples, n)
    """
    _require_rows(len(gold), resamples)
    by_label = np.argsort(gold, kind="stable")
    _, first, size = np.unique(gold[by_label], return_index=True, return_counts=True)
    draws = rng.integers(0, np.tile(np.repeat(size, size), (resamples, 1)))
    return by_label[draws + np.repeat(first, size)]


def plain_indices(n: int, resamples: int, rng: np.random.Generator) -> Integers:
    """Rows of plain resamples: n of n with replacement.

    Parameters
    ----------
    n, resamples : int
    rng : Generator

    Returns
    -------
    int64 (resamples, n)
    """
    _require_rows(n, resamples)
    return rng.integers(0, n, (resamples, n))


def resample_counts(indices: Integers, n: int) -> Floats:
    """How often each resample drew each row; floats, ready for a matrix product.

    Parameters
    ----------
    indices : int64 (resamples, m)
    n : int
        Number of rows drawn from.

    Returns
    -------
    float64 (resamples, n)
    """
    resamples = len(indices)
    cells = indices + n * np.arange(resamples)[:, None]
    counts = np.bincount(cells.ravel(), minlength=resamples * n)
    return counts.reshape(resamples, n).astype(np.float64)


def _require_rows(n: int, resamples: int) -> None:
    if n < 1 or resamples < 1:
        raise ValueError(f"A resample needs rows and resamples, got {n} and {resamples}.")
