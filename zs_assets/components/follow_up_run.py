"""Follows a study up cell by cell: each is a Dagster run of its own, on the instance that the UI shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import dagster as dg
import pyarrow as pa

from zs_assets.assets.cells import cell_backend, cell_is_imported, cell_problem
from zs_assets.assets.follow_up_asset import current_follow_up, follow_up_asset
from zs_assets.assets.follow_up_rows import affected_presentations, complete_samples
from zs_assets.assets.gated_reading import GatedPartition, load_gated
from zs_assets.assets.graph import StudyGraph
from zs_assets.assets.resources import ProgressSink, Workspace
from zs_assets.components.dead_runs import end_dead_runs, process_tags
from zs_assets.components.partition_loop import QUIET, failure_reason
from zs_assets.components.resources import study_resources
from zs_assets.protocol.errors import GateRefused
from zs_assets.protocol.names import AssetName


@dataclass(frozen=True)
class FollowUpRow:
    """What the follow-up of one dataset x backend came to. `cost_usd` is of the further calls; None: unknown."""

    dataset: str
    backend: str
    affected: int
    asked_again: int
    recovered: int
    further_replies: int
    samples: int
    complete_before: int
    complete_after: int
    cost_usd: float | None
    kept: bool  # made earlier, of the predictions that lie there now


@dataclass(frozen=True)
class FollowUpStop:
    """A dataset x backend without a follow-up, and the sentence why; what was received is kept.

    `missing`: its predictions are not there or cannot be asked again; `never_run`: they never were; `unavailable`: the
    system cannot be asked here.
    """

    dataset: str
    backend: str
    reason: str
    missing: bool = False
    unavailable: bool = False
    never_run: bool = False


def run_follow_up(
    graph: StudyGraph,
    instance: dg.DagsterInstance,
    cells: Sequence[tuple[str, str]],
    *,
    max_usd: float | None = None,
    progress: ProgressSink | None = None,
    about_to_read: Callable[[str, str], None] = lambda dataset, backend: None,
) -> Iterator[FollowUpRow | FollowUpStop]:
    """Asks again what is affected in every (dataset, backend) whose predictions pass their gates.

    `about_to_read` hears of each partition before its predictions are read, which takes a while where they are many.
    A follow-up of the very predictions that lie there is kept. A backend that stops (wrong key, budget, quota) stops
    nobody else.
    """
    workspace = Workspace.from_environment()
    end_dead_runs(instance)
    stopped: set[str] = set()
    for dataset, backend in cells:
        if backend in stopped:
            continue
        if workspace.lake.read_verdicts(graph.name, dataset, backend) is None:
            reason = f"{graph.name} {dataset} x {backend} has no predictions"
            yield FollowUpStop(dataset, backend, reason, missing=True, never_run=True)
            continue
        about_to_read(dataset, backend)
        try:
            partition = load_gated(workspace.lake, graph, dataset, backend)
        except GateRefused as refusal:
            yield FollowUpStop(dataset, backend, str(refusal), missing=True)
            continue
        table = current_follow_up(workspace.lake, graph, dataset, backend)
        if table is not None:
            yield _row(dataset, backend, partition, table, kept=True)
            continue
        stop = _problem(workspace, graph, dataset, backend, partition)
        if stop is None:
            result = _run(graph, instance, dataset, backend, max_usd, progress)
            if result.success:
                table = workspace.lake.read(graph.name, AssetName.FOLLOW_UP, dataset=dataset, backend=backend)
                yield _row(dataset, backend, partition, table, kept=False)
                continue
            stop = FollowUpStop(dataset, backend, failure_reason(result))
        if not stop.missing:
            stopped.add(backend)  # the same key or budget would be met on every other dataset
        yield stop


def _problem(
    workspace: Workspace, graph: StudyGraph, dataset: str, backend: str, partition: GatedPartition
) -> FollowUpStop | None:
    """What keeps the system from being asked; nothing does where nothing is affected."""
    if cell_is_imported(workspace, graph, dataset, backend):
        return FollowUpStop(dataset, backend, "its answers were imported: a file cannot be asked again", missing=True)
    problem = cell_problem(workspace.places, graph, dataset, backend)
    if problem is None:
        return None
    system = cell_backend(workspace.places, graph, dataset, backend, partition.planned.question)
    affected = affected_presentations(system, partition)
    return FollowUpStop(dataset, backend, problem, unavailable=True) if affected else None


def _run(
    graph: StudyGraph,
    instance: dg.DagsterInstance,
    dataset: str,
    backend: str,
    max_usd: float | None,
    progress: ProgressSink | None,
) -> dg.ExecuteInProcessResult:
    key = graph.key(AssetName.FOLLOW_UP)
    config: dict[str, Any] = {"ops": {key.to_python_identifier(): {"config": {"max_usd": max_usd}}}}
    return dg.materialize(
        [follow_up_asset(graph)],
        partition_key=graph.cell(dataset, backend),
        instance=instance,
        resources=study_resources(progress),
        run_config={**QUIET, **config},
        tags=process_tags(),
        raise_on_error=False,
    )


def _row(dataset: str, backend: str, partition: GatedPartition, table: pa.Table, *, kept: bool) -> FollowUpRow:
    tries, costs = table["tries"].to_pylist(), table["cost_usd"].to_pylist()
    complete = complete_samples(partition, table)
    return FollowUpRow(
        dataset=dataset,
        backend=backend,
        affected=table.num_rows,
        asked_again=sum(number > 0 for number in tries),
        recovered=sum(table["recovered"].to_pylist()),
        further_replies=sum(tries),
        samples=complete.samples,
        complete_before=complete.before,
        complete_after=complete.after,
        cost_usd=None if None in costs else float(sum(costs)),
        kept=kept,
    )
