"""What the launcher says of a run whose task Celery does not call ended: the workers decide, with patience."""

from __future__ import annotations

import dagster as dg
import pytest
from dagster._core.launcher import WorkerStatus

pytest.importorskip("dagster_celery", reason="needs the extra celery")

from dagster_celery.tags import DAGSTER_CELERY_TASK_ID_TAG

from zs_assets.deployment.launcher import SILENT_CHECKS, WatchingCeleryRunLauncher
from zs_assets_tests.components.launched import QUEUED, engine


@pytest.fixture
def launcher(monkeypatch: pytest.MonkeyPatch) -> WatchingCeleryRunLauncher:
    """With a broker and a result store in memory; nobody holds a task until a test says so."""
    monkeypatch.setattr(WatchingCeleryRunLauncher, "_is_held", lambda self, task: False)
    return WatchingCeleryRunLauncher(default_queue="cpu", broker="memory://", backend="cache+memory://")


def run_of(task: str | None) -> dg.DagsterRun:
    return dg.DagsterRun(job_name="measure", tags={} if task is None else {DAGSTER_CELERY_TASK_ID_TAG: task})


def checks(launcher: WatchingCeleryRunLauncher, run: dg.DagsterRun, count: int) -> list[WorkerStatus]:
    return [launcher.check_run_worker_health(run).status for _ in range(count)]


@pytest.mark.parametrize("state", ["STARTED", "PENDING"])
def test_a_task_that_no_worker_has_is_given_up_after_several_checks(launcher, state: str):
    """PENDING is also what Celery says of every task after its result store lost its data."""
    launcher.celery.backend.store_result("a", None, state)
    said = checks(launcher, run_of("a"), SILENT_CHECKS)
    assert said == [WorkerStatus.RUNNING] * (SILENT_CHECKS - 1) + [WorkerStatus.FAILED]


@pytest.mark.parametrize("state", ["STARTED", "PENDING"])
def test_a_task_that_a_worker_has_runs_whatever_celery_remembers(launcher, monkeypatch, state: str):
    launcher.celery.backend.store_result("a", None, state)
    assert checks(launcher, run_of("a"), SILENT_CHECKS - 1) == [WorkerStatus.RUNNING] * (SILENT_CHECKS - 1)
    with monkeypatch.context() as held:
        held.setattr(WatchingCeleryRunLauncher, "_is_held", lambda self, task: True)
        assert checks(launcher, run_of("a"), 1) == [WorkerStatus.RUNNING]
    # Seen once more, it has all the patience again.
    assert checks(launcher, run_of("a"), SILENT_CHECKS - 1) == [WorkerStatus.RUNNING] * (SILENT_CHECKS - 1)


def test_what_celery_knows_the_end_of_is_not_asked_about(launcher):
    launcher.celery.backend.store_result("done", None, "SUCCESS")
    launcher.celery.backend.store_result("broken", ValueError("no"), "FAILURE")
    assert checks(launcher, run_of("done"), 1) == [WorkerStatus.SUCCESS]
    assert checks(launcher, run_of("broken"), 1) == [WorkerStatus.FAILED]


@dg.op
def step() -> None:
    return None


@dg.job
def work() -> None:
    step()


@pytest.mark.parametrize(
    ("status", "task", "ended", "becomes"),
    [
        (dg.DagsterRunStatus.STARTING, "a", True, dg.DagsterRunStatus.CANCELED),
        (dg.DagsterRunStatus.STARTED, "a", True, dg.DagsterRunStatus.STARTED),  # its worker is interrupted, and says so
        (dg.DagsterRunStatus.STARTED, None, False, dg.DagsterRunStatus.STARTED),  # of a command line's own loop
    ],
)
def test_a_run_that_is_cancelled_before_a_worker_began_it_ends(launcher, status, task, ended: bool, becomes):
    with engine(QUEUED) as instance:
        launcher.register_instance(instance)
        run = instance.create_run_for_job(work, tags=run_of(task).tags, status=status)
        assert launcher.terminate(run.run_id) is ended
        assert instance.get_run_by_id(run.run_id).status is becomes
        assert launcher.terminate("no such run") is False


def test_a_run_of_a_command_lines_own_loop_is_none_of_celerys(launcher):
    assert checks(launcher, run_of(None), SILENT_CHECKS + 1) == [WorkerStatus.RUNNING] * (SILENT_CHECKS + 1)
    assert launcher.get_run_worker_debug_info(run_of(None)) is None
