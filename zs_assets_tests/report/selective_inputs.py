"""Inputs of a study of selective automation whose tables are written by hand: small counts that add up.

Two datasets (`areas` has parent domains), a primary on a 0.01 grid, a second system with a confidence, two systems
that give labels only. Every share follows from the counts beside it.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from zs_assets.backends.systems import SystemSpec
from zs_assets.protocol.study import StudySpec
from zs_assets.report import DatasetFacts, ReportInputs
from zs_assets.report.schema import ANALYSIS_SCHEMAS
from zs_assets.stats import ProportionInterval, clopper_pearson_interval, clopper_pearson_upper, wilson_interval
from zs_assets.storage.schemas import DATASET_MEANS, METRICS, PAIRED_DIFFERENCES, RANKINGS

DATASETS = ("intents", "areas")
PRIMARY, FALLBACK, OTHER_FALLBACK, LOCAL = "jev", "deepseek", "opus", "gliner"
PLANNED = 200
LEVELS = (
    (1.0, "1.00", 100, 96),
    (0.99, "[0.95, 1.00)", 40, 34),
    (0.8, "[0.70, 0.90)", 54, 30),
    (0.3, "below 0.70", 6, 2),
)
"""Level, tier, rows, right answers: 200 rows, 162 right."""

Row = dict[str, Any]


def selective_study(**changes: Any) -> StudySpec:
    attributes: dict[str, Any] = {
        "name": "automated",
        "title": "Synthetic selective automation",
        "question": "Which label fits?",
        "datasets": [
            {"name": "intents", "source": "demo", "task": "intent"},
            {"name": "areas", "source": "demo", "task": "area", "parent_separator": "/"},
        ],
        "backends": [PRIMARY, LOCAL, FALLBACK, OTHER_FALLBACK],
        "scoring": {"renormalise": False, "prediction": "choice", "confidence": "reported", "error_budget": "1/20"},
        "analyses": {
            "calibration": {"resamples": 400, "seed": 1729},
            "cascades": {"pairs": [[PRIMARY, FALLBACK], [PRIMARY, OTHER_FALLBACK]], "resamples": 250, "seed": 1729},
        },
    }
    return StudySpec.model_validate(attributes | changes)


def selective_systems() -> dict[str, SystemSpec]:
    hosted = {PRIMARY: "systemone", FALLBACK: "chat_tools", OTHER_FALLBACK: "anthropic"}
    found = {
        name: SystemSpec(name=name, interface=interface, title=name.title(), deployment="hosted")
        for name, interface in hosted.items()
    }
    return found | {LOCAL: SystemSpec(name=LOCAL, interface="gliner", title="Gliner", deployment="local")}


def _ends(interval: ProportionInterval) -> tuple[float, float]:
    return float(interval.low), float(interval.high)


def level_rows(dataset: str, backend: str, levels: tuple[tuple[float, str, int, int], ...] = LEVELS) -> list[Row]:
    rows, accepted, errors = [], 0, 0
    for level, tier, rows_at, right in levels:
        accepted, errors = accepted + rows_at, errors + rows_at - right
        low, high = _ends(wilson_interval(right, rows_at))
        exact_low, exact_high = _ends(clopper_pearson_interval(right, rows_at))
        row = {"dataset": dataset, "backend": backend, "level": level, "tier": tier, "atom": level == 1.0}
        row |= {"small": rows_at < 10, "count": rows_at, "correct": right, "accuracy": right / rows_at}
        row |= {"wilson_low": low, "wilson_high": high, "exact_low": exact_low, "exact_high": exact_high}
        row |= {"accepted": accepted, "errors": errors, "coverage": accepted / PLANNED, "risk": errors / accepted}
        rows.append(row | {"risk_upper": float(clopper_pearson_upper(errors, accepted))})
    return rows


def _calibration_rows(cell: Row) -> list[Row]:
    shared = {**cell, "n": PLANNED, "resamples": 400}
    protocol = {"ece_by_level": (0.11, 0.08, 0.15), "ece": (0.10, 0.07, 0.14), "accuracy": (0.81, 0.755, 0.865)}
    protocol["confidence_gap"] = (0.08, 0.03, 0.13)
    weak = "weak: biased upwards, its percentile interval covers far less than 95 %"
    rows = [
        {**shared, "figure": name, "method": "protocol", "value": value, "ci95_low": low, "ci95_high": high}
        | {"remark": weak if name == "ece_by_level" else None}
        for name, (value, low, high) in protocol.items()
    ]
    ours = {"figure": "ece_by_level", "method": "addition", "resamples": 1000, "value": 0.09}
    ours |= {"ci95_low": 0.05, "ci95_high": 0.13, "noise_mean": 0.031, "noise_p95": 0.052, "remark": "bias-corrected"}
    return [*rows, {**shared, **ours}]


def _auroc_rows(cell: Row, form: str) -> list[Row]:
    shared = {**cell, "form": form, "atom": 100, "n": 100, "correct": 66, "kept": 399, "dropped": 1}
    rows: list[Row] = [{**shared, "statistic": "confidence", "auroc": 0.75}]
    for name, difference, p_holm in (("margin_top2", 0.02, 0.058), ("entropy_norm", -0.01, 0.8)):
        ends = {"ci95_low": difference - 0.015, "ci95_high": difference + 0.015}
        rows.append(
            {**shared, "statistic": name, "auroc": 0.75 - difference, "difference": difference, **ends}
            | {"p_value": p_holm / 2, "p_holm": p_holm}
        )
    return rows


def undefined_auroc_rows(dataset: str, backend: str) -> list[Row]:
    """One class outside the atom: no figure, and the reason."""
    shared = {"dataset": dataset, "backend": backend, "form": "float", "atom": 190, "n": 10, "correct": 10}
    shared |= {"kept": 0, "dropped": 0, "undefined": "all 10 rows outside confidence 1.00 are right"}
    return [{**shared, "statistic": name} for name in ("confidence", "margin_top2", "entropy_norm", "ratio_top2")]


def _certified_rows(cell: Row) -> list[Row]:
    none = {"threshold": None, "coverage": 0.0, "p_value": None, "stopped_at": 1.0, "accepted": 0, "errors": 0}
    one = {"threshold": 1.0, "coverage": 0.5, "p_value": 0.024, "stopped_at": 0.99, "accepted": 100, "errors": 4}
    asked = [("1/20", "9/10", none), ("1/10", "9/10", one), ("1/20", "19/20", none), ("1/10", "19/20", one)]
    return [
        {**cell, "risk_limit": limit, "confidence_level": level, "plug_in_coverage": 0.5, **found}
        for limit, level, found in asked
    ]


def cell_tables(dataset: str, backend: str) -> dict[str, list[Row]]:
    """The calibration tables of one dataset x backend."""
    cell = {"dataset": dataset, "backend": backend}
    levels = level_rows(dataset, backend)
    tiers = [
        {**cell, "tier": row["tier"], "mean_confidence": row["level"]}
        | {key: row[key] for key in ("count", "correct", "accuracy")}
        for row in levels
    ]
    return {
        "confidence_levels": levels,
        "confidence_tiers": [*tiers, {**cell, "tier": "[0.90, 0.95)", "count": 0, "correct": 0}],
        "calibration": _calibration_rows(cell),
        "auroc_comparisons": [*_auroc_rows(cell, "integer"), *_auroc_rows(cell, "float")],
        "certified_thresholds": _certified_rows(cell),
    }


def sweep_rows(named: Row, price: float | None = 0.0002) -> list[Row]:
    """Four thresholds and three references; `price` is one fallback call in USD, null unknown."""
    points = [("threshold", 0.3, 200, 162), ("threshold", 0.8, 194, 163), ("threshold", 0.99, 140, 172)]
    points += [("threshold", 1.0, 100, 170), ("primary", None, 200, 162), ("fallback", None, 0, 164)]
    rows = []
    for kind, threshold, kept, correct in [*points, ("oracle", None, 162, 180)]:
        escalated = PLANNED - kept
        cost = None if price is None else (0.0 if kind == "fallback" else 0.01 * bool(price)) + escalated * price
        row: Row = {**named, "kind": kind, "threshold": threshold, "best": threshold == 0.99, "kept": kept}
        row |= {"escalated": escalated, "correct": correct, "coverage": kept / PLANNED, "accuracy": correct / PLANNED}
        row |= {"cost_usd": cost, "cost_unknown": 3 if price is None else 0, "latency_p50_ms": 300.0}
        rows.append(row | {"latency_p95_ms": 900.0, "saving": None if not price or cost is None else 1 - cost / 0.04})
    return rows


def cascade_row(named: Row, **changes: Any) -> Row:
    row: Row = {**named, "route": True, "better_single": "fallback", "n": PLANNED, "primary_correct": 162}
    row["verdict"] = "Route: the best threshold, 0.99, gets 172/200 right, 8 more than the fallback alone (164/200)."
    row |= {"fallback_correct": 164, "oracle_correct": 180, "neither": 20, "best_correct": 172, "best_escalated": 60}
    row |= {"gain_in_sample": 8, "only_cascade": 15, "only_single": 7, "best_threshold": 0.99, "best_accuracy": 0.86}
    row |= {"best_cost_usd": 0.022, "best_latency_p50_ms": 300.0, "best_saving": 0.45, "gain_out_of_bag": 0.021}
    row |= {"gain_ci95_low": -0.02, "gain_ci95_high": 0.06, "routed_share": 0.93, "mcnemar_p": 0.134}
    return row | changes


def confirmed(**changes: Any) -> Row:
    """Columns of a confirmatory run."""
    row: Row = {"validation_rows": 100, "test_rows": 100, "confirmed_correct": 84, "confirmed_single_correct": 81}
    row |= {"confirmed_single": "fallback", "confirmed_threshold": 0.99, "confirmed_accuracy": 0.84}
    row |= {"confirmed_low": 0.753, "confirmed_high": 0.906, "confirmed_difference": 0.03, "confirmed_p": 0.5}
    return row | {"confirmed_cost_usd": 0.011} | changes


def cascade_tables(dataset: str, primary: str, fallback: str, price: float | None = 0.0002) -> dict[str, list[Row]]:
    """The cascade tables of one dataset x cascade; parents where the dataset has them."""
    named = {"dataset": dataset, "primary": primary, "fallback": fallback}
    parents = dataset == "areas"
    missed = {"attainable": False, "oracle_misses": True, "best_accuracy": 0.86}
    reached = {"attainable": True, "oracle_misses": False, "reached_by": "threshold", "best_accuracy": 0.86}
    disagreements = (("1.00", 100, 5, 3, 1, 1), ("[0.70, 0.90)", 54, 20, 2, 14, 4), ("below 0.70", 6, 0, 0, 0, 0))
    errors = [(f"CS/label {i}", "CS/other" if i % 2 else "Law/other", 12 - i) for i in range(12)]
    return {
        "cascade_sweep": sweep_rows(named, price),
        "cascade_targets": [
            {**named, "target": "17/20", **reached, "threshold": 0.99, "accuracy": 0.86, "cost_usd": price},
            {**named, "target": "19/20", **missed},
        ],
        "cascades": [cascade_row(named, **({"best_cost_usd": None, "best_saving": None} if price is None else {}))],
        "agreements": [
            {**named, "n": PLANNED, "both_correct": 146, "both_wrong_same": 12, "both_wrong_different": 8}
            | {"primary_only": 16, "fallback_only": 18, "distinct_shared_errors": 12}
        ],
        "shared_errors": [
            {**named, "gold": gold, "predicted": predicted, "count": count}
            | {"same_parent": gold.split("/")[0] == predicted.split("/")[0] if parents else None}
            for gold, predicted, count in errors
        ],
        "error_domains": [
            {**named, "errors": kind, "n": 20, "inside": 15, "across": 5, "failed": 0}
            for kind in ("shared_primary", "shared_fallback", "same", "primary")
            if parents
        ],
        "tier_disagreements": [
            {**named}
            | dict(zip(("tier", "n", "disagreements", "primary_wins", "fallback_wins", "neither"), row, strict=True))
            for row in disagreements
        ],
    }


def decision_log_rows(dataset: str, backend: str, reference: str) -> list[Row]:
    strata = [("all", None, None, 180, 150), ("majority_baseline", "refund", None, 180, 40)]
    strata += [("decision", "refund", None, 60, 52), ("tier", None, "1.00", 90, 85), ("tier", None, "below 0.70", 0, 0)]
    strata += [("tier and decision", "refund", "1.00", 30, 29)]
    rows = []
    for stratum, decision, tier, n, agree in strata:
        row: Row = {"dataset": dataset, "backend": backend, "reference": reference, "stratum": stratum}
        row |= {"decision": decision, "tier": tier, "n": n, "agree": agree}
        if n:
            low, high = _ends(wilson_interval(agree, n))
            row |= {"share": agree / n, "ci95_low": low, "ci95_high": high}
        rows.append(row)
    return rows


def selective_rows() -> dict[str, list[Row]]:
    """Every table: jev everywhere, gliner on intents only; the second fallback's costs are unknown."""
    rows: dict[str, list[Row]] = {name: [] for name in ANALYSIS_SCHEMAS}
    parts = [cell_tables(d, PRIMARY) for d in DATASETS] + [cell_tables("intents", LOCAL)]
    parts += [cascade_tables(d, PRIMARY, FALLBACK) for d in DATASETS]
    parts += [cascade_tables(d, PRIMARY, OTHER_FALLBACK, price=None) for d in DATASETS]
    for part in parts:
        for name, own in part.items():
            rows[name] += own
    return rows


