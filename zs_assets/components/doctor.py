"""Whether this installation can work, and whether a system answers."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from zs_assets.assets.resources import Workspace
from zs_assets.backends.probe import probe
from zs_assets.backends.registry import check_ready
from zs_assets.backends.systems import known_systems
from zs_assets.components.catalogue import all_studies
from zs_assets.components.dagster_runs import queue_is_served
from zs_assets.components.engine_check import Finding, check_engine, check_lake
from zs_assets.components.instance import dagster_instance
from zs_assets.protocol.errors import StudyError, ZsAssetsError
from zs_assets.storage.object_store import is_remote


def check_installation() -> list[Finding]:
    """Folders, lake, engine, instance, studies and what each backend needs; no system is asked."""
    engine = list(check_engine(dagster_home(), _queues()))
    # A database that does not answer keeps Dagster trying for a minute, and says no more.
    instance = [_instance()] if all(finding.ok for finding in engine if finding.subject == "database") else []
    return [*_folders(), *engine, *instance, _studies(), *_backends()]


def dagster_home() -> Path:
    """The user's DAGSTER_HOME, or that of this installation."""
    return Path(os.environ.get("DAGSTER_HOME") or Workspace.from_environment().places.dagster_home)


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
    if is_remote(workspace.lake_root):
        yield check_lake(workspace.lake_root)
    else:
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
            served = queue_is_served(instance)
    except Exception as error:  # whatever Dagster or its storage raises is the finding
        return Finding("Dagster instance", False, f"cannot be opened: {error}")
    sentence = f"{os.environ['DAGSTER_HOME']} opens."
    if not served:
        sentence += " No daemon reports to it: launched runs and backfills wait until `dagster-daemon run` runs."
    return Finding("Dagster instance", True, sentence)


def _queues() -> frozenset[str]:
    """Kinds of machine that the systems of the studies need, and that of runs without a system."""
    try:
        found = {system.queue for study in all_studies().values() for system in study.systems.values()}
    except ZsAssetsError:
        return frozenset({"cpu"})  # what is wrong is a finding of its own
    return frozenset(found | {"cpu"})


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
