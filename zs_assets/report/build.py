"""Inputs -> report.json: every figure of the page, JSON-safe, checked against its schema."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import numpy as np

from zs_assets.protocol.names import AssetName
from zs_assets.report.calibration_remarks import calibration_remarks
from zs_assets.report.cascade_verdicts import cascade_verdicts
from zs_assets.report.inputs import Partition, ReportInputs
from zs_assets.report.order_explorer import explorer_rows
from zs_assets.report.order_verdicts import order_verdicts
from zs_assets.report.publication_answer import missing_partitions, publication_answer
from zs_assets.report.remarks import (
    CONTROL_INTERFACE,
    control_remarks,
    decision_log_remarks,
    left_out_remarks,
    ranking_remarks,
    readable_rankings,
)
from zs_assets.report.schema import ANALYSIS_SCHEMAS, SCHEMA_VERSION, Report
from zs_assets.report.verdicts import Evidence, pair_verdicts, readable_rows, unreadable_partitions
from zs_assets.stats import Metric, empirical_distribution, equal_weight_mean

MAX_CURVE_POINTS = 400
"""Points kept of one curve: more than a panel has pixels across."""

AVERAGED = (
    Metric.MACRO_F1,
    Metric.ACCURACY,
    Metric.BRIER,
    Metric.NLL,
    Metric.NLL_HALF_STEP,
    Metric.ECE,
    Metric.COVERAGE,
)

Row = dict[str, Any]


def build_report(inputs: ReportInputs) -> dict[str, Any]:
    """report.json as a dict that `json.dumps(..., allow_nan=False)` takes; its fields are those of `schema.Report`."""
    unreadable = unreadable_partitions(inputs)
    metrics = {
        (row["dataset"], row["backend"]): row
        for row in inputs.metrics.to_pylist()
        if (row["dataset"], row["backend"]) not in unreadable
    }
    evidence = Evidence(
        paired=readable_rows(inputs.paired_differences.to_pylist(), unreadable),
        means=readable_rows(inputs.dataset_means.to_pylist(), unreadable),
        metrics=metrics,
        unreadable=unreadable,
    )
    rankings = readable_rankings(inputs.rankings.to_pylist(), unreadable)
    analyses = _analyses(inputs, unreadable)
    report = {
        "schema_version": SCHEMA_VERSION,
        "generated_at": inputs.generated_at,
        "rehearsal": inputs.rehearsal,
        "publication": publication_answer(inputs),
        "study": _study(inputs),
        "verdicts": pair_verdicts(inputs, evidence),
        "cascade_verdicts": cascade_verdicts(inputs, analyses, unreadable, metrics),
        "order_verdicts": order_verdicts(inputs, analyses),
        "remarks": [
            *ranking_remarks(rankings, len(inputs.study.datasets), complete=not unreadable),
            *control_remarks(inputs, metrics),
            *calibration_remarks(inputs, analyses),
            *decision_log_remarks(analyses),
            *left_out_remarks(unreadable, metrics),
        ],
        "datasets": [asdict(facts) for facts in inputs.datasets],
        "systems": [_system(inputs, name) for name in inputs.study.backends],
        "metrics": list(metrics.values()),
        "backend_means": _backend_means(inputs, metrics),
        "paired_differences": evidence.paired,
        "dataset_means": evidence.means,
        "rankings": rankings,
        "analyses": analyses,
        "curves": _curves(inputs, unreadable),
        "gates": [asdict(verdict) for verdict in inputs.verdicts],
        "missing": missing_partitions(inputs),
        "manifest_sha256": inputs.manifest_sha256,
        "versions": dict(inputs.versions),
    }
    return Report.model_validate(json_safe(report)).model_dump(mode="json")


def json_safe(value: Any) -> Any:
    """Plain Python all the way down; NaN and infinities, which JSON has no word for, become null."""
    if isinstance(value, dict):
        return {str(key): json_safe(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return json_safe(value.tolist())
    if isinstance(value, (list, tuple)):
        return [json_safe(item) for item in value]
    if isinstance(value, np.generic):
        return json_safe(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _study(inputs: ReportInputs) -> Row:
    study = inputs.study
    analysis = study.analyses.paired_differences
    return {
        "name": study.name,
        "title": study.title or study.name,
        "question": study.question,
        "description": study.description,
        "datasets": [dataset.name for dataset in study.datasets],
        "backends": list(study.backends),
        "pairs": [list(pair) for pair in study.pairs],
        "cascades": [list(pair) for pair in study.cascades],
        "resamples": analysis.resamples if analysis else None,
        "seed": analysis.seed if analysis else None,
        "scoring": study.scoring.model_dump(mode="json"),
        "analyses": study.analyses.model_dump(mode="json"),
        "plan": study.plan.model_dump(mode="json"),
        "limitations": list(study.limitations),
    }


def _system(inputs: ReportInputs, name: str) -> Row:
    spec = inputs.systems[name]
    identity: dict[str, list[str]] = {}
    for (_, backend), facts in inputs.identities.items():
        if backend == name:
            for key, value in facts.items():
                values = identity.setdefault(key, [])
                if str(value) not in values:
                    values.append(str(value))
    kept = (
        *("title", "deployment", "model", "revision", "decimals", "pin", "verified", "terms"),
        *("pinned", "model_rule", "confidence_formula", "order_behaviour"),
    )
    return {
        "name": name,
        "control": spec.interface == CONTROL_INTERFACE,
        **{key: getattr(spec, key) for key in kept},
        "identity": identity,
    }


def _backend_means(inputs: ReportInputs, metrics: dict[Partition, Row]) -> list[Row]:
    """Over the datasets that ask every example once: copies of an example would weigh as evidence of their own."""
    study, means = inputs.study, []
    once = {dataset.name for dataset in study.datasets if study.plan_of(dataset).asks_once}
    for backend in study.backends:
        rows = [row for (dataset, name), row in metrics.items() if name == backend and dataset in once]
        for metric in AVERAGED:
            mean = equal_weight_mean([row[metric.value] for row in rows])
            means.append({"backend": backend, "metric": metric.value, "value": mean.value, "datasets": mean.datasets})
    return means


def _analyses(inputs: ReportInputs, unreadable: dict[Partition, str]) -> dict[str, list[Row]]:
    """Rows of every analysis table whose partitions may be read."""
    roles = ("backend", "primary", "fallback", "reference", "backend_a", "backend_b")
    public = [facts.name for facts in inputs.datasets if not facts.private]
    found = {}
    for name in ANALYSIS_SCHEMAS:
        table = inputs.analyses.get(name)
        if table is not None and name == AssetName.ORDER_SCORES.value:
            table = explorer_rows(table, public)
        found[name] = [
            row
            for row in (table.to_pylist() if table is not None else [])
            if not any((row["dataset"], row[role]) in unreadable for role in roles if role in row)
        ]
    return found


def _curves(inputs: ReportInputs, unreadable: dict[Partition, str]) -> Row:
    partitions = [
        (dataset.name, backend)
        for dataset in inputs.study.datasets
        for backend in inputs.study.backends
        if (dataset.name, backend) not in unreadable
    ]
    return {
        "reliability": [
            {"dataset": p[0], "backend": p[1], **asdict(inputs.calibration[p])}
            for p in partitions
            if p in inputs.calibration
        ],
        "risk_coverage": [_risk_coverage(inputs, p) for p in partitions if p in inputs.risk_coverage],
        "latency": [
            _latency(inputs, p) for p in partitions if p in inputs.latencies_ms and len(inputs.latencies_ms[p])
        ],
    }


def _risk_coverage(inputs: ReportInputs, partition: Partition) -> Row:
    points = inputs.risk_coverage[partition]
    kept = _thin(len(points.level))
    return {
        "dataset": partition[0],
        "backend": partition[1],
        **{name: getattr(points, name)[kept] for name in ("level", "coverage", "risk")},
        "thinned": len(kept) < len(points.level),
    }


def _latency(inputs: ReportInputs, partition: Partition) -> Row:
    latencies = np.asarray(inputs.latencies_ms[partition], dtype=np.float64)
    distribution = empirical_distribution(latencies)
    kept = _thin(len(distribution.value))
    return {
        "dataset": partition[0],
        "backend": partition[1],
        "deployment": inputs.systems[partition[1]].deployment,
        "n": len(latencies),
        "milliseconds": distribution.value[kept],
        "share": distribution.share[kept],
        "thinned": len(kept) < len(distribution.value),
    }


def _thin(points: int) -> np.ndarray:
    """Positions to keep: all, or evenly spaced ones with both ends."""
    if points <= MAX_CURVE_POINTS:
        return np.arange(points)
    return np.unique(np.linspace(0, points - 1, MAX_CURVE_POINTS).round().astype(np.int64))
