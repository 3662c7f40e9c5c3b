"""Imported runs on a remote lake: whoever imports one shares it, and every worker that needs it fetches it.

A worker that did not find the run would call the system, and pay for what somebody has already paid for.
"""

from __future__ import annotations

import hashlib
import os
import uuid
from pathlib import Path

from zs_assets.protocol.errors import StorageError
from zs_assets.storage.object_store import object_bytes, object_names, put_object
from zs_assets.storage.places import IMPORT_FORMATS, Places
from zs_assets.storage.store_failures import clear_failures


def share_imported_run(places: Places, study: str, dataset: str, backend: str, kind: str) -> None:
    """Puts the run that was imported here on the lake, where that is remote. Raises StorageError."""
    target = places.shared_run(study, dataset, backend, kind)
    if target is not None:
        put_object(target, places.imported_run(study, dataset, backend, kind).read_bytes())


def find_imported_run(places: Places, study: str, dataset: str, backend: str) -> tuple[Path, str] | None:
    """The file of the run that stands in for calling a system, on this machine, and its format; None without one.

    A run on the lake wins over one that was only imported here. Raises StorageError.
    """
    shared = places.shared_run(study, dataset, backend, next(iter(IMPORT_FORMATS)))
    names = [] if shared is None else object_names(shared.parent)
    for kind, ending in IMPORT_FORMATS.items():
        if f"{kind}{ending}" in names:
            return _fetched(places, study, dataset, backend, kind), kind
    for kind in IMPORT_FORMATS:
        path = places.imported_run(study, dataset, backend, kind)
        if path.exists():
            return path, kind
    return None


def _fetched(places: Places, study: str, dataset: str, backend: str, kind: str) -> Path:
    """A copy named by the store's own version of the object, so that a run imported anew is fetched anew."""
    shared = places.shared_run(study, dataset, backend, kind)
    assert shared is not None  # the lake is remote
    local = places.imported_run(study, dataset, backend, kind)
    with clear_failures(shared, "read"):
        version = hashlib.sha256(str(shared.fs.ukey(shared.path)).encode()).hexdigest()[:16]
    copy = local.parent / f"lake-{version}" / local.name
    if copy.exists():
        return copy
    data = object_bytes(shared)
    if data is None:
        raise StorageError(f"The imported run {shared} is gone: import it again.")
    copy.parent.mkdir(parents=True, exist_ok=True)
    partial = copy.with_name(f".{copy.name}.{uuid.uuid4().hex}")
    partial.write_bytes(data)
    os.replace(partial, copy)
    return copy
