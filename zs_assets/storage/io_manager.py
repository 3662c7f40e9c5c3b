"""IO manager over the lake: assets return and receive Arrow tables; paths are hive partitions."""

from __future__ import annotations

from typing import Any

import dagster as dg
import pyarrow as pa
from upath import UPath

from zs_assets.protocol.names import AssetName
from zs_assets.storage.frozen import freeze_table, way_out
from zs_assets.storage.lake import read_table, write_table
from zs_assets.storage.object_store import store_path
from zs_assets.storage.same_code import refuse_other_code


class LakeIOManager(dg.UPathIOManager):
    """Stores part files and their receipt in the folder `<lake>/<study>/<asset>/dataset=.../backend=...`.

    The base class formats a multi-partition key as its dimensions' keys in alphabetical order joined by slashes; our
    keys are slugs, so the names can be put back. A study's manifest is frozen by the write itself. A run of other code
    than this process's writes nothing.
    """

    extension = None

    def get_path_for_partition(self, context: Any, path: UPath, partition: str) -> UPath:
        definition = context.asset_partitions_def
        if isinstance(definition, dg.MultiPartitionsDefinition):
            names = sorted(definition.partition_dimension_names)
            keys = dict(zip(names, partition.split("/"), strict=True))
            for name in ("dataset", *(name for name in names if name != "dataset")):
                path = path / f"{name}={keys[name]}"
            return path
        return path / f"dataset={partition}"

    def handle_output(self, context: dg.OutputContext, obj: pa.Table) -> None:
        refuse_other_code(context.step_context.run_tags, " ".join(context.asset_key.path))
        super().handle_output(context, obj)

    def make_directory(self, path: UPath) -> None:
        """Nothing: writing makes a local folder, and a store has none (S3's library would make the bucket)."""

    def dump_to_path(self, context: dg.OutputContext, obj: pa.Table, path: UPath) -> None:
        *_, study, asset = context.asset_key.path
        if asset == AssetName.MANIFEST.value:
            written = freeze_table(path, obj, way_out(study))
        else:
            written = write_table(path, obj)
        context.add_output_metadata(
            {
                "dagster/row_count": obj.num_rows,
                "file_sha256": written.sha256,
                "files": written.files,
                "bytes": written.bytes,
            }
        )

    def load_from_path(self, context: dg.InputContext, path: UPath) -> pa.Table:
        return read_table(path)


class LakeIOManagerFactory(dg.ConfigurableIOManagerFactory):
    """`root` is a folder or any fsspec URL."""

    root: str

    def create_io_manager(self, context: dg.InitResourceContext) -> LakeIOManager:
        return LakeIOManager(store_path(self.root))