def selective_inputs(rows: dict[str, list[Row]] | None = None, **changes: Any) -> ReportInputs:
    """The inputs of a report whose analysis tables are `rows`, the others empty."""
    tables = selective_rows() if rows is None else rows
    fields: dict[str, Any] = {
        "study": selective_study(),
        "systems": selective_systems(),
        "datasets": tuple(
            DatasetFacts(name, "intent", 400, {}, PLANNED, 24, f"sha256 {name}", "a" * 64, "b" * 64, False)
            for name in DATASETS
        ),
        "manifest_sha256": "c" * 64,
        "metrics": METRICS.empty_table(),
        "paired_differences": PAIRED_DIFFERENCES.empty_table(),
        "dataset_means": DATASET_MEANS.empty_table(),
        "rankings": RANKINGS.empty_table(),
        "latencies_ms": {},
        "calibration": {},
        "risk_coverage": {},
        "verdicts": (),
        "missing": (),
        "versions": {"zs-assets": "0.1.0"},
        "identities": {},
        "generated_at": "2026-09-18T12:00:00Z",
        "rehearsal": False,
        "analyses": {
            name: pa.Table.from_pylist(tables.get(name, []), schema=s) for name, s in ANALYSIS_SCHEMAS.items()
        },
    }
    return ReportInputs(**(fields | changes))
