"""Whether the folders and the lake of an installation can be written. Nothing is made, and nothing is left behind."""

from __future__ import annotations

import tempfile
import uuid
from pathlib import Path

import fsspec.config
from upath import UPath

from zs_assets.components.finding import ANSWER_WITHIN_S, Finding
from zs_assets.protocol.errors import StorageError
from zs_assets.storage.lake import check_filesystem
from zs_assets.storage.object_store import (
    delete_objects,
    is_remote,
    keeps_conditions,
    object_bytes,
    put_object,
    store_path,
)
from zs_assets.storage.store_failures import shown


def check_folder(name: str, folder: Path) -> Finding:
    """A folder of this machine, or the nearest one above it that is there. `name` is the variable that sets it."""
    nearest = next(path for path in (folder, *folder.parents) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=nearest):
            pass
    except OSError as error:
        what = f"{folder} is not writable ({error.strerror}): set {name} to a folder you may write."
        return Finding(name, False, what)
    if nearest != folder:
        return Finding(name, True, f"{folder} is not there yet: the first run makes it.")
    return Finding(name, True, f"{folder} is writable.")


def check_lake(root: str) -> Finding:
    """A folder as above; on an object store: writes, reads, creates once and deletes probe objects."""
    if not is_remote(root):
        return check_folder("ZS_LAKE", Path(root.removeprefix("file://")).absolute())
    name = f".probe-{uuid.uuid4().hex}"
    try:
        check_filesystem(root)
        folder = _impatient(store_path(root))
        probe = folder / name
        object_bytes(probe)  # a silent service ends a read in time; a put waits for its leave to send, without limit
        put_object(probe, b"probe")
        read = object_bytes(probe)
        delete_objects([probe])
        conditional = keeps_conditions(folder)
    except StorageError as error:
        return Finding("ZS_LAKE", False, str(error).replace(f"/{name}", ""))
    if read != b"probe":
        return Finding("ZS_LAKE", False, f"{shown(root)} does not give back what was written: use another store.")
    if not conditional:
        what = "overwrites what was to be created once, so a frozen manifest could be replaced"
        return Finding("ZS_LAKE", False, f"{shown(root)} {what}: use a store with conditional writes.")
    return Finding("ZS_LAKE", True, f"{shown(root)} takes, keeps, gives back and deletes objects.")


def _impatient(folder: UPath) -> UPath:
    """S3's library tries a service that is not there for 5 to 10 s, and far longer one that says nothing."""
    if folder.protocol not in ("s3", "s3a"):
        return folder
    usual = fsspec.config.conf.get(folder.protocol, {}).get("config_kwargs", {})  # FSSPEC_S3_CONFIG_KWARGS
    short = {"connect_timeout": ANSWER_WITHIN_S, "read_timeout": ANSWER_WITHIN_S, "retries": {"max_attempts": 0}}
    asked = UPath(str(folder), **folder.storage_options, config_kwargs={**usual, **short})
    asked.fs.retries = 1  # s3fs's own, around those of botocore; it is no other's filesystem: the options differ
    return asked
