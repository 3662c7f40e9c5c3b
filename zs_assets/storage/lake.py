"""The Parquet lake: hive-partitioned folders, whole files replaced atomically, a receipt beside each table.

A table is one file, `part.parquet`; a large one with repeats is a file per repeat, `part-0.parquet` and so on. The
receipt holds the sha256 of every file's bytes. A reader that finds another hash, or a file more or less, refuses the
table: it was changed after it was written, or a write was cut off.
"""

from __future__ import annotations

import io
import json
import os
import re
import uuid
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from fsspec.registry import known_implementations
from upath import UPath

from zs_assets import __version__
from zs_assets.protocol.code_identity import code_identity
from zs_assets.protocol.errors import GateRefused, StorageError
from zs_assets.protocol.hashing import sha256_bytes, sha256_json
from zs_assets.protocol.names import AssetName
from zs_assets.storage.object_store import delete_objects, is_remote, object_bytes, object_names, put_object, store_path
from zs_assets.storage.store_failures import shown

TABLE = "part.parquet"
PART = re.compile(r"part(-\d+)?\.parquet")
REPEAT = "repeat"
ROWS_OF_ONE_FILE = 10_000
RECEIPT = "receipt.json"
GATES = "gates.json"
KEPT = "replies already received are kept in the journal."


def parquet_bytes(table: pa.Table) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    return buffer.getvalue()


def write_bytes(path: UPath, data: bytes) -> None:
    """Whole file or nothing: a local file by rename, a remote object by one put.

    A store has no folders to make; S3's library would even make a missing bucket.
    """
    try:
        if isinstance(path, Path):
            _replace_file(path, data)
        else:
            put_object(path, data)
    except StorageError as error:
        raise StorageError(f"{error} {KEPT}") from None
    except OSError as error:
        reason = error.strerror or str(error)
        raise StorageError(
            f"Cannot write {path}: {reason}. Free space or fix the permissions of the lake (ZS_LAKE), then run again; "
            f"{KEPT}"
        ) from None


