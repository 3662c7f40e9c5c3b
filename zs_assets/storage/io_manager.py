"""IO manager over the lake: assets return and receive Arrow tables; paths are hive partitions."""

from __future__ import annotations

from typing import Any

import dagster as dg
import pyarrow as pa
from upath import UPath

from zs_assets.storage.lake import TABLE, read_table, write_table


class LakeIOManager(dg.UPathIOManager):
    """Stores `<lake>/<study>/<asset>/dataset=.../backend=.../part.parquet`.

    The base class formats a multi-partition key as its dimensions' keys in alphabetical order joined by slashes; our
    keys are slugs, so the names can be put back.
    """

    extension = None

    def get_path_for_partition(self, context: Any, path: UPath, partition: str) -> UPath:
        definition = context.asset_partitions_def
        if isinstance(definition, dg.MultiPartitionsDefinition):
            names = sorted(definition.partition_dimension_names)
            keys = dict(zip(names, partition.split("/"), strict=True))
            for name in ("dataset", *(name for name in names if name != "dataset")):
                path = path / f"{name}={keys[name]}"
            return path / TABLE
        return path / f"dataset={partition}" / TABLE

    def get_asset_relative_path(self, context: Any) -> UPath:
        path = super().get_asset_relative_path(context)
        return path if context.has_asset_partitions else path / TABLE

    def dump_to_path(self, context: dg.OutputContext, obj: pa.Table, path: UPath) -> None:
        digest = write_table(path, obj)
        context.add_output_metadata(
            {"dagster/row_count": obj.num_rows, "file_sha256": digest, "bytes": path.stat().st_size}
        )

    def load_from_path(self, context: dg.InputContext, path: UPath) -> pa.Table:
        return read_table(path)


class LakeIOManagerFactory(dg.ConfigurableIOManagerFactory):
    """`root` is a folder or any fsspec URL."""

    root: str

    def create_io_manager(self, context: dg.InitResourceContext) -> LakeIOManager:
        return LakeIOManager(UPath(self.root))
