"""`zs-assets doctor` on an engine that is not there, or says no: one clear sentence each, soon, and no secret in it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from zs_assets.components.engine_check import engine_checks, launch_problems
from zs_assets.components.finding import ANSWER_WITHIN_S, Finding, at_once
from zs_assets.components.place_check import check_lake
from zs_assets.components.worker_check import Expected, QueueNeed, own_surroundings
from zs_assets.deployment.engine import Deployment, Engine
from zs_assets.deployment.folder import write_deployment
from zs_assets_tests.deployment.services import free_port, postgres_service, redis_service, s3_service

SECRET = "hunter2-very-secret"
SOON_S = 4 * ANSWER_WITHIN_S


@pytest.fixture(autouse=True)
def soon() -> Iterator[None]:
    began = time.monotonic()
    yield
    assert time.monotonic() - began < SOON_S + 60  # services may take their time to start


def engine(home: Path, **parts: object) -> Path:
    home.mkdir(exist_ok=True)
    (home / "dagster.yaml").write_text(yaml.safe_dump(parts))
    return home


def celery(broker: object) -> dict[str, object]:
    return {
        "module": "zs_assets.deployment.launcher",
        "class": "WatchingCeleryRunLauncher",
        "config": {"broker": broker},
    }


def postgres(**changes: object) -> dict[str, object]:
    settings = {"username": "dagster", "password": {"env": "ZS_TEST_PASSWORD"}, "hostname": "127.0.0.1"}
    return {"postgres": {"postgres_db": {**settings, "db_name": "postgres", **changes}}}


def cpu_expected() -> Expected:
    return Expected({"cpu": QueueNeed({"minilm"}, {"demo"})}, own_surroundings())


def asked(home: Path) -> list[Finding]:
    began = time.monotonic()
    findings = at_once(engine_checks(home, cpu_expected()))
    assert time.monotonic() - began < SOON_S
    assert all(SECRET not in finding.sentence and finding.sentence.count("\n") == 0 for finding in findings)
    return findings


def test_one_machine_has_no_engine_to_ask(tmp_path: Path):
    assert asked(tmp_path / "nowhere") == []
    assert asked(engine(tmp_path, telemetry={"enabled": False})) == []


def test_an_env_that_was_not_exported_is_one_finding_with_every_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = tmp_path / "engine"
    write_deployment(folder, Deployment(Engine.CELERY))
    names = [f"DAGSTER_POSTGRES_{each}" for each in ("DB", "HOST", "PASSWORD", "PORT", "USER")]
    names = ["DAGSTER_CELERY_BACKEND", "DAGSTER_CELERY_BROKER", *names]
    for name in names:
        monkeypatch.delenv(name, raising=False)
    (finding,) = asked(folder)
    assert not finding.ok
    assert finding.sentence == (
        f"{folder}/dagster.yaml reads {', '.join(names)} from the environment, and nothing is set there. "
        "In the folder of .env: set -a; . ./.env; set +a"
    )


def test_a_redis_that_is_not_there(tmp_path: Path):
    pytest.importorskip("celery")
    port = free_port()
    (finding,) = asked(engine(tmp_path, run_launcher=celery(f"redis://:{SECRET}@127.0.0.1:{port}/0")))
    assert (finding.subject, finding.ok) == ("queue", False)
    start = f"redis://127.0.0.1:{port} does not answer: start it, or correct"
    assert finding.sentence == f"{start} the address that dagster.yaml names."


def test_the_variable_of_a_redis_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("celery")
    port = free_port()
    monkeypatch.setenv("DAGSTER_CELERY_BROKER", f"redis://:{SECRET}@127.0.0.1:{port}/0")
    (finding,) = asked(engine(tmp_path, run_launcher=celery({"env": "DAGSTER_CELERY_BROKER"})))
    assert finding.sentence == (
        f"redis://127.0.0.1:{port} does not answer: start it, or correct DAGSTER_CELERY_BROKER."
    )


def test_a_redis_without_workers(tmp_path: Path):
    pytest.importorskip("celery")
    with redis_service() as address:
        queue, workers = asked(engine(tmp_path, run_launcher=celery(f"{address}/0")))
    assert queue.ok
    assert not workers.ok
    assert workers.sentence == "No worker answers: start one (README of the folder)."


def test_a_postgres_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("psycopg2")
    monkeypatch.setenv("ZS_TEST_PASSWORD", SECRET)
    port = free_port()
    (finding,) = asked(engine(tmp_path, storage=postgres(port=port)))
    assert (finding.subject, finding.ok) == ("database", False)
    assert (
        finding.sentence == f"PostgreSQL at 127.0.0.1:{port} does not answer: start it, or correct its host and port."
    )


def test_a_postgres_that_refuses_the_password_or_lacks_the_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("psycopg2")
    with postgres_service("the right one") as server:
        monkeypatch.setenv("ZS_TEST_PASSWORD", SECRET)
        (wrong,) = asked(engine(tmp_path, storage=postgres(port=server.port)))
        monkeypatch.setenv("ZS_TEST_PASSWORD", "the right one")
        (right,) = asked(engine(tmp_path, storage=postgres(port=server.port)))
        (absent,) = asked(engine(tmp_path, storage=postgres(port=server.port, db_name="nowhere")))
    assert not wrong.ok and "refuses user dagster: check ZS_TEST_PASSWORD." in wrong.sentence
    assert right.ok
    assert not absent.ok and "has no database nowhere" in absent.sentence


def test_a_lake_whose_bucket_is_missing_and_one_that_is_there(monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("s3fs")
    with s3_service("lake") as environment:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        there, missing = check_lake("s3://lake/zs"), check_lake("s3://nowhere/zs")
        from zs_assets.storage.object_store import object_names, store_path

        assert object_names(store_path("s3://lake/zs")) == []  # nothing is left behind
    assert there.ok
    assert not missing.ok
    assert missing.sentence == (
        "Cannot write s3://nowhere/zs: there is no such bucket or object. "
        "Create the bucket, or correct the lake (ZS_LAKE)."
    )


@contextmanager
def silent_service() -> Iterator[int]:
    """Takes connections and says nothing; yields its port."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]  # the kernel takes them: nobody has to accept


