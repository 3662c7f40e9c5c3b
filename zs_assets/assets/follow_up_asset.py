"""predictions -> follow-up: what came without scores, or against its own label, is asked up to three more times.

It says whether asking again would have helped, and changes no prediction: to pick a reply because it passes a check
would change the comparison (choice-order study, "Can retries restore complete samples?"). The report alone reads it.
"""

from functools import partial

import dagster as dg
import pyarrow as pa
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition
from pydantic import BaseModel

from zs_assets.assets.analysis_inputs import input_stamp, stamped
from zs_assets.assets.follow_up_rows import FURTHER_TRIES, ask_again, complete_samples
from zs_assets.assets.gated_reading import load_gated
from zs_assets.assets.graph import IO_MANAGER, StudyGraph
from zs_assets.assets.provider_share import provider_share
from zs_assets.assets.resources import ProgressSink, ProviderPools, Workspace
from zs_assets.assets.tables import definition_metadata, head_table
from zs_assets.protocol.errors import GateRefused
from zs_assets.protocol.names import AssetName
from zs_assets.storage.lake import Lake, metadata_of
from zs_assets.storage.order_schemas import FOLLOW_UP, FOLLOW_UP_COUNTS
from zs_assets.storage.same_code import refuse_other_code


class FollowUpRule(BaseModel):
    """Part of the table's stamp: a follow-up by another rule is another table."""

    further_tries: int = FURTHER_TRIES
    same_model: bool = True  # a reply of another model recovers nothing


RULE = FollowUpRule()


class FollowUpOptions(dg.Config):
    """Run configuration of a follow-up."""

    max_usd: float | None = None  # tightens the study's budget, which holds for all partitions and earlier runs


def follow_up_asset(graph: StudyGraph) -> dg.AssetsDefinition:
    """One partition per dataset x backend; in no job but its own, since nothing is asked again unasked."""

    @dg.asset(
        key=graph.key(AssetName.FOLLOW_UP),
        io_manager_key=IO_MANAGER,
        partitions_def=graph.cells,
        deps=[graph.key(AssetName.PREDICTIONS)],
        group_name=graph.name,
        pool=graph.pool,
        kinds={"parquet"},
        code_version="1",
        description="One row per presentation without scores or against its own label, asked up to three more times.",
        metadata=definition_metadata(FOLLOW_UP),
    )
    def follow_up(
        context: dg.AssetExecutionContext,
        config: FollowUpOptions,
        workspace: Workspace,
        progress: dg.ResourceParam[ProgressSink],
        provider_pools: dg.ResourceParam[ProviderPools],
    ) -> dg.Output[pa.Table]:
        cell = context.partition_key.keys_by_dimension  # type: ignore[attr-defined]
        dataset, backend = cell["dataset"], cell["backend"]
        refuse_other_code(context.run.tags, f"{graph.name} {dataset} x {backend}")
        partition = load_gated(workspace.lake, graph, dataset, backend)
        table = ask_again(
            workspace,
            graph,
            dataset,
            backend,
            partition,
            max_usd=config.max_usd,
            on_progress=lambda now: progress.show(dataset, backend, now),
            share=partial(provider_share, context.instance, context.run.tags, provider_pools, graph, backend),
            log=context.log.info,
            run_id=context.run.run_id,
        )
        complete = complete_samples(partition, table)
        return dg.Output(
            stamped(table, workspace.lake, graph, dataset, (backend,), RULE),
            metadata={
                "affected": table.num_rows,
                "recovered": sum(table["recovered"].to_pylist()),
                "complete_samples_before": complete.before,
                "complete_samples_after": complete.after,
                "head": head_table(table, ["presentation_id", "reason", "tries", "recovered", "outcome"]),
            },
        )

    return follow_up


def follow_up_job(graph: StudyGraph) -> UnresolvedAssetJobDefinition:
    """Named otherwise than the asset: Dagster gives an asset's op the name `<study>__follow_up`."""
    return dg.define_asset_job(
        f"{graph.name}__ask_again",
        selection=[graph.key(AssetName.FOLLOW_UP)],
        partitions_def=graph.cells,
        description="Asks again what came without scores or against its own label; no prediction changes.",
    )


def follow_up_counts(lake: Lake, graph: StudyGraph) -> pa.Table:
    """FOLLOW_UP_COUNTS of every follow-up that is of the predictions which lie there now."""
    rows = []
    for dataset in graph.spec.datasets:
        for backend in graph.spec.backends:
            table = current_follow_up(lake, graph, dataset.name, backend)
            if table is None:
                continue
            try:
                complete = complete_samples(load_gated(lake, graph, dataset.name, backend), table)
            except GateRefused:
                continue
            costs = table["cost_usd"]
            rows.append(
                {
                    "dataset": dataset.name,
                    "backend": backend,
                    "affected": table.num_rows,
                    "recovered": sum(table["recovered"].to_pylist()),
                    "tries": sum(table["tries"].to_pylist()),
                    "samples": complete.samples,
                    "complete_before": complete.before,
                    "complete_after": complete.after,
                    "cost_usd": None if costs.null_count else float(sum(costs.to_pylist())),
                }
            )
    return pa.Table.from_pylist(rows, schema=FOLLOW_UP_COUNTS)


def current_follow_up(lake: Lake, graph: StudyGraph, dataset: str, backend: str) -> pa.Table | None:
    """The follow-up of the predictions that lie there now; None where there is none, or one of older predictions."""
    where = {"dataset": dataset, "backend": backend}
    if not lake.has(graph.name, AssetName.FOLLOW_UP, **where):
        return None
    try:
        table = lake.read(graph.name, AssetName.FOLLOW_UP, **where)
    except GateRefused:  # changed on disk: made anew from the journals, for nothing
        return None
    stored = metadata_of(table)
    stamp = input_stamp(lake, graph, dataset, (backend,), RULE)
    return table if all(stored.get(name) == value for name, value in stamp.items()) else None
