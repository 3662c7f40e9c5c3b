"""The Parquet lake: hive-partitioned folders, whole files replaced atomically, a receipt beside each table.

A receipt holds the sha256 of the file's bytes. A reader that finds another hash refuses the table: it was changed
after it was written, or a write was cut off.
"""

from __future__ import annotations

import io
import json
import os
import uuid
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
from upath import UPath

from zs_assets import __version__
from zs_assets.protocol.errors import GateRefused, StorageError
from zs_assets.protocol.hashing import sha256_bytes
from zs_assets.protocol.names import AssetName

TABLE = "part.parquet"
RECEIPT = "receipt.json"
GATES = "gates.json"


def parquet_bytes(table: pa.Table) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    return buffer.getvalue()


def write_bytes(path: UPath, data: bytes) -> None:
    """Whole file or nothing: a local file by rename, a remote object by one put."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(path, Path):
            temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
            try:
                with open(temporary, "wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(temporary, path)
            finally:
                temporary.unlink(missing_ok=True)
        else:
            path.write_bytes(data)
    except OSError as error:
        reason = error.strerror or str(error)
        raise StorageError(
            f"Cannot write {path}: {reason}. Free space or fix the permissions of the lake (ZS_LAKE), then run again; "
            "replies already received are kept in the journal."
        ) from None


def write_table(path: UPath, table: pa.Table) -> str:
    """Writes the table and its receipt; returns the sha256 of the file."""
    data = parquet_bytes(table)
    digest = sha256_bytes(data)
    write_bytes(path, data)
    receipt = {"sha256": digest, "rows": table.num_rows, "package_version": __version__}
    write_bytes(cast(UPath, path.parent / RECEIPT), json.dumps(receipt, indent=1).encode())
    return digest


def read_table(path: UPath) -> pa.Table:
    """The table, if its bytes are those the receipt names; GateRefused otherwise."""
    try:
        data = path.read_bytes()
        receipt = json.loads((path.parent / RECEIPT).read_text())
    except FileNotFoundError as error:
        raise GateRefused(f"{error.filename or path} is not there: materialise that partition first.") from None
    except OSError as error:
        raise StorageError(f"Cannot read {path}: {error.strerror or error}. Check the lake (ZS_LAKE).") from None
    digest = sha256_bytes(data)
    if digest != receipt["sha256"]:
        raise GateRefused(
            f"{path} was changed after it was checked (sha256 {digest[:12]}..., receipt {receipt['sha256'][:12]}...): "
            "materialise that partition again; its journal still holds every reply."
        )
    return pq.read_table(io.BytesIO(data))


class Lake:
    """Paths of one lake by study, asset and partition."""

    def __init__(self, root: str, *, rehearsal: bool = False):
        self.root = UPath(root)
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
        return self.folder(study, asset, **partition) / TABLE

    def has(self, study: str, asset: AssetName, **partition: str) -> bool:
        return self.table(study, asset, **partition).exists()

    def read(self, study: str, asset: AssetName, **partition: str) -> pa.Table:
        return read_table(self.table(study, asset, **partition))

    def sha256(self, study: str, asset: AssetName, **partition: str) -> str | None:
        """What the receipt beside a table names; None where there is no table."""
        try:
            return json.loads((self.folder(study, asset, **partition) / RECEIPT).read_text())["sha256"]
        except FileNotFoundError:
            return None

    def read_or_empty(self, study: str, asset: AssetName, schema: pa.Schema) -> pa.Table:
        """An unpartitioned table, or no rows where it was never materialised."""
        return self.read(study, asset) if self.has(study, asset) else schema.empty_table()

    def read_verdicts(self, study: str, dataset: str, backend: str) -> dict[str, Any] | None:
        """The gate verdicts of the partition's last run, passed or failed; None where it never ran."""
        path = self.folder(study, AssetName.PREDICTIONS, dataset=dataset, backend=backend) / GATES
        try:
            return json.loads(path.read_text())
        except FileNotFoundError:
            return None

    def write_verdicts(self, study: str, dataset: str, backend: str, verdicts: dict[str, Any]) -> None:
        path = self.folder(study, AssetName.PREDICTIONS, dataset=dataset, backend=backend) / GATES
        write_bytes(path, json.dumps(verdicts, indent=1, ensure_ascii=False).encode())


def metadata_of(table: pa.Table) -> dict[str, str]:
    """The table's own key-value metadata as text."""
    return {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()}


def with_metadata(table: pa.Table, **entries: str) -> pa.Table:
    """The table with these key-value entries and the package version in its schema metadata."""
    return table.replace_schema_metadata({"package_version": __version__, **entries})
