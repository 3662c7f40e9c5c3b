"""`run --launch`: the loop's decisions, carried out as runs of an engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pyarrow as pa
import pytest
from dagster._core.events import JobFailureData
from dagster._utils.error import SerializableErrorInfo

from zs_assets.assets.graph import StudyGraph
from zs_assets.components import launch
from zs_assets.components.catalogue import load_study
from zs_assets.components.dagster_runs import RunSubmitter, queue_is_served
from zs_assets.components.launch import LaunchedRuns, launched_runs
from zs_assets.components.partition_loop import PartitionLoop
from zs_assets.components.partition_tasks import PartitionTask, State
from zs_assets.protocol.code_identity import CODE_TAG, code_identity
from zs_assets.protocol.errors import StudyError
from zs_assets.protocol.names import AssetName
from zs_assets_tests.components.launched import QUEUED, SYNCHRONOUS, engine
from zs_assets_tests.small_study import write_small_study

# A hosted system without a key: whoever carries a run out cannot ask it.
FAR = {"interface": "systemone", "title": "Far", "deployment": "hosted", "key_env": "ZS_TEST_NO_SUCH_KEY"}
TIMES = {"run_date", "latency_ms", "in_flight"}


@pytest.fixture
def known_study(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StudyGraph:
    """The small study with a system nobody has a key for, among the user's studies: the workspace loads it by name."""
    path = write_small_study(
        tmp_path / "studies" / "small", backends=["uniform", "far"], systems={"far": FAR}, analyses={}
    )
    monkeypatch.setenv("ZS_STUDIES", str(path.parent.parent))
    return load_study(path)


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with engine(SYNCHRONOUS) as found:
        yield found


def without_times(table: pa.Table) -> pa.Table:
    kept = [name for name in table.column_names if name not in TIMES]
    return table.select(kept).replace_schema_metadata(None)


