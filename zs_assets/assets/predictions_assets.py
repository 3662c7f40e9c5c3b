"""manifest + backend_spec -> predictions and attempts, one partition per dataset x backend.

The gates are asked before anything is written: a failed one is recorded, nothing is published, and the journal keeps
every reply. Dagster's own blocking checks act inside one run only, so the verdict also lies beside the partition,
where every reader asks for it.
"""

import json
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import dagster as dg
import pyarrow as pa

from zs_assets.assets.cells import cell_backend, cell_budget, cell_is_imported, cell_problem, journal_header
from zs_assets.assets.gated_reading import (
    REHEARSED,
    PlannedPartition,
    ask_gates,
    partition_identity,
    planned_partition,
)
from zs_assets.assets.graph import IO_MANAGER, StudyGraph
from zs_assets.assets.provider_share import provider_share
from zs_assets.assets.resources import CollectionOptions, ProgressSink, ProviderPools, Workspace
from zs_assets.assets.tables import definition_metadata, head_table
from zs_assets.collection import Collected, Progress, Share, collect
from zs_assets.gates import Verdict, same_code
from zs_assets.protocol.code_identity import CODE_TAG, code_identity
from zs_assets.protocol.errors import BackendUnavailable
from zs_assets.protocol.names import AssetName, Gate
from zs_assets.storage.lake import with_metadata
from zs_assets.storage.schemas import ATTEMPTS, PREDICTIONS

PREDICTION_GATES = (
    (Gate.CODE_IDENTITY, True),
    (Gate.VECTOR_INTEGRITY, True),
    (Gate.MAX_INVALID_RATE, True),
    (Gate.MANIFEST_COVERAGE, True),
    (Gate.ONE_PROMPT, True),
    (Gate.ONE_MODEL, True),
    (Gate.FAILURE_RATE, False),
    (Gate.TRUNCATION, False),
)
GATE_MEANINGS = {
    Gate.CODE_IDENTITY: "The worker runs the code that submitted the run; asked before the first call.",
    Gate.VECTOR_INTEGRITY: "A row stored as ok holds exactly the declared options, in [0,1], summing to 1 within the "
    "study's tolerance; a label-only row names one of them.",
    Gate.MAX_INVALID_RATE: "Invalid replies stay within the study's limit.",
    Gate.MANIFEST_COVERAGE: "One prediction per planned presentation, of the very text of the manifest.",
    Gate.ONE_PROMPT: "Every row was asked the study's prompt.",
    Gate.ONE_MODEL: "One resolved model answered the whole partition.",
    Gate.FAILURE_RATE: "Presentations without a valid answer: a warning.",
    Gate.TRUNCATION: "Inputs the system says it cut: a warning.",
}
OBSERVATION_EVERY_S = 5.0
UNAVAILABLE = "unavailable"
"""Entry of the failure of a run whose worker lacks what the system needs, so that nothing was asked."""


def prediction_assets(graph: StudyGraph) -> list[dg.AssetsDefinition | dg.SourceAsset]:
    """The backend specs, and the collecting step."""
    return [_backend_spec(graph), _predictions(graph)]


def _backend_spec(graph: StudyGraph) -> dg.SourceAsset:
    @dg.observable_source_asset(
        key=graph.key(AssetName.BACKEND_SPEC),
        partitions_def=graph.backends,
        group_name=graph.name,
        description="One version per backend: its entry in systems.yaml without limits, price and notes.",
    )
    def backend_spec() -> dg.DataVersionsByPartition:
        return dg.DataVersionsByPartition({name: system.spec_hash() for name, system in graph.systems.items()})

    return backend_spec


def _predictions(graph: StudyGraph) -> dg.AssetsDefinition:
    predictions_key = graph.key(AssetName.PREDICTIONS)

    @dg.multi_asset(
        name=f"{graph.name}__collect",
        outs={
            "predictions": dg.AssetOut(
                key=predictions_key,
                io_manager_key=IO_MANAGER,
                group_name=graph.name,
                kinds={"parquet"},
                code_version="1",
                description="One row per planned presentation: outcome, probability vector, confidence, latency, cost.",
                metadata=definition_metadata(PREDICTIONS),
            ),
            "attempts": dg.AssetOut(
                key=graph.key(AssetName.ATTEMPTS),
                io_manager_key=IO_MANAGER,
                group_name=graph.name,
                kinds={"parquet"},
                code_version="1",
                description="One row per call, faults included: status, wait, tokens, cost.",
                metadata=definition_metadata(ATTEMPTS),
            ),
        },
        ins={"manifest": dg.AssetIn(graph.key(AssetName.MANIFEST), partition_mapping=graph.dataset_of_cell)},
        deps=[dg.AssetDep(graph.key(AssetName.BACKEND_SPEC), partition_mapping=graph.backend_of_cell)],
        partitions_def=graph.cells,
        pool=graph.pool,
        check_specs=[
            dg.AssetCheckSpec(
                gate.value,
                asset=predictions_key,
                blocking=blocking,
                description=GATE_MEANINGS[gate],
                partitions_def=graph.cells,
            )
            for gate, blocking in PREDICTION_GATES
        ],
    )
    def collect_predictions(  # type: ignore[no-untyped-def]
        context: dg.AssetExecutionContext,
        config: CollectionOptions,
        workspace: Workspace,
        progress: dg.ResourceParam[ProgressSink],
        provider_pools: dg.ResourceParam[ProviderPools],
        manifest: pa.Table,
    ):
        cell = context.partition_key.keys_by_dimension  # type: ignore[attr-defined]
        dataset, backend = cell["dataset"], cell["backend"]
        planned = planned_partition(graph, dataset, manifest)
        code = same_code(context.run.tags.get(CODE_TAG), code_identity().code_sha256)
        yield _check_result(predictions_key, code)
        if code.stops:
            # Nothing was asked and nothing on the lake changes, so what an earlier run published stands.
            raise _gate_failure(graph, dataset, backend, code)
        identity = partition_identity(graph, planned, dataset, backend)
        reporter = _progress_reporter(context, progress, graph, dataset, backend)
        try:
            collected = _collect(context, config, workspace, provider_pools, graph, dataset, backend, planned, reporter)
        except (BackendUnavailable, ImportError):
            problem = cell_problem(workspace.places, graph, dataset, backend)
            if problem is None:
                raise
            raise dg.Failure(problem, metadata={UNAVAILABLE: backend}, allow_retries=False) from None
        verdicts = ask_gates(graph, planned, collected.predictions)
        for verdict in verdicts:
            yield _check_result(predictions_key, verdict)
        workspace.lake.write_verdicts(
            graph.name,
            dataset,
            backend,
            {**identity, **vars(code_identity()), "verdicts": [verdict.as_json() for verdict in (code, *verdicts)]},
        )
        failed = [verdict for verdict in verdicts if verdict.stops]
        if failed:
            raise _gate_failure(graph, dataset, backend, failed[0])
        rehearsed = str(workspace.rehearsal).lower()
        entries = {**identity, REHEARSED: rehearsed, "identity": json.dumps(collected.identity, ensure_ascii=False)}
        yield dg.Output(
            with_metadata(collected.predictions, **entries),
            output_name="predictions",
            metadata={**_run_metadata(collected), REHEARSED: workspace.rehearsal},
        )
        yield dg.Output(with_metadata(collected.attempts, **entries), output_name="attempts")

    return collect_predictions


