"""What an analysis table was made of, and whether that is still so.

A table names the predictions it read by their hashes, and its settings by theirs. Readers use a table only while both
are current: a backend that was asked again, or a changed seed, never leaves an old figure on the page.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BaseModel

from zs_assets.assets.gated_reading import load_gated
from zs_assets.assets.graph import StudyGraph
from zs_assets.assets.private_groups import Withheld, withheld_groups, without_small_groups
from zs_assets.protocol.errors import GateRefused
from zs_assets.protocol.hashing import sha256_json
from zs_assets.protocol.names import AssetName
from zs_assets.protocol.study import pair_name
from zs_assets.storage.lake import Lake, metadata_of, with_metadata
from zs_assets.storage.order_schemas import FOLLOW_UP_COUNTS_TABLE, ORDER_SENSITIVITY, ORDER_TABLES
from zs_assets.storage.selective_schemas import CASCADE_TABLES, CELL_TABLES, DECISION_LOG_TABLES

# Part of every stamp: moved by hand when the code of an analysis changes what its figures mean.
ANALYSES_VERSION = "1"


def stamped(
    table: pa.Table, lake: Lake, graph: StudyGraph, dataset: str, backends: Sequence[str], settings: BaseModel
) -> pa.Table:
    """The table with what it was made of in its metadata."""
    return with_metadata(table, **input_stamp(lake, graph, dataset, backends, settings))


def input_stamp(
    lake: Lake, graph: StudyGraph, dataset: str, backends: Sequence[str], settings: BaseModel
) -> dict[str, str]:
    inputs = {
        backend: lake.sha256(graph.name, AssetName.PREDICTIONS, dataset=dataset, backend=backend)
        for backend in backends
    }
    scoring = graph.spec.scoring.model_dump(mode="json")
    parents = graph.spec.dataset(dataset).parent_separator
    return {
        "inputs": json.dumps(inputs, sort_keys=True),
        "settings": sha256_json([ANALYSES_VERSION, settings.model_dump(mode="json"), scoring, parents]),
    }


@dataclass(frozen=True)
class AnalysedPartition:
    """One partition of an analysis: what it reads, by which settings, and its key in the lake and in Dagster."""

    dataset: str
    backends: tuple[str, ...]
    settings: BaseModel
    dimensions: tuple[tuple[str, str], ...]

    @property
    def key(self) -> str | dg.MultiPartitionKey:
        """Partition key of Dagster."""
        return self.dataset if len(self.dimensions) == 1 else dg.MultiPartitionKey(dict(self.dimensions))

    def __str__(self) -> str:
        return " x ".join(key for _, key in self.dimensions)


class ReadableAnalyses:
    """The analysis tables of a study whose partitions pass their gates and are made of what lies there now."""

    def __init__(self, lake: Lake, graph: StudyGraph):
        self.lake = lake
        self.graph = graph

    @cached_property
    def cells(self) -> frozenset[tuple[str, str]]:
        """(dataset, backend) of every partition that passes its gates."""
        found = set()
        for dataset in self.graph.spec.datasets:
            for backend in self.graph.spec.backends:
                try:
                    load_gated(self.lake, self.graph, dataset.name, backend)
                except GateRefused:
                    continue
                found.add((dataset.name, backend))
        return frozenset(found)

    def tables(self) -> dict[str, pa.Table]:
        """Every table of the study's analyses by name, all readable partitions together; empty where there is none."""
        return {
            asset.value: self._table(analysis, asset, schema)
            for analysis, tables in analysis_tables(self.graph).items()
            for asset, schema in tables.items()
        }

    def public_tables(self, follow_up: pa.Table) -> dict[str, pa.Table]:
        """The same without what stands for single examples of a private dataset, small sample groups included.

        A system that does not round has one confidence level, one threshold and one risk point per example; a rare
        shared error is one example too. `follow_up` is FOLLOW_UP_COUNTS, which takes its place among them.
        """
        tables = {name: _without(table, name, self._private) for name, table in self.tables().items()}
        tables[FOLLOW_UP_COUNTS_TABLE] = follow_up
        return without_small_groups(tables, self.withheld, self._private)

    @cached_property
    def withheld(self) -> tuple[Withheld, ...]:
        """The sample groups of private datasets that no public order table has; none without an order analysis."""
        if self.graph.spec.analyses.order_sensitivity is None:
            return ()
        sensitivity = self._table("order_sensitivity", AssetName.ORDER_SENSITIVITY, ORDER_SENSITIVITY)
        return tuple(
            group
            for name in self._private
            if self.lake.has(self.graph.name, AssetName.MANIFEST, dataset=name)
            for group in withheld_groups(
                name, self.lake.read(self.graph.name, AssetName.MANIFEST, dataset=name), sensitivity
            )
        )

    @property
    def _private(self) -> list[str]:
        return [dataset.name for dataset in self.graph.spec.datasets if dataset.private]

    def partitions(self, analysis: str) -> Iterator[AnalysedPartition]:
        """The partitions of an analysis whose predictions all pass their gates."""
        settings = getattr(self.graph.spec.analyses, analysis)
        for dataset in self.graph.spec.datasets:
            for backends, dimensions in self._groups(analysis, dataset.name):
                if backends and all((dataset.name, backend) in self.cells for backend in backends):
                    where = (("dataset", dataset.name), *dimensions)
                    yield AnalysedPartition(dataset.name, backends, settings, where)

    def is_current(self, asset: AssetName, partition: AnalysedPartition) -> bool:
        return self._read(asset, partition) is not None

    def _groups(self, analysis: str, dataset: str) -> Iterator[tuple[tuple[str, ...], tuple[tuple[str, str], ...]]]:
        """What each partition reads of a dataset: a backend, an ordered pair, or all backends that can be read."""
        spec = self.graph.spec
        if analysis == "calibration":
            yield from (((backend,), (("backend", backend),)) for backend in spec.backends)
        elif analysis == "order_sensitivity":
            # What the systems share changes with who takes part: one more system is another table.
            yield tuple(backend for backend in spec.backends if (dataset, backend) in self.cells), ()
        else:
            pairs = spec.cascades if analysis == "cascades" else spec.decision_logs
            yield from ((pair, (("pair", pair_name(pair)),)) for pair in pairs)

    def _table(self, analysis: str, asset: AssetName, schema: pa.Schema) -> pa.Table:
        parts = []
        for partition in self.partitions(analysis):
            table = self._read(asset, partition)
            if table is not None:
                parts.append(table.replace_schema_metadata(None).cast(schema))
        return pa.concat_tables(parts) if parts else schema.empty_table()

    def _read(self, asset: AssetName, partition: AnalysedPartition) -> pa.Table | None:
        where = dict(partition.dimensions)
        if not self.lake.has(self.graph.name, asset, **where):
            return None
        try:
            table = self.lake.read(self.graph.name, asset, **where)
        except GateRefused:
            return None
        stored = metadata_of(table)
        stamp = input_stamp(self.lake, self.graph, partition.dataset, partition.backends, partition.settings)
        return table if all(stored.get(name) == value for name, value in stamp.items()) else None


