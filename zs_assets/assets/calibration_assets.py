"""predictions -> confidence levels, tiers, calibration figures, AUROC comparisons, certified thresholds."""

import dagster as dg

from zs_assets.assets.analysis_inputs import stamped
from zs_assets.assets.answers import has_gold, is_applicable
from zs_assets.assets.calibration_rows import calibration_tables
from zs_assets.assets.gated_reading import load_gated
from zs_assets.assets.graph import StudyGraph
from zs_assets.assets.resources import Workspace
from zs_assets.assets.tables import head_table, table_outs
from zs_assets.protocol.analyses import CalibrationAnalysis
from zs_assets.protocol.names import AssetName
from zs_assets.storage.selective_schemas import CELL_TABLES

DESCRIPTIONS = {
    AssetName.CONFIDENCE_LEVELS: "One row per observed confidence level: accuracy with intervals, risk and coverage.",
    AssetName.CONFIDENCE_TIERS: "One row per confidence tier: rows, accuracy, mean confidence.",
    AssetName.CALIBRATION: "One row per figure and method: ECE, Brier, confidence gap, with intervals and noise floor.",
    AssetName.AUROC_COMPARISONS: "One row per confidence statistic outside the atom: AUROC and paired difference.",
    AssetName.CERTIFIED_THRESHOLDS: "One row per risk limit: the lowest threshold that an exact test certifies.",
}


def calibration_assets(graph: StudyGraph) -> list[dg.AssetsDefinition]:
    """The calibration analysis, if the study asks for it: one step, five tables, a partition per dataset x backend."""
    analysis = graph.spec.analyses.calibration
    return [] if analysis is None else [_calibration(graph, analysis)]


def _calibration(graph: StudyGraph, analysis: CalibrationAnalysis) -> dg.AssetsDefinition:
    @dg.multi_asset(
        name=f"{graph.name}__calibrate",
        outs=table_outs(graph, CELL_TABLES, DESCRIPTIONS),
        partitions_def=graph.cells,
        deps=[graph.key(AssetName.PREDICTIONS)],
    )
    def calibrate(context: dg.AssetExecutionContext, workspace: Workspace):  # type: ignore[no-untyped-def]
        cell = context.partition_key.keys_by_dimension  # type: ignore[attr-defined]
        dataset, backend = cell["dataset"], cell["backend"]
        partition = load_gated(workspace.lake, graph, dataset, backend)
        tables = {asset: schema.empty_table() for asset, schema in CELL_TABLES.items()}
        if is_applicable(partition.predictions) and has_gold(partition.predictions):
            tables = calibration_tables(graph, analysis, dataset, backend, partition)
        for asset, table in tables.items():
            yield dg.Output(
                stamped(table, workspace.lake, graph, dataset, (backend,), analysis),
                output_name=asset.value,
                metadata={"head": head_table(table, table.column_names[2:12], rows=12)},
            )

    return calibrate
