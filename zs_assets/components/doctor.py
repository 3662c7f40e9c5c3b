"""Whether this installation can work, and whether a system answers."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from zs_assets.assets.resources import Workspace
from zs_assets.backends.probe import probe
from zs_assets.backends.registry import check_ready
from zs_assets.backends.systems import known_systems
from zs_assets.components.catalogue import all_studies, loadable_studies
from zs_assets.components.dagster_runs import queue_is_served
from zs_assets.components.engine_check import LAKE, VARIABLES, engine_checks
from zs_assets.components.finding import Finding, at_once
from zs_assets.components.instance import dagster_instance
from zs_assets.components.place_check import check_folder, check_lake
from zs_assets.components.service_check import DATABASE
from zs_assets.components.worker_check import Expected, QueueNeed, own_surroundings, queue_needs
from zs_assets.protocol.errors import StorageError, StudyError, ZsAssetsError

BACKEND = "backend "
INSTANCE = "Dagster instance"
NO_CONFIG = "correct it to the folder that `zs-assets deploy` wrote, or unset it for the instance in ZS_HOME."


def check_installation() -> list[Finding]:
    """Folders, lake, engine, instance, studies and what each backend needs; no system is asked."""
    try:
        workspace = Workspace.from_environment()
    except StorageError as error:  # of ZS_LAKE, which nothing works without
        return [Finding(LAKE, False, str(error)), _studies(), *_backends()]
    home, expected = dagster_home(), Expected(_needs(), own_surroundings())
    checked = at_once(
        {
            "ZS_HOME": lambda: [check_folder("ZS_HOME", workspace.places.home)],
            LAKE: lambda: [check_lake(workspace.lake_root)],
            **engine_checks(home, expected),
        }
    )
    return [*checked, *_instance(home, checked), _studies(), *_backends()]


def dagster_home() -> Path:
    """The user's DAGSTER_HOME, or that of this installation."""
    return Path(os.environ.get("DAGSTER_HOME") or Workspace.from_environment().places.dagster_home).absolute()


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


def _instance(home: Path, checked: list[Finding]) -> Iterator[Finding]:
    """Opened only where there is one: opening makes what is not there.

    Without a variable or a database Dagster keeps trying for a minute, and says no more than was found already.
    """
    named = os.environ.get("DAGSTER_HOME")
    if named and not Path(named).is_absolute():
        sentence = f"DAGSTER_HOME names {named}, which is relative, and Dagster refuses it: export DAGSTER_HOME={home}"
        yield Finding(INSTANCE, False, sentence)
    elif named and not (home / "dagster.yaml").is_file():
        sentence = f"DAGSTER_HOME names {home}, where there is no dagster.yaml: {NO_CONFIG}"
        yield Finding(INSTANCE, False, sentence)
    elif not (home / "dagster.yaml").is_file():
        yield Finding(INSTANCE, True, f"{home} is not there yet: the first run makes it.")
    elif all(finding.ok for finding in checked if finding.subject in (VARIABLES, DATABASE)):
        yield _opened()


def _opened() -> Finding:
    try:
        with dagster_instance() as instance:
            instance.get_runs(limit=1)
            served = queue_is_served(instance)
    except Exception as error:  # whatever Dagster or its storage raises is the finding
        said = (str(error) or type(error).__name__).strip().splitlines()[0]
        return Finding(INSTANCE, False, f"cannot be opened: {said}")
    sentence = f"{os.environ['DAGSTER_HOME']} opens."
    if not served:
        sentence += " No daemon reports to it: launched runs and backfills wait until `dagster-daemon run` runs."
    return Finding(INSTANCE, True, sentence)


def _needs() -> dict[str, QueueNeed]:
    """Kinds of machine that the studies' runs need."""
    try:
        return queue_needs(loadable_studies())
    except ZsAssetsError:
        return queue_needs(())  # what is wrong is a finding of its own


def _studies() -> Finding:
    try:
        studies = all_studies()
    except ZsAssetsError as error:
        return Finding("studies", False, str(error))
    return Finding("studies", True, ", ".join(sorted(studies)))


def _backends() -> Iterator[Finding]:
    for name, system in sorted(known_systems().items()):
        problem = check_ready(system)
        yield Finding(f"{BACKEND}{name}", problem is None, problem or system.title, required=False)


def grouped(findings: Sequence[Finding]) -> list[Finding]:
    """The findings with all backends in a few lines: those that are ready, and the others by what they lack."""
    backends = [finding for finding in findings if finding.subject.startswith(BACKEND)]
    lacking: dict[str, list[str]] = {}
    for finding in backends:
        name = finding.subject.removeprefix(BACKEND)
        what = "ready" if finding.ok else finding.sentence.removeprefix(f"Backend '{name}' ")
        lacking.setdefault(what, []).append(name)
    ready = ", ".join(lacking.pop("ready", [])) or "none"
    lines = [Finding("backends that are ready", True, ready)] if backends else []
    for what, names in lacking.items():
        subject = f"{'backends' if len(names) > 1 else 'backend'} {', '.join(names)}"
        lines.append(Finding(subject, False, _for_several(what) if len(names) > 1 else what, required=False))
    return [*(finding for finding in findings if finding not in backends), *lines]


def _for_several(what: str) -> str:
    return f"need {what.removeprefix('needs ')}" if what.startswith("needs ") else what
