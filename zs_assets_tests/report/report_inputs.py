"""Inputs of a report made by the real statistics on seeded random vectors: three datasets, three systems."""

from __future__ import annotations

from dataclasses import asdict, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from zs_assets.backends.systems import SystemSpec
from zs_assets.protocol.names import Gate
from zs_assets.protocol.study import StudySpec
from zs_assets.report import DatasetFacts, PartitionVerdict, ReportInputs
from zs_assets.stats import (
    FAILED,
    Answers,
    Metric,
    PairedDifferences,
    Scheme,
    calibration_bins,
    dataset_stream,
    evaluate,
    first_maximum,
    mean_difference,
    paired_differences,
    published_stream,
    ranking_reversals,
    risk_coverage,
)
from zs_assets.storage.schemas import DATASET_MEANS, METRICS, PAIRED_DIFFERENCES, RANKINGS

LABELS = {"topics": 4, "emotions": 6, "intents": 24}
BACKENDS = ("uniform", "sparrow", "jev")
ROWS = 96
RESAMPLES = 300
SEED = 20260917

# How much evidence a system's vectors carry on each dataset: sparrow is ahead of jev on topics alone.
SIGNAL = {
    "sparrow": {"topics": 2.6, "emotions": 1.0, "intents": 1.2},
    "jev": {"topics": 2.4, "emotions": 2.6, "intents": 3.2},
}


def study(**changes: Any) -> StudySpec:
    attributes: dict[str, Any] = {
        "name": "rehearsed",
        "title": "Synthetic study",
        "question": "Which single label best describes the input text?",
        "description": "Seeded random vectors that stand for three systems on three datasets.",
        "datasets": [{"name": name, "source": "demo", "task": "topic"} for name in LABELS],
        "backends": BACKENDS,
        "analyses": {
            "paired_differences": {
                "pairs": [["jev", "sparrow"], ["sparrow", "uniform"]],
                "resamples": RESAMPLES,
                "seed": SEED,
            }
        },
        "limitations": ["The vectors are random; they describe nothing."],
    }
    return StudySpec.model_validate(attributes | changes)


def systems() -> dict[str, SystemSpec]:
    return {
        "uniform": SystemSpec(name="uniform", interface="uniform", title="Uniform control", deployment="local"),
        "sparrow": SystemSpec(
            name="sparrow", interface="sparrow", title="Sparrow nano", deployment="local", model="nano"
        ),
        "jev": SystemSpec(
            name="jev",
            interface="systemone",
            title="Jev (latest)",
            deployment="hosted",
            model="jev-latest",
            decimals=2,
            terms="Read the vendor's legal page first.",
        ),
    }


def answers(dataset: str, backend: str, signal: float | None = None) -> Answers:
    """96 answers: uniform in closed form, the others random around the gold label; jev fails twice."""
    classes = LABELS[dataset]
    gold = np.arange(ROWS) % classes
    rng = np.random.default_rng([list(LABELS).index(dataset), BACKENDS.index(backend)])
    if backend == "uniform":
        vectors = np.full((ROWS, classes), 1.0 / classes)
        return Answers(
            gold,
            first_maximum(vectors),
            np.ones(ROWS, bool),
            classes,
            probabilities=vectors,
            latency_ms=rng.gamma(3, 0.004, ROWS),
            renormalise=True,
        )
    strength = SIGNAL[backend][dataset] if signal is None else signal
    vectors = np.exp(1.6 * (rng.normal(size=(ROWS, classes)) + strength * np.eye(classes)[gold]))
    vectors /= vectors.sum(axis=1, keepdims=True)
    valid, decimals = np.ones(ROWS, bool), None
    latency = rng.gamma(9, 1.1, ROWS)
    if backend == "jev":
        vectors, decimals, latency = np.round(vectors, 2), 2, rng.gamma(20, 12, ROWS)
        valid[[5, 40]] = False
    return Answers(
        gold,
        np.where(valid, first_maximum(vectors), FAILED),
        valid,
        classes,
        probabilities=vectors,
        decimals=decimals,
        latency_ms=latency,
        renormalise=True,
    )


