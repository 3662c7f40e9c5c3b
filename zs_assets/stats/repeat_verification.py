"""Identical requests asked many times: how far apart are the replies?

The study sent three invented sentences twenty times each and printed, per sentence, whether the vectors were equal
and the largest range of one option's score ("Repeat controls and uncertainty"). Counting distinct vectors shows
variation that a range over rounded scores may hide.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from zs_assets.stats.order_scores import NO_LABEL, OrderScores


@dataclass(frozen=True)
class RepeatVerification:
    """What the identical requests of one example gave.

    Attributes
    ----------
    planned, scored : int
        Requests, and replies with scores.
    distinct_vectors : int
        Different score vectors among the scored replies.
    distinct_labels : int
        Different labels that scored replies named themselves; a reply that names none is not counted.
    distinct_winners : int
        Different options that were alone at the highest score of a scored reply; ties are not counted.
    largest_range : float or None
        Largest over options of highest minus lowest score, in percentage points; None without a scored reply.
    """

    planned: int
    scored: int
    distinct_vectors: int
    distinct_labels: int
    distinct_winners: int
    largest_range: float | None


def repeat_verification(scores: OrderScores) -> list[RepeatVerification]:
    """One entry per example, in the order of the examples.

    On the grid vectors are integers: 0.21 and 0.21000000000000002 are one vector, and a range is rounded once. A
    system that does not round is compared to the last bit.

    Parameters
    ----------
    scores : OrderScores of n examples in one order; replies without scores are left out

    Returns
    -------
    list of n RepeatVerification

    Raises
    ------
    ValueError
        More than one order: then requests are not identical.
    """
    if scores.n_orders != 1:
        raise ValueError(f"Identical requests have one order, these have {scores.n_orders}: verify each order apart.")
    return [
        _verified(vectors[scored], chosen[scored], len(scored), scores.units_per_score)
        for vectors, chosen, scored in zip(scores.values[:, 0], scores.chosen[:, 0], scores.scored[:, 0], strict=True)
    ]


def _verified(vectors: np.ndarray, chosen: np.ndarray, planned: int, units_per_score: int) -> RepeatVerification:
    """Of the scored replies (scored, K) and (scored,) of one example."""
    at_top = vectors == vectors.max(axis=1, keepdims=True)
    winners = at_top.argmax(axis=1)[at_top.sum(axis=1) == 1]
    widest = (vectors.max(axis=0) - vectors.min(axis=0)).max() if len(vectors) else None
    return RepeatVerification(
        planned=planned,
        scored=len(vectors),
        distinct_vectors=len(np.unique(vectors, axis=0)),
        distinct_labels=len(np.unique(chosen[chosen != NO_LABEL])),
        distinct_winners=len(np.unique(winners)),
        largest_range=None if widest is None else float(widest * 100 / units_per_score),
    )
