"""The publication: the report bundle of a study, written only if every included partition passes every gate."""

import csv
import io
import json
from typing import Any

import dagster as dg
import pyarrow as pa

from zs_assets.assets.analysis_inputs import ReadableAnalyses, analysis_tables
from zs_assets.assets.comparison_assets import read_metrics, read_paired_differences
from zs_assets.assets.follow_up_asset import follow_up_counts
from zs_assets.assets.gated_reading import load_gated
from zs_assets.assets.graph import StudyGraph
from zs_assets.assets.report_asset import study_report
from zs_assets.assets.resources import Workspace
from zs_assets.assets.study_gates import study_verdicts
from zs_assets.protocol.errors import GateRefused
from zs_assets.protocol.hashing import sha256_bytes
from zs_assets.protocol.names import AssetName
from zs_assets.report import render_page
from zs_assets.report.order_downloads import aggregates, comparison_csv
from zs_assets.storage.lake import parquet_bytes, write_bytes
from zs_assets.storage.object_store import delete_others
from zs_assets.storage.order_schemas import FOLLOW_UP_COUNTS_TABLE
from zs_assets.storage.same_code import refuse_other_code
from zs_assets.storage.schemas import DATASET_MEANS, METRICS, RANKINGS

# Columns of predictions that go out per example; texts and raw bodies never do.
PUBLIC_COLUMNS = (
    "presentation_id",
    "example_id",
    "text_sha256",
    "target_index",
    "outcome",
    "probabilities",
    "choice",
    "predicted_index",
    "confidence",
    "top_probability",
    "model_resolved",
    "latency_ms",
)


def publication_asset(graph: StudyGraph) -> dg.AssetsDefinition:
    @dg.asset(
        key=graph.key(AssetName.PUBLICATION),
        deps=[graph.key(AssetName.REPORT)],
        group_name=graph.name,
        kinds={"html", "json"},
        code_version="1",
        description="The bundle to publish: page, report.json, tables as CSV and Parquet, hashes. Refused if a gate "
        "of an included partition fails. Check the terms of every hosted vendor before you publish its results.",
    )
    def publication(context: dg.AssetExecutionContext, workspace: Workspace) -> dg.MaterializeResult:
        refuse_other_code(context.run.tags, f"{graph.name} {AssetName.PUBLICATION.value}")
        included, left_out, refusals = partitions_to_publish(workspace, graph)
        if refusals:
            raise dg.Failure(
                f"Nothing is published: {refusals[0]}" + (f" (and {len(refusals) - 1} more)" if refusals[1:] else ""),
                metadata={"refusals": refusals},
                allow_retries=False,
            )
        files = bundle(workspace, graph, included, left_out)
        folder = workspace.lake.folder(graph.name, AssetName.PUBLICATION)
        # First of all: what an earlier bundle showed may be private now, or no longer part of the study.
        delete_others(folder, set(files))
        for name, data in files.items():
            write_bytes(folder / name, data)
        return dg.MaterializeResult(
            metadata={
                "page": dg.MetadataValue.path(str(folder / "index.html")),
                "partitions": len(included),
                "left_out": left_out or "none",
                "files": sorted(files),
            }
        )

    return publication


def partitions_to_publish(
    workspace: Workspace, graph: StudyGraph
) -> tuple[list[tuple[str, str]], list[str], list[str]]:
    """Included partitions, those never run (left out and listed), and every refusal by partition, gate and reason."""
    included: list[tuple[str, str]] = []
    left_out: list[str] = []
    refusals: list[str] = []
    for dataset in graph.spec.datasets:
        for backend in graph.spec.backends:
            if workspace.lake.read_verdicts(graph.name, dataset.name, backend) is None:
                left_out.append(f"{dataset.name} x {backend}: never run")
                continue
            try:
                load_gated(workspace.lake, graph, dataset.name, backend)
                workspace.lake.read(graph.name, AssetName.METRICS, dataset=dataset.name, backend=backend)
            except GateRefused as refusal:
                refusals.append(str(refusal))
                continue
            included.append((dataset.name, backend))
    if workspace.rehearsal:
        refusals.insert(0, f"{graph.name} was rehearsed with stand-ins: nothing of a rehearsal is published.")
    refusals += [
        f"{graph.name} fails gate {found.verdict.gate.value}: {found.verdict.sentence}."
        for found in study_verdicts(workspace, graph)
        if found.verdict.stops
    ]
    if not included and not refusals:
        refusals.append(f"{graph.name} has no partition yet: run `zs-assets run {graph.name}`.")
    return included, left_out, refusals


def outdated_analyses(workspace: Workspace, graph: StudyGraph) -> list[str]:
    """Analyses that are not of the predictions and settings which are there now: no figure of theirs goes out."""
    readable = ReadableAnalyses(workspace.lake, graph)
    return [
        f"{analysis} of {partition}: not of these predictions and settings, run `zs-assets run {graph.name}`"
        for analysis, tables in analysis_tables(graph).items()
        for partition in readable.partitions(analysis)
        if not all(readable.is_current(asset, partition) for asset in tables)
    ]


def bundle(
    workspace: Workspace, graph: StudyGraph, included: list[tuple[str, str]], left_out: list[str]
) -> dict[str, bytes]:
    """Files of the bundle by name, with hashes.json over all of them."""
    lake = workspace.lake
    report = study_report(workspace, graph, public=True)
    analyses = ReadableAnalyses(lake, graph)
    tables = {
        "metrics": pa.Table.from_pylist(read_metrics(lake, graph), schema=METRICS),
        "paired_differences": read_paired_differences(lake, graph),
        "dataset_means": lake.read_or_empty(graph.name, AssetName.DATASET_MEANS, DATASET_MEANS),
        "rankings": lake.read_or_empty(graph.name, AssetName.RANKINGS, RANKINGS),
        **analyses.public_tables(follow_up_counts(lake, graph)),
    }
    if graph.spec.analyses.order_sensitivity is None:
        del tables[FOLLOW_UP_COUNTS_TABLE]
    for dataset, backend in included:
        if not graph.spec.dataset(dataset).private:
            predictions = load_gated(lake, graph, dataset, backend).predictions.select(PUBLIC_COLUMNS)
            tables[f"predictions/{dataset}__{backend}"] = predictions
    files = {
        "index.html": render_page(report).encode(),
        "report.json": json.dumps(report, indent=1, ensure_ascii=False).encode(),
    }
    if graph.spec.analyses.order_sensitivity is not None:
        files["order_comparison.csv"] = comparison_csv(report).encode()
        files["order_aggregates.json"] = json.dumps(aggregates(report), indent=1, ensure_ascii=False).encode()
    for name, table in tables.items():
        # Key-value metadata of the lake's files holds hashes and paths of sources.
        files[f"{name}.parquet"] = parquet_bytes(table.replace_schema_metadata(None))
        files[f"{name}.csv"] = csv_bytes(table)
    hashes: dict[str, Any] = {
        "files": {name: sha256_bytes(data) for name, data in sorted(files.items())},
        "partitions": [f"{dataset} x {backend}" for dataset, backend in included],
        "left_out": left_out,
        "outdated_analyses": outdated_analyses(workspace, graph),
        "withheld": [group.sentence for group in analyses.withheld],
    }
    return files | {"hashes.json": json.dumps(hashes, indent=1).encode()}


def csv_bytes(table: pa.Table) -> bytes:
    """The table as CSV; lists become JSON arrays, null becomes empty."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(table.column_names)
    for row in table.to_pylist():
        writer.writerow([json.dumps(v) if isinstance(v, list) else v for v in row.values()])
    return buffer.getvalue().encode()
