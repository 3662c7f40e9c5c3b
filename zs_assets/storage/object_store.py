"""Objects of any fsspec store: whole puts, conditional creates, listings that are never cached, clear failures.

A store has no rename and no append. What is written is written by one put; what must be written once only is created
on the condition that nothing is there. Credentials and the address of the service come from the store's own usual
environment (AWS_ACCESS_KEY_ID, AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL and so on, read by botocore).
"""

from __future__ import annotations

import inspect
import os
import uuid
from collections.abc import Collection
from pathlib import Path
from typing import Any, cast

from upath import UPath

from zs_assets.storage.store_failures import clear_failures

_UNLISTED = {"use_listings_cache": False}
# With concurrency s3fs asks for every object's size before it reads it: two requests where one is enough.
_S3 = _UNLISTED | {"max_concurrency": 1}
OPTIONS: dict[str, dict[str, Any]] = {
    **dict.fromkeys(("s3", "s3a"), _S3),
    **dict.fromkeys(("gs", "gcs", "az", "abfs", "abfss", "oss"), _UNLISTED),
}
"""Of protocols whose filesystems cache listings, which other processes' objects would be missing from."""


def is_remote(root: str) -> bool:
    """False for a folder of this machine."""
    return "://" in root and not root.startswith("file://")


def store_path(root: str) -> UPath:
    """The path of a folder or fsspec URL; a folder of this machine is a pathlib.Path."""
    return UPath(root.removeprefix("file://"), **OPTIONS.get(root.split("://")[0], {}))


def put_object(path: UPath, data: bytes) -> None:
    """One put: a reader sees the old object or the new one. `path` lies in a store, not on this machine.

    Raises StorageError.
    """
    with clear_failures(path, "write"):
        path.fs.pipe_file(path.path, data)


def create_once(path: UPath, data: bytes) -> bool:
    """Writes the whole object if none is there; False if another one is. Of several writers exactly one gets True.

    The condition is part of the write: a hard link on this machine, `If-None-Match: *` on S3, the like on Google's and
    Azure's stores. A filesystem that knows no condition is looked at first, which leaves two writers within
    milliseconds of each other both believing that they won; `keeps_conditions` tells.

    Raises StorageError.
    """
    if isinstance(path, Path):
        return _link_once(path, data)
    with clear_failures(path, "write"):
        if not _takes_conditions(path.fs):
            if path.fs.exists(path.path):
                return _holds(path, data)
            path.fs.pipe_file(path.path, data)
            return True
        try:
            path.fs.pipe_file(path.path, data, mode="create")
        except FileExistsError:
            # A put that was sent again after its reply was lost meets its own first try.
            return _holds(path, data)
        return True


def _takes_conditions(filesystem: Any) -> bool:
    put = getattr(filesystem, "_pipe_file", filesystem.pipe_file)
    return "mode" in inspect.signature(put).parameters


def _holds(path: UPath, data: bytes) -> bool:
    """False for an object that was deleted since the store refused the create: it was not ours to keep."""
    try:
        return bool(path.fs.cat_file(path.path) == data)
    except FileNotFoundError:
        return False


def _link_once(path: Path, data: bytes) -> bool:
    """A whole file appears under the name, or none does: link(2) fails where one is."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    with clear_failures(path, "write"):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with open(temporary, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.link(temporary, path)
        except FileExistsError:
            return path.read_bytes() == data
        finally:
            temporary.unlink(missing_ok=True)
    return True


def keeps_conditions(folder: UPath) -> bool:
    """Whether a second create of one name is refused there: some services ignore the condition without a word.

    Leaves nothing behind. Raises StorageError.
    """
    probe = cast(UPath, folder / f".condition-{uuid.uuid4().hex}")
    first = create_once(probe, b"1")
    second = create_once(probe, b"2")
    delete_objects([probe])
    return first and not second


def object_names(folder: UPath) -> list[str]:
    """Names directly in a folder, sorted; none where it does not exist. Raises StorageError."""
    with clear_failures(folder, "list"):
        try:
            if isinstance(folder, Path):
                return sorted(os.listdir(folder))
            folder.fs.invalidate_cache(folder.path)
            paths = folder.fs.ls(folder.path, detail=False)
        except (FileNotFoundError, NotADirectoryError):
            return []
    names = {path.rstrip("/").rsplit("/", 1)[-1] for path in paths}
    return sorted(names - {folder.path.rstrip("/").rsplit("/", 1)[-1]})  # a marker object of the folder itself


def object_bytes(path: UPath) -> bytes | None:
    """The whole object; None where there is none. Raises StorageError."""
    with clear_failures(path, "read"):
        try:
            return path.read_bytes() if isinstance(path, Path) else cast(bytes, path.fs.cat_file(path.path))
        except FileNotFoundError:
            return None


def delete_objects(paths: list[UPath]) -> None:
    """Deletes objects; one that is gone already is no failure. Raises StorageError."""
    for path in paths:
        with clear_failures(path, "delete"):
            try:
                path.unlink() if isinstance(path, Path) else path.fs.rm_file(path.path)
            except FileNotFoundError:
                continue


def delete_others(folder: UPath, keep: Collection[str]) -> list[str]:
    """Deletes what lies in a folder and below it under no name of `keep`; names are relative, with slashes.

    Returns the names that were there. Raises StorageError.
    """
    with clear_failures(folder, "list"):
        if isinstance(folder, Path):
            found = [str(path.relative_to(folder).as_posix()) for path in folder.rglob("*") if path.is_file()]
        else:
            folder.fs.invalidate_cache(folder.path)
            base = folder.path.strip("/") + "/"
            found = [path.lstrip("/").removeprefix(base) for path in folder.fs.find(folder.path)]
    others = sorted(name for name in found if name and name not in keep)
    delete_objects([cast(UPath, folder / name) for name in others])
    return others


def move_objects(old: UPath, new: UPath) -> int:
    """Moves everything under a prefix of a store by copy, then delete; returns how many objects.

    Killed before the last copy, the old prefix is whole; afterwards the new one is. Raises StorageError.
    """
    with clear_failures(old, "list"):
        old.fs.invalidate_cache(old.path)
        found = old.fs.find(old.path)
    base = old.path.rstrip("/") + "/"
    # Not path by path of `find`: its answers lack the leading slash that some filesystems' own paths have.
    relative = [path[path.index(base.lstrip("/")) + len(base.lstrip("/")) :] for path in found]
    for name in relative:
        with clear_failures(new / name, "copy to"):
            old.fs.copy(f"{base}{name}", (new / name).path)
    delete_objects([cast(UPath, old / name) for name in relative])
    return len(relative)
