"""The DuckDB warehouse: a schema per study, result tables copied in, predictions as views on the lake's files.

DuckDB allows one writer and locks the file, so it is built beside and swapped in; everything else opens it read-only.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from zs_assets.protocol.errors import StorageError
from zs_assets.storage.schemas import ATTEMPTS, PREDICTIONS

# DuckDB 2 writes a format that the 1.x command-line client cannot open.
STORAGE_VERSION = "v1.4.0"
_CATALOG = "warehouse"


def replace_study(
    connection: Any,
    path: Path,
    study: str,
    tables: Mapping[str, pa.Table],
    views: Mapping[str, Sequence[str] | pa.Table],
) -> None:
    """Rebuilds one study's schema in the warehouse file; the other studies' schemas stay as they are.

    `connection` is an in-memory DuckDB connection. `views` maps a name to Parquet files (shown as a view) or to a
    table (copied: DuckDB reads remote lakes only with an extension that it would have to download).
    """
    building = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            shutil.copyfile(path, building)
        connection.execute(f"ATTACH '{_quoted(building)}' AS {_CATALOG} (STORAGE_VERSION '{STORAGE_VERSION}')")
        try:
            connection.execute(f'DROP SCHEMA IF EXISTS {_CATALOG}."{study}" CASCADE')
            connection.execute(f'CREATE SCHEMA {_CATALOG}."{study}"')
            for name, table in tables.items():
                _copy(connection, study, name, table)
            for name, content in views.items():
                if isinstance(content, pa.Table):
                    _copy(connection, study, name, content)
                else:
                    _view(connection, study, name, content)
        finally:
            connection.execute(f"DETACH {_CATALOG}")
        os.replace(building, path)
    except OSError as error:
        raise StorageError(f"Cannot write {path}: {error.strerror or error}. Free space or fix permissions.") from None
    finally:
        building.unlink(missing_ok=True)
        building.with_name(building.name + ".wal").unlink(missing_ok=True)


def _copy(connection: Any, study: str, name: str, table: pa.Table) -> None:
    connection.register("incoming", table)
    try:
        connection.execute(f'CREATE TABLE {_CATALOG}."{study}"."{name}" AS SELECT * FROM incoming')
    finally:
        connection.unregister("incoming")


def _view(connection: Any, study: str, name: str, files: Sequence[str]) -> None:
    listing = ", ".join(f"'{_quoted(file)}'" for file in files)
    # Type guessing is off, or a dataset named "2024" would come back as an integer.
    scan = f"read_parquet([{listing}], hive_partitioning = true, hive_types_autocast = false)"
    connection.execute(f'CREATE VIEW {_CATALOG}."{study}"."{name}" AS SELECT * FROM {scan}')


def empty_partitioned(schema: pa.Schema) -> pa.Table:
    """Stands in for a view over no files, which DuckDB refuses."""
    return schema.append(pa.field("dataset", pa.string())).append(pa.field("backend", pa.string())).empty_table()


EMPTY = {"predictions": empty_partitioned(PREDICTIONS), "attempts": empty_partitioned(ATTEMPTS)}


def _quoted(path: object) -> str:
    return str(path).replace("'", "''")
