"""Runs whose process was killed: Dagster would keep their place in a pool for ever, and the next run would wait for it.

Its monitor frees such places, but it belongs to a daemon, and a command line has none. So every run of ours names its
process, and the next command ends the runs whose process is gone.
"""

from __future__ import annotations

import os
import socket
import time
from contextlib import suppress
from pathlib import Path

import dagster as dg

from zs_assets.protocol.hashing import sha256_json
from zs_assets.protocol.names import PROCESS_TAG

HOST, PROCESS, BEGAN = "zs_assets/host", PROCESS_TAG, "zs_assets/process_began"
BOOT, NAMESPACE = "zs_assets/boot", "zs_assets/process_namespace"
SILENT_S = 900.0
"""A run of another namespace of processes (a container) counts as dead when it has said nothing for so long: a step
that asks says something every few seconds, and none computes for a quarter of an hour."""
MACHINE_ID = Path("/etc/machine-id")


def process_tags() -> dict[str, str]:
    """Tags of a run that say which process carries it out."""
    return {
        HOST: _host(),
        BOOT: _boot(),
        NAMESPACE: _namespace(),
        PROCESS: str(os.getpid()),
        BEGAN: _began(os.getpid()),
    }


def end_dead_runs(instance: dg.DagsterInstance) -> list[str]:
    """Reports runs of processes of this machine that are gone as failed and frees their pools; returns their ids."""
    here = dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTED], tags={HOST: _host()})
    dead = [run for run in instance.get_runs(here) if not _may_live(instance, run)]
    for run in dead:
        instance.report_run_failed(run, "The process of this run ended before it did; its journal keeps every reply.")
        instance.event_log_storage.free_concurrency_slots_for_run(run.run_id)
    return [run.run_id for run in dead]


def _host() -> str:
    """This machine: its name, and a hash of its id where it has one, since two machines may share a name.

    The id itself is private to the machine (machine-id(5)).
    """
    try:
        known_as = MACHINE_ID.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        known_as = ""
    return f"{socket.gethostname()} {sha256_json(['zs-assets', known_as])[:12]}" if known_as else socket.gethostname()


def _may_live(instance: dg.DagsterInstance, run: dg.DagsterRun) -> bool:
    """Process numbers mean something within one boot of the machine and one namespace of processes."""
    tags = run.tags
    if tags.get(BOOT, "") != _boot():
        return False
    if tags.get(NAMESPACE, "") == _namespace():
        return _is_alive(int(tags[PROCESS]), tags[BEGAN])
    said = instance.get_records_for_run(run.run_id, limit=1, ascending=False).records
    return bool(said) and time.time() - said[0].event_log_entry.timestamp < SILENT_S


def _boot() -> str:
    """Which start of the machine this is; empty where the system does not say."""
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return ""


def _namespace() -> str:
    with suppress(OSError):
        return os.readlink("/proc/self/ns/pid")
    return ""


def _is_alive(process: int, began: str) -> bool:
    """A number is given to another process sooner or later, after a restart of a container at once."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return _began(process) == began


def _began(process: int) -> str:
    """When the process began, in ticks since the machine did; empty where the system does not say."""
    try:
        said = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    # The second field is the program's name in brackets, which may hold anything; the 22nd is the start.
    return said.rpartition(")")[2].split()[19]
