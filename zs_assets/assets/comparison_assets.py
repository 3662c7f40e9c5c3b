"""predictions -> paired differences, their means over datasets, and rankings that reverse."""

from collections.abc import Sequence
from typing import Any

import dagster as dg
import pyarrow as pa

from zs_assets.assets.answers import answers_of, has_gold, is_applicable
from zs_assets.assets.gated_reading import load_gated
from zs_assets.assets.graph import IO_MANAGER, StudyGraph
from zs_assets.assets.resources import Workspace
from zs_assets.assets.tables import definition_metadata, head_table
from zs_assets.protocol.analyses import PairedDifferencesAnalysis
from zs_assets.protocol.errors import GateRefused
from zs_assets.protocol.names import PAIR_SEPARATOR, AssetName
from zs_assets.stats import (
    Metric,
    PairedDifferences,
    PairedInterval,
    Scheme,
    dataset_stream,
    mean_difference,
    paired_differences,
    published_stream,
    ranking_reversals,
)
from zs_assets.storage.lake import Lake
from zs_assets.storage.schemas import DATASET_MEANS, PAIRED_DIFFERENCES, RANKINGS

SHOWN = ["metric", "scheme", "difference", "ci95_low", "ci95_high", "supported", "weak"]
RANKED = (Metric.MACRO_F1, Metric.ACCURACY, Metric.BRIER, Metric.NLL, Metric.ECE, Metric.COVERAGE)


def comparison_assets(graph: StudyGraph) -> list[dg.AssetsDefinition]:
    """The paired analyses the study asks for, and the rankings every study has."""
    analysis = graph.spec.analyses.paired_differences
    if analysis is None or not graph.spec.pairs:
        return [_rankings(graph)]
    return [_paired_differences(graph, analysis), _dataset_means(graph, analysis), _rankings(graph)]


def _paired_differences(graph: StudyGraph, analysis: PairedDifferencesAnalysis) -> dg.AssetsDefinition:
    @dg.asset(
        key=graph.key(AssetName.PAIRED_DIFFERENCES),
        partitions_def=graph.pairs(graph.spec.pairs),
        deps=[dg.AssetDep(graph.key(AssetName.PREDICTIONS), partition_mapping=graph.cells_of(graph.spec.pairs))],
        io_manager_key=IO_MANAGER,
        group_name=graph.name,
        kinds={"parquet", "numpy"},
        code_version="1",
        description="One row per metric and scheme of a dataset x pair: difference a minus b, 95 % interval.",
        metadata=definition_metadata(PAIRED_DIFFERENCES),
    )
    def paired(context: dg.AssetExecutionContext, workspace: Workspace) -> dg.Output[pa.Table]:
        cell = context.partition_key.keys_by_dimension  # type: ignore[attr-defined]
        dataset, (a, b) = cell["dataset"], cell["pair"].split(PAIR_SEPARATOR)
        rows = [
            {"dataset": dataset, **_interval_row(interval, a, b)}
            for scheme in Scheme
            if (differences := resampled_pair(workspace.lake, graph, analysis, dataset, a, b, scheme)) is not None
            for interval in differences.intervals()
        ]
        table = pa.Table.from_pylist(rows, schema=PAIRED_DIFFERENCES)
        return dg.Output(table, metadata={"intervals": head_table(table, SHOWN, rows=len(rows))})

    return paired


def _dataset_means(graph: StudyGraph, analysis: PairedDifferencesAnalysis) -> dg.AssetsDefinition:
    @dg.asset(
        key=graph.key(AssetName.DATASET_MEANS),
        deps=[dg.AssetDep(graph.key(AssetName.PAIRED_DIFFERENCES), partition_mapping=dg.AllPartitionMapping())],
        io_manager_key=IO_MANAGER,
        group_name=graph.name,
        kinds={"parquet", "numpy"},
        code_version="1",
        description="One row per pair, metric and resampling scheme: equal-weight mean of the datasets' differences.",
        metadata=definition_metadata(DATASET_MEANS),
    )
    def dataset_means(workspace: Workspace) -> dg.Output[pa.Table]:
        rows: list[dict[str, Any]] = []
        for a, b in graph.spec.pairs:
            for scheme in Scheme:
                by_dataset = _readable_pairs(workspace.lake, graph, analysis, a, b, scheme)
                if not by_dataset:
                    continue
                mean = mean_difference(list(by_dataset.values()))
                rows += [
                    {"datasets": list(by_dataset), **_interval_row(interval, a, b)} for interval in mean.intervals()
                ]
        table = pa.Table.from_pylist(rows, schema=DATASET_MEANS)
        return dg.Output(table, metadata={"intervals": head_table(table, ["backend_a", "backend_b", *SHOWN], rows=40)})

    return dataset_means


