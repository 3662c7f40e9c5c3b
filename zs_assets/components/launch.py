"""A study's partitions as runs of an engine: submitted to the instance, carried out by its launcher, followed here.

Any run launcher will do: a process on this machine, Celery, containers, pods. The runs belong to the instance, so they
go on when whoever follows them stops; following again finds them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic, sleep
from typing import Any, TypeVar

import dagster as dg
from dagster import DagsterEvent, DagsterEventType

from zs_assets.assets.graph import StudyGraph
from zs_assets.assets.resources import ProgressSink
from zs_assets.collection import Progress
from zs_assets.components.dagster_runs import RunSubmitter
from zs_assets.components.instance import is_database_fault
from zs_assets.components.partition_tasks import PartitionTask, State, StepResult, TaskOutcome
from zs_assets.components.run_failure import TELLING_EVENTS, run_failure
from zs_assets.protocol.code_identity import CODE_TAG, code_identity
from zs_assets.protocol.errors import StorageError

PARTITION_TAG = "dagster/partition"
WILL_RETRY_TAG, RETRIED_BY_TAG = "dagster/will_retry", "dagster/auto_retry_run_id"
POLL_EVERY_S = 0.5
RETRY_KNOWN_WITHIN_S = 30.0
"""The instance says whether it starts a failed run anew a moment after it called it failed."""
DATABASE_PATIENCE_S = 60.0

_Answer = TypeVar("_Answer")

_WAITING = [
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.STARTING,
]
_UNFINISHED = [*_WAITING, dg.DagsterRunStatus.STARTED]


@dataclass
class _Followed:
    """A run on its way, what it makes of ours, and what was last heard of it."""

    tasks: list[PartitionTask]
    cursor: str | None = None
    done: int = 0
    heard_at: float = 0.0
    failed_at: float | None = None  # since when it is not known whether it is started anew


@contextmanager
def launched_runs(
    graph: StudyGraph,
    instance: dg.DagsterInstance,
    progress: ProgressSink | None = None,
    on_the_way: Callable[[PartitionTask, str], None] | None = None,
) -> Iterator[LaunchedRuns]:
    """A carrier over the instance's engine; StudyError where its workspace does not hold the study."""
    with RunSubmitter(instance, graph.name) as submitter:
        yield LaunchedRuns(graph, instance, submitter, progress=progress, on_the_way=on_the_way)


