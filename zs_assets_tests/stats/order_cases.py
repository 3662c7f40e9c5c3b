"""Cases of the choice-order study with known answers, and exact slow forms of its figures.

Slow forms use loops and fractions: integers on the grid, exact rationals of the doubles off it.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from hypothesis import strategies as st

from zs_assets.stats import OrderScores

SAMPLES, RANDOM_SAMPLES = 1000, 800
REPEATS, OPTIONS = 3, 7
COPIES = 20
"""Of the most frequent text. The protocol gives only 800 samples -> 747 texts; that one text has 20 is assumed."""


def rotations(n_options: int = OPTIONS) -> np.ndarray:
    """int64 (2K, K): every rotation of the declared order and of its reverse, as the study sends them."""
    forward = np.arange(n_options)
    return np.array([np.roll(row, -shift) for row in (forward, forward[::-1]) for shift in range(n_options)])


def order_scores(values: Any, *, decimals: int | None = None, chosen: Any = None) -> OrderScores:
    """Scores (n, O, R, K) whose replies name their first maximum, unless `chosen` says otherwise."""
    scores = np.asarray(values, dtype=np.float64)
    if chosen is None:
        chosen = np.where(np.isnan(scores).any(axis=3), -1, np.nan_to_num(scores).argmax(axis=3))
    orders = np.resize(rotations(scores.shape[3]), (scores.shape[1], scores.shape[3]))
    return OrderScores(scores, np.asarray(chosen, dtype=np.int64), orders, decimals)


def order_blind(vectors: Any, *, decimals: int | None = None, repeats: int = REPEATS) -> OrderScores:
    """A system that gives each sample (n, K) the same scores whatever the order, every time."""
    base = np.asarray(vectors, dtype=np.float64)
    shape = (len(base), 2 * base.shape[1], repeats, base.shape[1])
    return order_scores(np.broadcast_to(base[:, None, None, :], shape), decimals=decimals)


def favours_first(rest: Any, mass: float, *, decimals: int | None = None, repeats: int = REPEATS) -> OrderScores:
    """A system that adds `mass` to whatever stands first.

    `rest` (n, K) is what the options keep: vectors scaled by 1 - mass. Every option stands first in some orders and
    elsewhere in others, so each moves by `mass`, and the range is `mass`.
    """
    kept = np.asarray(rest, dtype=np.float64)
    n_options = kept.shape[1]
    orders = rotations(n_options)
    first = np.zeros((len(orders), n_options))
    first[np.arange(len(orders)), orders[:, 0]] = mass
    values = kept[:, None, :] + first
    if decimals is not None:
        values = np.round(values, decimals)
    return order_scores(np.repeat(values[:, :, None], repeats, axis=2), decimals=decimals)


def study_texts() -> tuple[np.ndarray, np.ndarray]:
    """Text code int64 (1000,) and bool (1000,) of the random group, as the study counts them.

    Random: one text 20 times, 34 twice and 712 once are 747 texts in 800 samples. Added: 200 texts, of which three
    are also in the random group.
    """
    random = np.concatenate([np.repeat(0, COPIES), np.repeat(np.arange(1, 35), 2), np.arange(35, 747)])
    added = np.arange(744, 944)
    return np.concatenate([random, added]), np.arange(SAMPLES) < RANDOM_SAMPLES


def study_scores(rng: np.random.Generator, samples: int = SAMPLES) -> OrderScores:
    """Hundredths that sum to 1, shaped like one system's replies of the study."""
    units = rng.multinomial(100, np.full(OPTIONS, 1 / OPTIONS), size=(samples, 2 * OPTIONS, REPEATS))
    return order_scores(units / 100, decimals=2)


@st.composite
def small_scores(draw: st.DrawFn, *, least_orders: int = 1) -> OrderScores:
    """A few samples of any small shape: 2 options and up, 1 to 6 repeats, on a grid of 2 or 4 decimals or on none."""
    shape = draw(
        st.tuples(st.integers(1, 3), st.integers(least_orders, 4), st.sampled_from([1, 2, 3, 6]), st.integers(2, 4))
    )
    decimals = draw(st.sampled_from([None, 2, 4]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if decimals is None:
        # A coarse part makes equal values and ties likely, the fine part makes sums that round.
        values = rng.integers(0, 4, shape) / 10 + draw(st.sampled_from([0.0, 1.0])) * rng.random(shape) / 10
    else:
        values = rng.integers(0, draw(st.sampled_from([3, 10**decimals])), shape) / 10**decimals
    return order_scores(values, decimals=decimals)


def exact_values(scores: OrderScores) -> list[Any]:
    """Nested lists (n, O, R, K) of fractions, in scores: grid points, or the doubles as they are."""
    unit = None if scores.decimals is None else 10**scores.decimals

    def exact(value: float) -> Fraction:
        return Fraction(value) if unit is None else Fraction(round(value * unit), unit)

    return [
        [[[exact(value) for value in reply] for reply in order] for order in sample]
        for sample in scores.scores.tolist()
    ]


def plain_sensitivity(scores: OrderScores) -> list[tuple[float, bool, bool]]:
    """Range in points, tied, and untied winner change of each sample."""
    figures = []
    for sample in exact_values(scores):
        sums = [[_rounded(scores, sum(column)) for column in zip(*order, strict=True)] for order in sample]
        by_option = list(zip(*sums, strict=True))
        widest = max(max(column) - min(column) for column in by_option)
        winners = [{option for option, total in enumerate(row) if total == max(row)} for row in sums]
        tied = any(len(winner) > 1 for winner in winners)
        changes = not tied and len(set.union(*winners)) > 1
        figures.append((float(widest / scores.n_repeats * 100), tied, changes))
    return figures


def plain_controls(scores: OrderScores) -> list[tuple[float | None, float, list[bool]]]:
    """Same-order and different-order means in points, and changed groups, of each sample, pair by pair."""
    figures = []
    second = min(1, scores.n_repeats - 1)
    for sample in exact_values(scores):
        same = [_distance(x, y) for order in sample for x, y in combinations(order, 2)]
        different = []
        for a, b in combinations(sample, 2):
            different += [_distance(a[0], b[second]), _distance(a[second], b[0])]
        groups = [any(_winners_differ(x, y) for x, y in combinations(order, 2)) for order in sample]
        figures.append((_mean_points(same) if same else None, _mean_points(different), groups))
    return figures


def _rounded(scores: OrderScores, total: Fraction) -> Fraction:
    """The nearest double for a system that does not round, as the definition says."""
    return total if scores.decimals is not None else Fraction(float(total))


def _distance(x: list[Fraction], y: list[Fraction]) -> Fraction:
    return sum((abs(a - b) for a, b in zip(x, y, strict=True)), Fraction(0)) / len(x)


def _mean_points(distances: list[Fraction]) -> float:
    return float(sum(distances, Fraction(0)) / len(distances) * 100)


def _winners_differ(x: list[Fraction], y: list[Fraction]) -> bool:
    tops = [[option for option, value in enumerate(reply) if value == max(reply)] for reply in (x, y)]
    return all(len(top) == 1 for top in tops) and tops[0] != tops[1]
