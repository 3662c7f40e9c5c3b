"""Pages on an object store, brought to where a browser can open them."""

from __future__ import annotations

from pathlib import Path

from upath import UPath

from zs_assets.storage.object_store import is_remote
from zs_assets.storage.places import Places
from zs_assets.storage.store_failures import clear_failures


def copy_to_open(places: Places, folder: UPath) -> Path | None:
    """Copies a folder of the lake under ZS_HOME/pages; None where the lake is a folder, whose files open as they are.

    Raises
    ------
    StorageError
        The store does not give the files.
    """
    if not is_remote(places.lake):
        return None
    target = places.home / "pages" / folder.parent.name / folder.name
    target.mkdir(parents=True, exist_ok=True)
    with clear_failures(folder, "read"):
        folder.fs.get(f"{folder.path.rstrip('/')}/", f"{target}/", recursive=True)
    return target
