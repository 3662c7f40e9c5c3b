"""Resources every study's assets are given."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from dagster_duckdb import DuckDBResource

from zs_assets.assets.graph import IO_MANAGER
from zs_assets.assets.resources import ProgressSink, ProviderPools, Workspace
from zs_assets.backends.systems import SystemSpec
from zs_assets.components.catalogue import loadable_studies
from zs_assets.storage.io_manager import LakeIOManagerFactory


class PoolsOfTheStudies(ProviderPools):
    """Looks through the studies of the package and of ZS_STUDIES, once: a run asks again every few seconds."""

    def asking(self, system: SystemSpec) -> set[str]:
        return {pool for pool, asked in self._pools if system.pool in asked}

    @cached_property
    def _pools(self) -> list[tuple[str, set[str]]]:
        """Each study's pool, and the pools of its systems, which name their providers."""
        return [(graph.pool, {system.pool for system in graph.systems.values()}) for graph in loadable_studies()]


def study_resources(progress: ProgressSink | None = None) -> dict[str, Any]:
    """Resources for the folders that the environment names (ZS_HOME, ZS_LAKE)."""
    workspace = Workspace.from_environment()
    return {
        "workspace": workspace,
        "progress": progress or ProgressSink(),
        "provider_pools": PoolsOfTheStudies(),
        # In memory: the warehouse asset attaches the file it builds, so no run ever holds the shared file open.
        "duckdb": DuckDBResource(database=":memory:"),
        IO_MANAGER: LakeIOManagerFactory(root=workspace.lake_root),
    }
