"""Starting a study over: old outputs and journals are moved aside, never deleted."""

from __future__ import annotations

import shutil
from datetime import datetime, timezone
from pathlib import Path

import dagster as dg

from zs_assets.assets.graph import StudyGraph
from zs_assets.assets.resources import Workspace
from zs_assets.components.study import study_definitions
from zs_assets.protocol.errors import StorageError


def archive_study(workspace: Workspace, graph: StudyGraph, instance: dg.DagsterInstance) -> list[tuple[Path, Path]]:
    """Moves the study's tables, journals and imported runs to `<home>/archive/`; returns what moved where."""
    tables = workspace.lake.study(graph.name)
    if not isinstance(tables, Path):
        raise StorageError(
            f"{tables} is not on this machine: move it aside with the store's own tools, then run again."
        )
    home = workspace.places.home
    stamp = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    target = home / "archive" / f"{graph.name}-{stamp}"
    moved = []
    folders = {"lake": Path(tables), "journal": home / "journal" / graph.name}
    folders["imports"] = workspace.places.imports(graph.name)
    for name, old in folders.items():
        if old.exists():
            target.mkdir(parents=True, exist_ok=True)
            shutil.move(old, target / name)
            moved.append((old, target / name))
    # Otherwise the UI would go on showing partitions whose files are gone.
    keys = [key for asset in study_definitions(graph).assets or [] for key in getattr(asset, "keys", [])]
    instance.wipe_assets([key for key in keys if instance.has_asset_key(key)])
    return moved
