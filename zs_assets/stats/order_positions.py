"""What a place in the list is worth: the mean score of whatever option stands there.

With balanced orders each option stands equally often in every position, so differences between positions cannot come
from what the options say. Moving an option also changes its neighbours, which no average over these orders separates.
"""

from __future__ import annotations

import numpy as np

from zs_assets.stats.order_scores import OrderScores, correctly_rounded_sums
from zs_assets.stats.vectors import Floats, Integers


def is_balanced(orders: Integers) -> bool:
    """Whether every option stands equally often in every position.

    Parameters
    ----------
    orders : int (O, K)
        `orders[o, position]` is the declared index of the option sent there.
    """
    n_orders, n_options = orders.shape
    if n_orders % n_options:
        return False
    times = np.zeros((n_options, n_options), dtype=np.int64)
    np.add.at(times, (orders, np.arange(n_options)), 1)
    return bool((times == n_orders // n_options).all())


def position_means(scores: OrderScores) -> Floats:
    """Mean score at each position over orders and repeats, in percentage points.

    A system that does not look at the order has the same number in all positions of a row, to the last bit: sums are
    integers on the grid and rounded once elsewhere. That number is the mean of the row whatever the system does, and
    it is 100 / K where scores sum to one. It is the "even" value to compare with: for vectors that sum to 0.99, the
    constant 100 / K would show every position slightly below even.

    Parameters
    ----------
    scores : OrderScores of n score-complete samples in balanced orders

    Returns
    -------
    float64 (n, K)
        Column p is position p, 0 is sent first.

    Raises
    ------
    ValueError
        The orders are not balanced: then a position's mean would be partly that of the options which stand there
        more often. Or a sample has a reply without scores.
    """
    if not is_balanced(scores.orders):
        raise ValueError(
            f"In these {scores.n_orders} orders the options do not stand equally often in every position, so scores by "
            "position would mix position with option: ask all rotations."
        )
    by_position = np.take_along_axis(scores.order_sums, scores.orders[None], axis=2)
    on_grid = scores.grid is not None
    totals = by_position.sum(axis=1) if on_grid else correctly_rounded_sums(np.moveaxis(by_position, 1, 0))
    return totals * 100 / (scores.n_orders * scores.n_repeats * scores.units_per_score)
