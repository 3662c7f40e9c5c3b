"""Repeat controls: do replies differ more between orders than between repeats of one order?"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from zs_assets.stats.order_scores import OrderScores
from zs_assets.stats.vectors import Booleans, Floats


@dataclass(frozen=True, eq=False)
class RepeatControls:
    """Mean absolute differences between single replies of a sample, in percentage points.

    Attributes
    ----------
    same_order : float64 (n,) or None
        Over all pairs of repeats of each order and all options; None without repeats.
    different_order : float64 (n,)
        Over all pairs of orders a < b and all options: repeat 1 of a against repeat 2 of b, and repeat 2 of a against
        repeat 1 of b. Without repeats the only replies of a and b.
    excess : float64 (n,) or None
        different_order minus same_order; None without repeats.
    same_comparisons, different_comparisons : int
        Pairs of replies behind each sample's mean.
    winner_groups : bool (n, O)
        Two repeats of that order have a unique highest option each, and not the same one. A group counts once.
    """

    same_order: Floats | None
    different_order: Floats
    excess: Floats | None
    same_comparisons: int
    different_comparisons: int
    winner_groups: Booleans


def repeat_controls(scores: OrderScores) -> RepeatControls:
    """Same-order and different-order differences, and winner changes between repeats ("Repeat controls").

    On the grid all differences are integers and each mean is rounded once.

    Parameters
    ----------
    scores : OrderScores of n score-complete samples in two orders or more

    Returns
    -------
    RepeatControls

    Raises
    ------
    ValueError
        A sample has a reply without scores, or there is a single order.
    """
    scores.require_complete()
    if scores.n_orders < 2:
        raise ValueError("A different-order control needs at least two orders; this plan has one.")
    by_repeat = [np.ascontiguousarray(scores.values[:, :, r]) for r in range(scores.n_repeats)]
    same, n_same = _same_order_sums(by_repeat)
    different, n_different = _different_order_sums(by_repeat)
    per_comparison = 100 / scores.units_per_score / scores.n_options
    different_order = different * per_comparison / n_different
    same_order = same * per_comparison / n_same if n_same else None
    return RepeatControls(
        same_order=same_order,
        different_order=different_order,
        excess=None if same_order is None else different_order - same_order,
        same_comparisons=n_same,
        different_comparisons=n_different,
        winner_groups=_winner_groups(scores.values),
    )


def _same_order_sums(by_repeat: list[np.ndarray]) -> tuple[np.ndarray, int]:
    """Absolute differences of all repeat pairs (n,), summed over orders and options, and pairs of replies."""
    sums, comparisons = np.zeros(len(by_repeat[0])), 0
    for first, second in combinations(by_repeat, 2):
        sums += np.abs(first - second).sum(axis=(1, 2))
        comparisons += first.shape[1]
    return sums, comparisons


def _different_order_sums(by_repeat: list[np.ndarray]) -> tuple[np.ndarray, int]:
    """The same between orders.

    Both directions of every unordered pair are every ordered pair of different orders (a, b) once: repeat 1 of a,
    repeat 2 of b. Rotating one of the arrays over the orders visits them without an O x O array. Without a second
    repeat the two directions are one comparison.
    """
    first, second = by_repeat[0], by_repeat[min(1, len(by_repeat) - 1)]
    n_orders = first.shape[1]
    twice = np.concatenate([second, second], axis=1)
    sums, ordered_pairs = np.zeros(len(first)), 0
    for shift in range(1, n_orders):
        sums += np.abs(first - twice[:, shift : shift + n_orders]).sum(axis=(1, 2))
        ordered_pairs += n_orders
    return (sums, ordered_pairs) if len(by_repeat) > 1 else (sums / 2, ordered_pairs // 2)


def _winner_groups(values: np.ndarray) -> Booleans:
    """bool (n, O): among the repeats with a unique highest option, at least two have different ones."""
    at_top = values == values.max(axis=3, keepdims=True)
    winner, unique = at_top.argmax(axis=3), at_top.sum(axis=3) == 1
    highest = np.where(unique, winner, -1).max(axis=2)
    lowest = np.where(unique, winner, values.shape[3]).min(axis=2)
    # Without any unique winner highest is -1 and lowest K.
    return np.asarray(highest > lowest)
