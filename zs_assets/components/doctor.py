"""Whether this installation can work, and whether a system answers."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from zs_assets.assets.resources import Workspace
from zs_assets.backends.probe import probe
from zs_assets.backends.registry import check_ready
from zs_assets.backends.systems import known_systems
from zs_assets.components.catalogue import all_studies
from zs_assets.components.instance import dagster_instance
from zs_assets.protocol.errors import StudyError, ZsAssetsError


@dataclass(frozen=True)
class Finding:
    """One thing checked. A finding that is not required may be absent without harm."""

    subject: str
    ok: bool
    sentence: str
    required: bool = True


def check_installation() -> list[Finding]:
    """Folders, instance, studies and what each backend needs; nothing is sent anywhere."""
    return [*_folders(), _instance(), _studies(), *_backends()]


def check_system(name: str) -> list[Finding]:
    """Key, reachability, model id and one tiny decision of one system."""
    systems = known_systems()
    if name not in systems:
        raise StudyError(f"There is no system '{name}': use one of {', '.join(sorted(systems))}.")
    problem = check_ready(systems[name])
    if problem:
        return [Finding(name, False, problem)]
    try:
        return [Finding(name, True, asyncio.run(probe(systems[name])))]
    except ZsAssetsError as error:
        return [Finding(name, False, str(error))]


def _folders() -> Iterator[Finding]:
    workspace = Workspace.from_environment()
    yield _writable("ZS_HOME", workspace.places.home)
    if "://" not in workspace.lake_root:
        yield _writable("ZS_LAKE", Path(workspace.lake_root))


def _writable(name: str, folder: Path) -> Finding:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return Finding(name, True, f"{folder} is writable.")
    except OSError as error:
        return Finding(
            name, False, f"{folder} is not writable ({error.strerror}): set {name} to a folder you may write."
        )


def _instance() -> Finding:
    try:
        with dagster_instance() as instance:
            instance.get_runs(limit=1)
    except Exception as error:  # whatever Dagster or its storage raises is the finding
        return Finding("Dagster instance", False, f"cannot be opened: {error}")
    return Finding("Dagster instance", True, f"{os.environ['DAGSTER_HOME']} opens.")


def _studies() -> Finding:
    try:
        studies = all_studies()
    except ZsAssetsError as error:
        return Finding("studies", False, str(error))
    return Finding("studies", True, ", ".join(sorted(studies)))


def _backends() -> Iterator[Finding]:
    for name, system in sorted(known_systems().items()):
        problem = check_ready(system)
        yield Finding(f"backend {name}", problem is None, problem or system.title, required=False)
