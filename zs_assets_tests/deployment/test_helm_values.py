"""The Helm values: what the chart passes to Dagster and Kubernetes is accepted by both.

The chart's own values.schema.json is in no Python package. Its closed objects refuse a key they do not know, so their
keys are held against it here; the values are checked where they end up: in dagster.yaml (by Dagster), and in the pod of
a run (by the Kubernetes client's models, through dagster-k8s).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from zs_assets.deployment.engine import Engine
from zs_assets.deployment.routing import KUBERNETES_TAG, routing_tags
from zs_assets_tests.deployment.folders import loaded, texts
from zs_assets_tests.deployment.test_instance_config import checked_instance, checked_settings

pytest.importorskip("dagster_k8s", reason="needs the extra kubernetes")


@pytest.fixture
def values() -> dict[str, Any]:
    return loaded(Engine.KUBERNETES, "values.yaml")


def instance_config(values: dict[str, Any]) -> dict[str, Any]:
    """dagster.yaml as templates/configmap-instance.yaml of the chart 1.13 makes it of these values."""
    launcher = values["runLauncher"]["config"]["k8sRunLauncher"]
    coordinator = values["dagsterDaemon"]["runCoordinator"]["config"]["customRunCoordinator"]
    raw = launcher["runK8sConfig"]
    return {
        "run_coordinator": coordinator,
        "run_launcher": {
            "module": "dagster_k8s",
            "class": values["runLauncher"]["type"],
            "config": {
                "load_incluster_config": launcher["loadInclusterConfig"],
                "job_namespace": launcher["jobNamespace"],
                "image_pull_policy": launcher["imagePullPolicy"],
                "fail_pod_on_run_failure": launcher["failPodOnRunFailure"],
                "service_account_name": "dagster",
                "dagster_home": values["global"]["dagsterHome"],
                "instance_config_map": "dagster-instance",
                "postgres_password_secret": values["global"]["postgresqlSecretName"],
                "run_k8s_config": {
                    "container_config": raw["containerConfig"],
                    "pod_spec_config": raw["podSpecConfig"],
                    "job_spec_config": raw["jobSpecConfig"],
                },
            },
        },
        **values["additionalInstanceConfig"],
    }


def test_dagster_accepts_the_instance_of_the_values(values: dict[str, Any], tmp_path: Path):
    reference = checked_instance(instance_config(values), tmp_path)
    assert checked_settings(reference.run_coordinator_data)["dequeue_interval_seconds"] == 1
    assert checked_settings(reference.run_launcher_data)["job_namespace"] == "zs-assets"
    assert reference.settings["run_retries"]["retry_on_asset_or_op_failure"] is False


def test_both_ways_of_monitoring_are_not_given_at_once(values: dict[str, Any]):
    """The chart writes its own run_monitoring and run_retries where they are enabled: a key twice in one YAML."""
    assert values["dagsterDaemon"]["runMonitoring"] == {"enabled": False}
    assert values["dagsterDaemon"]["runRetries"] == {"enabled": False}
    assert values["additionalInstanceConfig"]["run_monitoring"]["enabled"]


def test_all_parts_run_the_image_with_the_same_environment(values: dict[str, Any]):
    parts = parts_of(values)
    assert [part["image"] for part in parts] == 3 * [
        {"repository": "registry.example:5000/team/zs-assets", "tag": "1.2", "pullPolicy": "IfNotPresent"}
    ]
    assert [part["envSecrets"] for part in parts] == 3 * [[{"name": "zs-assets-env"}]]


def parts_of(values: dict[str, Any]) -> list[dict[str, Any]]:
    """Webserver, daemon and the code location."""
    return [values["dagsterWebserver"], values["dagsterDaemon"], *values["dagster-user-deployments"]["deployments"]]


def test_no_container_runs_as_root_or_can_become_it(values: dict[str, Any]):
    """By number: the chart's init containers take the same settings, and their images name no user but root."""
    for part in parts_of(values):
        assert part["podSecurityContext"]["runAsNonRoot"] is True
        assert part["podSecurityContext"]["runAsUser"] == 1000
        assert part["securityContext"]["allowPrivilegeEscalation"] is False
    for queue in ("gpu", "cpu"):
        pod = job_of_run(values, routing_tags(queue, ["K8sRunLauncher"])).spec.template.spec
        assert (pod.security_context.run_as_non_root, pod.security_context.run_as_user) == (True, 1000)
        assert pod.security_context.fs_group == 1000  # a claim belongs to root otherwise
        assert pod.containers[0].security_context.allow_privilege_escalation is False
        assert pod.containers[0].security_context.capabilities.drop == ["ALL"]


def test_a_command_in_the_webservers_pod_finds_the_workspace_and_the_readme_the_pod(values: dict[str, Any]):
    """The chart mounts its workspace elsewhere; the volume's name and the names' form are those of the chart 1.13."""
    (mount,) = values["dagsterWebserver"]["volumeMounts"]
    assert mount == {
        "name": "dagster-workspace-yaml",
        "mountPath": f"{values['global']['dagsterHome']}/workspace.yaml",
        "subPath": "workspace.yaml",
    }
    readme = texts(Engine.KUBERNETES)["README.md"]
    name = f"dagster-{values['dagsterWebserver']['nameOverride']}"  # release, then name
    assert "--install dagster dagster/dagster" in readme
    assert f"exec deploy/{name} --" in readme and f"port-forward svc/{name} 3000:80" in readme


