"""`zs-assets doctor` on an engine that is not there, or says no: one clear sentence each, soon, and no secret in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from zs_assets.components.engine_check import check_engine
from zs_assets.components.finding import ANSWER_WITHIN_S, Finding
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


def celery(broker: str) -> dict[str, object]:
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
    findings = check_engine(home, cpu_expected())
    assert time.monotonic() - began < SOON_S
    assert all(SECRET not in finding.sentence and finding.sentence.count("\n") == 0 for finding in findings)
    return findings


def test_one_machine_has_no_engine_to_ask(tmp_path: Path):
    assert check_engine(tmp_path, cpu_expected()) == []
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
    assert finding.sentence.startswith(f"redis://127.0.0.1:{port} does not answer: start it")


def test_a_redis_without_workers(tmp_path: Path):
    pytest.importorskip("celery")
    with redis_service() as address:
        queue, workers = asked(engine(tmp_path, run_launcher=celery(f"{address}/0")))
    assert queue.ok
    assert not workers.ok
    assert workers.sentence.startswith("No worker answers: start one")


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
    assert not wrong.ok and "refuses user dagster: check the user and password" in wrong.sentence
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
    assert "no such bucket" in missing.sentence and "testing" not in missing.sentence


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
