"""Which machine a run goes to, whoever launches it."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster import DagsterRun

from zs_assets.assets.graph import StudyGraph
from zs_assets.backends.systems import SystemSpec
from zs_assets.components.catalogue import load_study
from zs_assets.deployment.coordinator import study_name
from zs_assets.deployment.routing import BACKEND_TAG, QUEUE_TAG, missing_tags, queue_of, routing_tags
from zs_assets.protocol.names import AssetName
from zs_assets_tests.small_study import write_small_study

SYSTEMS = {
    "big": {
        "interface": "uniform",
        "title": "Big",
        "deployment": "local",
        "needs": "GPU, 24 GB",
    },
    "far": {"interface": "systemone", "title": "Far", "deployment": "hosted", "base_url": "http://127.0.0.1:9"},
}


def system(**changes: Any) -> SystemSpec:
    return SystemSpec(name="any", interface="uniform", title="Any", **changes)


@pytest.mark.parametrize(
    ("needs", "queue"),
    [
        ("gpu", "gpu"),
        ("GPU, 24 GB", "gpu"),
        ("gpus of any kind", "cpu"),
        ("its server and a GPU of about 18 GB", "cpu"),
        ("", "cpu"),
    ],
)
def test_a_local_system_needs_a_gpu_where_its_needs_begin_with_the_word(needs: str, queue: str):
    assert system(deployment="local", needs=needs).queue == queue


def test_a_hosted_system_is_waited_for_elsewhere():
    assert system(deployment="hosted").queue == "hosted"


def test_the_queue_is_no_part_of_the_data_version():
    assert system(deployment="local", needs="gpu").spec_hash() == system(deployment="local").spec_hash()


@pytest.fixture
def routed_study(tmp_path: Path) -> StudyGraph:
    path = write_small_study(
        tmp_path / "studies" / "small", backends=["uniform", "big", "far"], systems=SYSTEMS, analyses={}
    )
    return load_study(path)


@pytest.mark.parametrize(("backend", "queue"), [("uniform", "cpu"), ("big", "gpu"), ("far", "hosted"), (None, "cpu")])
def test_a_cell_goes_where_its_backend_belongs(routed_study: StudyGraph, backend: str | None, queue: str):
    assert queue_of(routed_study, backend) == queue


def test_each_launcher_is_told_in_its_own_words():
    assert routing_tags("hosted", ["DefaultRunLauncher", "RunLauncher"]) == {QUEUE_TAG: "hosted"}
    assert routing_tags("gpu", ["CeleryRunLauncher"]) == {QUEUE_TAG: "gpu", "dagster-celery/queue": "gpu"}
    assert routing_tags("cpu", ["K8sRunLauncher"]) == {QUEUE_TAG: "cpu"}
    tags = routing_tags("gpu", ["MyLauncher", "K8sRunLauncher"])
    assert json.loads(tags["dagster-k8s/config"])["container_config"]["resources"]["limits"] == {"nvidia.com/gpu": "1"}


def test_an_explicit_tag_wins():
    wanted = {QUEUE_TAG: "gpu", "dagster-celery/queue": "gpu"}
    assert missing_tags(wanted, {"dagster-celery/queue": "mine"}) == {QUEUE_TAG: "gpu"}


def test_the_study_is_known_from_assets_or_from_the_job():
    key = dg.AssetKey(["small", "predictions"])
    assert study_name(DagsterRun(job_name="__ASSET_JOB", asset_selection=frozenset([key]))) == "small"
    assert study_name(DagsterRun(job_name="my__study__measure")) == "my__study"
    assert study_name(DagsterRun(job_name="somebody_elses_job")) is None


# The coordinator in an instance of its own: no daemon, no launcher is ever asked.


@pytest.fixture
def celery_instance(
    home: Path, routed_study: StudyGraph, monkeypatch: pytest.MonkeyPatch
) -> Iterator[dg.DagsterInstance]:
    pytest.importorskip("dagster_celery", reason="needs the extra celery")
    from dagster._core.test_utils import instance_for_test

    monkeypatch.setenv("ZS_STUDIES", str(routed_study.folder.parent))
    overrides = {
        "run_launcher": {
            "module": "dagster_celery.launcher",
            "class": "CeleryRunLauncher",
            "config": {"broker": "memory://", "backend": "cache+memory://"},
        },
        "run_coordinator": {
            "module": "zs_assets.deployment.coordinator",
            "class": "RoutingRunCoordinator",
            "config": {"dequeue_interval_seconds": 1},
        },
    }
    with instance_for_test(overrides=overrides) as instance:
        yield instance


@pytest.fixture
def workspace(celery_instance: dg.DagsterInstance) -> Iterator[Any]:
    from dagster._core.test_utils import create_test_daemon_workspace_context
    from dagster._core.workspace.load_target import ModuleTarget

    target = ModuleTarget("zs_assets.definitions", None, None, "zs_assets.definitions")
    with create_test_daemon_workspace_context(target, celery_instance) as context:
        yield context


def submit(instance: dg.DagsterInstance, workspace: Any, tags: dict[str, str]) -> DagsterRun:
    """What `instance.submit_run` does for a run of the study's job, as schedules and the command line launch it."""
    from dagster._core.test_utils import create_run_for_test

    location = workspace.create_request_context().code_locations[0]
    job = next(iter(location.get_repositories().values())).get_full_job("small__measure")
    run = create_run_for_test(
        instance,
        job_name="small__measure",
        tags=tags,
        remote_job_origin=job.get_remote_origin(),
        job_code_origin=job.get_python_origin(),
    )
    return instance.submit_run(run.run_id, workspace.create_request_context())


