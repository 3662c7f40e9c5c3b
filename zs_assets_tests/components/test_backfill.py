"""A backfill of one backend over all datasets, as the UI launches it: only its partitions are made."""

from __future__ import annotations

import logging
from pathlib import Path

import dagster as dg
import pytest

from zs_assets.assets.graph import StudyGraph
from zs_assets.assets.resources import Workspace
from zs_assets.components.partition_loop import PartitionLoop
from zs_assets.protocol.names import AssetName


@pytest.fixture
def backfill_instance(home: Path, small_study: StudyGraph, monkeypatch: pytest.MonkeyPatch):
    """An instance whose runs happen at once in this process, and the study among the user's."""
    from dagster._core.test_utils import instance_for_test

    monkeypatch.setenv("ZS_STUDIES", str(small_study.folder.parent))
    overrides = {
        "run_launcher": {
            "module": "dagster._core.launcher.sync_in_memory_run_launcher",
            "class": "SyncInMemoryRunLauncher",
        },
        "run_coordinator": {
            "module": "dagster._core.run_coordinator.default_run_coordinator",
            "class": "DefaultRunCoordinator",
        },
    }
    with instance_for_test(overrides=overrides) as instance:
        yield instance


def run_backfill(instance: dg.DagsterInstance, keys: list[dg.AssetKey], partitions: list[str]) -> None:
    """Iterates the daemon's own backfill code until it is through; Dagster has no public call for it."""
    from dagster._core.execution.backfill import BulkActionStatus, PartitionBackfill
    from dagster._core.test_utils import create_test_daemon_workspace_context
    from dagster._core.workspace.load_target import ModuleTarget
    from dagster._daemon.backfill import execute_backfill_iteration
    from dagster._time import get_current_timestamp

    with create_test_daemon_workspace_context(
        ModuleTarget("zs_assets.definitions", None, None, "zs_assets.definitions"), instance
    ) as context:
        backfill = PartitionBackfill.from_asset_partitions(
            backfill_id="one_backend",
            asset_graph=context.create_request_context().asset_graph,
            partition_names=partitions,
            asset_selection=keys,
            backfill_timestamp=get_current_timestamp(),
            tags={},
            dynamic_partitions_store=instance,
            all_partitions=False,
            title=None,
            description=None,
            run_config=None,
        )
        instance.add_backfill(backfill)
        for _ in range(10):
            list(execute_backfill_iteration(context, logging.getLogger("backfill")))
            if instance.get_backfill("one_backend").status is not BulkActionStatus.REQUESTED:
                return
    raise AssertionError("the backfill did not end")


def test_a_backfill_of_one_backend_makes_only_its_partitions(
    backfill_instance: dg.DagsterInstance, small_study: StudyGraph
):
    loop = PartitionLoop(small_study, backfill_instance)
    for dataset in ("first", "second"):
        loop.prepare([dataset])
    keys = [small_study.key(name) for name in (AssetName.PREDICTIONS, AssetName.ATTEMPTS, AssetName.METRICS)]
    run_backfill(backfill_instance, keys, ["sparrow|first", "sparrow|second"])
    made = backfill_instance.get_materialized_partitions(small_study.key(AssetName.METRICS))
    assert made == {"sparrow|first", "sparrow|second"}
    lake = Workspace.from_environment().lake
    assert lake.has("small", AssetName.PREDICTIONS, dataset="first", backend="sparrow")
    assert not lake.has("small", AssetName.PREDICTIONS, dataset="first", backend="uniform")
