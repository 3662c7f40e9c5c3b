"""Everything readable of a study -> report.json and one self-contained page."""

import json
import platform
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import dagster as dg
import numpy as np
import pyarrow as pa

from zs_assets.assets.analysis_inputs import ReadableAnalyses
from zs_assets.assets.answers import answers_of, has_gold, is_applicable
from zs_assets.assets.comparison_assets import read_paired_differences
from zs_assets.assets.dataset_assets import study_manifest
from zs_assets.assets.follow_up_asset import follow_up_counts
from zs_assets.assets.gated_reading import GatedPartition, load_gated, read_manifest
from zs_assets.assets.graph import StudyGraph
from zs_assets.assets.resources import Workspace
from zs_assets.assets.study_gates import study_verdicts
from zs_assets.protocol.errors import GateRefused
from zs_assets.protocol.hashing import sha256_bytes
from zs_assets.protocol.names import AssetName
from zs_assets.protocol.study import DatasetSpec
from zs_assets.report import (
    DatasetFacts,
    MissingPartition,
    PartitionVerdict,
    ReportInputs,
    build_report,
    render_page,
)
from zs_assets.stats import calibration_bins, risk_coverage
from zs_assets.storage.lake import Lake, metadata_of, write_bytes
from zs_assets.storage.order_schemas import FOLLOW_UP_COUNTS_TABLE
from zs_assets.storage.same_code import refuse_other_code
from zs_assets.storage.schemas import DATASET_MEANS, METRICS, RANKINGS

VERSIONED = ("zs-assets", "dagster", "numpy", "scipy", "pyarrow", "duckdb", "httpx")


def report_asset(graph: StudyGraph) -> dg.AssetsDefinition:
    @dg.asset(
        key=graph.key(AssetName.REPORT),
        deps=[graph.key(AssetName.WAREHOUSE), dg.AssetKey([graph.name, "manifest_file"])],
        group_name=graph.name,
        kinds={"html", "json"},
        code_version="1",
        description="index.html and report.json: verdict sentences, charts, tables, provenance.",
    )
    def report(context: dg.AssetExecutionContext, workspace: Workspace) -> dg.MaterializeResult:
        refuse_other_code(context.run.tags, f"{graph.name} {AssetName.REPORT.value}")
        built = study_report(workspace, graph)
        folder = workspace.lake.folder(graph.name, AssetName.REPORT)
        write_bytes(folder / "report.json", json.dumps(built, indent=1, ensure_ascii=False).encode())
        write_bytes(folder / "index.html", render_page(built).encode())
        sentences = "\n".join(f"- {sentence}" for sentence in verdict_sentences(built))
        return dg.MaterializeResult(
            metadata={
                "page": dg.MetadataValue.path(str(folder / "index.html")),
                "verdicts": dg.MetadataValue.md(sentences or "no pair was compared"),
            }
        )

    return report


def verdict_sentences(report: dict[str, Any]) -> list[str]:
    """Every verdict of the report in words: pairs, cascades, choice order, decision logs."""
    logs = [remark for remark in report["remarks"] if remark["kind"] == "decision_log"]
    verdicts = (*report["verdicts"], *report["cascade_verdicts"], *report["order_verdicts"])
    return [entry["sentence"] for entry in (*verdicts, *logs)]


@dataclass
class _Readings:
    """What is gathered partition by partition."""

    verdicts: list[PartitionVerdict] = field(default_factory=list)
    missing: list[MissingPartition] = field(default_factory=list)
    metrics: list[dict[str, Any]] = field(default_factory=list)
    latencies: dict[tuple[str, str], np.ndarray] = field(default_factory=dict)
    calibration: dict[tuple[str, str], Any] = field(default_factory=dict)
    risk_coverage: dict[tuple[str, str], Any] = field(default_factory=dict)
    identities: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)


def study_report(workspace: Workspace, graph: StudyGraph, *, public: bool = False) -> dict[str, Any]:
    """report.json of the study as its lake stands now; a public one shows no single example of a private dataset."""
    lake = workspace.lake
    readings = _Readings()
    for dataset in graph.spec.datasets:
        for backend in graph.spec.backends:
            _read_partition(lake, graph, dataset.name, backend, readings)
    for found in study_verdicts(workspace, graph):
        # An empty dataset or backend stands for all of them.
        verdict = found.verdict
        readings.verdicts.append(
            PartitionVerdict(
                found.dataset or "",
                found.backend or "",
                verdict.gate.value,
                verdict.passed,
                verdict.blocking,
                verdict.sentence,
            )
        )
    manifest, _ = study_manifest(workspace, graph)
    analyses = ReadableAnalyses(lake, graph)
    follow_up = follow_up_counts(lake, graph)
    tables = analyses.public_tables(follow_up) if public else {**analyses.tables(), FOLLOW_UP_COUNTS_TABLE: follow_up}
    if public:
        _drop_private_curves(graph, readings)
    report = build_report(
        ReportInputs(
            study=graph.spec,
            systems=graph.systems,
            datasets=tuple(_dataset_facts(lake, graph, public=public)),
            manifest_sha256=sha256_bytes(manifest),
            metrics=pa.Table.from_pylist(readings.metrics, schema=METRICS),
            paired_differences=read_paired_differences(lake, graph),
            dataset_means=lake.read_or_empty(graph.name, AssetName.DATASET_MEANS, DATASET_MEANS),
            rankings=lake.read_or_empty(graph.name, AssetName.RANKINGS, RANKINGS),
            latencies_ms=readings.latencies,
            calibration=readings.calibration,
            risk_coverage=readings.risk_coverage,
            verdicts=tuple(readings.verdicts),
            missing=tuple(readings.missing),
            versions=_versions(),
            identities=readings.identities,
            generated_at=datetime.now(timezone.utc).isoformat(timespec="seconds").replace("+00:00", "Z"),
            rehearsal=workspace.rehearsal,
            public=public,
            analyses=tables,
        )
    )
    if public:
        _drop_plan_seeds(report, graph)
        _keep_what_was_measured(report)
        report["remarks"] += [{"kind": "left_out", "sentence": group.sentence} for group in analyses.withheld]
    return report


