"""What a deployment is: the engine that starts its runs, its lake's store, and names for its files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from zs_assets.protocol.errors import ZsAssetsError
from zs_assets.storage.object_store import is_remote
from zs_assets.storage.store_failures import shown

HOME = "/zs/home"
"""ZS_HOME in the image. On one machine all containers share it: a volume."""


class DeploymentError(ZsAssetsError):
    """A deployment was asked for that would not run, or would run something else than was meant."""


class Engine(str, Enum):
    """What starts the runs. Each is Dagster's own run launcher."""

    CELERY = "celery"  # a few fixed machines, warm workers, queues on Redis
    KUBERNETES = "kubernetes"  # one pod a run, by the official Helm chart
    DOCKER = "docker"  # one container a run, on one machine


@dataclass(frozen=True)
class Store:
    """What a lake's object store asks of the image: an extra of ours or a package of pip's, and its own variables.

    A variable has the value that says nothing: empty, or the store's default where empty would be taken for a value.
    """

    title: str
    extra: str | None = None
    package: str | None = None
    variables: tuple[tuple[str, str], ...] = ()
    hint: str = ""  # above the variables in .env.example


# AWS_DEFAULT_REGION: botocore makes an address out of an empty region. A bucket elsewhere is found from this one.
_S3 = Store(
    title="S3",
    extra="s3",
    variables=(
        ("AWS_ACCESS_KEY_ID", ""),
        ("AWS_SECRET_ACCESS_KEY", ""),
        ("AWS_DEFAULT_REGION", "us-east-1"),
        ("AWS_ENDPOINT_URL", ""),
    ),
    hint="Leave keys empty where the machines have a role of their own; an address where it is not Amazon's.",
)
_GOOGLE = Store(
    title="Google Cloud Storage",
    package="gcsfs",
    variables=(("GOOGLE_APPLICATION_CREDENTIALS", ""),),
    hint="Leave empty where the machines have a role of their own; else the path of a key file that you mount.",
)
# adlfs takes an empty secret for a secret: only the two that are always filled in.
_AZURE = Store(
    title="Azure",
    package="adlfs",
    variables=(("AZURE_STORAGE_ACCOUNT_NAME", ""), ("AZURE_STORAGE_ACCOUNT_KEY", "")),
    hint="Fill both in: an empty key is taken for a key.",
)
NO_STORE = Store(title="folder")
STORES = {
    **dict.fromkeys(("s3", "s3a"), _S3),
    **dict.fromkeys(("gs", "gcs"), _GOOGLE),
    **dict.fromkeys(("az", "abfs", "abfss"), _AZURE),
}
"""Scheme of a lake's URL -> its store."""


IMAGE = re.compile(r"[a-z0-9][a-z0-9._-]*(:[0-9]+)?(/[a-z0-9][a-z0-9._-]*)*(:[A-Za-z0-9_][A-Za-z0-9._-]{0,127})?")
"""Host with a port, path and tag, as Docker takes them; no digest, since the image is yet to be built."""
NAMESPACE = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
"""A DNS label (RFC 1123)."""
PASSWORD = re.compile(r"://[^/]*:.*@")
"""One of Amazon's may hold a slash. A user alone is none: abfs:// writes the container before an @."""
LAKE = re.compile(r"([a-z0-9]+://)?[^\s\x00-\x1f'\"`$\\]+")


@dataclass(frozen=True)
class Deployment:
    """What the texts are filled in with.

    `image` is name and tag of the image that every service and run uses; `namespace` concerns Kubernetes only. Raises
    DeploymentError for words that would break the files, for a lake that the engine's runs do not share, and for an
    image that Kubernetes' nodes would not pull anew.
    """

    engine: Engine
    image: str = "zs-assets:latest"
    namespace: str = "zs-assets"
    lake: str = "s3://BUCKET/PREFIX"

    def __post_init__(self) -> None:
        self._check_words()
        if not is_remote(self.lake):
            self._check_folder()
        elif self._scheme not in STORES:
            raise DeploymentError(
                f"The image would lack what {self.lake} needs: name a lake by one of {', '.join(STORES)}, such as "
                "s3://BUCKET/PREFIX."
            )
        # Always pulling would mend it too, but a run could then be newer than what submitted it: its gate refuses that.
        if self.engine is Engine.KUBERNETES and self.tag == "latest":
            raise DeploymentError(
                "Give --image with a tag of its own, such as registry.example/zs-assets:2026-11-30, and a new one with "
                "each build: a node keeps the image it has, so under latest it would run old code."
            )

    def _check_words(self) -> None:
        """They are written into YAML, shell lines and addresses."""
        if not IMAGE.fullmatch(self.image):
            raise DeploymentError(
                f"{self.image!r} names no image that can be built: give --image as registry/name:tag, such as "
                "registry.example/zs-assets:2026-11-30."
            )
        if not NAMESPACE.fullmatch(self.namespace):
            raise DeploymentError(
                f"Kubernetes takes no namespace {self.namespace!r}: give --namespace up to 63 lower-case letters, "
                "digits and hyphens, with a letter or digit at both ends."
            )
        if not LAKE.fullmatch(self.lake) or PASSWORD.search(self.lake):
            raise DeploymentError(
                f"{shown(self.lake)!r} is no address that can be written down: give --lake without blanks, quotes, "
                "user and password, such as s3://BUCKET/PREFIX; keys belong in .env."
            )

    def _check_folder(self) -> None:
        folder = self.lake.removeprefix("file://")
        if self.engine is not Engine.DOCKER:
            raise DeploymentError(
                f"The machines of {self.engine.value} do not share {self.lake}: give --lake an object store, such as "
                "s3://BUCKET/PREFIX."
            )
        if not folder.startswith(f"{HOME}/"):
            raise DeploymentError(
                f"The containers do not share {self.lake}: give --lake an object store, or a folder of the volume they "
                f"share, such as {HOME}/lake."
            )

    @property
    def _scheme(self) -> str:
        return self.lake.split("://")[0]

    @property
    def store(self) -> Store:
        """Of the lake; a folder needs none."""
        return STORES[self._scheme] if is_remote(self.lake) else NO_STORE

    @property
    def extras(self) -> str:
        """Of zs-assets, for the image."""
        return ",".join(filter(None, ["demo", self.store.extra, self.engine.value]))

    @property
    def repository(self) -> str:
        return self.image.removesuffix(f":{self.tag}")

    @property
    def tag(self) -> str:
        """What follows the last colon, unless that colon is the port of a registry."""
        name, colon, tag = self.image.rpartition(":")
        return tag if colon and name and "/" not in tag else "latest"
