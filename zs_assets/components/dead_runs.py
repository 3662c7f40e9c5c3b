"""Runs whose process was killed: Dagster would keep their place in a pool for ever, and the next run would wait for it.

Its monitor frees such places, but it belongs to a daemon, and a command line has none. So every run of ours names its
process, and the next command ends the runs whose process is gone.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path

import dagster as dg

from zs_assets.protocol.hashing import sha256_json
from zs_assets.protocol.names import PROCESS_TAG

HOST, PROCESS, BEGAN = "zs_assets/host", PROCESS_TAG, "zs_assets/process_began"
MACHINE_ID = Path("/etc/machine-id")


def process_tags() -> dict[str, str]:
    """Tags of a run that say which process carries it out."""
    return {HOST: _host(), PROCESS: str(os.getpid()), BEGAN: _began(os.getpid())}


def end_dead_runs(instance: dg.DagsterInstance) -> list[str]:
    """Reports runs of processes of this machine that are gone as failed and frees their pools; returns their ids."""
    here = dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTED], tags={HOST: _host()})
    dead = [run for run in instance.get_runs(here) if not _is_alive(int(run.tags[PROCESS]), run.tags[BEGAN])]
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