def _replace_file(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


@dataclass(frozen=True)
class Written:
    """A table on the lake: `sha256` changes when anything of it changes."""

    sha256: str
    files: int
    bytes: int


def write_table(folder: UPath, table: pa.Table) -> Written:
    """Writes the table's part files and the receipt that names them; every table names the code that made it.

    Parts of another form or of a larger plan are removed before the receipt is written: killed at any moment, this
    leaves a receipt that does not fit what is there, which every reader refuses.
    """
    if "code_sha256" not in metadata_of(table):
        table = with_metadata(table, **metadata_of(table))
    digests, size = {}, 0
    for name, part in _parts(table).items():
        data = parquet_bytes(part)
        write_bytes(cast(UPath, folder / name), data)
        digests[name] = sha256_bytes(data)
        size += len(data)
    code = metadata_of(table)["code_sha256"]
    return Written(write_receipt(folder, digests, table.num_rows, code_sha256=code), len(digests), size)


def write_receipt(folder: UPath, digests: dict[str, str], rows: int, **entries: Any) -> str:
    """The receipt of exactly these files, once others are removed; returns the sha256 of the whole table."""
    delete_objects([cast(UPath, folder / stale) for stale in sorted(set(part_names(folder)) - set(digests))])
    receipt = {"sha256": _whole(digests), "rows": rows, "package_version": __version__, **entries}
    if set(digests) != {TABLE}:
        receipt["files"] = digests
    write_bytes(cast(UPath, folder / RECEIPT), json.dumps(receipt, indent=1).encode())
    return str(receipt["sha256"])


def read_table(folder: UPath) -> pa.Table:
    """The table, if its files are exactly those the receipt names, byte for byte; GateRefused otherwise."""
    receipt = read_json(folder / RECEIPT)
    if receipt is None:
        raise GateRefused(f"{folder / RECEIPT} is not there: materialise that partition first.")
    files = files_of(receipt)
    parts = [_read_part(folder, name, digest) for name, digest in files.items()]
    others = sorted(set(part_names(folder)) - set(files))
    if others:
        raise GateRefused(
            f"{folder / others[0]} is none of the files that were checked (receipt: {', '.join(files)}): materialise "
            "that partition again; its journal still holds every reply."
        )
    if _whole(files) != receipt["sha256"]:
        raise GateRefused(
            f"{folder / RECEIPT} was changed after it was written: materialise that partition again; its journal still "
            "holds every reply."
        )
    return pa.concat_tables(parts)


def files_of(receipt: dict[str, Any]) -> dict[str, str]:
    """Name -> sha256 of every file of a table, in the sequence of its rows."""
    return receipt.get("files") or {TABLE: receipt["sha256"]}


def part_names(folder: UPath) -> list[str]:
    """Names of the part files that lie in a folder, whoever put them there. Raises StorageError."""
    return [name for name in object_names(folder) if PART.fullmatch(name)]


def read_json(path: UPath) -> dict[str, Any] | None:
    """None where there is no such object. Raises StorageError, also for one that was cut off."""
    data = object_bytes(path)
    if data is None:
        return None
    try:
        entries = json.loads(data)
    except ValueError:
        entries = None
    if not isinstance(entries, dict):
        raise StorageError(
            f"{shown(path)} is no whole JSON object, it was cut off or changed: restore it, or delete it and "
            f"materialise that partition again; {KEPT}"
        )
    return entries


def _parts(table: pa.Table) -> dict[str, pa.Table]:
    """One part per repeat of a large plan, or the whole table as one file.

    Rows that are not in plan sequence stay one file: parts would bring them back in another sequence. So do the
    attempts, which have no repeat: a call's row is small, and none is read by repeat.
    """
    if table.num_rows <= ROWS_OF_ONE_FILE or REPEAT not in table.column_names or table[REPEAT].null_count:
        return {TABLE: table}
    repeats = table[REPEAT].to_numpy()
    starts = [0, *(np.flatnonzero(np.diff(repeats)) + 1).tolist(), len(repeats)]
    if len(starts) == 2 or (np.diff(repeats) < 0).any():
        return {TABLE: table}
    return {f"part-{repeats[start]}.parquet": table.slice(start, end - start) for start, end in pairwise(starts)}


def _read_part(folder: UPath, name: str, digest: str) -> pa.Table:
    path = folder / name
    data = object_bytes(path)
    if data is None:
        raise GateRefused(f"{path} is not there: materialise that partition first.")
    found = sha256_bytes(data)
    if found != digest:
        raise GateRefused(
            f"{path} was changed after it was checked (sha256 {found[:12]}..., receipt {digest[:12]}...): "
            "materialise that partition again; its journal still holds every reply."
        )
    return pq.read_table(pa.BufferReader(data))


def _whole(files: dict[str, str]) -> str:
    """One sha256 of a table: of its only file, or over the names and hashes of its parts."""
    return files[TABLE] if set(files) == {TABLE} else sha256_json(list(files.items()))


def check_filesystem(root: str) -> None:
    """StorageError where the package that reads such a lake is not installed; fsspec's own text has no extra of ours.

    Nothing is imported for it: s3fs alone takes 0.7 s.
    """
    protocol = root.split("://")[0].rsplit("::", 1)[-1]
    if not is_remote(root) or protocol not in known_implementations:
        return
    package = known_implementations[protocol]["class"].split(".")[0]
    if find_spec(package) is None:
        named = "'zs-assets[s3]'" if package == "s3fs" else package
        raise StorageError(f"The lake {shown(root)} (ZS_LAKE) needs the package {package}: pip install {named}.")


class Lake:
    """Paths of one lake by study, asset and partition."""

    def __init__(self, root: str, *, rehearsal: bool = False):
        check_filesystem(root)
        self.root = store_path(root)
        self.rehearsal = rehearsal  # answered by stand-ins: marked in every predictions file

    def study(self, study: str) -> UPath:
        return self.root / study

    def folder(self, study: str, asset: AssetName, **partition: str) -> UPath:
        """`<lake>/<study>/<asset>/dataset=.../backend=...`"""
        folder = self.study(study) / asset.value
        for dimension, key in partition.items():
            folder = folder / f"{dimension}={key}"
        return folder

    def table(self, study: str, asset: AssetName, **partition: str) -> UPath:
        """The file of a table that is one file."""
        return self.folder(study, asset, **partition) / TABLE

    def files(self, study: str, asset: AssetName, **partition: str) -> list[UPath]:
        """The files the receipt beside a table names; none where there is no table."""
        folder = self.folder(study, asset, **partition)
        receipt = read_json(folder / RECEIPT)
        return [] if receipt is None else [folder / name for name in files_of(receipt)]

    def has(self, study: str, asset: AssetName, **partition: str) -> bool:
        return bool(part_names(self.folder(study, asset, **partition)))

    def read(self, study: str, asset: AssetName, **partition: str) -> pa.Table:
        return read_table(self.folder(study, asset, **partition))

    def sha256(self, study: str, asset: AssetName, **partition: str) -> str | None:
        """What the receipt beside a table names; None where there is no table."""
        receipt = read_json(self.folder(study, asset, **partition) / RECEIPT)
        return None if receipt is None else receipt["sha256"]

    def code_sha256(self, study: str, asset: AssetName, **partition: str) -> str | None:
        """Of the code that made a table; None where there is no table, or its receipt does not say."""
        receipt = read_json(self.folder(study, asset, **partition) / RECEIPT)
        return None if receipt is None else receipt.get("code_sha256")

    def read_or_empty(self, study: str, asset: AssetName, schema: pa.Schema) -> pa.Table:
        """An unpartitioned table, or no rows where it was never materialised."""
        return self.read(study, asset) if self.has(study, asset) else schema.empty_table()

    def read_verdicts(self, study: str, dataset: str, backend: str) -> dict[str, Any] | None:
        """The gate verdicts of the partition's last run, passed or failed; None where it never ran."""
        return read_json(self.folder(study, AssetName.PREDICTIONS, dataset=dataset, backend=backend) / GATES)

    def write_verdicts(self, study: str, dataset: str, backend: str, verdicts: dict[str, Any]) -> None:
        path = self.folder(study, AssetName.PREDICTIONS, dataset=dataset, backend=backend) / GATES
        write_bytes(path, json.dumps(verdicts, indent=1, ensure_ascii=False).encode())


def metadata_of(table: pa.Table) -> dict[str, str]:
    """The table's own key-value metadata as text."""
    return {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()}


def with_metadata(table: pa.Table, **entries: str) -> pa.Table:
    """The table with these key-value entries and the code that made it in its schema metadata."""
    return table.replace_schema_metadata({**vars(code_identity()), **entries})