class LaunchedRuns:
    """Carries tasks out as runs of the instance.

    Parameters
    ----------
    graph
        The study.
    instance
        The engine's instance.
    submitter
        Open.
    progress
        Hears what the runs' observations say.
    on_the_way
        Hears of each task and its run, as it is submitted or found on its way.
    """

    asks_here = False

    def __init__(
        self,
        graph: StudyGraph,
        instance: dg.DagsterInstance,
        submitter: RunSubmitter,
        *,
        progress: ProgressSink | None = None,
        on_the_way: Callable[[PartitionTask, str], None] | None = None,
    ):
        self._graph = graph
        self._instance = instance
        self._submitter = submitter
        self._progress = progress or ProgressSink()
        self._on_the_way = on_the_way or (lambda task, run_id: None)
        self._has_made = False

    def carry_out(self, tasks: Iterable[PartitionTask]) -> Iterator[TaskOutcome]:
        """Submits every task that is not on its way yet, then yields each as its run comes to an end.

        A system that stopped (wrong key, budget) has its waiting runs cancelled: they would meet the same.
        """
        on_their_way = self._unfinished_runs()
        following: dict[str, _Followed] = {}
        for task in tasks:
            run = next((run for run in on_their_way if self._makes(run, task)), None)
            run_id = run.run_id if run is not None else self._submit(task)
            following.setdefault(run_id, _Followed([])).tasks.append(task)
            self._on_the_way(task, run_id)
        while following:
            for run in self._runs(run_ids=list(following)):
                followed = following.get(run.run_id)
                if followed is None:  # cancelled meanwhile
                    continue
                if run.status is dg.DagsterRunStatus.STARTED:
                    self._show_progress(run, followed)
                if not run.is_finished:
                    continue
                if self._may_be_started_anew(run, followed):
                    again = run.tags.get(RETRIED_BY_TAG)
                    if again is not None:  # its worker was lost
                        following[again] = _Followed(following.pop(run.run_id).tasks)
                    continue
                del following[run.run_id]
                for task in followed.tasks:
                    outcome = self._outcome(run, task)
                    self._has_made |= outcome.result.state is State.MADE
                    yield outcome
                    if outcome.result.stops_backend or outcome.unavailable is not None:
                        self._cancel_waiting(following, task)
            if following:
                sleep(POLL_EVERY_S)

    def _submit(self, task: PartitionTask) -> str:
        tags = {CODE_TAG: code_identity().code_sha256, **_partition_tags(task)}
        return self._submitter.submit(task.keys, {"ops": task.options}, tags).run_id

    def _may_be_started_anew(self, run: dg.DagsterRun, followed: _Followed) -> bool:
        """Whether the instance starts the failed run again, or has not said yet."""
        if run.status is not dg.DagsterRunStatus.FAILURE or not self._instance.run_retries_enabled:
            return False
        said = run.tags.get(WILL_RETRY_TAG)
        if said is not None:
            return said == "true"
        followed.failed_at = followed.failed_at or monotonic()
        return monotonic() - followed.failed_at < RETRY_KNOWN_WITHIN_S

    def _unfinished_runs(self) -> list[dg.DagsterRun]:
        return self._runs(statuses=_UNFINISHED)

    def _runs(self, **which: Any) -> list[dg.DagsterRun]:
        return list(patiently(lambda: self._instance.get_runs(dg.RunsFilter(**which))))

    def _makes(self, run: dg.DagsterRun, task: PartitionTask) -> bool:
        """Whether a run, whoever launched it, makes the very assets and partition of a task.

        One that computes from several partitions and has begun may have read what this call has replaced since.
        """
        if run.tags.get(PARTITION_TAG) != (None if task.partition is None else str(task.partition)):
            return False
        if self._has_made and task.cell is None and run.status not in _WAITING:
            return False
        if run.asset_selection:
            return set(task.keys) <= set(run.asset_selection)
        return run.job_name == f"{self._graph.name}__{task.job}"

    def _outcome(self, run: dg.DagsterRun, task: PartitionTask) -> TaskOutcome:
        if run.status is dg.DagsterRunStatus.SUCCESS:
            return TaskOutcome(task, task.made())
        if run.status is dg.DagsterRunStatus.CANCELED:
            reason = f"run {run.run_id} was cancelled; its journal keeps every reply"
            return TaskOutcome(task, StepResult(task.step, task.where, State.FAILED, reason))
        failure = run_failure(patiently(lambda: _events(self._instance, run, TELLING_EVENTS)))
        return TaskOutcome(task, task.failed(failure), failure.sentence if failure.is_unavailable else None)

    def _cancel_waiting(self, following: dict[str, _Followed], stopped: PartitionTask) -> None:
        """Forgets and cancels the runs of the same system that have not begun."""
        if stopped.cell is None or not following:
            return
        for run in self._runs(run_ids=list(following), statuses=_WAITING):
            asked = {task.cell[1] for task in following[run.run_id].tasks if task.cell is not None}
            if asked == {stopped.cell[1]} and self._instance.run_coordinator.cancel_run(run.run_id):
                del following[run.run_id]

    def _show_progress(self, run: dg.DagsterRun, followed: _Followed) -> None:
        """Hands on what the collecting step observed since the last look."""
        cell = followed.tasks[0].cell
        if cell is None:
            return
        page = patiently(
            lambda: self._instance.get_records_for_run(
                run.run_id, cursor=followed.cursor, of_type=DagsterEventType.ASSET_OBSERVATION
            )
        )
        followed.cursor = page.cursor
        for record in page.records:
            event = record.event_log_entry.dagster_event
            if event is None:
                continue
            said = event.asset_observation_data.asset_observation.metadata
            if {"done", "total", "failures"} <= set(said):
                done, total, failures = (int(str(said[name].value)) for name in ("done", "total", "failures"))
                at = record.event_log_entry.timestamp
                rate = (done - followed.done) / (at - followed.heard_at) if followed.heard_at else 0.0
                followed.done, followed.heard_at = done, at
                self._progress.show(*cell, Progress(done, total, failures, None, 0, rate, 0))


def patiently(ask: Callable[[], _Answer]) -> _Answer:
    """The instance's answer, also where its database is gone for a while; StorageError after DATABASE_PATIENCE_S."""
    until = monotonic() + DATABASE_PATIENCE_S
    while True:
        try:
            return ask()
        except Exception as error:
            if not is_database_fault(error):
                raise
            if monotonic() > until:
                raise StorageError(
                    f"The instance's database has not answered for {DATABASE_PATIENCE_S:.0f} s. The runs go on; the "
                    "same command follows them when it answers again."
                ) from None
        sleep(POLL_EVERY_S)


def _events(instance: dg.DagsterInstance, run: dg.DagsterRun, kinds: set[DagsterEventType]) -> list[DagsterEvent]:
    found = (entry.dagster_event for entry in instance.all_logs(run.run_id, of_type=kinds))
    return [event for event in found if event is not None]


def _partition_tags(task: PartitionTask) -> dict[str, str]:
    """As Dagster tags a run of a partition: the UI, the queue and the routing read them."""
    if task.partition is None:
        return {}
    tags = {PARTITION_TAG: str(task.partition)}
    if isinstance(task.partition, dg.MultiPartitionKey):
        tags |= {f"{PARTITION_TAG}/{name}": key for name, key in task.partition.keys_by_dimension.items()}
    return tags
