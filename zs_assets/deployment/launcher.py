"""Dagster's Celery launcher that also notices a worker that vanished.

Celery writes that a task began, and then nothing: after a kill or a power cut the task looks busy for ever, and
Dagster's health check believes it. So the workers themselves are asked. In dagster.yaml:
`run_launcher: {module: zs_assets.deployment.launcher, class: WatchingCeleryRunLauncher}`; its settings are those of
CeleryRunLauncher.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from dagster import DagsterRun
from dagster._core.launcher import CheckRunHealthResult, WorkerStatus  # not public, yet what the method returns
from dagster_celery.launcher import CeleryRunLauncher
from dagster_celery.tags import DAGSTER_CELERY_TASK_ID_TAG

ANSWER_WITHIN_S = 2.0
SILENT_CHECKS = 4
"""Checks in a row without an answer before a worker counts as gone: a busy network is no dead machine."""


class WatchingCeleryRunLauncher(CeleryRunLauncher):
    """A task that Celery calls begun is looked for among the workers at every health check."""

    def __init__(self, **settings: Any):
        super().__init__(**settings)
        self._unseen: Counter[str] = Counter()  # task -> checks in a row that did not find it

    def check_run_worker_health(self, run: DagsterRun) -> CheckRunHealthResult:
        """As Dagster's; FAILED too where a living worker does not know the task, or none answers for it any more."""
        health = super().check_run_worker_health(run)
        task = run.tags[DAGSTER_CELERY_TASK_ID_TAG]
        if health.status is not WorkerStatus.RUNNING:
            self._unseen.pop(task, None)
            return health
        if self._is_held(task):
            self._unseen.pop(task, None)
            return health
        self._unseen[task] += 1
        if self._unseen[task] < SILENT_CHECKS:
            return health
        del self._unseen[task]
        return CheckRunHealthResult(
            WorkerStatus.FAILED, f"The worker that began Celery task {task} is gone: no worker has it any more."
        )

    def _is_held(self, task: str) -> bool:
        """Whether a worker that answers now has the task, running or reserved."""
        found = self.celery.control.inspect(timeout=ANSWER_WITHIN_S).query_task(task) or {}
        return any(task in tasks for tasks in found.values())
