"""Dagster accepts the instance each deployment describes: every class is found, and every setting is one of its own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from zs_assets.deployment.engine import Engine
from zs_assets_tests.deployment.folders import filled_environment, loaded, texts

pytest.importorskip("dagster_postgres", reason="needs the extra celery, docker or kubernetes")


def checked_instance(config: Mapping[str, Any], folder: Path) -> Any:
    """Dagster's own reading of a dagster.yaml: an InstanceRef; raises DagsterInvalidConfigError for a wrong setting."""
    from dagster._core.instance.ref import InstanceRef

    (folder / "dagster.yaml").write_text(yaml.safe_dump(dict(config)))
    return InstanceRef.from_dir(str(folder))


def checked_settings(data: Any) -> Mapping[str, Any]:
    """The settings of one configurable class after its schema and the environment; the class is not started."""
    import importlib

    from dagster._config import process_config, resolve_to_config_type

    kind = getattr(importlib.import_module(data.module_name), data.class_name)
    processed = process_config(resolve_to_config_type(kind.config_type()), data.config_dict)
    assert processed.success, processed.errors
    return processed.value


@pytest.fixture(params=[Engine.CELERY, Engine.DOCKER])
def composed(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    for name, value in filled_environment(request.param, tmp_path).items():
        monkeypatch.setenv(name, value)
    return checked_instance(loaded(request.param, "dagster.yaml"), tmp_path)


def test_postgres_is_reached_through_the_driver_that_is_installed(composed: Any):
    for data in (composed.run_storage_data, composed.event_storage_data, composed.schedule_storage_data):
        database = checked_settings(data)["postgres_db"]
        assert database["scheme"] == "postgresql+psycopg2"
        assert (database["username"], database["password"], database["port"]) == ("dagster", "filled-in", 5432)


def test_runs_are_queued_by_the_routing_coordinator(composed: Any):
    from zs_assets.deployment.coordinator import RoutingRunCoordinator

    assert checked_settings(composed.run_coordinator_data)["dequeue_interval_seconds"] == 1
    coordinator = composed.run_coordinator_data.rehydrate(as_type=RoutingRunCoordinator)
    assert coordinator.dequeue_interval_seconds == 1


def test_the_launcher_starts_with_its_settings_and_can_say_whether_a_run_is_alive(composed: Any):
    launcher = composed.run_launcher
    assert launcher.supports_check_run_worker_health


def test_a_lost_run_is_started_once_more_and_a_failed_gate_is_not(composed: Any):
    settings = composed.settings
    assert settings["run_retries"] == {"enabled": True, "max_retries": 1, "retry_on_asset_or_op_failure": False}
    monitoring = settings["run_monitoring"]
    assert monitoring["enabled"] and 0 < monitoring["start_timeout_seconds"] < monitoring["max_runtime_seconds"]
    assert settings["concurrency"]["pools"] == {"default_limit": 1, "granularity": "op"}
    assert settings["telemetry"] == {"enabled": False} and settings["nux"] == {"enabled": False}


def test_one_gpu_run_at_a_time_is_a_limit_on_the_coordinators_own_tag(composed: Any):
    from zs_assets.deployment.routing import QUEUE_TAG

    limits = composed.settings["concurrency"]["runs"]["tag_concurrency_limits"]
    assert limits == [{"key": QUEUE_TAG, "value": "gpu", "limit": 1}]


def test_celery_workers_and_launcher_agree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The worker reads worker.yaml by itself: what it uses must be what the launcher uses."""
    pytest.importorskip("dagster_celery")
    from zs_assets.deployment.worker import worker_settings

    for name, value in filled_environment(Engine.CELERY, tmp_path).items():
        monkeypatch.setenv(name, value)
    path = tmp_path / "worker.yaml"
    path.write_text(texts(Engine.CELERY)["worker.yaml"])
    worker = worker_settings(path)
    launcher = checked_settings(checked_instance(loaded(Engine.CELERY, "dagster.yaml"), tmp_path).run_launcher_data)
    assert (launcher["broker"], launcher["backend"]) == (worker["broker_url"], worker["result_backend"])
    shared = launcher["config_source"]
    assert {name: worker[name] for name in shared} == shared
    assert shared["broker_transport_options"]["visibility_timeout"] >= 86400
