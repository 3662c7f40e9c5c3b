"""Replies of systems whose behaviour under rotations is known in closed form."""

from __future__ import annotations

import numpy as np

from zs_assets.protocol.plan import option_orders
from zs_assets.protocol.study import Plan, Rotations
from zs_assets.stats.order_scores import OrderScores


def rotations(n_options: int, seed: int = 20261010) -> np.ndarray:
    """int64 (O, K): the orders the plan itself makes."""
    return np.array(option_orders(n_options, Plan(orders=Rotations(seed=seed))), dtype=np.int64)


def replies(scores: np.ndarray, orders: np.ndarray, decimals: int | None = None) -> OrderScores:
    """Replies (n, O, R, K) whose chosen label is their first maximum."""
    return OrderScores(scores, scores.argmax(axis=3), orders, decimals)


def order_blind(vectors: np.ndarray, decimals: int | None = None, repeats: int = 3) -> OrderScores:
    """Vectors (n, K) answered whatever the order."""
    orders = rotations(vectors.shape[1])
    return replies(np.tile(vectors[:, None, None], (1, len(orders), repeats, 1)), orders, decimals)


def first_position_bias(n_options: int, bias: float, n: int = 2, decimals: int | None = None) -> OrderScores:
    """`bias` goes to whatever stands first, the rest to all options alike."""
    orders = rotations(n_options)
    scores = np.full((n, len(orders), 3, n_options), (1 - bias) / n_options)
    for index, first in enumerate(orders[:, 0]):
        scores[:, index, :, first] += bias
    return replies(scores, orders, decimals)


def random_replies(seed: int, n: int, n_options: int, decimals: int | None = None) -> OrderScores:
    """Vectors that sum to one before rounding, all independent."""
    orders = rotations(n_options)
    scores = np.random.default_rng(seed).dirichlet(np.full(n_options, 0.7), (n, len(orders), 3))
    return replies(scores if decimals is None else scores.round(decimals), orders, decimals)