def test_services_that_say_nothing_are_given_up_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for package in ("celery", "psycopg2", "s3fs"):
        pytest.importorskip(package)
    with silent_service() as port:
        settings = {"ZS_TEST_PASSWORD": SECRET, "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": SECRET}
        for name, value in {**settings, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}"}.items():
            monkeypatch.setenv(name, value)
        broker = f"redis://:{SECRET}@127.0.0.1:{port}/0"
        folder = engine(tmp_path / "engine", storage=postgres(port=port), run_launcher=celery(broker))
        began = time.monotonic()
        problems = launch_problems(folder, "s3://lake/silent", "demo")
        assert time.monotonic() - began < 3 * ANSWER_WITHIN_S  # they are asked at once
    database, queue, lake = problems
    assert database.startswith(f"PostgreSQL at 127.0.0.1:{port} does not answer: start it")
    assert queue.startswith(f"redis://127.0.0.1:{port} does not answer: start it")
    assert lake.startswith("Cannot read s3://lake/silent: the store does not answer.")
    assert SECRET not in " ".join(problems)


def test_a_check_that_takes_too_long_is_a_finding_of_its_own():
    done = threading.Event()
    (finding,) = at_once({"ZS_LAKE": lambda: [Finding("ZS_LAKE", done.wait(20), "late")]}, within_s=0.1)
    done.set()
    assert not finding.ok
    assert finding.sentence == "ZS_LAKE does not answer within 0 s: check its address and the network."


def test_one_machine_has_no_problem_to_launch_on(tmp_path: Path):
    assert launch_problems(tmp_path / "nowhere", str(tmp_path / "lake"), "demo") == []
    assert list(tmp_path.iterdir()) == []


def test_a_launch_names_every_variable_that_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("ZS_TEST_PASSWORD", raising=False)
    monkeypatch.delenv("ZS_TEST_BROKER", raising=False)
    folder = engine(tmp_path, storage=postgres(port=1), run_launcher=celery({"env": "ZS_TEST_BROKER"}))
    (problem,) = launch_problems(folder, str(tmp_path / "lake"), "demo")
    assert "reads ZS_TEST_BROKER, ZS_TEST_PASSWORD from the environment" in problem


def test_the_command_ends_with_an_exit_code_and_does_not_wait_for_the_database(home: Path, tmp_path: Path):
    pytest.importorskip("dagster_postgres")
    folder = engine(tmp_path / "engine", storage=postgres(port=free_port()))
    environment = {**os.environ, "DAGSTER_HOME": str(folder), "ZS_TEST_PASSWORD": SECRET}
    command = [sys.executable, "-m", "zs_assets.cli", "doctor", "--json"]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert run.returncode == 1
    found = {finding["subject"]: finding for finding in json.loads(run.stdout)}
    assert not found["database"]["ok"]
    assert "Dagster instance" not in found
    assert SECRET not in run.stdout + run.stderr
