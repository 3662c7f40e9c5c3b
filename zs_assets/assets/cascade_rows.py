"""Two gated partitions of one dataset -> the rows of the cascade tables. No statistic is computed here."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from zs_assets.assets.answers import answers_of
from zs_assets.assets.gated_reading import GatedPartition
from zs_assets.assets.graph import StudyGraph
from zs_assets.protocol.analyses import CascadesAnalysis
from zs_assets.protocol.names import AssetName
from zs_assets.protocol.question import Question
from zs_assets.stats import (
    TIER_NAMES,
    Agreement,
    Answers,
    CascadePoint,
    CascadeRows,
    Reference,
    accuracy_targets,
    agreement,
    best_point,
    cascade_gain,
    cascade_references,
    cascade_sweep,
    confirm_cascade,
    mcnemar_exact,
    route_verdict,
    split_validation,
    tier_of,
)
from zs_assets.storage.selective_schemas import CASCADE_TABLES

Rows = list[dict[str, Any]]


def cascade_tables(
    graph: StudyGraph,
    analysis: CascadesAnalysis,
    dataset: str,
    backends: Sequence[str],
    partitions: Sequence[GatedPartition],
) -> dict[AssetName, pa.Table]:
    """Every cascade table of one dataset x (primary, fallback); both partitions have gold labels."""
    primary, fallback = (
        answers_of(partition, graph.systems[backend], graph.spec.scoring)
        for partition, backend in zip(partitions, backends, strict=True)
    )
    rows = _cascade_rows(primary, fallback, partitions)
    question = partitions[0].planned.question
    found = agreement(
        primary.predicted,
        fallback.predicted,
        primary.gold,
        parents=_parents(question, graph.spec.dataset(dataset).parent_separator),
        tier=_tiers(primary),
    )
    tables: dict[AssetName, Rows] = {
        AssetName.CASCADE_SWEEP: _sweep_rows(rows),
        AssetName.CASCADE_TARGETS: _target_rows(rows, analysis),
        AssetName.CASCADES: [_cascade_row(rows, analysis)],
        AssetName.AGREEMENTS: [_agreement_row(found)],
        AssetName.SHARED_ERRORS: _shared_error_rows(found, question, graph.spec.dataset(dataset).parent_separator),
        AssetName.ERROR_DOMAINS: _domain_rows(found),
        AssetName.TIER_DISAGREEMENTS: _tier_rows(found),
    }
    named = {"dataset": dataset, "primary": backends[0], "fallback": backends[1]}
    return {
        asset: pa.Table.from_pylist([named | row for row in tables[asset]], schema=schema)
        for asset, schema in CASCADE_TABLES.items()
    }


def _cascade_rows(primary: Answers, fallback: Answers, partitions: Sequence[GatedPartition]) -> CascadeRows:
    """The two systems' answers to the same presentations, in plan order (a gate saw to that)."""
    level = np.full(len(primary), np.nan)
    confidence = primary.scored_confidence
    if confidence is not None:
        level[primary.valid] = confidence.levels
    costs, latencies = (
        [_numbers(partition, column) for partition in partitions] for column in ("cost_usd", "latency_ms")
    )
    return CascadeRows(
        level=level,
        primary_correct=primary.correct,
        fallback_correct=fallback.correct,
        primary_cost=costs[0],
        fallback_cost=costs[1],
        primary_latency_ms=latencies[0],
        fallback_latency_ms=latencies[1],
        decimals=primary.decimals,
    )


def _numbers(partition: GatedPartition, column: str) -> np.ndarray:
    """(n,) with NaN for null."""
    values = partition.predictions[column].to_pylist()
    return np.asarray([np.nan if value is None else value for value in values], dtype=float)


def _parents(question: Question, separator: str | None) -> np.ndarray | None:
    """(K,): index of every option's parent domain, in order of first appearance."""
    if separator is None:
        return None
    names = [option.split(separator, 1)[0] for option in question.ids]
    index = {name: position for position, name in enumerate(dict.fromkeys(names))}
    return np.asarray([index[name] for name in names], dtype=np.int64)


def _tiers(primary: Answers) -> np.ndarray | None:
    """(n,): tier of the primary's confidence, -1 where it has none."""
    confidence = primary.scored_confidence
    if confidence is None:
        return None
    tier = np.full(len(primary), -1, dtype=np.int64)
    tier[primary.valid] = tier_of(confidence)
    return tier


def _sweep_rows(rows: CascadeRows) -> Rows:
    sweep, references = cascade_sweep(rows), cascade_references(rows)
    best = best_point(sweep)
    found = [
        {**_point_columns(point), "kind": "threshold", "threshold": point.threshold, "best": point == best}
        for point in map(sweep.point, range(len(sweep)))
    ]
    for reference in (references.primary, references.fallback, references.oracle):
        kept = len(rows) - reference.escalated
        columns = {**_point_columns(reference), "kept": kept, "coverage": kept / len(rows)}
        found.append({**columns, "kind": reference.which.value, "threshold": None, "best": False})
    return found