PER_EXAMPLE = (
    *(AssetName.CONFIDENCE_LEVELS.value, AssetName.CASCADE_SWEEP.value, AssetName.SHARED_ERRORS.value),
    *(AssetName.ORDER_SCORES.value, AssetName.REPEAT_VERIFICATION.value),
)


def _without(table: pa.Table, name: str, datasets: Sequence[str]) -> pa.Table:
    if name not in PER_EXAMPLE or not datasets:
        return table
    keep = pc.invert(pc.is_in(table["dataset"], pa.array(datasets, pa.string())))
    if name == AssetName.CASCADE_SWEEP.value:
        # The reference rows and the chosen point are figures of the whole dataset.
        keep = pc.or_(keep, pc.or_(table["best"], pc.not_equal(table["kind"], "threshold")))
    return table.filter(keep)


def analysis_tables(graph: StudyGraph) -> dict[str, Mapping[AssetName, pa.Schema]]:
    """Tables of the analyses that the study asks for, by analysis."""
    every = {
        "calibration": CELL_TABLES,
        "cascades": CASCADE_TABLES,
        "decision_log": DECISION_LOG_TABLES,
        "order_sensitivity": ORDER_TABLES,
    }
    return {name: tables for name, tables in every.items() if getattr(graph.spec.analyses, name) is not None}
