"""Dagster's Celery launcher that also notices a worker that vanished, and a run that was cancelled before it began.

Celery writes that a task began, and then nothing: after a kill or a power cut the task looks busy for ever, and
Dagster's health check believes it. So the workers themselves are asked. In dagster.yaml:
`run_launcher: {module: zs_assets.deployment.launcher, class: WatchingCeleryRunLauncher}`; its settings are those of
CeleryRunLauncher.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from dagster import DagsterRun, DagsterRunStatus
from dagster._core.launcher import CheckRunHealthResult, WorkerStatus  # not public, yet what the method returns
from dagster_celery.launcher import CeleryRunLauncher
from dagster_celery.tags import DAGSTER_CELERY_TASK_ID_TAG

ANSWER_WITHIN_S = 2.0
SILENT_CHECKS = 4
"""Checks in a row without an answer before a worker counts as gone: a busy network is no dead machine."""


class WatchingCeleryRunLauncher(CeleryRunLauncher):
    """A task that Celery does not call ended is looked for among the workers at every health check."""

    def __init__(self, **settings: Any):
        super().__init__(**settings)
        self._unseen: Counter[str] = Counter()  # task -> checks in a row that did not find it

    def check_run_worker_health(self, run: DagsterRun) -> CheckRunHealthResult:
        """As Dagster's where Celery knows how the task ended; else what the workers say of it.

        Celery knows nothing of a task (PENDING) also after its result store lost its data, while a worker goes on.
        """
        task = run.tags.get(DAGSTER_CELERY_TASK_ID_TAG)
        if task is None:
            return CheckRunHealthResult(WorkerStatus.RUNNING, "Not Celery's: another process carries this run out.")
        health = super().check_run_worker_health(run)
        if health.status not in (WorkerStatus.RUNNING, WorkerStatus.UNKNOWN):
            self._unseen.pop(task, None)
            return health
        if self._is_held(task):
            self._unseen.pop(task, None)
            return CheckRunHealthResult(WorkerStatus.RUNNING)
        self._unseen[task] += 1
        if self._unseen[task] < SILENT_CHECKS:
            return CheckRunHealthResult(WorkerStatus.RUNNING)
        del self._unseen[task]
        return CheckRunHealthResult(
            WorkerStatus.FAILED, f"The worker that began Celery task {task} is gone: no worker has it any more."
        )

    def terminate(self, run_id: str) -> bool:
        """Takes the task back; a run that no worker has begun ends with it, or it would be STARTING for an hour."""
        run = self._instance.get_run_by_id(run_id)
        if run is None or DAGSTER_CELERY_TASK_ID_TAG not in run.tags or not super().terminate(run_id):
            return False
        run = self._instance.get_run_by_id(run_id)
        if run is not None and run.status is DagsterRunStatus.STARTING:
            self._instance.report_run_canceled(run, "Its task was taken back before a worker began it.")
        return True

    def get_run_worker_debug_info(self, run: DagsterRun, include_container_logs: bool | None = True) -> str | None:
        if DAGSTER_CELERY_TASK_ID_TAG not in run.tags:
            return None
        return super().get_run_worker_debug_info(run, include_container_logs)

    def _is_held(self, task: str) -> bool:
        """Whether a worker that answers now has the task, running or reserved."""
        found = self.celery.control.inspect(timeout=ANSWER_WITHIN_S).query_task(task) or {}
        return any(task in tasks for tasks in found.values())
