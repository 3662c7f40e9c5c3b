"""One system's replies over samples x orders x repeats: what every statistic of the choice-order study reads."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

NO_LABEL = -1
"""In `chosen`: the reply named no option of its own, so there is nothing to compare its scores with."""

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
        Decimals the system rounds to; None: it does not round.
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

    def of(self, samples: np.ndarray) -> OrderScores:
        """The same for these samples: a bool mask (n,) or positions."""
        return OrderScores(self.scores[samples], self.chosen[samples], self.orders, self.decimals)