def _drop_plan_seeds(report: dict[str, Any], graph: StudyGraph) -> None:
    """A published study of orders names no seed (choice-order study, "Scope and downloads")."""
    report["study"]["plan"] = graph.spec.plan.public_settings
    order_study = report["study"]["analyses"]["order_sensitivity"]
    if order_study is not None:
        del order_study["seed"]


def _keep_what_was_measured(report: dict[str, Any]) -> None:
    """A publication holds what this study measured: no published figure of others, no system without a result."""
    measured = {row["backend"] for row in report["metrics"]}
    report["systems"] = [
        {**system, "order_behaviour": ""} for system in report["systems"] if system["name"] in measured
    ]


def _drop_private_curves(graph: StudyGraph, readings: _Readings) -> None:
    """Curves with a point per example: each distinct latency, and each confidence of a system that does not round."""
    for dataset in graph.spec.datasets:
        if dataset.private:
            for curves in (readings.latencies, readings.risk_coverage):
                for partition in [key for key in curves if key[0] == dataset.name]:
                    del curves[partition]


def _read_partition(lake: Lake, graph: StudyGraph, dataset: str, backend: str, readings: _Readings) -> None:
    last = lake.read_verdicts(graph.name, dataset, backend)
    for verdict in (last or {}).get("verdicts", []):
        readings.verdicts.append(
            PartitionVerdict(
                dataset, backend, verdict["gate"], verdict["passed"], verdict["blocking"], verdict["sentence"]
            )
        )
    try:
        partition = load_gated(lake, graph, dataset, backend)
        metrics = lake.read(graph.name, AssetName.METRICS, dataset=dataset, backend=backend)
    except GateRefused as refusal:
        readings.missing.append(MissingPartition(dataset, backend, str(refusal)))
        return
    readings.metrics += metrics.to_pylist()
    stored = metadata_of(partition.predictions)
    readings.identities[dataset, backend] = {name: str(v) for name, v in json.loads(stored["identity"]).items()}
    _read_curves(graph, dataset, backend, partition, readings)


def _read_curves(graph: StudyGraph, dataset: str, backend: str, partition: GatedPartition, readings: _Readings) -> None:
    if not (is_applicable(partition.predictions) and has_gold(partition.predictions)):
        return
    if not graph.spec.plan_of(graph.spec.dataset(dataset)).asks_once:
        return  # the same example many times over is no further evidence for a curve
    answers = answers_of(partition, graph.systems[backend], graph.spec.scoring)
    if answers.latency_ms is not None and answers.valid.any():
        readings.latencies[dataset, backend] = answers.latency_ms[answers.valid]
    confidence = answers.scored_confidence
    if confidence is not None and answers.valid.any():
        correct = answers.correct[answers.valid]
        readings.calibration[dataset, backend] = calibration_bins(confidence, correct)
        readings.risk_coverage[dataset, backend] = risk_coverage(confidence.levels, correct, len(answers))


def _dataset_facts(lake: Lake, graph: StudyGraph, *, public: bool) -> Iterator[DatasetFacts]:
    for dataset in graph.spec.datasets:
        if not lake.has(graph.name, AssetName.MANIFEST, dataset=dataset.name):
            continue
        planned = read_manifest(lake, graph, dataset.name)
        excluded = {reason: int(count) for reason, count in json.loads(planned.metadata["excluded"]).items()}
        provenance = json.loads(planned.metadata["provenance"])
        yield DatasetFacts(
            name=dataset.name,
            task=dataset.task,
            source_examples=int(planned.metadata["source_examples"]) + sum(excluded.values()),
            excluded=excluded,
            sampled=len(planned.examples),
            labels=len(planned.question),
            source_pin=_public_pin(dataset, provenance) if public and dataset.private else _pin(provenance),
            protocol_hash=planned.protocol_hash,
            prompt_hash=planned.prompt_hash,
            private=dataset.private,
            options=planned.question.ids,
        )


def _pin(provenance: dict[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in provenance.items())


def _public_pin(dataset: DatasetSpec, provenance: dict[str, str]) -> str:
    """Neither path nor hash: a path may name a person or a project, and a hash shows who holds the same file."""
    rows = provenance.get("rows")
    return f"private {dataset.source.kind}" + (f", {int(rows):,} rows" if rows else "")


def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for name in VERSIONED:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:  # run from a checkout that is not installed
            versions[name] = "not installed as a package"
    return versions
