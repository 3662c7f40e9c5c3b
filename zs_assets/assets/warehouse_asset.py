"""Everything readable of a study -> its schema in the DuckDB warehouse."""

from collections.abc import Sequence
from pathlib import Path

import dagster as dg
import pyarrow as pa
from dagster_duckdb import DuckDBResource

from zs_assets.assets.analysis_inputs import ReadableAnalyses, analysis_tables
from zs_assets.assets.comparison_assets import read_metrics, read_paired_differences
from zs_assets.assets.graph import StudyGraph
from zs_assets.assets.resources import Workspace
from zs_assets.protocol.names import AssetName
from zs_assets.storage.examples import in_current_schema
from zs_assets.storage.lake import Lake
from zs_assets.storage.same_code import refuse_other_code
from zs_assets.storage.schemas import DATASET_MEANS, EXAMPLES, METRICS, RANKINGS
from zs_assets.storage.warehouse import EMPTY, replace_study


def warehouse_asset(graph: StudyGraph) -> dg.AssetsDefinition:
    upstream = [AssetName.METRICS, AssetName.RANKINGS]
    if graph.spec.pairs:
        upstream += [AssetName.PAIRED_DIFFERENCES, AssetName.DATASET_MEANS]
    analyses = [asset for tables in analysis_tables(graph).values() for asset in tables]
    upstream += analyses
    partitioned = {AssetName.METRICS, AssetName.PAIRED_DIFFERENCES, *analyses}

    @dg.asset(
        key=graph.key(AssetName.WAREHOUSE),
        deps=[
            dg.AssetDep(graph.key(name), partition_mapping=dg.AllPartitionMapping() if name in partitioned else None)
            for name in upstream
        ],
        group_name=graph.name,
        kinds={"duckdb"},
        code_version="1",
        # Studies share one file: two builds at once would lose one study's schema.
        pool="warehouse",
        description=f"Schema `{graph.name}` of the DuckDB warehouse: result tables, and predictions as views.",
    )
    def warehouse(
        context: dg.AssetExecutionContext, workspace: Workspace, duckdb: DuckDBResource
    ) -> dg.MaterializeResult:
        refuse_other_code(context.run.tags, f"{graph.name} {AssetName.WAREHOUSE.value}")
        lake = workspace.lake
        tables = {
            "examples": _manifests(lake, graph),
            "metrics": pa.Table.from_pylist(read_metrics(lake, graph), schema=METRICS),
            "rankings": lake.read_or_empty(graph.name, AssetName.RANKINGS, RANKINGS),
        }
        if graph.spec.pairs:
            tables["paired_differences"] = read_paired_differences(lake, graph)
            tables["dataset_means"] = lake.read_or_empty(graph.name, AssetName.DATASET_MEANS, DATASET_MEANS)
        readable = ReadableAnalyses(lake, graph)
        tables |= readable.tables()
        cells = sorted(readable.cells)
        views = {
            name.value: _files_or_table(lake, graph, name, cells)
            for name in (AssetName.PREDICTIONS, AssetName.ATTEMPTS)
        }
        with duckdb.get_connection() as connection:
            replace_study(connection, workspace.places.warehouse, graph.name, tables, views)
        return dg.MaterializeResult(
            metadata={
                "path": dg.MetadataValue.path(str(workspace.places.warehouse)),
                "partitions": len(cells),
                "rows": {name: table.num_rows for name, table in tables.items()},
            }
        )

    return warehouse


def _files_or_table(
    lake: Lake, graph: StudyGraph, asset: AssetName, cells: Sequence[tuple[str, str]]
) -> list[str] | pa.Table:
    if not cells:
        return EMPTY[asset.value]
    files = [
        file for dataset, backend in cells for file in lake.files(graph.name, asset, dataset=dataset, backend=backend)
    ]
    if all(isinstance(file, Path) for file in files):
        return [str(file.absolute()) for file in files]
    parts = []
    for dataset, backend in cells:
        table = lake.read(graph.name, asset, dataset=dataset, backend=backend)
        for name, value in (("dataset", dataset), ("backend", backend)):
            table = table.append_column(name, pa.array([value] * table.num_rows))
        parts.append(table)
    return pa.concat_tables(parts)


def _manifests(lake: Lake, graph: StudyGraph) -> pa.Table:
    """Every planned example with its dataset."""
    parts = []
    for dataset in graph.spec.datasets:
        if lake.has(graph.name, AssetName.MANIFEST, dataset=dataset.name):
            stored = lake.read(graph.name, AssetName.MANIFEST, dataset=dataset.name)
            table = in_current_schema(stored).cast(EXAMPLES)
            parts.append(table.add_column(0, "dataset", pa.array([dataset.name] * table.num_rows)))
    empty = EXAMPLES.insert(0, pa.field("dataset", pa.string())).empty_table()
    return pa.concat_tables([part.replace_schema_metadata(None) for part in parts]) if parts else empty
