"""predictions of two backends -> the cascade tables and the decision log, one partition per dataset x ordered pair."""

from collections.abc import Sequence

import dagster as dg
import pyarrow as pa

from zs_assets.assets.analysis_inputs import stamped
from zs_assets.assets.answers import has_gold, is_applicable
from zs_assets.assets.cascade_rows import cascade_tables
from zs_assets.assets.decision_log_rows import decision_log_table
from zs_assets.assets.gated_reading import GatedPartition, load_gated
from zs_assets.assets.graph import IO_MANAGER, StudyGraph
from zs_assets.assets.resources import Workspace
from zs_assets.assets.tables import definition_metadata, head_table, table_outs
from zs_assets.protocol.analyses import CascadesAnalysis, DecisionLogAnalysis
from zs_assets.protocol.names import PAIR_SEPARATOR, AssetName
from zs_assets.storage.selective_schemas import CASCADE_TABLES, DECISION_LOG

CASCADE_DESCRIPTIONS = {
    AssetName.CASCADE_SWEEP: "One row per threshold: accuracy, cost and latency of the cascade; and its references.",
    AssetName.CASCADE_TARGETS: "One row per accuracy target: the cheapest way to it, or that it is unattainable.",
    AssetName.CASCADES: "One row per dataset x cascade: verdict, best threshold, gain in sample and out of bag.",
    AssetName.AGREEMENTS: "One row per dataset x cascade: both right, both wrong alike or differently, one right.",
    AssetName.SHARED_ERRORS: "One row per (gold, shared wrong prediction) pair, most frequent first.",
    AssetName.ERROR_DOMAINS: "One row per kind of error: inside and across the gold label's parent domain.",
    AssetName.TIER_DISAGREEMENTS: "One row per confidence tier of the primary: who wins where the answers differ.",
}


def pair_analysis_assets(graph: StudyGraph) -> list[dg.AssetsDefinition]:
    """The cascades and the decision log, as far as the study asks for them."""
    analyses = graph.spec.analyses
    made = []
    if analyses.cascades is not None:
        made.append(_cascades(graph, analyses.cascades))
    if analyses.decision_log is not None:
        made.append(_decision_log(graph, analyses.decision_log))
    return made


def _cascades(graph: StudyGraph, analysis: CascadesAnalysis) -> dg.AssetsDefinition:
    @dg.multi_asset(
        name=f"{graph.name}__cascade",
        outs=table_outs(graph, CASCADE_TABLES, CASCADE_DESCRIPTIONS),
        partitions_def=graph.pairs(graph.spec.cascades),
        deps=[dg.AssetDep(graph.key(AssetName.PREDICTIONS), partition_mapping=graph.cells_of(graph.spec.cascades))],
    )
    def cascade(context: dg.AssetExecutionContext, workspace: Workspace):  # type: ignore[no-untyped-def]
        dataset, backends = _pair_of(context)
        partitions = [load_gated(workspace.lake, graph, dataset, backend) for backend in backends]
        tables = {asset: schema.empty_table() for asset, schema in CASCADE_TABLES.items()}
        if all(is_applicable(p.predictions) and has_gold(p.predictions) for p in partitions):
            tables = cascade_tables(graph, analysis, dataset, backends, partitions)
        for asset, table in tables.items():
            yield dg.Output(
                stamped(table, workspace.lake, graph, dataset, backends, analysis),
                output_name=asset.value,
                metadata={"head": head_table(table, table.column_names[3:13], rows=12)},
            )

    return cascade


def _decision_log(graph: StudyGraph, analysis: DecisionLogAnalysis) -> dg.AssetsDefinition:
    @dg.asset(
        key=graph.key(AssetName.DECISION_LOG),
        partitions_def=graph.pairs(graph.spec.decision_logs),
        deps=[
            dg.AssetDep(graph.key(AssetName.PREDICTIONS), partition_mapping=graph.cells_of(graph.spec.decision_logs))
        ],
        io_manager_key=IO_MANAGER,
        group_name=graph.name,
        kinds={"parquet", "numpy"},
        code_version="1",
        description="One row per stratum: how often a reference system decides alike. Agreement, and nothing more.",
        metadata=definition_metadata(DECISION_LOG),
    )
    def decision_log(context: dg.AssetExecutionContext, workspace: Workspace) -> dg.Output[pa.Table]:
        dataset, backends = _pair_of(context)
        partitions = [load_gated(workspace.lake, graph, dataset, backend) for backend in backends]
        table, sentence = _logged(graph, dataset, backends, partitions)
        shown = head_table(table, ["stratum", "decision", "tier", "n", "agree", "share"], rows=20)
        return dg.Output(
            stamped(table, workspace.lake, graph, dataset, backends, analysis),
            metadata={"agreement": sentence, "head": shown},
        )

    return decision_log


def _logged(
    graph: StudyGraph, dataset: str, backends: Sequence[str], partitions: Sequence[GatedPartition]
) -> tuple[pa.Table, str]:
    if all(is_applicable(partition.predictions) for partition in partitions):
        return decision_log_table(graph, dataset, backends, partitions)
    return DECISION_LOG.empty_table(), "One of the two systems does not apply to this dataset."


def _pair_of(context: dg.AssetExecutionContext) -> tuple[str, tuple[str, str]]:
    cell = context.partition_key.keys_by_dimension  # type: ignore[attr-defined]
    first, second = cell["pair"].split(PAIR_SEPARATOR)
    return cell["dataset"], (first, second)
