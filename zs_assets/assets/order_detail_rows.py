"""Rows of the choice-order tables beside the comparison: completeness, averaging, recorded scores, verification."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from zs_assets.assets.order_cells import OrderCell, PlannedSamples
from zs_assets.protocol.analyses import OrderSensitivityAnalysis
from zs_assets.protocol.names import Outcome
from zs_assets.stats import (
    ClusterDraws,
    OrderScores,
    averaging,
    exact_edge_interval,
    repeat_verification,
    score_coverage,
)
from zs_assets.storage.order_schemas import LABEL_MISMATCH, NO_SCORES

Rows = Iterator[dict[str, Any]]


def coverage_rows(samples: PlannedSamples, cells: Sequence[OrderCell]) -> Rows:
    for group, members in samples.groups.items():
        for cell in cells:
            coverage = score_coverage(cell.scores.of(members))
            yield {
                "sample_group": group,
                "backend": cell.backend,
                "samples": coverage.samples,
                "planned": coverage.planned,
                "scored": coverage.scored,
                "label_mismatches": coverage.label_mismatches,
                "score_complete": coverage.score_complete,
                "strict_complete": coverage.strict_complete,
                "faults": int(cell.faults[members].sum()),
                "recovered": int(cell.recovered[members].sum()),
                "compared": cell.why_not is None,
                "why_not": cell.why_not,
            }


def exclusion_rows(samples: PlannedSamples, cells: Sequence[OrderCell]) -> Rows:
    """Replies that keep samples from being complete, by reason; a sample may be counted under several."""
    for group, members in samples.groups.items():
        for cell in cells:
            found = reasons(cell)[members]
            for reason, replies in sorted(Counter(found[found != ""].tolist()).items()):
                kept_out = int((found == reason).any(axis=(1, 2)).sum())
                yield {
                    "sample_group": group,
                    "backend": cell.backend,
                    "reason": reason,
                    "replies": replies,
                    "samples": kept_out,
                }


def reasons(cell: OrderCell) -> np.ndarray:
    """object (n, O, R): why a reply makes its sample incomplete; empty where it does not."""
    scored, fits = cell.scores.scored, cell.scores.label_fits
    found = np.where(scored, "", cell.outcomes).astype(object)
    found[~scored & (cell.outcomes == Outcome.OK.value)] = NO_SCORES  # an answer, but a label alone
    found[scored & ~fits] = LABEL_MISMATCH
    return found


def averaging_rows(
    scores: OrderScores,
    gold: np.ndarray | None,
    analysis: OrderSensitivityAnalysis,
    draws: ClusterDraws,
    cost_usd: float | None,
) -> Rows:
    """What the mean of r consecutive rotations costs and buys, r = 1 .. K.

    Of the first repeat alone: who asks r orders pays r calls, and gets the noise of single replies with them.
    """
    once = OrderScores(scores.scores[:, :, :1], scores.chosen[:, :, :1], scores.orders, scores.decimals)
    steps = averaging(once, gold, analysis.threshold_points)
    for step in steps:
        gain: dict[str, float | None] = {"accuracy": None, "accuracy_gain": None}
        if step.sample_accuracy is not None and steps[0].sample_accuracy is not None:
            difference = step.sample_accuracy - steps[0].sample_accuracy
            low, high = draws.interval(draws.sample_weighted(difference))
            gain = {
                "accuracy": float(step.sample_accuracy.mean()),
                "accuracy_gain": float(difference.mean()),
                "accuracy_gain_low": low,
                "accuracy_gain_high": high,
            }
        share_low, share_high = draws.interval(draws.sample_weighted(step.large))
        exact_low, exact_high = exact_edge_interval(step.large, draws.n_texts) or (None, None)
        yield {
            "rotations": step.rotations,
            "samples": len(scores),
            "median_range": step.median_range,
            "p95_range": step.p95_range,
            "large_share": step.large_share,
            "large_share_low": share_low,
            "large_share_high": share_high,
            "large_share_exact_low": exact_low,
            "large_share_exact_high": exact_high,
            "winner_change_share": step.winner_change_share,
            "tied_share": step.tied_share,
            "agreement": step.agreement,
            **gain,
            "cost_usd": None if cost_usd is None else cost_usd * step.calls,
            "calls": float(step.calls),
        }


def score_rows(samples: PlannedSamples, cells: Sequence[OrderCell]) -> Rows:
    """Mean scores of every example of a public dataset, order by order."""
    for cell in cells:
        for position, example in enumerate(samples.planned.examples):
            for index, order in enumerate(samples.orders):
                replies = cell.scores.scores[position, index]
                scored = cell.scores.scored[position, index]
                yield {
                    "backend": cell.backend,
                    "example_id": example.example_id,
                    "text": example.text,
                    "order_index": index,
                    "option_order": order.tolist(),
                    "scores": replies.mean(axis=0).tolist() if scored.all() else None,
                    "repeats": int(scored.sum()),
                }


def verified_rows(samples: PlannedSamples, cells: Sequence[OrderCell], *, public: bool) -> Rows:
    """Identical requests, many times over: how far do the replies differ?"""
    for cell in cells:
        if cell.why_not is not None:
            continue
        for example, found in zip(samples.planned.examples, repeat_verification(cell.scores), strict=True):
            yield {
                "backend": cell.backend,
                "example_id": example.example_id,
                "text": example.text if public else None,
                "model_resolved": cell.model,
                "planned": found.planned,
                "scored": found.scored,
                "distinct_vectors": found.distinct_vectors,
                "distinct_labels": found.distinct_labels,
                "distinct_winners": found.distinct_winners,
                "largest_range": found.largest_range,
            }