def _gate_failure(graph: StudyGraph, dataset: str, backend: str, verdict: Verdict) -> dg.Failure:
    return dg.Failure(
        f"{graph.name} {dataset} x {backend} failed gate {verdict.gate.value}: {verdict.sentence}. "
        "Nothing was published; the journal keeps every reply.",
        metadata={"gate": verdict.gate.value, "first_offenders": list(verdict.first_offenders)},
        allow_retries=False,
    )


def _collect(
    context: dg.AssetExecutionContext,
    config: CollectionOptions,
    workspace: Workspace,
    provider_pools: ProviderPools,
    graph: StudyGraph,
    dataset: str,
    backend: str,
    planned: PlannedPartition,
    on_progress: Callable[[Progress], None],
) -> Collected:
    system = cell_backend(workspace.places, graph, dataset, backend, planned.question)
    share: Share = 1  # an imported run asks nobody
    if not cell_is_imported(workspace, graph, dataset, backend):
        share = partial(provider_share, context.instance, context.run.tags, provider_pools, graph, backend)
    budget = cell_budget(workspace, graph, dataset, backend, config.max_usd)
    header = journal_header(graph, planned, dataset, backend, system)
    return collect(
        system,
        planned.presentations,
        workspace.places.journal(graph.name, dataset, backend),
        header,
        asking=planned.asking(),
        attempt_budget=graph.spec.attempt_budget,
        max_usd=budget.max_usd,
        elsewhere_usd=budget.elsewhere_usd,
        retry_errors=config.retry_errors,
        on_progress=on_progress,
        share=share,
        log=context.log.info,
        run_id=context.run.run_id,
    )


def _progress_reporter(
    context: dg.AssetExecutionContext, sink: ProgressSink, graph: StudyGraph, dataset: str, backend: str
) -> Callable[[Progress], None]:
    """A log line and an observation every few seconds, and whoever else listens (the command line's bar)."""
    last = time.monotonic()

    def report(progress: Progress) -> None:
        nonlocal last
        sink.show(dataset, backend, progress)
        if time.monotonic() - last < OBSERVATION_EVERY_S:
            return
        last = time.monotonic()
        context.log.info(
            f"{dataset} x {backend}: {progress.done}/{progress.total}, {progress.rate_per_s:.1f}/s, "
            f"{progress.failures} failures, cost {_usd(progress.cost_usd)}"
        )
        context.log_event(
            dg.AssetObservation(
                graph.key(AssetName.PREDICTIONS),
                partition=context.partition_key,
                metadata={"done": progress.done, "total": progress.total, "failures": progress.failures},
            )
        )

    return report


def _usd(cost: float | None) -> str:
    return "unknown" if cost is None else f"{cost:.4f} USD"


def _check_result(key: dg.AssetKey, verdict: Verdict) -> dg.AssetCheckResult:
    metadata: dict[str, Any] = {"verdict": verdict.sentence, **verdict.counts}
    if verdict.first_offenders:
        metadata["first_offenders"] = list(verdict.first_offenders)
    return dg.AssetCheckResult(
        asset_key=key,
        check_name=verdict.gate.value,
        passed=verdict.passed,
        severity=dg.AssetCheckSeverity.ERROR if verdict.blocking else dg.AssetCheckSeverity.WARN,
        metadata=metadata,
    )


def _run_metadata(collected: Collected) -> dict[str, Any]:
    return {
        "resumed_from_journal": collected.resumed,
        "in_flight_at_earlier_stop": collected.in_flight_at_stop,
        "identity": collected.identity,
        "head": head_table(
            collected.predictions,
            ["presentation_id", "outcome", "predicted_index", "target_index", "top_probability", "latency_ms"],
        ),
    }
