"""One system's replies over samples x orders x repeats: what every statistic of the choice-order study reads."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

NO_LABEL = -1
"""In `chosen`: the reply named no option of its own, so there is nothing to compare its scores with."""

MOST_DECIMALS = 9
"""Beyond this a unit is so fine that the float noise of parsing reaches `_ON_GRID` of it."""

_ON_GRID = 1e-6  # how far a value times 10^decimals may lie from an integer; parsing decimals errs by far less


@dataclass(frozen=True, eq=False)
class OrderScores:
    """Raw scores, never renormalised (choice-order study, "Model settings").

    Attributes
    ----------
    scores : float64 (n, O, R, K)
        Sample x order x repeat x option, options in declared order whatever order was sent. A reply without scores is
        NaN throughout.
    chosen : int64 (n, O, R)
        Declared index of the label that the reply itself names; NO_LABEL where it names none.
    orders : int64 (O, K)
        `orders[o, position]` is the declared index of the option sent at that position.
    decimals : int or None
        Decimals the system rounds to, at most MOST_DECIMALS; None: it does not round.

    Raises
    ------
    ValueError
        Shapes that do not belong together, or decimals out of range.
    """

    scores: np.ndarray
    chosen: np.ndarray
    orders: np.ndarray
    decimals: int | None = None

    def __post_init__(self) -> None:
        if self.scores.ndim != 4 or self.chosen.shape != self.scores.shape[:3]:
            raise ValueError(
                f"scores {self.scores.shape} and chosen {self.chosen.shape} are not (n, O, R, K), (n, O, R)"
            )
        if self.orders.shape != (self.scores.shape[1], self.scores.shape[3]):
            raise ValueError(f"orders {self.orders.shape} do not fit {self.scores.shape[1]} orders of the options")
        if self.decimals is not None and not 0 <= self.decimals <= MOST_DECIMALS:
            raise ValueError(f"decimals is {self.decimals}: give 0 to {MOST_DECIMALS}, or None for no rounding")

    def __len__(self) -> int:
        return self.scores.shape[0]

    @property
    def n_orders(self) -> int:
        return self.scores.shape[1]

    @property
    def n_repeats(self) -> int:
        return self.scores.shape[2]

    @property
    def n_options(self) -> int:
        return self.scores.shape[3]

    @cached_property
    def scored(self) -> np.ndarray:
        """bool (n, O, R): the reply holds scores."""
        return ~np.isnan(self.scores).any(axis=3)

    @cached_property
    def label_fits(self) -> np.ndarray:
        """bool (n, O, R): scored, and the chosen label is among the raw maxima (a tie passes, no tolerance)."""
        with np.errstate(invalid="ignore"):
            top = self.scores.max(axis=3)
        chosen = np.take_along_axis(self.scores, np.maximum(self.chosen, 0)[..., None], axis=3)[..., 0]
        return self.scored & ((self.chosen == NO_LABEL) | (chosen == top))

    @cached_property
    def score_complete(self) -> np.ndarray:
        """bool (n,): every planned reply of the sample holds scores."""
        return np.asarray(self.scored.all(axis=(1, 2)))

    @cached_property
    def strict_complete(self) -> np.ndarray:
        """bool (n,): score-complete, and every reply passes the label check."""
        return np.asarray(self.label_fits.all(axis=(1, 2)))

    @cached_property
    def grid(self) -> np.ndarray | None:
        """int32 (n, O, R, K), units of 10^-decimals, 0 where nothing is scored; None where a value is off the grid."""
        if self.decimals is None:
            return None
        scaled = np.where(self.scored[..., None], self.scores, 0.0) * 10.0**self.decimals
        rounded = np.rint(scaled)
        if np.abs(scaled - rounded).max(initial=0.0) > _ON_GRID:
            return None
        return rounded.astype(np.int32)

    @property
    def values(self) -> np.ndarray:
        """(n, O, R, K) that compare exactly: `grid` for a system that rounds, the scores themselves for another."""
        return self.scores if self.grid is None else self.grid

    @property
    def units_per_score(self) -> int:
        """What a score of 1 is in `values` and `order_sums`: 10^decimals on the grid, else 1."""
        return 1 if self.decimals is None or self.grid is None else 10**self.decimals

    @cached_property
    def order_sums(self) -> np.ndarray:
        """Sums of the repeats of each order (n, O, K), int64 on the grid, else float64, each rounded once.

        Sums and not means: a mean is rounded a second time, and two orders whose replies are the same numbers in
        another sequence would differ in the last bit.

        Raises
        ------
        ValueError
            A sample has a reply without scores.
        """
        self.require_complete()
        if self.grid is not None:
            return self.grid.sum(axis=2, dtype=np.int64)
        return correctly_rounded_sums(np.moveaxis(self.scores, 2, 0))

    def require_complete(self) -> None:
        """Raise ValueError where a sample has a reply without scores."""
        missing = len(self) - int(self.score_complete.sum())
        if missing:
            raise ValueError(
                f"{missing} of {len(self)} samples have replies without scores: pass scores.of(scores.score_complete)."
            )

    def of(self, samples: np.ndarray) -> OrderScores:
        """The same for these samples: a bool mask (n,) or positions."""
        return OrderScores(self.scores[samples], self.chosen[samples], self.orders, self.decimals)


def correctly_rounded_sums(terms: np.ndarray) -> np.ndarray:
    """Sum over the first axis as `math.fsum` gives it: the exact sum, rounded once, whatever the sequence.

    Parameters
    ----------
    terms : float64 (R, ...)
        Finite.

    Returns
    -------
    float64 (...)
    """
    growing = GrowingSums(terms.shape[1:])
    for term in terms:
        growing.add(term)
    sums = growing.rounded()
    if growing.lost.any():
        sums[growing.lost] = [math.fsum(column) for column in terms[:, growing.lost].T.tolist()]
    return sums


class GrowingSums:
    """Sums to which float64 terms are added one by one, each rounded once where it is asked for.

    Each addition keeps what it rounded off (Knuth 1997, TAOCP 2, 4.2.2, theorem B), which is itself a float. Where
    these remainders add up without rounding, running sum plus remainder is the exact sum of two floats and one
    addition rounds it correctly. Elsewhere, which takes terms some 2^50 apart, `lost` is true, and `math.fsum` is to be
    asked for the terms.
    """

    def __init__(self, shape: tuple[int, ...]):
        self._total, self._remainder = np.zeros(shape), np.zeros(shape)
        self.lost = np.zeros(shape, dtype=bool)

    def add(self, term: np.ndarray) -> None:
        self._total, rounded_off = _sum_and_remainder(self._total, term)
        self._remainder, below = _sum_and_remainder(self._remainder, rounded_off)
        self.lost |= below != 0

    def rounded(self) -> np.ndarray:
        return self._total + self._remainder


def _sum_and_remainder(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rounded sum of a and b, and exactly what the rounding left out."""
    total = a + b
    of_b = total - a
    return total, (a - (total - of_b)) + (b - of_b)
