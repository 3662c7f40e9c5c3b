"""Rows of a cascade for tests: from counts of who is right, or drawn at random."""

from __future__ import annotations

import numpy as np

from zs_assets.stats import CascadeRows


def cascade_rows(
    level: list[float],
    primary: list[int],
    fallback: list[int],
    *,
    primary_cost: float | list[float] = 1.0,
    fallback_cost: float | list[float] = 10.0,
    primary_ms: float | list[float] = 100.0,
    fallback_ms: float | list[float] = 1000.0,
    decimals: int | None = None,
) -> CascadeRows:
    n = len(level)
    return CascadeRows(
        level=np.array(level, dtype=np.float64),
        primary_correct=np.array(primary, dtype=np.bool_),
        fallback_correct=np.array(fallback, dtype=np.bool_),
        primary_cost=np.broadcast_to(np.array(primary_cost, dtype=np.float64), n),
        fallback_cost=np.broadcast_to(np.array(fallback_cost, dtype=np.float64), n),
        primary_latency_ms=np.broadcast_to(np.array(primary_ms, dtype=np.float64), n),
        fallback_latency_ms=np.broadcast_to(np.array(fallback_ms, dtype=np.float64), n),
        decimals=decimals,
    )


def rows_from_counts(
    *, both: int, primary_only: int, fallback_only: int, neither: int, level_of_primary_only: float = 0.9
) -> CascadeRows:
    """Rows with these counts; the fallback's wins lie at a low level."""
    sizes = (both, primary_only, fallback_only, neither)
    return cascade_rows(
        level=np.repeat([0.95, level_of_primary_only, 0.4, 0.6], sizes).tolist(),
        primary=np.repeat([1, 1, 0, 0], sizes).tolist(),
        fallback=np.repeat([1, 0, 1, 0], sizes).tolist(),
        decimals=2,
    )


def random_rows(seed: int, n: int, *, decimals: int | None = 2, without_level: float = 0.0) -> CascadeRows:
    """A primary whose confidence says something, a fallback that is right on four rows of five."""
    rng = np.random.default_rng(seed)
    level = rng.beta(4, 1, n)
    primary = rng.random(n) < 0.3 + 0.6 * level
    level = np.round(level, decimals) if decimals is not None else level
    return CascadeRows(
        level=np.where(rng.random(n) < without_level, np.nan, level),
        primary_correct=primary,
        fallback_correct=rng.random(n) < np.where(primary, 0.95, 0.25),
        primary_cost=rng.uniform(5e-5, 2e-4, n),
        fallback_cost=rng.uniform(2e-4, 9e-4, n),
        primary_latency_ms=rng.exponential(300, n),
        fallback_latency_ms=rng.exponential(2000, n),
        decimals=decimals,
    )
