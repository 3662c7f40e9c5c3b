"""Partitions and their mappings: a new backend or a changed dataset touches only its own."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest

from zs_assets.assets.graph import StudyGraph
from zs_assets.components.catalogue import find_study, load_study
from zs_assets.components.partition_loop import PartitionLoop
from zs_assets.components.resources import study_resources
from zs_assets.components.study import study_definitions
from zs_assets.protocol.names import AssetName
from zs_assets_tests.small_study import write_small_study


@pytest.fixture
def pilot() -> StudyGraph:
    return find_study("btzsc_pilot")


def test_a_pair_reads_exactly_the_two_cells_of_its_backends(pilot: StudyGraph):
    pairs = pilot.pairs(pilot.spec.pairs)
    asked = pairs.empty_subset().with_partition_keys([pilot.pair_cell("agnews", "jev__vs__gliner")])
    mapping = pilot.cells_of(pilot.spec.pairs)
    mapped = mapping.get_upstream_mapped_partitions_result_for_partitions(asked, pairs, pilot.cells)
    assert set(mapped.partitions_subset.get_partition_keys()) == {"jev|agnews", "gliner|agnews"}


def test_a_new_backend_leads_only_to_its_own_cells_and_pairs(pilot: StudyGraph):
    asked = pilot.cells.empty_subset().with_partition_keys([pilot.cell("agnews", "jev")])
    mapping, pairs = pilot.cells_of(pilot.spec.pairs), pilot.pairs(pilot.spec.pairs)
    mapped = mapping.get_downstream_partitions_for_partitions(asked, pilot.cells, pairs)
    assert set(mapped.get_partition_keys()) == {"agnews|jev__vs__gliner"}


def test_editing_one_dataset_changes_the_version_of_that_dataset_alone(tmp_path: Path):
    path = write_small_study(tmp_path / "s")
    graph = load_study(path)
    before = {spec.name: graph.dataset_version(spec) for spec in graph.spec.datasets}
    (tmp_path / "s" / "first.csv").write_text((tmp_path / "s" / "first.csv").read_text() + "More rain.,rain\n")
    changed = [spec.name for spec in graph.spec.datasets if graph.dataset_version(spec) != before[spec.name]]
    assert changed == ["first"]


def test_limits_and_prices_are_no_part_of_a_backends_version(pilot: StudyGraph):
    jev = pilot.systems["jev"]
    assert jev.model_copy(update={"price": None, "terms": "x"}).spec_hash() == jev.spec_hash()
    assert jev.model_copy(update={"model": "jev-1.14.0"}).spec_hash() != jev.spec_hash()


def test_every_asset_says_what_it_is_and_belongs_to_its_study(pilot: StudyGraph):
    definitions = study_definitions(pilot)
    for asset in definitions.assets or []:
        if isinstance(asset, dg.SourceAsset):
            assert asset.description and asset.group_name == "btzsc_pilot"
            continue
        assert isinstance(asset, dg.AssetsDefinition)
        for key in asset.keys:
            assert key.path[0] == "btzsc_pilot"
            assert asset.descriptions_by_key.get(key), key
            assert asset.group_names_by_key[key] == "btzsc_pilot"


def test_only_the_partitions_of_a_changed_backend_go_stale(tmp_path: Path, home: Path, instance: dg.DagsterInstance):
    def study(temperature: float) -> StudyGraph:
        embedder = {
            "interface": "minilm",
            "title": "M",
            "deployment": "local",
            "settings": {"temperature": temperature},
        }
        path = write_small_study(
            tmp_path / "s", backends=["uniform", "embedder"], systems={"embedder": embedder}, analyses={}
        )
        return load_study(path)

    before = study(0.05)
    PartitionLoop(before, instance).run()
    after = study(0.1)
    PartitionLoop(after, instance).observe()
    assert stale_partitions(after, instance) == {"embedder|first", "embedder|second"}
    assert stale_partitions(before, instance) == {"embedder|first", "embedder|second"}


def stale_partitions(graph: StudyGraph, instance: dg.DagsterInstance) -> set[str]:
    """Cells that Dagster shows as stale; its resolver is internal, so it is used here alone."""
    from dagster._core.definitions.data_version import CachingStaleStatusResolver, StaleStatus
    from dagster._core.loader import LoadingContextForTest

    definitions = dg.Definitions.merge(study_definitions(graph), dg.Definitions(resources=study_resources()))
    asset_graph = definitions.resolve_asset_graph()
    resolver = CachingStaleStatusResolver(instance, asset_graph, LoadingContextForTest(instance))
    key = graph.key(AssetName.PREDICTIONS)
    return {cell for cell in graph.cells.get_partition_keys() if resolver.get_status(key, cell) == StaleStatus.STALE}
