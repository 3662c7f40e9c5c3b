"""Which kind of machine a run needs, and the tags by which each run launcher is told. Nothing here talks to Dagster.

A run of one dataset x backend goes where its backend's `SystemSpec.queue` says; every other run (manifests, tables,
report, publication) asks no system and goes to `cpu`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from zs_assets.assets.graph import StudyGraph
from zs_assets.backends.systems import Queue

BACKEND_TAG = "dagster/partition/backend"
"""Set by Dagster on every run of a partition with a dimension `backend`, whoever launches it."""

QUEUE_TAG = "zs_assets/queue"
"""The queue under any launcher: to filter runs by in the UI, and for `tag_concurrency_limits`."""

CELERY_QUEUE_TAG = "dagster-celery/queue"
KUBERNETES_TAG = "dagster-k8s/config"

WITHOUT_BACKEND: Queue = "cpu"

# Nodes with a GPU usually carry this taint; where they do not, the toleration does nothing.
_ONE_GPU = {
    "container_config": {"resources": {"limits": {"nvidia.com/gpu": "1"}}},
    "pod_spec_config": {"tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]},
}


def queue_of(study: StudyGraph | None, backend: str | None) -> Queue:
    """The queue of a run by its study and its partition's backend; `cpu` where it has neither."""
    system = study.systems.get(backend) if study is not None and backend is not None else None
    return WITHOUT_BACKEND if system is None else system.queue


def routing_tags(queue: Queue, launchers: Iterable[str]) -> dict[str, str]:
    """Tags that send a run to its queue.

    Parameters
    ----------
    queue
        Where the run belongs.
    launchers
        Class names of the instance's run launcher and of its bases, so that a user's subclass is routed alike.

    Returns
    -------
    dict
        Our own tag always. For Celery the queue; for Kubernetes one GPU where the queue is `gpu`. Docker has nothing to
        set per run: dagster-docker reads containers' settings from the instance and the code location only.
    """
    tags: dict[str, str] = {QUEUE_TAG: queue}
    names = set(launchers)
    if "CeleryRunLauncher" in names:
        tags[CELERY_QUEUE_TAG] = queue
    if "K8sRunLauncher" in names and queue == "gpu":
        tags[KUBERNETES_TAG] = json.dumps(_ONE_GPU)
    return tags


def missing_tags(wanted: Mapping[str, str], present: Mapping[str, str]) -> dict[str, str]:
    """Those of the wanted tags that a run does not carry yet: what its launcher's user said explicitly stays."""
    return {name: value for name, value in wanted.items() if name not in present}