def _point_columns(point: CascadePoint | Reference) -> dict[str, Any]:
    shared = ("kept", "escalated", "coverage", "correct", "accuracy", "cost_unknown", "saving")
    return {
        **{name: getattr(point, name) for name in shared if hasattr(point, name)},
        "cost_usd": point.cost,
        "latency_p50_ms": point.latency_p50,
        "latency_p95_ms": point.latency_p95,
    }


def _target_rows(rows: CascadeRows, analysis: CascadesAnalysis) -> Rows:
    found = []
    for target, result in zip(analysis.targets, accuracy_targets(rows, analysis.targets), strict=True):
        by = result.reached_by
        found.append(
            {
                "target": target,
                "attainable": by is not None,
                "oracle_misses": result.oracle_misses,
                "reached_by": None if by is None else "threshold" if isinstance(by, CascadePoint) else by.which.value,
                "threshold": by.threshold if isinstance(by, CascadePoint) else None,
                "accuracy": None if by is None else by.accuracy,
                "cost_usd": None if by is None else by.cost,
                "best_accuracy": result.best_accuracy,
            }
        )
    return found


def _cascade_row(rows: CascadeRows, analysis: CascadesAnalysis) -> dict[str, Any]:
    verdict, references, best = route_verdict(rows), cascade_references(rows), best_point(cascade_sweep(rows))
    # One row leaves none out and cannot be split: its gain and its confirmation are null.
    gain = cascade_gain(rows, resamples=analysis.resamples, seed=analysis.seed) if len(rows) > 1 else None
    single = verdict.better_single.which.value
    # Asked of the protocol's choice, which these rows chose: the p value is printed as the optimistic one it is.
    kept = rows.level >= best.threshold
    cascade_correct = np.where(kept, rows.primary_correct, rows.fallback_correct)
    test = mcnemar_exact(cascade_correct, rows.primary_correct if single == "primary" else rows.fallback_correct)
    return {
        "route": verdict.route,
        "verdict": verdict.reason,
        "better_single": single,
        "n": len(rows),
        "primary_correct": references.primary.correct,
        "fallback_correct": references.fallback.correct,
        "oracle_correct": references.oracle.correct,
        "neither": references.neither,
        "best_correct": best.correct,
        "best_escalated": best.escalated,
        "gain_in_sample": verdict.gain,
        "only_cascade": test.only_a,
        "only_single": test.only_b,
        "best_threshold": best.threshold,
        "best_accuracy": best.accuracy,
        "best_cost_usd": best.cost,
        "best_latency_p50_ms": best.latency_p50,
        "best_saving": best.saving,
        "gain_out_of_bag": None if gain is None else gain.estimate,
        "gain_ci95_low": None if gain is None else gain.low,
        "gain_ci95_high": None if gain is None else gain.high,
        "routed_share": None if gain is None else gain.routed_share,
        "mcnemar_p": test.p_value,
        **_confirmed(rows, analysis),
    }


def _confirmed(rows: CascadeRows, analysis: CascadesAnalysis) -> dict[str, Any]:
    """The confirmatory run, where the study asks for one."""
    split = analysis.validation
    if split is None or len(rows) < 2:
        return {}
    result = confirm_cascade(rows, split_validation(len(rows), float(Fraction(split.share)), split.seed))
    return {
        "validation_rows": result.validation_rows,
        "test_rows": result.test_rows,
        "confirmed_correct": result.correct,
        "confirmed_single_correct": result.single_correct,
        "confirmed_single": result.single.value,
        "confirmed_threshold": result.threshold,
        "confirmed_accuracy": result.accuracy,
        "confirmed_low": result.low,
        "confirmed_high": result.high,
        "confirmed_difference": result.difference,
        "confirmed_p": result.p_value,
        "confirmed_cost_usd": result.cost,
    }


def _agreement_row(found: Agreement) -> dict[str, Any]:
    names = ("n", "both_correct", "both_wrong_same", "both_wrong_different", "primary_only", "fallback_only")
    return {name: getattr(found, name) for name in names} | {"distinct_shared_errors": len(found.shared_errors)}


def _shared_error_rows(found: Agreement, question: Question, separator: str | None) -> Rows:
    rows = []
    for error in found.shared_errors:
        gold, predicted = question.ids[error.gold], question.ids[error.predicted]
        same = None if separator is None else gold.split(separator, 1)[0] == predicted.split(separator, 1)[0]
        rows.append({"gold": gold, "predicted": predicted, "same_parent": same, "count": error.count})
    return rows


def _domain_rows(found: Agreement) -> Rows:
    if found.parents is None:
        return []
    return [
        {"errors": name, **{part: getattr(split, part) for part in ("n", "inside", "across", "failed")}}
        for name in ("shared_primary", "shared_fallback", "same", "primary")
        for split in [getattr(found.parents, name)]
    ]


def _tier_rows(found: Agreement) -> Rows:
    names = ("n", "disagreements", "primary_wins", "fallback_wins", "neither")
    return [{"tier": TIER_NAMES[row.tier], **{name: getattr(row, name) for name in names}} for row in found.tiers]
