"""What a deployment is: the engine that starts its runs, and the names its files are filled in with."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Engine(str, Enum):
    """What starts the runs. Each is Dagster's own run launcher."""

    CELERY = "celery"  # a few fixed machines, warm workers, queues on Redis
    KUBERNETES = "kubernetes"  # one pod a run, by the official Helm chart
    DOCKER = "docker"  # one container a run, on one machine


@dataclass(frozen=True)
class Deployment:
    """What the texts are filled in with.

    `image` is name and tag of the image that every service and run uses; `namespace` concerns Kubernetes only.
    """

    engine: Engine
    image: str = "zs-assets:latest"
    namespace: str = "zs-assets"
    lake: str = "s3://BUCKET/PREFIX"

    @property
    def repository(self) -> str:
        return self.image.removesuffix(f":{self.tag}")

    @property
    def tag(self) -> str:
        """What follows the last colon, unless that colon is the port of a registry."""
        name, colon, tag = self.image.rpartition(":")
        return tag if colon and name and "/" not in tag else "latest"
