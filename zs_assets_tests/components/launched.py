"""An engine of this process: runs happen when they are submitted, without daemon or queue."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dagster as dg

SYNCHRONOUS: dict[str, Any] = {
    "run_launcher": {
        "module": "dagster._core.launcher.sync_in_memory_run_launcher",
        "class": "SyncInMemoryRunLauncher",
    },
    "run_coordinator": {
        "module": "dagster._core.run_coordinator.default_run_coordinator",
        "class": "DefaultRunCoordinator",
    },
    "concurrency": {"pools": {"default_limit": 1}},
}
QUEUED: dict[str, Any] = {
    **SYNCHRONOUS,
    "run_coordinator": {"module": "dagster.core.run_coordinator", "class": "QueuedRunCoordinator"},
}
"""Runs wait for ever: no daemon takes them from the queue."""


@contextmanager
def engine(overrides: dict[str, Any]) -> Iterator[dg.DagsterInstance]:
    from dagster._core.test_utils import instance_for_test

    with instance_for_test(overrides=overrides) as instance:
        yield instance
