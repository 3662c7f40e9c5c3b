"""Dagster's calls to submit a run from a workspace. They are not public: all of them are here, pinned with dagster.

What `dagster job launch` and the UI do: the code location says how a job is found by whoever carries it out, the run is
created with its plan (whose pools the queue counts), and the run coordinator of the instance takes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

import dagster as dg
from dagster._core.definitions.assets.job.asset_job import IMPLICIT_ASSET_JOB_NAME
from dagster._core.definitions.selector import JobSubsetSelector
from dagster._core.remote_representation.code_location import CodeLocation
from dagster._core.remote_representation.external import RemoteExecutionPlan, RemoteJob, RemoteRepository
from dagster._core.workspace.context import WorkspaceProcessContext, WorkspaceRequestContext
from dagster._core.workspace.load_target import ModuleTarget, WorkspaceFileTarget, WorkspaceLoadTarget
from dagster._daemon.controller import get_daemon_statuses

from zs_assets.components.run_failure import error_sentence
from zs_assets.protocol.errors import StudyError

MODULE = "zs_assets.definitions"
QUEUE_DAEMON = "QUEUED_RUN_COORDINATOR"


class RunSubmitter:
    """Context manager: the workspace that runs are submitted from, read once.

    It is `workspace.yaml` in DAGSTER_HOME, which daemon and webserver of a deployment read too; without one, this
    package's definitions. The names of the code location must be theirs, since the daemon finds it by name.
    """

    def __init__(self, instance: dg.DagsterInstance, study: str):
        self._study = study
        self._instance = instance
        self._stack = ExitStack()
        self._plans: dict[tuple[dg.AssetKey, ...], tuple[RemoteJob, RemoteExecutionPlan]] = {}

    def __enter__(self) -> RunSubmitter:
        process = self._stack.enter_context(
            WorkspaceProcessContext(self._instance, _target(self._instance), code_server_log_level="CRITICAL")
        )
        self._workspace: WorkspaceRequestContext = process.create_request_context()
        try:
            self._location, self._repository = self._with_study()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def submit(self, keys: Sequence[dg.AssetKey], config: Mapping[str, Any], tags: Mapping[str, str]) -> dg.DagsterRun:
        """Creates a run of these assets and hands it to the instance's run coordinator.

        Whoever is interrupted in between leaves no run that nobody will start.
        """
        job, plan = self._plan(tuple(keys), config)
        run = self._instance.create_run(
            job_name=job.name,
            run_id=None,
            run_config=config,
            status=dg.DagsterRunStatus.NOT_STARTED,
            tags=tags,
            root_run_id=None,
            parent_run_id=None,
            step_keys_to_execute=None,
            execution_plan_snapshot=plan.execution_plan_snapshot,
            job_snapshot=job.job_snapshot,
            parent_job_snapshot=job.parent_job_snapshot,
            asset_selection=frozenset(keys),
            asset_check_selection=None,
            resolved_op_selection=None,
            op_selection=None,
            remote_job_origin=job.get_remote_origin(),
            job_code_origin=job.get_python_origin(),
            asset_graph=self._workspace.asset_graph,
        )
        try:
            return self._instance.submit_run(run.run_id, self._workspace)
        except BaseException:
            left = self._instance.get_run_by_id(run.run_id)
            if left is not None and left.status is dg.DagsterRunStatus.NOT_STARTED:
                self._instance.report_run_canceled(left, "Its submission was interrupted.")
            raise

    def _plan(self, keys: tuple[dg.AssetKey, ...], config: Mapping[str, Any]) -> tuple[RemoteJob, RemoteExecutionPlan]:
        """Job and plan of these assets: the same for every partition, so they are asked for once."""
        if keys not in self._plans:
            selector = JobSubsetSelector(
                location_name=self._location.name,
                repository_name=self._repository.name,
                job_name=IMPLICIT_ASSET_JOB_NAME,
                op_selection=None,
                asset_selection=keys,
            )
            job = self._location.get_job(selector)
            self._plans[keys] = job, self._location.get_execution_plan(job, config, None, None, self._instance)
        return self._plans[keys]

    def _with_study(self) -> tuple[CodeLocation, RemoteRepository]:
        """The location that holds the study; others may stand beside it in the workspace."""
        for location in self._workspace.code_locations:
            for repository in location.get_repositories().values():
                if any(job.name == f"{self._study}__prepare" for job in repository.get_all_jobs()):
                    return location, repository
        for name, entry in self._workspace.get_code_location_entries().items():
            if entry.load_error is not None:
                raise StudyError(f"Code location {name} cannot be loaded: {error_sentence(entry.load_error)}")
        raise StudyError(
            f"No code location of the workspace holds study {self._study}: name module {MODULE} in workspace.yaml, and "
            "its folder in ZS_STUDIES where the study is your own."
        )


def queue_is_served(instance: dg.DagsterInstance) -> bool:
    """Whether queued runs will leave the queue: a daemon reports to this instance, or nothing is queued at all."""
    if not isinstance(instance.run_coordinator, dg.QueuedRunCoordinator):
        return True
    return bool(get_daemon_statuses(instance, [QUEUE_DAEMON])[QUEUE_DAEMON].healthy)


def _target(instance: dg.DagsterInstance) -> WorkspaceLoadTarget:
    file = Path(instance.root_directory) / "workspace.yaml"
    if file.exists():
        return WorkspaceFileTarget([str(file)])
    return ModuleTarget(MODULE, None, None, MODULE)