# Objects of the chart's values.schema.json with "additionalProperties": false, as far as the values give them.
CLOSED_OBJECTS = {
    "telemetry": "enabled",
    "runLauncher": "type config",
    "runLauncher.config.k8sRunLauncher": (
        "image imagePullPolicy jobNamespace loadInclusterConfig kubeconfigFile envConfigMaps envSecrets envVars "
        "volumeMounts volumes labels failPodOnRunFailure resources schedulerName securityContext runK8sConfig"
    ),
    "runLauncher.config.k8sRunLauncher.runK8sConfig": (
        "containerConfig podSpecConfig podTemplateSpecMetadata jobSpecConfig jobMetadata"
    ),
    "dagsterDaemon": (
        "enabled image runCoordinator heartbeatTolerance env envConfigMaps envSecrets deploymentLabels labels "
        "nodeSelector affinity tolerations podSecurityContext securityContext resources livenessProbe readinessProbe "
        "startupProbe annotations runMonitoring runRetries sensors schedules schedulerName volumeMounts volumes"
    ),
    "dagsterDaemon.runCoordinator": "enabled type config",
    "dagsterWebserver": (
        "dbStatementTimeout dbPoolRecycle logLevel schedulerName volumeMounts volumes pathPrefix replicaCount image "
        "nameOverride service workspace env envConfigMaps envSecrets deploymentLabels labels nodeSelector affinity "
        "tolerations podSecurityContext securityContext resources readinessProbe livenessProbe startupProbe "
        "annotations enableReadOnly"
    ),
}
# Objects without a default in the chart, whose required keys the values must bring.
REQUIRED_KEYS = {"image": {"repository", "pullPolicy"}, "deployment": {"name", "image", "port"}}


@pytest.mark.parametrize("path", CLOSED_OBJECTS)
def test_the_charts_closed_objects_know_every_key(values: dict[str, Any], path: str):
    found: Any = values
    for part in path.split("."):
        found = found[part]
    assert set(found) <= set(CLOSED_OBJECTS[path].split())


def test_the_charts_required_keys_are_there(values: dict[str, Any]):
    (deployment,) = values["dagster-user-deployments"]["deployments"]
    assert set(deployment) >= REQUIRED_KEYS["deployment"]
    assert set(deployment["image"]) >= REQUIRED_KEYS["image"]
    assert values["runLauncher"]["type"] in ("CeleryK8sRunLauncher", "K8sRunLauncher", "CustomRunLauncher")
    assert values["dagsterDaemon"]["runCoordinator"]["type"] in ("QueuedRunCoordinator", "CustomRunCoordinator")


def test_the_code_location_starts_with_options_that_dagster_has(values: dict[str, Any]):
    """As templates/deployment-user.yaml of the chart calls it; click raises for an option it does not know."""
    from dagster._cli.api import grpc_command

    (deployment,) = values["dagster-user-deployments"]["deployments"]
    arguments = ["-h", "0.0.0.0", "-p", str(deployment["port"]), *deployment["dagsterApiGrpcArgs"]]
    context = grpc_command.make_context("grpc", arguments)
    assert context.params["module_name"] == "zs_assets.definitions"


def test_no_password_is_in_the_values(values: dict[str, Any]):
    assert "postgresqlPassword" not in values["postgresql"]
    assert values["generatePostgresqlPasswordSecret"] is False


def job_of_run(values: dict[str, Any], tags: dict[str, str]) -> Any:
    """The Kubernetes job that K8sRunLauncher makes of a run with these tags; the launcher needs a cluster to exist."""
    from dagster_k8s.container_context import K8sContainerContext
    from dagster_k8s.job import (
        DagsterK8sJobConfig,
        UserDefinedDagsterK8sConfig,
        construct_dagster_k8s_job,
        get_user_defined_k8s_config,
    )

    config = instance_config(values)["run_launcher"]["config"]
    of_all = K8sContainerContext(run_k8s_config=UserDefinedDagsterK8sConfig.from_dict(config["run_k8s_config"]))
    of_run = K8sContainerContext(run_k8s_config=get_user_defined_k8s_config(tags))
    job_config = DagsterK8sJobConfig(
        job_image="zs-assets:1.2",
        dagster_home=config["dagster_home"],
        instance_config_map=config["instance_config_map"],
    )
    return construct_dagster_k8s_job(
        job_config,
        ["dagster", "api", "execute_run"],
        "run",
        user_defined_k8s_config=of_all.merge(of_run).run_k8s_config,
    )


def test_a_run_of_a_gpu_backend_gets_one_gpu_beside_its_memory(values: dict[str, Any]):
    job = job_of_run(values, routing_tags("gpu", ["K8sRunLauncher"]))
    pod = job.spec.template.spec
    assert pod.containers[0].resources.limits == {"memory": "4Gi", "nvidia.com/gpu": "1"}
    assert pod.containers[0].resources.requests == {"cpu": "1", "memory": "2Gi"}
    assert [toleration.key for toleration in pod.tolerations] == ["nvidia.com/gpu"]
    assert job.spec.ttl_seconds_after_finished == 86400


def test_other_runs_get_no_gpu(values: dict[str, Any]):
    job = job_of_run(values, routing_tags("hosted", ["K8sRunLauncher"]))
    assert job.spec.template.spec.containers[0].resources.limits == {"memory": "4Gi"}


def test_the_gpu_tag_is_one_that_dagster_knows():
    from dagster_k8s.job import USER_DEFINED_K8S_CONFIG_KEY, UserDefinedDagsterK8sConfig

    assert KUBERNETES_TAG == USER_DEFINED_K8S_CONFIG_KEY
    tag = routing_tags("gpu", ["K8sRunLauncher"])[KUBERNETES_TAG]
    config = UserDefinedDagsterK8sConfig.from_dict(json.loads(tag))
    assert config.container_config == {"resources": {"limits": {"nvidia.com/gpu": "1"}}}
