"""A run that other code submitted writes nothing: no table, no report, no warehouse, no publication."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from zs_assets.assets.graph import StudyGraph
from zs_assets.components.catalogue import load_study
from zs_assets.components.partition_loop import PartitionLoop, State, failure_reason
from zs_assets.components.study import study_definitions
from zs_assets.protocol.analyses import Analyses
from zs_assets.protocol.code_identity import CODE_TAG, code_identity
from zs_assets.protocol.names import AssetName
from zs_assets_tests.small_study import write_small_study

OTHER = "0" * 64
PAIRS = [["sparrow", "uniform"]]
# Together they have every analysis there is, and so every asset; orders stand in a study of their own.
STUDIES: dict[str, dict[str, Any]] = {
    "plain": {
        "analyses": {
            "paired_differences": {"pairs": PAIRS, "resamples": 50, "seed": 7},
            "calibration": {"resamples": 50, "seed": 7},
            "cascades": {"pairs": PAIRS, "targets": ["3/4"], "resamples": 50, "seed": 7},
            "decision_log": {"pairs": PAIRS},
        }
    },
    "turned": {
        "plan": {"orders": {"kind": "rotations", "seed": 3}, "repeats": 1, "shuffle_seed": 5},
        "analyses": {"order_sensitivity": {"pairs": PAIRS, "resamples": 50, "permutations": 10, "seed": 7}},
    },
}


def graph_of(name: str, folder: Path) -> StudyGraph:
    return load_study(write_small_study(folder / name, name=name, **STUDIES[name]))


def writing_steps(graph: StudyGraph) -> dict[str, dg.AssetsDefinition]:
    """Every step of the study that makes something, by name."""
    steps = (step for step in study_definitions(graph).assets or [] if isinstance(step, dg.AssetsDefinition))
    return {step.node_def.name: step for step in steps}


def every_step() -> list[tuple[str, str]]:
    """Asked of the studies themselves, so that a new step is tested without being listed here."""
    with tempfile.TemporaryDirectory() as folder:
        return [(study, step) for study in STUDIES for step in writing_steps(graph_of(study, Path(folder)))]


@pytest.fixture(scope="module")
def loops(tmp_path_factory) -> Iterator[dict[str, PartitionLoop]]:
    """Both studies, run and published by the code of this process."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch, dg.DagsterInstance.ephemeral() as instance:
        for name in ("ZS_LAKE", "ZS_STUDIES", "ZS_SYSTEMS", "DAGSTER_HOME"):
            patch.delenv(name, raising=False)
        patch.setenv("ZS_HOME", str(home))
        loops = {name: PartitionLoop(graph_of(name, home / "studies"), instance) for name in STUDIES}
        for loop in loops.values():
            assert loop.run().failed == []
            assert loop.publish().state is State.MADE
        yield loops


def files_of(home: Path) -> dict[Path, tuple[int, int, int]]:
    """Lake, warehouse and journals: a file that was written again is another one, whatever its bytes."""
    found = {path: path.stat() for path in home.rglob("*") if path.is_file()}
    return {path: (stat.st_ino, stat.st_mtime_ns, stat.st_size) for path, stat in found.items()}


def carry_out(loop: PartitionLoop, name: str, code: str) -> dg.ExecuteInProcessResult:
    """One run of the step, of its first partition where it has any."""
    step = writing_steps(loop.graph)[name]
    return dg.materialize(
        loop.assets,
        selection=list(step.keys),
        partition_key=None if step.partitions_def is None else step.partitions_def.get_first_partition_key(),
        instance=loop.instance,
        resources=loop.resources,
        tags={CODE_TAG: code},
        raise_on_error=False,
    )


def test_the_studies_have_every_asset_and_every_analysis_there_is(tmp_path):
    graphs = [graph_of(name, tmp_path) for name in STUDIES]
    made = {key.path[-1] for graph in graphs for step in writing_steps(graph).values() for key in step.keys}
    observed = {AssetName.DATASET_SPEC.value, AssetName.BACKEND_SPEC.value}
    assert {name.value for name in AssetName} - made == observed
    assert {name for settings in STUDIES.values() for name in settings["analyses"]} == set(Analyses.model_fields)


@pytest.mark.parametrize(("study", "step"), every_step())
def test_a_run_of_other_code_is_refused_and_leaves_everything_as_it_was(loops, study: str, step: str):
    loop = loops[study]
    before = files_of(loop.workspace.places.home)
    refused = carry_out(loop, step, OTHER)
    assert not refused.success
    reason = failure_reason(refused)
    assert OTHER in reason and code_identity().code_sha256 in reason
    assert "install the same zs-assets on both, restart the workers" in reason
    assert refused.get_asset_materialization_events() == []
    assert files_of(loop.workspace.places.home) == before


def test_other_code_makes_no_first_table(home, tmp_path, instance):
    loop = PartitionLoop(graph_of("plain", tmp_path), instance)
    refused = carry_out(loop, "plain__examples", OTHER)
    assert not refused.success
    assert files_of(home) == {}
