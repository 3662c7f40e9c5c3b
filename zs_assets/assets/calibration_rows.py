"""One gated partition -> the rows of the calibration tables. No statistic is computed here."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from zs_assets.assets.answers import answers_of
from zs_assets.assets.gated_reading import GatedPartition
from zs_assets.assets.graph import StudyGraph
from zs_assets.protocol.analyses import CalibrationAnalysis
from zs_assets.protocol.names import AssetName
from zs_assets.stats import (
    CORRECTED_SIMULATIONS,
    TIER_NAMES,
    Answers,
    AurocComparison,
    Confidence,
    brier_rows,
    calibration_intervals,
    certified_threshold,
    clopper_pearson_upper,
    compare_off_atom,
    corrected_ece,
    corrected_ece_by_level,
    coverage_at_error_budget,
    ece_by_level_noise_floor,
    ece_noise_floor,
    level_table,
    risk_coverage,
    tier_of,
    tier_table,
)
from zs_assets.storage.selective_schemas import CELL_TABLES

Rows = Iterator[dict[str, Any]]

# Name in the table -> field of CalibrationIntervals.
PROTOCOL_FIGURES = {
    "accuracy": "accuracy",
    "mean_confidence": "mean_confidence",
    "confidence_gap": "gap",
    "ece_by_level": "ece_by_level",
    "ece": "ece",
    "brier": "brier",
}
REMARKS = {
    "ece_by_level": "weak: biased upwards, its percentile interval covers far less than 95 %",
    "ece": "biased upwards at small n",
}
NOISE_DRAWS = 2000


def calibration_tables(
    graph: StudyGraph, analysis: CalibrationAnalysis, dataset: str, backend: str, partition: GatedPartition
) -> dict[AssetName, pa.Table]:
    """Every calibration table of one dataset x backend with gold labels; no rows for a system without a confidence."""
    answers = answers_of(partition, graph.systems[backend], graph.spec.scoring)
    confidence = answers.scored_confidence if answers.valid.any() else None
    if confidence is None:
        return {asset: schema.empty_table() for asset, schema in CELL_TABLES.items()}
    tables = {
        AssetName.CONFIDENCE_LEVELS: _level_rows(answers, confidence),
        AssetName.CONFIDENCE_TIERS: _tier_rows(answers, confidence),
        AssetName.CALIBRATION: _calibration_rows(answers, confidence, analysis),
        AssetName.AUROC_COMPARISONS: _auroc_rows(answers, confidence, analysis),
        AssetName.CERTIFIED_THRESHOLDS: _certified_rows(answers, confidence, analysis),
    }
    named = {"dataset": dataset, "backend": backend}
    return {
        asset: pa.Table.from_pylist([named | row for row in tables[asset]], schema=schema)
        for asset, schema in CELL_TABLES.items()
    }


def _level_rows(answers: Answers, confidence: Confidence) -> Rows:
    correct = answers.correct[answers.valid]
    levels = level_table(confidence, correct)
    cumulative = risk_coverage(confidence.levels, correct, len(answers))
    upper = clopper_pearson_upper(cumulative.errors, cumulative.accepted)
    # A row per level in both tables, from the highest down: a level's tier is that of any of its rows.
    tier_at = dict(zip(confidence.levels.tolist(), tier_of(confidence).tolist(), strict=True))
    names = ("count", "correct", "accuracy", "wilson_low", "wilson_high", "exact_low", "exact_high", "small")
    for position, level in enumerate(levels.level.tolist()):
        yield {
            "level": level,
            "tier": TIER_NAMES[tier_at[level]],
            "atom": level == 1.0,
            **{name: getattr(levels, name)[position].item() for name in names},
            **{name: getattr(cumulative, name)[position].item() for name in ("accepted", "errors", "coverage", "risk")},
            "risk_upper": float(upper[position]),
        }


def _tier_rows(answers: Answers, confidence: Confidence) -> Rows:
    tiers = tier_table(confidence, answers.correct[answers.valid])
    for position, name in enumerate(TIER_NAMES):
        accuracy, mean = (_known(values[position]) for values in (tiers.accuracy, tiers.mean_confidence))
        counts = {"count": int(tiers.count[position]), "correct": int(tiers.correct[position])}
        yield {"tier": name, **counts, "accuracy": accuracy, "mean_confidence": mean}


def _calibration_rows(answers: Answers, confidence: Confidence, analysis: CalibrationAnalysis) -> Rows:
    """The protocol's figures with percentile intervals; ECE with our corrected interval and its noise floor."""
    correct, vectors, seed = answers.correct[answers.valid], answers.scored_vectors, analysis.seed
    brier = None if vectors is None else brier_rows(vectors, answers.gold[answers.valid])
    found = calibration_intervals(confidence, correct, brier, resamples=analysis.resamples, seed=seed)
    if found is None:
        return
    shared = {"n": len(correct), "resamples": analysis.resamples}
    for figure, stored in PROTOCOL_FIGURES.items():
        interval = getattr(found, stored)
        if interval is not None:
            ends = {"value": interval.estimate, "ci95_low": interval.low, "ci95_high": interval.high}
            yield {"figure": figure, "method": "protocol", **shared, **ends, "remark": REMARKS.get(figure)}
    floors = {
        "ece_by_level": ece_by_level_noise_floor(confidence, NOISE_DRAWS, np.random.default_rng(seed)),
        "ece": ece_noise_floor(confidence, NOISE_DRAWS, np.random.default_rng(seed)),
    }
    corrected = {
        "ece_by_level": corrected_ece_by_level(confidence, correct, seed=seed),
        "ece": corrected_ece(confidence, correct, seed=seed),
    }
    for figure, estimate in corrected.items():
        mean, p95 = floors[figure] or (None, None)
        if estimate is not None:
            ends = {"value": estimate.estimate, "ci95_low": estimate.low, "ci95_high": estimate.high}
            noise = {"noise_mean": mean, "noise_p95": p95}
            remark = "bias-corrected by test inversion; noise: what a perfectly calibrated system would show"
            counts = {"n": len(correct), "resamples": CORRECTED_SIMULATIONS}
            yield {"figure": figure, "method": "addition", **counts, **ends, **noise, "remark": remark}


