"""The Compose files: nothing open that was not asked for, and containers that can write what others made."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from zs_assets.deployment.engine import Engine
from zs_assets_tests.deployment.folders import assignments, filled_environment, loaded, texts

COMPOSED = [Engine.CELERY, Engine.DOCKER]
COMPOSE_FILES = [
    (Engine.CELERY, "compose.yaml"),
    (Engine.CELERY, "compose.worker.yaml"),
    (Engine.DOCKER, "compose.yaml"),
]
SERVICE_PORTS = {"postgres": 5432, "redis": 6379}


@pytest.mark.parametrize(("engine", "name"), COMPOSE_FILES)
def test_the_compose_file_follows_the_compose_specification(engine: Engine, name: str):
    """Against the schema of the specification itself, as check-jsonschema ships it."""
    package = pytest.importorskip("check_jsonschema")
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((files(package) / "builtin_schemas/vendor/compose-spec.json").read_text(encoding="utf-8"))
    assert "services" in schema["properties"]
    jsonschema.validate(loaded(engine, name), schema)


@pytest.mark.parametrize("engine", COMPOSED)
def test_services_wait_for_tables_that_are_made_once(engine: Engine):
    services = loaded(engine, "compose.yaml")["services"]
    assert services["migrate"]["command"] == ["dagster", "instance", "migrate"]
    ours = set(services) - {"migrate", "postgres", "redis"}
    assert {"webserver", "daemon"} <= ours
    for name in ours:
        assert services[name]["depends_on"]["migrate"] == {"condition": "service_completed_successfully"}


@pytest.mark.parametrize("engine", COMPOSED)
def test_nothing_is_open_beyond_this_machine_unless_the_reader_says_so(engine: Engine):
    services = loaded(engine, "compose.yaml")["services"]
    published = {name: service["ports"] for name, service in services.items() if "ports" in service}
    assert published.pop("webserver") == ["127.0.0.1:3000:3000"]
    others = {name: [f"${{PUBLISH_ADDRESS:-127.0.0.1}}:{port}:{port}"] for name, port in SERVICE_PORTS.items()}
    assert published == (others if engine is Engine.CELERY else {})
    assert assignments(texts(engine)[".env.example"]).get("PUBLISH_ADDRESS", "127.0.0.1") == "127.0.0.1"


def test_redis_asks_for_the_password_that_its_clients_bring(tmp_path: Path):
    redis = loaded(Engine.CELERY, "compose.yaml")["services"]["redis"]
    needed = "${REDIS_PASSWORD:?see .env.example}"
    assert redis["command"][-2:] == ["--requirepass", needed]
    assert redis["environment"] == {"REDISCLI_AUTH": needed}
    environment = filled_environment(Engine.CELERY, tmp_path)
    assert environment["DAGSTER_CELERY_BROKER"] == f"redis://:{environment['REDIS_PASSWORD']}@redis:6379/0"
    assert environment["DAGSTER_CELERY_BACKEND"] == f"redis://:{environment['REDIS_PASSWORD']}@redis:6379/1"


def test_each_queue_has_a_worker_that_gets_its_signals_and_time_to_end():
    workers = loaded(Engine.CELERY, "compose.worker.yaml")["services"]
    listened = {}
    for name, service in workers.items():
        command = service["command"]
        assert command[:3] == ["python", "-m", "zs_assets.deployment.worker"]
        listened[name] = (command[command.index("-q") + 1], command[command.index("-c") + 1])
        assert service["init"] is True and service["stop_grace_period"] == "1h"
    assert listened == {"worker_hosted": ("hosted", "8"), "worker_cpu": ("cpu", "1"), "worker_gpu": ("gpu", "1")}
    assert workers["worker_gpu"]["profiles"] == ["gpu"]


def test_a_further_machine_starts_workers_only_and_they_are_the_first_ones():
    """One text for both: compose.yaml takes each worker from compose.worker.yaml and adds what it waits for."""
    further = loaded(Engine.CELERY, "compose.worker.yaml")
    services = loaded(Engine.CELERY, "compose.yaml")["services"]
    assert {name for name in services if name.startswith("worker_")} == set(further["services"])
    for name, service in further["services"].items():
        assert "depends_on" not in service and "ports" not in service
        assert service["env_file"] == ".env"
        assert services[name]["extends"] == {"file": "compose.worker.yaml", "service": name}
        assert set(services[name]) == {"extends", "depends_on"}


@pytest.mark.parametrize(("engine", "name"), COMPOSE_FILES)
def test_the_image_that_all_services_share_is_built_once(engine: Engine, name: str):
    services = loaded(engine, name)["services"]
    builders = [each for each, service in services.items() if "build" in service]
    extended = [each for each, service in services.items() if service.get("extends", {}).get("service") == "worker_cpu"]
    assert len(builders + extended) == 1


def test_runs_and_services_in_containers_share_user_volume_and_network():
    """Files that root makes in the volume could not be written by the runs, which are not root."""
    compose = loaded(Engine.DOCKER, "compose.yaml")
    launcher = loaded(Engine.DOCKER, "dagster.yaml")["run_launcher"]["config"]
    assert not any("user" in compose["services"][name] for name in ("webserver", "daemon", "migrate"))
    assert "user" not in launcher["container_kwargs"]
    assert re.findall(r"^USER (.*)$", texts(Engine.DOCKER)["Dockerfile"], re.MULTILINE) == ["1000"]
    for name in ("webserver", "daemon"):
        assert compose["services"][name]["group_add"] == ["${DOCKER_GID:?see .env.example}"]
    assert launcher["container_kwargs"]["volumes"] == [f"{compose['volumes']['zs_home']['name']}:/zs/home"]
    assert launcher["network"] == compose["networks"]["default"]["name"]


def test_two_engines_on_one_machine_share_neither_project_nor_volume():
    first, second = (loaded(engine, "compose.yaml") for engine in COMPOSED)
    assert first["name"] != second["name"]
    assert first["name"] == loaded(Engine.CELERY, "compose.worker.yaml")["name"]

    def volumes(compose: dict[str, Any]) -> set[str]:
        """Compose puts the project's name before a volume that has none of its own."""
        return {(each or {}).get("name", f"{compose['name']}_{name}") for name, each in compose["volumes"].items()}

    assert volumes(first).isdisjoint(volumes(second))