def report_inputs(signal: dict[tuple[str, str], float] | None = None, **changes: Any) -> ReportInputs:
    """The inputs the pipeline would gather; `signal` replaces a partition's, `changes` a field of the inputs."""
    spec, specs = study(), systems()
    given = signal or {}
    cells = {(d, b): answers(d, b, given.get((d, b))) for d in LABELS for b in BACKENDS}
    paired, means = _comparisons(cells, spec.pairs)
    rows = [_metrics_row(d, b, cell, specs[b]) for (d, b), cell in cells.items()]
    confidences = {key: c for key, cell in cells.items() if (c := cell.scored_confidence) is not None}
    inputs = ReportInputs(
        study=spec,
        systems=specs,
        datasets=tuple(
            DatasetFacts(
                name,
                "topic",
                400,
                {"no_positive": 12, "several_positive": 3},
                ROWS,
                classes,
                f"sha256 {name}",
                "a" * 64,
                "b" * 64,
                False,
            )
            for name, classes in LABELS.items()
        ),
        manifest_sha256="c" * 64,
        metrics=pa.Table.from_pylist(rows, schema=METRICS),
        paired_differences=pa.Table.from_pylist(paired, schema=PAIRED_DIFFERENCES),
        dataset_means=pa.Table.from_pylist(means, schema=DATASET_MEANS),
        rankings=pa.Table.from_pylist(_rankings(rows), schema=RANKINGS),
        latencies_ms={key: cell.latency_ms[cell.valid] for key, cell in cells.items() if cell.latency_ms is not None},
        calibration={k: calibration_bins(c, cells[k].correct[cells[k].valid]) for k, c in confidences.items()},
        risk_coverage={
            k: risk_coverage(c.levels, cells[k].correct[cells[k].valid], ROWS) for k, c in confidences.items()
        },
        verdicts=tuple(
            PartitionVerdict(d, b, Gate.VECTOR_INTEGRITY.value, True, True, f"all {ROWS} vectors hold.")
            for d, b in cells
        ),
        missing=(),
        versions={"zs-assets": "0.1.0", "numpy": np.__version__},
        identities={key: {"cpu": "a small machine", "threads": "2"} for key in cells if key[1] != "jev"},
        generated_at="2026-09-17T12:00:00Z",
        rehearsal=False,
    )
    return replace(inputs, **changes)


def _metrics_row(dataset: str, backend: str, cell: Answers, system: SystemSpec) -> dict[str, Any]:
    scores = asdict(evaluate(cell, budget=Fraction(1, 20)))
    hosted = system.deployment == "hosted"
    row: dict[str, Any] = dict.fromkeys(METRICS.names)
    row |= {name: scores[name] for name in scores if name in row}
    row |= {f"{o}_count": 0 for o in ("ok", "invalid", "refusal", "no_call", "error", "not_applicable")}
    row |= {
        "dataset": dataset,
        "backend": backend,
        "title": system.title,
        "deployment": system.deployment,
        "model_resolved": "jev-1.13.0" if hosted else backend,
        "applicable": True,
        "ok_count": scores["valid"],
        "invalid_count": min(1, scores["failures"]),
        "error_count": max(0, scores["failures"] - 1),
        "attempts": ROWS,
        "cost_usd": 0.0123 if hosted else None,
        "cost_unknown_count": 0 if hosted else ROWS,
        "input_tokens": 41_000 if hosted else None,
        "output_tokens": 960 if hosted else None,
    }
    return row


def _comparisons(
    cells: dict[tuple[str, str], Answers], pairs: Any
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    ids = [f"e:{i}" for i in range(ROWS)]
    paired, means = [], []
    for a, b in pairs:
        for scheme in Scheme:
            by_dataset = {}
            for d in LABELS:
                rng = published_stream(SEED) if scheme is Scheme.TARGET_STRATIFIED else dataset_stream(SEED, d)
                by_dataset[d] = paired_differences(
                    cells[d, a], cells[d, b], example_ids=ids, scheme=scheme, resamples=RESAMPLES, rng=rng
                )
                paired += [{"dataset": d, **row} for row in interval_rows(by_dataset[d], a, b)]
            mean = mean_difference(list(by_dataset.values()))
            means += [{"datasets": list(by_dataset), **row} for row in interval_rows(mean, a, b)]
    return paired, means


def interval_rows(differences: PairedDifferences, a: str, b: str) -> list[dict[str, Any]]:
    """Rows of the tables of pairs, with a for the minuend."""
    return [
        {
            "backend_a": a,
            "backend_b": b,
            "metric": i.metric.value,
            "scheme": i.scheme.value,
            "n": i.n,
            "difference": i.point,
            "ci95_low": i.low,
            "ci95_high": i.high,
            "supported": i.supported,
            "better": None if not i.supported else a if (i.point > 0) == i.metric.higher_is_better else b,
            "weak": i.weak,
        }
        for i in differences.intervals()
    ]


def _rankings(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found = []
    for metric in (Metric.MACRO_F1, Metric.ACCURACY):
        values = {d: {r["backend"]: r[metric.value] for r in rows if r["dataset"] == d} for d in LABELS}
        for reversal in ranking_reversals(values, metric):
            row = asdict(reversal) | {"metric": reversal.metric.value}
            found.append(row | {side: list(row[side]) for side in ("a_ahead", "b_ahead")})
    return found