def _auroc_rows(answers: Answers, confidence: Confidence, analysis: CalibrationAnalysis) -> Rows:
    vectors = answers.raw_vectors
    if vectors is None:
        return
    found = compare_off_atom(
        confidence,
        vectors,
        answers.correct[answers.valid],
        decimals=answers.decimals,
        resamples=analysis.resamples,
        seed=analysis.seed,
    )
    for form, comparison in (("integer", found.integer), ("float", found.floats)):
        if comparison is not None:
            for row in _comparison_rows(comparison):
                yield {"form": form, "atom": found.atom, **row}


def _comparison_rows(comparison: AurocComparison) -> Rows:
    counts = {"n": comparison.n, "correct": comparison.right, "kept": comparison.kept, "dropped": comparison.dropped}
    shared = {**counts, "undefined": comparison.undefined}
    yield {**shared, "statistic": "confidence", "auroc": comparison.auroc}
    for other in comparison.differences:
        yield {
            **shared,
            "statistic": other.statistic,
            "auroc": other.auroc,
            "difference": other.difference,
            "ci95_low": other.low,
            "ci95_high": other.high,
            "p_value": other.p_value,
            "p_holm": other.p_holm,
        }


def _certified_rows(answers: Answers, confidence: Confidence, analysis: CalibrationAnalysis) -> Rows:
    correct = answers.correct[answers.valid]
    for confidence_level in analysis.certified_confidences:
        for risk_limit in analysis.certified_risks:
            limit = Fraction(risk_limit)
            found = certified_threshold(
                confidence, correct, len(answers), limit, confidence_level=float(Fraction(confidence_level))
            )
            plug_in = coverage_at_error_budget(confidence.levels, correct, len(answers), limit)
            names = ("threshold", "coverage", "p_value", "stopped_at", "accepted", "errors")
            yield {
                "risk_limit": risk_limit,
                "confidence_level": confidence_level,
                **{name: getattr(found, name) for name in names},
                "plug_in_coverage": plug_in.coverage,
            }


def _known(value: np.floating) -> float | None:
    """None for the NaN of an empty tier."""
    return None if np.isnan(value) else float(value)
