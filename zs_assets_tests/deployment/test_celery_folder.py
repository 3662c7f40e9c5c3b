"""The generated Celery folder does what its README says: its own commands, one worker, one partition, to the end."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from sysconfig import get_path
from urllib.parse import urlsplit

import dagster as dg
import pytest

from zs_assets.assets.resources import Workspace
from zs_assets.deployment.engine import Deployment, Engine
from zs_assets.deployment.folder import write_deployment
from zs_assets.protocol.names import AssetName
from zs_assets_tests.deployment.folders import filled_environment
from zs_assets_tests.deployment.services import (
    PostgresService,
    postgres_service,
    redis_service,
    running,
    s3_service,
)

pytestmark = pytest.mark.engine

pytest.importorskip("dagster_celery", reason="needs the extra celery")
pytest.importorskip("dagster_postgres", reason="needs the extra celery")
pytest.importorskip("s3fs", reason="needs the extra s3")

SCRIPTS = Path(get_path("scripts"))
PREPARE = ["job", "launch", "-j", "demo__prepare", "--tags", '{"dagster/partition": "topics"}']
MEASURE = ["job", "backfill", "-j", "demo__measure", "--partitions", "uniform|topics", "--noprompt"]
# The daemon looks for backfills every 30 seconds; starting on a busy machine takes as long again.
WITHIN_S = 240


def exported(folder: Path, postgres: PostgresService, redis: str, s3: dict[str, str]) -> dict[str, str]:
    """The filled-in .env, and PATH, on which runs find `dagster`."""
    return {
        **os.environ,
        **filled_environment(Engine.CELERY, folder),
        **s3,
        "DAGSTER_POSTGRES_USER": postgres.user,
        "DAGSTER_POSTGRES_HOST": postgres.host,
        "DAGSTER_POSTGRES_PORT": str(postgres.port),
        "DAGSTER_POSTGRES_DB": postgres.database,
        "DAGSTER_CELERY_BROKER": f"{redis}/0",
        "DAGSTER_CELERY_BACKEND": f"{redis}/1",
        "DAGSTER_HOME": str(folder),
        "PATH": os.pathsep.join([str(SCRIPTS), os.environ["PATH"]]),
        "C_FORCE_ROOT": "1",  # Celery warns when it is root, as tests in a container are
    }


@pytest.fixture
def deployed(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder with its services, daemon and one worker; the test's own environment is that of .env."""
    folder = tmp_path / "deploy"
    with ExitStack() as stack:
        postgres = stack.enter_context(postgres_service())
        redis = stack.enter_context(redis_service())
        s3 = stack.enter_context(s3_service("lake"))
        write_deployment(folder, Deployment(Engine.CELERY, lake="s3://lake/zs"))
        environment = exported(folder, postgres, redis, s3)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("ZS_LAKE", "s3://lake/zs")
        command(folder, "instance", "migrate")
        daemon = [SCRIPTS / "dagster-daemon", "run", "-w", "workspace.yaml"]
        worker = [SCRIPTS / "python", "-m", "zs_assets.deployment.worker", "-q", "cpu"]
        stack.enter_context(running(daemon, tmp_path / "daemon.log", folder=folder))
        stack.enter_context(running(worker, tmp_path / "worker.log", folder=folder))
        yield folder


def command(folder: Path, *arguments: str) -> None:
    result = subprocess.run(
        [SCRIPTS / "dagster", *arguments], cwd=folder, capture_output=True, text=True, timeout=WITHIN_S
    )
    assert result.returncode == 0, result.stdout + result.stderr


def finished_run(instance: dg.DagsterInstance, job: str, logs: Path) -> dg.DagsterRun:
    deadline = time.monotonic() + WITHIN_S
    while time.monotonic() < deadline:
        runs = instance.get_runs(dg.RunsFilter(job_name=job))
        if runs and runs[0].is_finished:
            return runs[0]
        time.sleep(0.5)
    said = {path.name: path.read_text(errors="replace")[-3000:] for path in logs.glob("*.log")}
    pytest.fail(f"no run of {job} came to its end: {said}")


def test_one_worker_carries_a_backfill_from_the_queue_to_the_lake(deployed: Path):
    with dg.DagsterInstance.get() as instance:
        command(deployed, *PREPARE, "-w", "workspace.yaml")
        prepared = finished_run(instance, "demo__prepare", deployed.parent)
        assert prepared.status is dg.DagsterRunStatus.SUCCESS
        assert prepared.tags["dagster-celery/queue"] == "cpu"

        command(deployed, *MEASURE, "-w", "workspace.yaml")
        measured = finished_run(instance, "demo__measure", deployed.parent)
        assert measured.status is dg.DagsterRunStatus.SUCCESS
        assert measured.tags["dagster/partition"] == "uniform|topics"
        assert measured.tags["dagster-celery/queue"] == "cpu"
        assert measured.tags["dagster-celery/task_id"]
    workspace = Workspace.from_environment()
    assert urlsplit(workspace.lake_root).scheme == "s3"
    assert workspace.lake.has("demo", AssetName.PREDICTIONS, dataset="topics", backend="uniform")
