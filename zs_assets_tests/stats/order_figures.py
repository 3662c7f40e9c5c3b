"""All figures of the choice-order study from `zs_assets.stats`, by name: what the pandas form is held against."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from zs_assets.stats import (
    OrderScores,
    repeat_controls,
    sample_sensitivity,
    score_coverage,
    shared_samples,
    summarise_ranges,
)
from zs_assets.stats.cluster_bootstrap import ClusterDraws

RULE = "strict_complete"
THRESHOLD = 10
BOOTSTRAPPED = ("large_share", "winner_change_share", "excess")
"""Figures with intervals; means over samples, or over texts."""

Figures = dict[str, dict[str, float]]


def order_figures(
    systems: Mapping[str, OrderScores], texts: np.ndarray, group: np.ndarray, *, resamples: int, seed: int
) -> Figures:
    """Figures of each system on the samples of a group that all systems share.

    Parameters
    ----------
    systems : of the same n samples, with repeats
    texts : int64 (n,)
    group : bool (n,)
    """
    shared = shared_samples(systems, RULE) & group
    draws = ClusterDraws(texts[shared], seed, resamples)
    figures: Figures = {}
    columns = []
    for name, scores in systems.items():
        figures[name], per_sample = _of_system(scores, shared)
        figures[name] |= {"samples": int(shared.sum()), "texts": draws.n_texts}
        columns += per_sample
    values = np.column_stack(columns)
    bounds = {
        weighting: np.quantile(drawn, [0.025, 0.975], axis=0).T.reshape(len(systems), len(BOOTSTRAPPED), 2)
        for weighting, drawn in (("sample", draws.sample_weighted(values)), ("text", draws.text_weighted(values)))
    }
    for weighting, of_systems in bounds.items():
        for name, of_figures in zip(systems, of_systems, strict=True):
            for figure, (low, high) in zip(BOOTSTRAPPED, of_figures.tolist(), strict=True):
                figures[name] |= {f"{figure}_{weighting}_low": low, f"{figure}_{weighting}_high": high}
    return figures


def _of_system(scores: OrderScores, shared: np.ndarray) -> tuple[dict[str, float], list[np.ndarray]]:
    """Its figures without intervals, and the bootstrapped ones by sample."""
    coverage = score_coverage(scores)
    used = scores.of(shared)
    sensitivity, controls = sample_sensitivity(used), repeat_controls(used)
    summary, large = summarise_ranges(sensitivity.range_points), sensitivity.reaches(THRESHOLD)
    assert summary is not None
    assert controls.same_order is not None
    assert controls.excess is not None
    figures = {
        "scored": coverage.scored,
        "label_mismatches": coverage.label_mismatches,
        "score_complete": coverage.score_complete,
        "strict_complete": coverage.strict_complete,
        "median_range": summary.median,
        "p95_range": summary.p95,
        "max_range": summary.maximum,
        "large_ranges": int(large.sum()),
        "winner_changes": int(sensitivity.winner_change.sum()),
        "tied_samples": int(sensitivity.tied.sum()),
        "same_order": float(controls.same_order.mean()),
        "different_order": float(controls.different_order.mean()),
        "excess": float(controls.excess.mean()),
        "repeat_winner_changes": int(controls.winner_groups.sum()),
        "repeat_change_samples": int(controls.winner_groups.any(axis=1).sum()),
    }
    return figures, [large, sensitivity.winner_change, controls.excess]