def test_a_submitted_run_is_queued_and_knows_its_machine(celery_instance: dg.DagsterInstance, workspace: Any):
    run = submit(celery_instance, workspace, {BACKEND_TAG: "big", "dagster/partition": "big|first"})
    assert run.status is dg.DagsterRunStatus.QUEUED
    assert (run.tags["dagster-celery/queue"], run.tags[QUEUE_TAG]) == ("gpu", "gpu")
    for backend, queue in (("uniform", "cpu"), ("far", "hosted")):
        assert submit(celery_instance, workspace, {BACKEND_TAG: backend}).tags["dagster-celery/queue"] == queue


def test_a_run_without_backend_goes_to_the_processor(celery_instance: dg.DagsterInstance, workspace: Any):
    assert submit(celery_instance, workspace, {}).tags["dagster-celery/queue"] == "cpu"


def test_a_users_own_queue_stays(celery_instance: dg.DagsterInstance, workspace: Any):
    run = submit(celery_instance, workspace, {BACKEND_TAG: "big", "dagster-celery/queue": "my_host"})
    assert run.tags["dagster-celery/queue"] == "my_host"


def test_a_study_that_became_unreadable_is_still_queued(
    celery_instance: dg.DagsterInstance, workspace: Any, routed_study: StudyGraph, caplog: pytest.LogCaptureFixture
):
    (routed_study.folder / "defs.yaml").write_text("type: zs_assets.Study\nattributes: {name: small, nonsense: 1}\n")
    logging.getLogger("dagster").propagate = True
    run = submit(celery_instance, workspace, {BACKEND_TAG: "big"})
    assert run.status is dg.DagsterRunStatus.QUEUED
    assert run.tags["dagster-celery/queue"] == "cpu"
    assert "queue of runs without a backend" in caplog.text


def test_every_run_of_a_backfill_is_routed(
    celery_instance: dg.DagsterInstance, workspace: Any, routed_study: StudyGraph
):
    """As the UI launches it; the manifests are there, so nothing has to come before."""
    from dagster._core.execution.backfill import PartitionBackfill
    from dagster._daemon.backfill import execute_backfill_iteration
    from dagster._time import get_current_timestamp

    for name in (AssetName.EXAMPLES, AssetName.MANIFEST):
        for dataset in ("first", "second"):
            event = dg.AssetMaterialization(routed_study.key(name), partition=dataset)
            celery_instance.report_runless_asset_event(event)
    backfill = PartitionBackfill.from_asset_partitions(
        backfill_id="all_backends",
        asset_graph=workspace.create_request_context().asset_graph,
        partition_names=["uniform|first", "big|first", "big|second", "far|second"],
        asset_selection=[routed_study.key(name) for name in (AssetName.PREDICTIONS, AssetName.ATTEMPTS)],
        backfill_timestamp=get_current_timestamp(),
        tags={},
        dynamic_partitions_store=celery_instance,
        all_partitions=False,
        title=None,
        description=None,
        run_config=None,
    )
    celery_instance.add_backfill(backfill)
    list(execute_backfill_iteration(workspace, logging.getLogger("backfill")))
    routed = {run.tags["dagster/partition"]: run.tags["dagster-celery/queue"] for run in celery_instance.get_runs()}
    assert routed == {"uniform|first": "cpu", "big|first": "gpu", "big|second": "gpu", "far|second": "hosted"}
