"""A rehearsal: the whole study against local stand-ins, for free, in folders of its own that nothing is published from.

Real keys are never sent to a stand-in; provider limits are lifted unless asked for, since there is no provider.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from zs_assets.assets.graph import StudyGraph
from zs_assets.backends.systems import Limits, SystemSpec
from zs_assets.emulator.profiles import PROFILES
from zs_assets.emulator.server import LocalServer
from zs_assets.storage.places import REHEARSAL

STAND_IN = "rehearsal"
"""What stands where a key or an account's id would."""
ACCOUNT = "CLOUDFLARE_ACCOUNT_ID"

# The stand-in of a system that has none of its own, by the interface it speaks.
BY_INTERFACE = {
    "systemone": "jev",
    "openai_decisions": "openai_luna",
    "nanojev": "nanojev",
    "workers_ai": "clef_workers_ai",
    "chat_tools": "deepseek",
    "anthropic": "opus",
    "gemini": "gemini_flash",
}


def profile_of(system: SystemSpec) -> str | None:
    """The stand-in that answers for a system; None for one that runs in this process and needs none."""
    if system.base_url is None and system.base_url_env is None:
        return None
    return system.name if system.name in PROFILES else BY_INTERFACE.get(system.interface)


@contextmanager
def rehearsing(graph: StudyGraph, *, keep_limits: bool = False, seed: int = 0) -> Iterator[StudyGraph]:
    """The study with every served system answered by a stand-in, while the context is open.

    Outputs go to `<ZS_HOME>/rehearsal`, with an instance, a lake and a warehouse of their own, marked in the data.
    """
    profiles = {name: profile for name, system in graph.systems.items() if (profile := profile_of(system))}
    keys = {graph.systems[name].key_env for name in profiles} - {None}
    variables: dict[str, str | None] = {REHEARSAL: "1", "DAGSTER_HOME": None}
    variables |= {str(key): STAND_IN for key in keys} | {ACCOUNT: STAND_IN}
    with ExitStack() as stack:
        if profiles:
            # Started first: the stand-ins' process sees the real environment, not the rehearsal's.
            names = sorted(set(profiles.values()))
            server = stack.enter_context(LocalServer(names, seed=seed))
            variables |= {_address_variable(name): server.urls[profile] for name, profile in profiles.items()}
        stack.enter_context(_environment(variables))
        systems = {name: _stood_in(graph.systems[name], keep_limits) for name in profiles}
        yield replace(graph, spec=graph.spec.model_copy(update={"systems": {**graph.spec.systems, **systems}}))


def _address_variable(system: str) -> str:
    return f"{REHEARSAL}_URL_{system.upper()}"


def _stood_in(system: SystemSpec, keep_limits: bool) -> dict[str, object]:
    """The system's entry, looking for its address where the rehearsal says it.

    The address itself is no part of it: ports differ from run to run, and a rehearsal goes on where it stopped.
    """
    limits = system.limits if keep_limits else Limits(timeout_s=system.limits.timeout_s)
    changed = {"base_url_env": _address_variable(system.name), "limits": limits.model_dump()}
    return {**system.model_dump(exclude={"name"}, exclude_unset=True), **changed}


@contextmanager
def _environment(changes: dict[str, str | None]) -> Iterator[None]:
    """Variables set (or unset, for None) while the context is open."""
    before = {name: os.environ.get(name) for name in changes}

    def apply(values: dict[str, str | None]) -> None:
        for name, value in values.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

    apply(changes)
    try:
        yield
    finally:
        apply(before)
