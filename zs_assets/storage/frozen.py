"""Tables that are written once: the frozen manifest, of which several workers at once may write only one.

The table's one file is created on condition that none is there, so the first writer decides. Another one finds that
file, and keeps it if it is of the same sample and protocol. The receipt follows; whoever finds the file without one
writes it, since the other may have been killed in between.
"""

from __future__ import annotations

from typing import cast

import pyarrow as pa
import pyarrow.parquet as pq
from upath import UPath

from zs_assets.protocol.errors import FrozenManifestError
from zs_assets.protocol.hashing import sha256_bytes
from zs_assets.storage.lake import (
    RECEIPT,
    TABLE,
    Written,
    files_of,
    metadata_of,
    parquet_bytes,
    read_json,
    write_bytes,
    write_receipt,
)
from zs_assets.storage.object_store import create_once, object_bytes

HASHES = ("manifest_hash", "protocol_hash")
"""Entries of the table's metadata that never change in place; the receipt repeats them."""


def freeze_table(folder: UPath, table: pa.Table, way_out: str) -> Written:
    """Writes the table unless one of other hashes is there.

    One of the same hashes is replaced, as is a file that is not what its receipt says (changed by hand, cut off).
    `way_out` completes the refusal.

    Raises
    ------
    FrozenManifestError
        If a table of other hashes is there, naming both.
    StorageError
        If the folder cannot be read or written.
    """
    data = parquet_bytes(table)
    new = {name: metadata_of(table)[name] for name in HASHES}
    path = cast(UPath, folder / TABLE)
    if not create_once(path, data):
        refuse_other_hashes(str(folder), frozen_hashes(folder), new, way_out)
        write_bytes(path, data)
    digest = sha256_bytes(data)
    code = metadata_of(table).get("code_sha256")
    return Written(write_receipt(folder, {TABLE: digest}, table.num_rows, frozen=new, code_sha256=code), 1, len(data))


def frozen_hashes(folder: UPath) -> dict[str, str]:
    """The hashes of the table that is there, or was before it was changed; empty where nothing tells them."""
    data, receipt = object_bytes(cast(UPath, folder / TABLE)), read_json(cast(UPath, folder / RECEIPT))
    changed = receipt is not None and (data is None or files_of(receipt) != {TABLE: sha256_bytes(data)})
    if data is None or changed:
        return (receipt or {}).get("frozen", {})
    table = _table_of(data)
    return {} if table is None else metadata_of(table)


def _table_of(data: bytes) -> pa.Table | None:
    """None for bytes that are no Parquet."""
    try:
        return pq.read_table(pa.BufferReader(data))
    except pa.ArrowException:
        return None


def refuse_other_hashes(where: str, frozen: dict[str, str], new: dict[str, str], way_out: str) -> None:
    """Raises FrozenManifestError where the frozen table is of another sample or protocol."""
    for name in HASHES:
        if name in frozen and frozen[name] != new[name]:
            raise FrozenManifestError(
                f"The {name.removesuffix('_hash')} of {where} is frozen with hash {frozen[name]}, but the study now "
                f"leads to {new[name]}: {way_out}"
            )


def way_out(study: str) -> str:
    """What whoever changed a frozen study can do."""
    return f"give the changed study a new name, or move the old outputs aside with `zs-assets reset {study} --archive`."
