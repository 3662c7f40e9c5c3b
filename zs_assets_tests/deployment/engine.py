"""A whole engine on this machine: Redis, PostgreSQL, an S3 stand-in, a daemon, and Celery workers in their own folders.

The code is a copy of the package: what runs stays the same while the checkout is worked on, and one worker can be given
other code.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from sysconfig import get_path
from typing import Any

import yaml

import zs_assets
from zs_assets.deployment.engine import Deployment, Engine
from zs_assets.deployment.folder import write_deployment
from zs_assets_tests.deployment.folders import filled_environment
from zs_assets_tests.deployment.services import postgres_service, redis_service, running, s3_service, wait_until

PYTHON = Path(get_path("scripts")) / "python"
SCRIPTS = PYTHON.parent
LAKE = "s3://lake/zs"
CHECKOUT = Path(zs_assets.__file__).parents[1]


@dataclass
class RunningEngine:
    """`environment` is that of .env; `folder` is DAGSTER_HOME and holds the logs."""

    folder: Path
    environment: dict[str, str]
    code: Path

    def command(self, *arguments: str, timeout: float = 240, **changes: str) -> subprocess.CompletedProcess[str]:
        """`zs-assets ...` as on a machine of its own, with the engine's environment."""
        return subprocess.run(
            [str(PYTHON), "-m", "zs_assets.cli", *arguments],
            cwd=self.folder,
            env={**self.environment, **changes},
            capture_output=True,
            text=True,
            timeout=timeout,
        )

    @contextmanager
    def worker(
        self, name: str, queues: str = "cpu,hosted", code: Path | None = None
    ) -> Iterator[subprocess.Popen[bytes]]:
        """One Celery worker with one process, in a working folder and a ZS_HOME of its own, once it answers."""
        folder = self.folder / name
        folder.mkdir()
        environment = {**self.environment, "ZS_HOME": str(folder / "home"), "PYTHONPATH": str(code or self.code)}
        command = [PYTHON, "-m", "zs_assets.deployment.worker"]
        options = ["-y", self.folder / "worker.yaml", "-n", name, "-q", queues, "-c", "1"]
        log = self.folder / f"{name}.log"
        with running([*command, *options], log, environment=environment, folder=folder) as process:
            wait_until(lambda: self._answers(name), process, log, f"worker {name}")
            yield process

    def _answers(self, worker: str) -> bool:
        from celery import Celery

        with Celery(broker=self.environment["DAGSTER_CELERY_BROKER"]) as app:
            found = app.control.inspect(timeout=1.0).ping() or {}
        return any(name.split("@")[0] == worker for name in found)

    def logs(self) -> dict[str, str]:
        return {path.name: path.read_text(errors="replace")[-3000:] for path in self.folder.glob("*.log")}


def copy_of_the_code(target: Path, changed_line: str = "") -> Path:
    """The package and its demo sets elsewhere; returns what PYTHONPATH must name."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(CHECKOUT / "zs_assets", target / "zs_assets", ignore=ignored)
    shutil.copytree(CHECKOUT / "data" / "demo", target / "data" / "demo")
    shutil.copyfile(CHECKOUT / "pyproject.toml", target / "pyproject.toml")  # Dagster looks for it above the package
    if changed_line:
        with open(target / "zs_assets" / "stats" / "summary.py", "a", encoding="utf-8") as file:
            file.write(f"{changed_line}\n")
    return target


@contextmanager
def running_engine(
    folder: Path, *, settings: dict[str, Any] | None = None, **variables: str
) -> Iterator[RunningEngine]:
    """Services and daemon, no worker yet. `settings` changes parts of the generated dagster.yaml."""
    code = copy_of_the_code(folder / "code")
    deploy = folder / "deploy"
    with ExitStack() as stack:
        postgres = stack.enter_context(postgres_service())
        redis = stack.enter_context(redis_service())
        s3 = stack.enter_context(s3_service("lake"))
        write_deployment(deploy, Deployment(Engine.CELERY, lake=LAKE))
        _change(deploy / "dagster.yaml", settings or {})
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("ZS_", "DAGSTER_"))},
            **filled_environment(Engine.CELERY, deploy),
            **s3,
            "DAGSTER_POSTGRES_USER": postgres.user,
            "DAGSTER_POSTGRES_HOST": postgres.host,
            "DAGSTER_POSTGRES_PORT": str(postgres.port),
            "DAGSTER_POSTGRES_DB": postgres.database,
            "DAGSTER_CELERY_BROKER": f"{redis}/0",
            "DAGSTER_CELERY_BACKEND": f"{redis}/1",
            "DAGSTER_HOME": str(deploy),
            "DAGSTER_DISABLE_TELEMETRY": "1",
            "ZS_LAKE": LAKE,
            "PYTHONPATH": str(code),
            "PATH": os.pathsep.join([str(SCRIPTS), os.environ["PATH"]]),
            "C_FORCE_ROOT": "1",  # Celery warns when it is root, as tests in a container are
            **variables,
        }
        migrate = [str(SCRIPTS / "dagster"), "instance", "migrate"]
        subprocess.run(migrate, cwd=deploy, env=environment, check=True, capture_output=True, timeout=240)
        daemon = [SCRIPTS / "dagster-daemon", "run", "-w", "workspace.yaml"]
        stack.enter_context(running(daemon, deploy / "daemon.log", environment=environment, folder=deploy))
        yield RunningEngine(deploy, environment, code)


def _change(path: Path, settings: dict[str, Any]) -> None:
    config = yaml.safe_load(path.read_text(encoding="utf-8"))
    for part, values in settings.items():
        config[part] = {**config.get(part, {}), **values}
    path.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")


def kill_all_at_once(process: subprocess.Popen[bytes]) -> None:
    """A machine that loses its power: no process of it can say goodbye."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
