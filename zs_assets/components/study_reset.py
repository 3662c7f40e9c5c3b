"""Starting a study over: old outputs and journals are moved aside, never deleted."""

from __future__ import annotations

import shutil
from datetime import datetime, timezone
from pathlib import Path

import dagster as dg
from upath import UPath

from zs_assets.assets.graph import StudyGraph
from zs_assets.assets.resources import Workspace
from zs_assets.components.study import study_definitions
from zs_assets.storage.object_store import move_objects, object_names

ARCHIVE = "_archive"
"""Folder of a remote lake beside the studies; no study's name begins with an underscore."""
Moved = tuple[Path | UPath, Path | UPath]


def archive_study(workspace: Workspace, graph: StudyGraph, instance: dg.DagsterInstance) -> list[Moved]:
    """Moves the study's tables, journals and imported runs to `<home>/archive/`; returns what moved where.

    What is on a remote lake, the journals of all workers with it, moves to `<lake>/_archive/` by copy and delete.
    Another worker's working copy of a journal stays where it is: it is set aside when that worker next opens it.
    """
    stamp = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    name = f"{graph.name}-{stamp}"
    home = workspace.places.home
    tables = workspace.lake.study(graph.name)
    folders = {"journal": home / "journal" / graph.name, "imports": workspace.places.imports(graph.name)}
    moved: list[Moved] = []
    if isinstance(tables, Path):
        folders = {"lake": Path(tables), **folders}
    elif object_names(tables):
        aside = workspace.lake.root / ARCHIVE / name
        # Before the local journals: a worker's copy that outlives this is known by the journal it is marked with.
        move_objects(tables, aside)
        moved.append((tables, aside))
    moved += _move_folders(folders, home / "archive" / name)
    # Otherwise the UI would go on showing partitions whose files are gone.
    keys = [key for asset in study_definitions(graph).assets or [] for key in getattr(asset, "keys", [])]
    instance.wipe_assets([key for key in keys if instance.has_asset_key(key)])
    return moved


def _move_folders(folders: dict[str, Path], target: Path) -> list[Moved]:
    moved: list[Moved] = []
    for name, old in folders.items():
        if old.exists():
            target.mkdir(parents=True, exist_ok=True)
            shutil.move(old, target / name)
            moved.append((old, target / name))
    return moved
