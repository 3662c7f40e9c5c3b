"""predictions of all systems of a dataset -> ranges, completeness, controls, positions, averaging."""

import dagster as dg

from zs_assets.assets.analysis_inputs import ReadableAnalyses, stamped
from zs_assets.assets.frozen_plan import require_frozen_plan
from zs_assets.assets.gated_reading import load_gated, read_manifest
from zs_assets.assets.graph import StudyGraph
from zs_assets.assets.order_cells import OrderCell, order_cell, planned_samples
from zs_assets.assets.order_rows import order_tables
from zs_assets.assets.resources import Workspace
from zs_assets.assets.tables import head_table, table_outs
from zs_assets.protocol.analyses import OrderSensitivityAnalysis
from zs_assets.protocol.names import AssetName
from zs_assets.storage.order_schemas import ORDER_TABLES

DESCRIPTIONS = {
    AssetName.ORDER_SENSITIVITY: "One row per system on the shared samples: how far scores move with the order.",
    AssetName.ORDER_COVERAGE: "One row per system and sample group: how complete its scores are.",
    AssetName.ORDER_EXCLUSIONS: "One row per system, sample group and reason that keeps samples out.",
    AssetName.ORDER_RANGES: "One row per bin of the distribution of ranges.",
    AssetName.ORDER_DIFFERENCES: "One row per pair of versions and figure, on the same samples.",
    AssetName.ORDER_POSITIONS: "One row per system and position: mean score of whatever stands there.",
    AssetName.ORDER_AVERAGING: "One row per system and number of rotations: what asking more orders buys.",
    AssetName.ORDER_SCORES: "One row per system, example and order of a public dataset: mean scores.",
    AssetName.REPEAT_VERIFICATION: "One row per system and example that was asked the same request many times.",
}


def order_assets(graph: StudyGraph) -> list[dg.AssetsDefinition]:
    """The choice-order analysis, if the study asks for it: one step, nine tables, a partition per dataset."""
    analysis = graph.spec.analyses.order_sensitivity
    return [] if analysis is None else [_order_sensitivity(graph, analysis)]


def _order_sensitivity(graph: StudyGraph, analysis: OrderSensitivityAnalysis) -> dg.AssetsDefinition:
    @dg.multi_asset(
        name=f"{graph.name}__order_sensitivity",
        outs=table_outs(graph, ORDER_TABLES, DESCRIPTIONS),
        partitions_def=graph.datasets,
        deps=[
            dg.AssetDep(graph.key(name), partition_mapping=graph.dataset_of_cell)
            for name in (AssetName.PREDICTIONS, AssetName.ATTEMPTS)
        ],
    )
    def order_sensitivity(context: dg.AssetExecutionContext, workspace: Workspace):  # type: ignore[no-untyped-def]
        dataset = context.partition_key
        lake = workspace.lake
        readable = ReadableAnalyses(lake, graph).cells
        backends = [backend for backend in graph.spec.backends if (dataset, backend) in readable]
        plan = graph.spec.plan_of(graph.spec.dataset(dataset))
        planned = read_manifest(lake, graph, dataset)
        require_frozen_plan(graph, dataset, planned)
        samples = planned_samples(planned, plan)
        cells: list[OrderCell] = []
        for backend in backends:  # one at a time: only arrays are kept of a partition
            partition = load_gated(lake, graph, dataset, backend)
            attempts = lake.read(graph.name, AssetName.ATTEMPTS, dataset=dataset, backend=backend)
            cells.append(order_cell(samples, backend, graph.systems[backend], partition, attempts))
        for asset, table in order_tables(graph, analysis, dataset, samples, cells).items():
            yield dg.Output(
                stamped(table, lake, graph, dataset, backends, analysis),
                output_name=asset.value,
                metadata={"head": head_table(table, table.column_names[1:12], rows=14)},
            )

    return order_sensitivity
