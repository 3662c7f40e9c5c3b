"""The cascade's sweep and its out-of-bag gain against plain loops over row objects.

Run with `python -m zs_assets_tests.benchmarks.bench_cascade`. Both sides have to agree before a ratio is
printed; the ratio is taken in one run, since absolute times on a shared machine mean little. The loop scores
fewer resamples, of the same stream, and is compared per resample.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from zs_assets.stats import GAIN_RESAMPLES, CascadeRows, cascade_gain, cascade_sweep, plain_indices
from zs_assets_tests.stats.cascade_rows import random_rows

SEED = 1
# The sweep's loop is short (one pass per level), and most of our time is its latency percentiles.
TARGET_RATIO = {"sweep": 10, "gain": 80}
LOOP_RESAMPLES = {500: 30, 5000: 2}

_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Row:
    """One example as a row-by-row implementation holds it."""

    level: float
    primary_correct: bool
    fallback_correct: bool
    primary_cost: float
    fallback_cost: float
    primary_ms: float
    fallback_ms: float


@dataclass(frozen=True)
class Point:
    threshold: float
    correct: int
    cost: float
    p50: float
    p95: float


def main() -> None:
    for n in LOOP_RESAMPLES:
        for what, ratio in (("sweep", _bench_sweep(n)), ("gain", _bench_gain(n))):
            target = TARGET_RATIO[what]
            assert ratio >= target, f"{what} at n={n}: {ratio:.0f}x is below the target of {target}x"


def _bench_sweep(n: int) -> float:
    rows = random_rows(SEED, n)
    objects = _objects(rows)
    slow, expected = _timed(lambda: _sweep(objects))
    # A fresh copy each time: sorted levels are kept on the rows and would be free the second time.
    fast, sweep = _median(lambda: cascade_sweep(rows.take(np.arange(n))))
    assert [point.correct for point in expected] == sweep.correct.tolist()
    for name in ("cost", "latency_p50", "latency_p95"):
        loop = [getattr(point, name.removeprefix("latency_")) for point in expected]
        assert np.allclose(loop, getattr(sweep, name), rtol=1e-12)
    return _print(f"sweep, n={n}, {len(sweep)} points", slow, fast)


def _bench_gain(n: int) -> float:
    rows, few = random_rows(SEED, n), LOOP_RESAMPLES[n]
    objects = _objects(rows)
    slow, expected = _timed(lambda: _gains(objects, few))
    assert abs(cascade_gain(rows, resamples=few, seed=SEED).estimate - np.mean(expected)) < 1e-12
    fast, _ = _median(lambda: cascade_gain(rows.take(np.arange(n)), seed=SEED))
    return _print(f"out-of-bag gain, n={n}, {GAIN_RESAMPLES} resamples", slow / few * GAIN_RESAMPLES, fast)


def _sweep(rows: Sequence[Row]) -> list[Point]:
    levels = sorted({row.level for row in rows})
    points = []
    for threshold in [*levels, round(levels[-1] + 0.01, 12)]:
        kept = [row for row in rows if row.level >= threshold]
        escalated = [row for row in rows if row.level < threshold]
        waits = sorted([r.primary_ms for r in kept] + [r.primary_ms + r.fallback_ms for r in escalated])
        points.append(
            Point(
                threshold=threshold,
                correct=sum(r.primary_correct for r in kept) + sum(r.fallback_correct for r in escalated),
                cost=sum(r.primary_cost for r in rows) + sum(r.fallback_cost for r in escalated),
                p50=_percentile(waits, 0.5),
                p95=_percentile(waits, 0.95),
            )
        )
    return points


def _percentile(ascending: Sequence[float], share: float) -> float:
    rank = (len(ascending) - 1) * share
    low = int(rank)
    high = min(low + 1, len(ascending) - 1)
    return ascending[low] + (rank - low) * (ascending[high] - ascending[low])


def _gains(rows: Sequence[Row], resamples: int) -> list[float]:
    gains = []
    for drawn in plain_indices(len(rows), resamples, np.random.default_rng(SEED)).tolist():
        inside = set(drawn)
        sample, rest = [rows[i] for i in drawn], [row for i, row in enumerate(rows) if i not in inside]
        levels = sorted({row.level for row in sample})
        # max keeps the first of equals: the lowest threshold.
        chosen = max([*levels, 2.0], key=lambda t: _right(sample, t))
        primary, fallback = sum(r.primary_correct for r in sample), sum(r.fallback_correct for r in sample)
        alone = sum(r.fallback_correct if fallback > primary else r.primary_correct for r in rest)
        gains.append((_right(rest, chosen) - alone) / len(rest))
    return gains


def _right(rows: Sequence[Row], threshold: float) -> int:
    return sum(row.primary_correct if row.level >= threshold else row.fallback_correct for row in rows)


def _objects(rows: CascadeRows) -> list[Row]:
    columns = (
        rows.level,
        rows.primary_correct,
        rows.fallback_correct,
        rows.primary_cost,
        rows.fallback_cost,
        rows.primary_latency_ms,
        rows.fallback_latency_ms,
    )
    return [Row(*values) for values in zip(*(column.tolist() for column in columns), strict=True)]


def _print(what: str, slow: float, fast: float) -> float:
    print(f"{what:<44} loop {slow * 1e3:10.1f} ms   zs_assets.stats {fast * 1e3:8.2f} ms   {slow / fast:6.0f} x")
    return slow / fast


def _median(call: Callable[[], _Result], runs: int = 5) -> tuple[float, _Result]:
    timed = sorted((_timed(call) for _ in range(runs)), key=lambda run: run[0])
    return timed[runs // 2]


def _timed(call: Callable[[], _Result]) -> tuple[float, _Result]:
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


if __name__ == "__main__":
    main()
