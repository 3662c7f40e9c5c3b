"""The shape of a study's graph: keys, partitions and the mappings between them. Nothing here computes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import dagster as dg

from zs_assets.backends.systems import SystemSpec, resolve_system
from zs_assets.protocol.hashing import sha256_json
from zs_assets.protocol.names import AssetName
from zs_assets.protocol.study import DatasetSpec, StudySpec, pair_name
from zs_assets.sources import source_pin

IO_MANAGER = "lake_io"


@dataclass(frozen=True)
class StudyGraph:
    """One study as Dagster sees it. `folder` is where its YAML lies; relative file sources start there."""

    spec: StudySpec
    folder: Path

    @property
    def name(self) -> str:
        return self.spec.name

    @cached_property
    def systems(self) -> dict[str, SystemSpec]:
        """Specs of the study's backends by name, in the study's order."""
        return {name: resolve_system(name, self.spec.systems, self.spec.name) for name in self.spec.backends}

    @cached_property
    def pool(self) -> str:
        """Dagster pool of the steps that ask.

        A pool belongs to an op, not to a partition, so it is the most careful one that the backends name: with any
        local backend in the study, `local_cpu`.
        """
        pools = sorted({system.pool for system in self.systems.values()})
        return "local_cpu" if "local_cpu" in pools else pools[0]

    def key(self, asset: AssetName) -> dg.AssetKey:
        return dg.AssetKey([self.name, asset.value])

    def dataset_version(self, dataset: DatasetSpec) -> str:
        """What a dataset partition depends on: its entry in the YAML and the pin of its source."""
        return sha256_json([self.spec.dataset_spec_hash(dataset), source_pin(dataset, self.folder)])

    @cached_property
    def datasets(self) -> dg.StaticPartitionsDefinition:
        return dg.StaticPartitionsDefinition([dataset.name for dataset in self.spec.datasets])

    @cached_property
    def backends(self) -> dg.StaticPartitionsDefinition:
        return dg.StaticPartitionsDefinition(list(self.spec.backends))

    @cached_property
    def cells(self) -> dg.MultiPartitionsDefinition:
        """dataset x backend. Keys read `backend|dataset`: Dagster sorts dimensions by name."""
        return dg.MultiPartitionsDefinition({"dataset": self.datasets, "backend": self.backends})

    def pairs(self, pairs: Sequence[tuple[str, str]]) -> dg.MultiPartitionsDefinition:
        """dataset x ordered pair of backends."""
        names = dg.StaticPartitionsDefinition([pair_name(pair) for pair in pairs])
        return dg.MultiPartitionsDefinition({"dataset": self.datasets, "pair": names})

    @cached_property
    def dataset_of_cell(self) -> dg.PartitionMapping:
        return dg.MultiToSingleDimensionPartitionMapping("dataset")

    @cached_property
    def backend_of_cell(self) -> dg.PartitionMapping:
        return dg.MultiToSingleDimensionPartitionMapping("backend")

    def cells_of(self, pairs: Sequence[tuple[str, str]]) -> dg.PartitionMapping:
        """A dataset x pair reads exactly the two cells of its backends on that dataset."""
        pairs_of = {name: {pair_name(pair) for pair in pairs if name in pair} for name in self.spec.backends}
        return dg.MultiPartitionMapping(
            {
                "dataset": dg.DimensionPartitionMapping("dataset", dg.IdentityPartitionMapping()),
                "backend": dg.DimensionPartitionMapping("pair", dg.StaticPartitionMapping(pairs_of)),
            }
        )

    def cell(self, dataset: str, backend: str) -> dg.MultiPartitionKey:
        return dg.MultiPartitionKey({"dataset": dataset, "backend": backend})

    def pair_cell(self, dataset: str, pair: str) -> dg.MultiPartitionKey:
        return dg.MultiPartitionKey({"dataset": dataset, "pair": pair})
