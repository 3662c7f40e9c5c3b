"""Which samples a comparison of systems may use: completeness of one system, and the intersection over all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

import numpy as np

from zs_assets.stats.order_scores import OrderScores
from zs_assets.stats.vectors import Booleans


class CompletenessRule(str, Enum):
    """What a sample has to have in every reply, of every compared system."""

    SCORE_COMPLETE = "score_complete"
    """Scores. A reply that came after a transport fault counts, one of a follow-up never does."""
    STRICT_COMPLETE = "strict_complete"
    """Scores, and a chosen label that is among the highest of them."""


@dataclass(frozen=True)
class ScoreCoverage:
    """How complete one system's replies are, before any intersection.

    Attributes
    ----------
    samples : int
    planned : int
        Replies: samples x orders x repeats.
    scored : int
        Replies with scores.
    label_mismatches : int
        Scored replies whose own label is not among their highest scores.
    mismatched_samples : int
        Samples with at least one such reply.
    score_complete, strict_complete : int
        Samples, by CompletenessRule.
    """

    samples: int
    planned: int
    scored: int
    label_mismatches: int
    mismatched_samples: int
    score_complete: int
    strict_complete: int


def score_coverage(scores: OrderScores) -> ScoreCoverage:
    """Count what one system answered ("Shared samples and coverage"). For one group pass `scores.of(group)`."""
    mismatch = scores.scored & ~scores.label_fits
    return ScoreCoverage(
        samples=len(scores),
        planned=scores.scored.size,
        scored=int(scores.scored.sum()),
        label_mismatches=int(mismatch.sum()),
        mismatched_samples=int(mismatch.any(axis=(1, 2)).sum()),
        score_complete=int(scores.score_complete.sum()),
        strict_complete=int(scores.strict_complete.sum()),
    )


def shared_samples(systems: Mapping[str, OrderScores], rule: CompletenessRule | str) -> Booleans:
    """Samples on which every system is complete.

    The published study intersects over systems first and selects the random group afterwards, so pass all samples
    of the manifest, in the same sequence for every system, and filter what comes out.

    Parameters
    ----------
    systems : Mapping of name to OrderScores, all of the same n samples
    rule : CompletenessRule, or its value

    Returns
    -------
    bool (n,)

    Raises
    ------
    ValueError
        No system, systems of different sample counts, or no such rule.
    """
    if not systems:
        raise ValueError("Shared samples need at least one system.")
    sizes = {name: len(scores) for name, scores in systems.items()}
    if len(set(sizes.values())) > 1:
        raise ValueError(f"Systems hold different numbers of samples: {sizes}. Read all of them for the same samples.")
    strict = CompletenessRule(rule) is CompletenessRule.STRICT_COMPLETE
    complete = [scores.strict_complete if strict else scores.score_complete for scores in systems.values()]
    return np.logical_and.reduce(complete)
