"""The worker's own start: Celery gets the signal, so runs end first and nothing is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

import zs_assets
from zs_assets.deployment.engine import DeploymentError, Engine
from zs_assets.deployment.worker import worker_settings
from zs_assets.protocol.code_identity import load_own_modules
from zs_assets_tests.deployment.folders import filled_environment, texts
from zs_assets_tests.deployment.services import redis_service, running

pytest.importorskip("dagster_celery", reason="needs the extra celery")

WITHIN_S = 60
CHECKOUT = Path(zs_assets.__file__).parents[1]
# A run that says when it began, and ends when the test lets it, or after a minute.
TASKS = """
import sys
import time
from pathlib import Path
from celery import shared_task

@shared_task(name="hold")
def hold(folder):
    Path(folder, "began").touch()
    for _ in range(600):
        if Path(folder, "end").exists():
            Path(folder, "ended").touch()
            return
        time.sleep(0.1)
"""


def until(ready: Callable[[], object], what: str, log: Path) -> None:
    deadline = time.monotonic() + WITHIN_S
    while not ready():
        assert time.monotonic() < deadline, f"{what}: {log.read_text(errors='replace')[-3000:]}"
        time.sleep(0.05)


def processes_of(session: int) -> list[int]:
    """Living processes of a session, children that lost their parent included."""
    listed = subprocess.run(["ps", "-s", str(session), "-o", "pid=,stat="], capture_output=True, text=True).stdout
    return [int(line.split()[0]) for line in listed.splitlines() if "Z" not in line.split()[1]]


MODULES = """
@shared_task(name="modules")
def modules(folder):
    Path(folder, "modules.part").write_text("\\n".join(sys.modules))
    Path(folder, "modules.part").rename(Path(folder, "modules"))
"""


@contextmanager
def worker(folder: Path, broker: str) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """A worker of queue cpu that knows the task `hold`, in a session of its own."""
    (folder / "zs_test_tasks.py").write_text(TASKS + MODULES)
    settings = yaml.safe_load(texts(Engine.CELERY)["worker.yaml"])
    settings["execution"]["config"]["config_source"]["imports"].append("zs_test_tasks")
    (folder / "worker.yaml").write_text(yaml.safe_dump(settings))
    environment = {
        **os.environ,
        "DAGSTER_CELERY_BROKER": f"{broker}/0",
        "DAGSTER_CELERY_BACKEND": f"{broker}/1",
        "PYTHONPATH": os.pathsep.join([str(folder), *filter(None, sys.path)]),
        "C_FORCE_ROOT": "1",
    }
    command = [sys.executable, "-m", "zs_assets.deployment.worker", "-n", "one", "-q", "cpu"]
    log = folder / "worker.log"
    with running(command, log, environment=environment, folder=folder) as process:
        yield process, log


def test_a_worker_has_read_all_of_its_code_before_its_first_task(tmp_path: Path):
    """What it read later could be of code that was installed since, under the hash of the code before."""
    from celery import Celery

    with redis_service() as broker, worker(tmp_path, broker) as (_, log), Celery(broker=f"{broker}/0") as app:
        app.send_task("modules", args=[str(tmp_path)], queue="cpu")
        until((tmp_path / "modules").exists, "no task was run", log)
        read = set((tmp_path / "modules").read_text().split())
    left_out = load_own_modules()
    files = (Path(zs_assets.__file__).parent).rglob("*.py")
    names = {".".join(file.relative_to(CHECKOUT).with_suffix("").parts).removesuffix(".__init__") for file in files}
    names = {name for name in names if not name.endswith(".__main__")}  # what a command begins with, not a module
    assert len(names) > 250
    assert names - read - set(left_out) == set()


def test_a_stopped_worker_ends_its_run_takes_no_other_and_leaves_no_process(tmp_path: Path):
    from celery import Celery
    from redis import Redis

    with redis_service() as broker, worker(tmp_path, broker) as (process, log), Redis.from_url(f"{broker}/0") as queue:
        with Celery(broker=f"{broker}/0") as app:
            app.send_task("hold", [str(tmp_path)], queue="cpu")
            until((tmp_path / "began").exists, "the first run did not begin", log)
            process.send_signal(signal.SIGTERM)
            until(lambda: "Warm shutdown" in log.read_text(errors="replace"), "SIGTERM was not heard", log)
            app.send_task("hold", [str(tmp_path / "nowhere")], queue="cpu")
        time.sleep(1)
        assert process.poll() is None and not (tmp_path / "ended").exists()
        (tmp_path / "end").touch()
        assert process.wait(WITHIN_S) == 0
        assert (tmp_path / "ended").exists()
        assert queue.llen("cpu") == 1
        assert processes_of(process.pid) == []


def test_a_second_control_c_ends_the_run_too(tmp_path: Path):
    from celery import Celery

    with redis_service() as broker, worker(tmp_path, broker) as (process, log), Celery(broker=f"{broker}/0") as app:
        app.send_task("hold", [str(tmp_path)], queue="cpu")
        until((tmp_path / "began").exists, "the run did not begin", log)
        process.send_signal(signal.SIGINT)
        until(lambda: "Warm shutdown" in log.read_text(errors="replace"), "Control C was not heard", log)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        process.wait(WITHIN_S)
        assert not (tmp_path / "ended").exists()
        assert processes_of(process.pid) == []


def test_an_idle_worker_ends_at_once_and_leaves_no_password_in_a_file_or_the_log(tmp_path: Path):
    from redis import Redis

    with redis_service() as broker:
        address = broker.replace("redis://", "redis://:hunter2-secret@")
        with Redis.from_url(broker) as client:
            client.config_set("requirepass", "hunter2-secret")
        with worker(tmp_path, address) as (process, log):
            until(lambda: "ready." in log.read_text(errors="replace"), "the worker did not start", log)
            process.send_signal(signal.SIGTERM)
            assert process.wait(WITHIN_S) == 0
            assert processes_of(process.pid) == []
    written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) >= 3 and not any(b"hunter2" in content for content in written)


def test_the_settings_are_those_of_dagster_celery(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """`dagster-celery worker start` writes a module of settings: ours must hold the same names and values."""
    from dagster_celery.cli import get_config_dir

    for name, value in filled_environment(Engine.CELERY, tmp_path).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path))
    path = tmp_path / "worker.yaml"
    path.write_text(texts(Engine.CELERY)["worker.yaml"])
    theirs: dict[str, object] = {}
    exec(Path(get_config_dir(str(path)), "dagster_celery_config.py").read_text(), {}, theirs)
    assert worker_settings(path) == theirs
    assert theirs["broker_url"] == "redis://:filled-in@redis:6379/0"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "No such file.*give -y"),
        ("execution: {config: {broker: {env: ZS_TEST_UNSET}}}", "reads ZS_TEST_UNSET from the environment: `set -a"),
        ("broker: redis://127.0.0.1", "holds no settings"),
        ("- a list", "no YAML of settings"),
        ("execution: {config: {brokers: redis}}", "brokers"),
    ],
)
def test_settings_that_cannot_be_used_are_one_sentence(tmp_path: Path, text: str | None, said: str):
    path = tmp_path / "worker.yaml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(DeploymentError, match=said) as raised:
        worker_settings(path)
    assert "\n" not in str(raised.value)


def test_help_names_every_option(tmp_path: Path):
    command = [sys.executable, "-m", "zs_assets.deployment.worker", "--help"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120, cwd=tmp_path).stdout
    assert all(option in shown for option in ("--queue", "--name", "--config-yaml", "--concurrency"))
    assert "SIGTERM" in shown
