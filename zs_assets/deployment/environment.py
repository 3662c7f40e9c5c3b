"""Which variables runs may read, from the catalogue of systems and the studies: nothing is typed a second time."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from zs_assets.assets.graph import StudyGraph
from zs_assets.backends.systems import SystemSpec, known_systems

_ASSIGNMENT = re.compile(r"^([A-Z][A-Z0-9_]*)=", re.MULTILINE)
_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)")


@dataclass(frozen=True)
class Variables:
    """Names, each sorted and in one group only."""

    keys: tuple[str, ...]  # of systems' accounts
    addresses: tuple[str, ...]  # of systems that are not where their entry says
    paths: tuple[str, ...]  # that the studies' sources name as ${NAME}


def variables_of(studies: Iterable[StudyGraph]) -> Variables:
    """Of every known system, named by a study or not, and of what the studies' own entries and sources name.

    Raises StudyError for a study or a file of ZS_SYSTEMS that cannot be read.
    """
    studies = list(studies)
    systems: list[SystemSpec] = [*known_systems().values()]
    systems += [system for study in studies for system in study.systems.values()]
    accounts = [str(value) for system in systems for name, value in system.settings.items() if name.endswith("_env")]
    keys = {system.key_env for system in systems if system.key_env} | set(accounts)
    addresses = {system.base_url_env for system in systems if system.base_url_env} - keys
    sources = " ".join(dataset.source.model_dump_json() for study in studies for dataset in study.spec.datasets)
    paths = set(_REFERENCE.findall(sources)) - keys - addresses
    return Variables(tuple(sorted(keys)), tuple(sorted(addresses)), tuple(sorted(paths)))


def assigned_names(env: str) -> list[str]:
    """The names that the text of an .env file gives a value, in its order."""
    return _ASSIGNMENT.findall(env)