def test_launched_runs_make_what_the_loop_makes_and_keep_what_it_keeps(
    known_study: StudyGraph, instance: dg.DagsterInstance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with launched_runs(known_study, instance) as carrier:
        launched = PartitionLoop(known_study, instance, carrier=carrier)
        first = launched.run(datasets=["first"])
        again = PartitionLoop(known_study, instance, carrier=carrier).run(["uniform"], ["first"])
    runs = [run for run in instance.get_runs() if run.job_name == "__ASSET_JOB"]
    assert {run.tags[CODE_TAG] for run in runs} == {code_identity().code_sha256}
    tagged = {run.tags.get("dagster/partition/backend") for run in runs}
    assert tagged == {None, "uniform", "far"}

    monkeypatch.setenv("ZS_HOME", str(tmp_path / "local"))
    with dg.DagsterInstance.ephemeral() as here:
        local_loop = PartitionLoop(known_study, here)
        local = local_loop.run(datasets=["first"])
    assert sorted((step.step, step.partition, step.state) for step in first.steps) == sorted(
        (step.step, step.partition, step.state) for step in local.steps
    )
    assert first.failed == []
    assert first.unavailable == local.unavailable == {"far": "Backend 'far' needs a key: set ZS_TEST_NO_SUCH_KEY."}
    assert {step.state for step in again.steps if step.step in ("manifest", "predictions")} == {State.KEPT}
    cell = {"dataset": "first", "backend": "uniform"}
    made, expected = (loop.lake.read("small", AssetName.PREDICTIONS, **cell) for loop in (launched, local_loop))
    assert without_times(made).equals(without_times(expected))


def test_a_failed_run_is_reported_by_its_own_sentence(
    known_study: StudyGraph, instance: dg.DagsterInstance, home: Path
):
    (known_study.folder / "second.csv").write_text("text,label\nOne text.,no_such_label\n")
    with launched_runs(known_study, instance) as carrier:
        result = PartitionLoop(known_study, instance, carrier=carrier).run(["uniform"], ["second"])
    (failed,) = [step for step in result.failed if step.step == "manifest"]
    with dg.DagsterInstance.ephemeral() as here:
        local = PartitionLoop(known_study, here).run(["uniform"], ["second"])
    (expected,) = [step for step in local.failed if step.step == "manifest"]
    assert (failed.partition, failed.reason) == ("second", expected.reason)
    assert "no_such_label" in failed.reason


class Interrupted(Exception):
    """Whoever followed went away."""


def task(study: StudyGraph, dataset: str, *keys: AssetName) -> PartitionTask:
    made = keys or (AssetName.EXAMPLES, AssetName.MANIFEST)
    return PartitionTask("manifest", dataset, "prepare", tuple(study.key(name) for name in made), dataset)


def test_a_partition_on_its_way_is_followed_and_not_submitted_again(
    known_study: StudyGraph, monkeypatch: pytest.MonkeyPatch
):
    """Whoever interrupted the following, or another command, or the UI, launched it."""
    manifests = [task(known_study, dataset) for dataset in ("first", "second")]
    with engine(QUEUED) as waiting, RunSubmitter(waiting, "small") as submitter:

        def interrupt(seconds: float) -> None:
            raise Interrupted

        monkeypatch.setattr(launch, "sleep", interrupt)
        with pytest.raises(Interrupted):
            list(LaunchedRuns(known_study, waiting, submitter).carry_out(manifests))
        assert {run.status for run in waiting.get_runs()} == {dg.DagsterRunStatus.QUEUED}

        def end_all(seconds: float) -> None:
            for run in waiting.get_runs():
                waiting.report_run_failed(run, "The machine caught fire.")

        monkeypatch.setattr(launch, "sleep", end_all)
        # The examples alone are part of what a waiting run makes; the metrics are not.
        asked = [
            *manifests,
            task(known_study, "first", AssetName.EXAMPLES),
            task(known_study, "first", AssetName.METRICS),
        ]
        outcomes = list(LaunchedRuns(known_study, waiting, submitter).carry_out(asked))
        assert len(waiting.get_runs()) == 3
        assert {(outcome.result.state, outcome.result.reason) for outcome in outcomes} == {
            (State.FAILED, "The machine caught fire.")
        }


def ask(study: StudyGraph, dataset: str, backend: str) -> PartitionTask:
    keys = (study.key(AssetName.PREDICTIONS), study.key(AssetName.ATTEMPTS))
    where = f"{dataset} x {backend}"
    return PartitionTask("predictions", where, "measure", keys, study.cell(dataset, backend), (dataset, backend))


def test_what_waits_for_a_system_that_stopped_is_cancelled(known_study: StudyGraph, monkeypatch: pytest.MonkeyPatch):
    """A wrong key is wrong for the other dataset too; the other system's run goes on."""
    asked = [ask(known_study, "first", "far"), ask(known_study, "second", "far"), ask(known_study, "second", "uniform")]
    with engine(QUEUED) as waiting, RunSubmitter(waiting, "small") as submitter:

        def fail(partition: str, kind: str, sentence: str) -> None:
            (run,) = waiting.get_runs(dg.RunsFilter(tags={"dagster/partition": partition}))
            error = SerializableErrorInfo(f"zs_assets.protocol.errors.{kind}: {sentence}\n", [], kind)
            waiting.report_run_failed(run, "failed", JobFailureData(error=error, failure_reason=None))

        looks = iter(
            [
                lambda: fail("far|first", "CollectionStopped", "far refused its key."),
                lambda: fail("uniform|second", "SourceError", "No such file."),
            ]
        )
        monkeypatch.setattr(launch, "sleep", lambda seconds: next(looks)())
        outcomes = list(LaunchedRuns(known_study, waiting, submitter).carry_out(asked))
        states = {run.tags["dagster/partition"]: run.status.value for run in waiting.get_runs()}
    assert [(outcome.result.partition, outcome.result.reason) for outcome in outcomes] == [
        ("first x far", "far refused its key."),
        ("second x uniform", "No such file."),
    ]
    assert [outcome.result.stops_backend for outcome in outcomes] == [True, False]
    assert states == {"far|first": "FAILURE", "far|second": "CANCELED", "uniform|second": "FAILURE"}


def test_a_study_the_workspace_does_not_hold_is_refused_in_one_sentence(
    home: Path, small_study: StudyGraph, instance: dg.DagsterInstance
):
    holds_none = pytest.raises(StudyError, match="No code location of the workspace holds study small")
    with holds_none, launched_runs(small_study, instance):
        pass


def test_a_queue_without_a_daemon_is_noticed(instance: dg.DagsterInstance):
    assert queue_is_served(instance)  # nothing is queued there
    with engine(QUEUED) as waiting:
        assert not queue_is_served(waiting)
