"""Dagster's queued run coordinator that also says where a run belongs, and which code its worker must have.

It sits where every run passes, so backfills of the UI, schedules, sensors, retries and the command line are routed
alike. In dagster.yaml: `run_coordinator: {module: zs_assets.deployment.coordinator, class: RoutingRunCoordinator}`;
its settings are those of QueuedRunCoordinator.
"""

from __future__ import annotations

from dagster import DagsterRun, QueuedRunCoordinator
from dagster._core.run_coordinator import SubmitRunContext  # not public, yet part of submit_run's signature

from zs_assets.assets.graph import StudyGraph
from zs_assets.backends.systems import Queue
from zs_assets.components.catalogue import find_study
from zs_assets.deployment.routing import BACKEND_TAG, missing_tags, queue_of, routing_tags
from zs_assets.protocol.code_identity import CODE_TAG, code_identity
from zs_assets.protocol.errors import ZsAssetsError


class RoutingRunCoordinator(QueuedRunCoordinator):
    """Tags each submitted run with its queue and with the code that submits it, then queues it as Dagster does."""

    def submit_run(self, context: SubmitRunContext) -> DagsterRun:
        """Queues the run. One whose study cannot be read is queued too, and fails where its error can be seen."""
        run = context.dagster_run
        launchers = (kind.__name__ for kind in type(self._instance.run_launcher).__mro__)
        wanted = {**routing_tags(self._queue(run), launchers), CODE_TAG: code_identity().code_sha256}
        tags = missing_tags(wanted, run.tags)
        if tags:
            self._instance.add_run_tags(run.run_id, tags)
        return super().submit_run(context)

    def _queue(self, run: DagsterRun) -> Queue:
        backend = run.tags.get(BACKEND_TAG)
        return queue_of(self._study(run) if backend else None, backend)

    def _study(self, run: DagsterRun) -> StudyGraph | None:
        name = study_name(run)
        if name is None:
            return None
        # Read anew for each run: 0.1 s, where a backfill submits about one run a second, and never an outdated study.
        try:
            study = find_study(name)
            _ = study.systems  # an unknown backend shows here
        except ZsAssetsError as error:
            self._logger.warning(f"Run {run.run_id} goes to the queue of runs without a backend: {error}")
            return None
        return study


def study_name(run: DagsterRun) -> str | None:
    """The study a run belongs to: its assets are named [study, asset], its jobs study__what."""
    for key in run.asset_selection or ():
        return key.path[0]
    study, separator, _ = run.job_name.rpartition("__")
    return study if separator else None
