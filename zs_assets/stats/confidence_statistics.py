"""Other readings of certainty from the same probability vector: margin, entropy and ratio of the top two.

Each comes in two forms. The floats are the published form. On a decimal grid the same quantities are also
given so that rows tie exactly when their true values are equal: p1 - p2 in floats makes several values of
one margin (0.9 - 0.1 is not 0.85 - 0.05), which breaks ties that a rank statistic has to count as halves.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from zs_assets.stats.vectors import Floats, Integers, grid_units

RATIO_FLOOR = 0.005
"""Floor of p2 in the ratio, half the step of a 0.01 grid: the ratio ends at 200."""

_FLOORS_PER_UNIT = 200  # 1 / RATIO_FLOOR, as an integer


@dataclass(frozen=True, eq=False)
class GridStatistics:
    """Exact forms of the statistics of n vectors on a grid of 10**-decimals.

    Attributes
    ----------
    margin : int64 (n,)
        Largest minus second largest, in grid units.
    ratio_numerator, ratio_denominator : int64 (n,)
        The ratio as a fraction of integers.
    entropy_norm : float64 (n,)
        Equal between two rows exactly when their entropies are equal.
    """

    margin: Integers
    ratio_numerator: Integers
    ratio_denominator: Integers
    entropy_norm: Floats

    @property
    def ratio(self) -> Floats:
        """float64 (n,): the fractions in their exact order, equal fractions equal.

        Both parts stay below 10**7, so two different fractions differ by far more than a double resolves,
        and a quotient is rounded correctly.
        """
        return self.ratio_numerator / self.ratio_denominator


@dataclass(frozen=True, eq=False)
class ConfidenceStatistics:
    """The three statistics of n vectors.

    Attributes
    ----------
    margin_top2 : float64 (n,)
        p1 - p2; more is more certain.
    entropy_norm : float64 (n,)
        -sum p ln p / ln K with 0 ln 0 = 0; **less** is more certain.
    ratio_top2 : float64 (n,)
        p1 / max(p2, 0.005); more is more certain.
    grid : GridStatistics or None
        The exact forms; None for a system that is not on a grid.
    """

    margin_top2: Floats
    entropy_norm: Floats
    ratio_top2: Floats
    grid: GridStatistics | None


def confidence_statistics(raw_vectors: Floats, decimals: int | None) -> ConfidenceStatistics:
    """Margin, normalised entropy and ratio of the top two probabilities.

    Vectors are taken as sent, not divided by their sums. They are sorted before anything is summed, so the
    order of the options changes no bit of the result.

    Parameters
    ----------
    raw_vectors : float64 (n, K), K >= 2
    decimals : int or None
        Decimals the system rounds to; None when it does not round.

    Raises
    ------
    ValueError
        Fewer than two options, or a probability that is NaN or outside [0, 1].
    """
    if raw_vectors.ndim != 2 or raw_vectors.shape[1] < 2:
        raise ValueError(f"raw_vectors must have shape (n, K) with K >= 2, got {raw_vectors.shape}.")
    if not np.all((raw_vectors >= 0) & (raw_vectors <= 1)):
        raise ValueError("raw_vectors must hold probabilities in [0, 1], without NaN.")
    descending = -np.sort(-raw_vectors, axis=1)
    first, second = descending[:, 0], descending[:, 1]
    units = None if decimals is None else grid_units(descending, decimals)
    return ConfidenceStatistics(
        first - second,
        np.array([_entropy_norm(row) for row in descending.tolist()], dtype=np.float64),
        first / np.maximum(second, RATIO_FLOOR),
        None if decimals is None or units is None else _grid_statistics(units, decimals),
    )


def _entropy_norm(descending: list[float]) -> float:
    # abs: a one-hot vector would otherwise give -0.0.
    return abs(sum(p * math.log(p) for p in descending if p > 0)) / math.log(len(descending))


def _grid_statistics(units: Integers, decimals: int) -> GridStatistics:
    first, second = units[:, 0], units[:, 1]
    whole = 10**decimals
    # p1 / max(p2, 1/200) over common parts: 200 h1 / max(200 h2, whole), reduced by what is common.
    common = math.gcd(_FLOORS_PER_UNIT, whole)
    scale, floor = _FLOORS_PER_UNIT // common, whole // common
    per_row = [_exact_entropy(row[row > 0].tolist(), decimals) for row in units]
    return GridStatistics(
        first - second,
        scale * first,
        np.maximum(scale * second, floor),
        np.array(per_row, dtype=np.float64) / math.log(units.shape[1]),
    )


def _exact_entropy(units: list[int], decimals: int) -> float:
    """Entropy of h / D over a row's units h, from integers: (S ln D - sum h ln h) / D, S the sum of h.

    Written over primes it is sum e ln(prime) / D with integer e. Equal entropies have equal e, also those of
    different vectors (2, 2, 2, 2 and 4, 1, 1, 1, 1 of eight), and fsum gives equal e one float.
    """
    exponents: Counter[int] = Counter()
    for prime in (2, 5):
        exponents[prime] += decimals * sum(units)
    for h in units:
        for prime, power in _factors(h):
            exponents[prime] -= h * power
    total = math.fsum(power * math.log(prime) for prime, power in exponents.items())
    return total / 10**decimals


@lru_cache(maxsize=4096)
def _factors(number: int) -> tuple[tuple[int, int], ...]:
    """Prime factors of a positive integer with their powers."""
    found, divisor = Counter[int](), 2
    while divisor * divisor <= number:
        while number % divisor == 0:
            found[divisor] += 1
            number //= divisor
        divisor += 1
    if number > 1:
        found[number] += 1
    return tuple(found.items())
