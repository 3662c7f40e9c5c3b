"""Descriptions of tables for the UI: column schema, head rows, and texts that say what one row is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dagster as dg
import pyarrow as pa

from zs_assets.assets.graph import IO_MANAGER, StudyGraph
from zs_assets.protocol.names import AssetName


def column_schema(schema: pa.Schema) -> dg.TableSchema:
    return dg.TableSchema(
        columns=[
            dg.TableColumn(
                field.name,
                type=str(field.type),
                description=(field.metadata or {}).get(b"description", b"").decode(),
                constraints=dg.TableColumnConstraints(nullable=field.nullable),
            )
            for field in schema
        ]
    )


def definition_metadata(schema: pa.Schema) -> dict[str, Any]:
    return {"dagster/column_schema": column_schema(schema)}


def table_outs(
    graph: StudyGraph, tables: Mapping[AssetName, pa.Schema], descriptions: Mapping[AssetName, str]
) -> dict[str, dg.AssetOut]:
    """Outputs of a step that makes several tables of the lake at once, each an asset of its own."""
    return {
        asset.value: dg.AssetOut(
            key=graph.key(asset),
            io_manager_key=IO_MANAGER,
            group_name=graph.name,
            kinds={"parquet", "numpy"},
            code_version="1",
            description=descriptions[asset],
            metadata=definition_metadata(schema),
        )
        for asset, schema in tables.items()
    }


def head_table(table: pa.Table, columns: list[str], rows: int = 8) -> dg.MetadataValue:
    """The first rows of some columns as Markdown, short enough for the UI."""
    shown = table.select(columns).slice(0, rows).to_pylist()
    lines = ["| " + " | ".join(columns) + " |", "|" + " --- |" * len(columns)]
    lines += ["| " + " | ".join(_cell(row[name]) for name in columns) + " |" for row in shown]
    return dg.MetadataValue.md("\n".join(lines))


def _cell(value: object) -> str:
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    text = text.replace("|", "\\|").replace("\n", " ")
    return text if len(text) <= 80 else text[:77] + "..."