def _rankings(graph: StudyGraph) -> dg.AssetsDefinition:
    @dg.asset(
        key=graph.key(AssetName.RANKINGS),
        deps=[dg.AssetDep(graph.key(AssetName.METRICS), partition_mapping=dg.AllPartitionMapping())],
        io_manager_key=IO_MANAGER,
        group_name=graph.name,
        kinds={"parquet"},
        code_version="1",
        description="One row per metric and pair of backends whose ranking reverses by dataset.",
        metadata=definition_metadata(RANKINGS),
    )
    def rankings(workspace: Workspace) -> dg.Output[pa.Table]:
        metrics = read_metrics(workspace.lake, graph)
        rows = []
        for metric in RANKED:
            values = {
                dataset.name: {row["backend"]: row[metric.value] for row in metrics if row["dataset"] == dataset.name}
                for dataset in graph.spec.datasets
                if graph.spec.plan_of(dataset).asks_once  # copies of an example rank nobody
            }
            rows += [
                {
                    "metric": reversal.metric.value,
                    "backend_a": reversal.backend_a,
                    "backend_b": reversal.backend_b,
                    "a_ahead": list(reversal.a_ahead),
                    "b_ahead": list(reversal.b_ahead),
                    "a_largest_lead": reversal.a_largest_lead,
                    "b_largest_lead": reversal.b_largest_lead,
                }
                for reversal in ranking_reversals(values, metric)
            ]
        table = pa.Table.from_pylist(rows, schema=RANKINGS)
        return dg.Output(table, metadata={"reversals": head_table(table, RANKINGS.names, rows=40)})

    return rankings


def resampled_pair(
    lake: Lake, graph: StudyGraph, analysis: PairedDifferencesAnalysis, dataset: str, a: str, b: str, scheme: Scheme
) -> PairedDifferences | None:
    """Resampled differences of one dataset x pair; None where a system does not apply or nothing is labelled."""
    left, right = (load_gated(lake, graph, dataset, backend) for backend in (a, b))
    for partition in (left, right):
        if not (is_applicable(partition.predictions) and has_gold(partition.predictions)):
            return None
    stratified = scheme is Scheme.TARGET_STRATIFIED
    return paired_differences(
        answers_of(left, graph.systems[a], graph.spec.scoring),
        answers_of(right, graph.systems[b], graph.spec.scoring),
        example_ids=left.predictions["presentation_id"].to_pylist(),
        scheme=scheme,
        resamples=analysis.resamples,
        rng=published_stream(analysis.seed) if stratified else dataset_stream(analysis.seed, dataset),
    )


def _readable_pairs(
    lake: Lake, graph: StudyGraph, analysis: PairedDifferencesAnalysis, a: str, b: str, scheme: Scheme
) -> dict[str, PairedDifferences]:
    """Datasets on which both partitions pass their gates; the table of means names the datasets it covers."""
    readable = {}
    for dataset in graph.spec.datasets:
        try:
            differences = resampled_pair(lake, graph, analysis, dataset.name, a, b, scheme)
        except GateRefused:
            continue
        if differences is not None and differences.n:
            readable[dataset.name] = differences
    return readable


def read_metrics(lake: Lake, graph: StudyGraph) -> list[dict[str, Any]]:
    """Rows of every metrics partition whose predictions pass their gates now, in the study's order."""
    rows: list[dict[str, Any]] = []
    for dataset in graph.spec.datasets:
        for backend in graph.spec.backends:
            try:
                load_gated(lake, graph, dataset.name, backend)
                table = lake.read(graph.name, AssetName.METRICS, dataset=dataset.name, backend=backend)
            except GateRefused:
                continue
            rows += table.to_pylist()
    return rows


def read_paired_differences(lake: Lake, graph: StudyGraph) -> pa.Table:
    """Every paired-differences partition that is there and whose two cells still pass their gates."""
    tables: Sequence[pa.Table] = [
        lake.read(graph.name, AssetName.PAIRED_DIFFERENCES, dataset=dataset.name, pair=pair)
        for dataset in graph.spec.datasets
        for pair in graph.spec.pair_names
        if lake.has(graph.name, AssetName.PAIRED_DIFFERENCES, dataset=dataset.name, pair=pair)
        and all(_passes(lake, graph, dataset.name, backend) for backend in pair.split(PAIR_SEPARATOR))
    ]
    return (
        pa.concat_tables([table.cast(PAIRED_DIFFERENCES) for table in tables])
        if tables
        else PAIRED_DIFFERENCES.empty_table()
    )


def _passes(lake: Lake, graph: StudyGraph, dataset: str, backend: str) -> bool:
    try:
        load_gated(lake, graph, dataset, backend)
    except GateRefused:
        return False
    return True


def _interval_row(interval: PairedInterval, a: str, b: str) -> dict[str, Any]:
    better = None
    if interval.supported:
        better = a if (interval.point > 0) == interval.metric.higher_is_better else b
    return {
        "backend_a": a,
        "backend_b": b,
        "metric": interval.metric.value,
        "scheme": interval.scheme.value,
        "n": interval.n,
        "difference": interval.point,
        "ci95_low": interval.low,
        "ci95_high": interval.high,
        "supported": interval.supported,
        "better": better,
        "weak": interval.weak,
    }
