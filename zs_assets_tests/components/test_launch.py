"""`run --launch`: the loop's decisions, carried out as runs of an engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pyarrow as pa
import pytest
from dagster._core.events import EngineEventData, JobFailureData
from dagster._utils.error import SerializableErrorInfo
from sqlalchemy.exc import OperationalError

from zs_assets.assets.graph import StudyGraph
from zs_assets.components import launch
from zs_assets.components.catalogue import load_study
from zs_assets.components.dagster_runs import RunSubmitter, queue_is_served
from zs_assets.components.launch import RETRIED_BY_TAG, WILL_RETRY_TAG, LaunchedRuns, launched_runs
from zs_assets.components.partition_loop import PartitionLoop
from zs_assets.components.partition_tasks import PartitionTask, State
from zs_assets.protocol.code_identity import CODE_TAG, code_identity
from zs_assets.protocol.errors import StorageError, StudyError
from zs_assets.protocol.names import AssetName
from zs_assets_tests.components.launched import QUEUED, SYNCHRONOUS, engine
from zs_assets_tests.small_study import write_small_study

# A hosted system without a key: whoever carries a run out cannot ask it.
FAR = {"interface": "systemone", "title": "Far", "deployment": "hosted", "key_env": "ZS_TEST_NO_SUCH_KEY"}
TIMES = {"run_date", "latency_ms", "in_flight"}


@dg.op
def step() -> None:
    return None


@dg.job
def work() -> None:
    step()


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


def end_with(instance: dg.DagsterInstance, kind: str, sentence: str) -> None:
    """As the daemon or a worker reports what kept it from carrying a run out."""
    error = SerializableErrorInfo(f"{kind}: {sentence}\n", [], kind)
    for run in instance.get_runs():
        instance.report_engine_event("Something happened.", run, EngineEventData.engine_error(error))
        instance.report_run_failed(run)


@pytest.mark.parametrize(
    ("kind", "sentence", "reason"),
    [
        ("OperationalError", "no broker", "the engine could not carry out the run: OperationalError: no broker"),
        ("DagsterInvalidSubsetError", "AssetKey(s) ['small/manifest']", "does not have this study as it is here"),
    ],
)
def test_what_kept_a_run_from_beginning_is_its_reason(known_study, monkeypatch, kind: str, sentence: str, reason: str):
    with engine(QUEUED) as waiting, RunSubmitter(waiting, "small") as submitter:
        monkeypatch.setattr(launch, "sleep", lambda seconds: end_with(waiting, kind, sentence))
        (outcome,) = LaunchedRuns(known_study, waiting, submitter).carry_out([task(known_study, "first")])
    assert outcome.result.state is State.FAILED
    assert reason in outcome.result.reason


def test_a_failed_run_is_followed_to_the_one_that_takes_its_place(known_study, monkeypatch):
    """Dagster calls a run failed first, says then that it starts it anew, and names the new run later still."""
    with (
        engine({**QUEUED, "run_retries": {"enabled": True, "max_retries": 1}}) as waiting,
        RunSubmitter(waiting, "small") as submitter,
    ):
        monkeypatch.setattr(type(waiting), "run_retries_enabled", property(lambda self: False))
        looks = iter(
            [
                lambda: waiting.report_run_failed(first(), "The worker is gone."),
                lambda: None,
                lambda: waiting.add_run_tags(first().run_id, {WILL_RETRY_TAG: "true"}),
                lambda: waiting.add_run_tags(first().run_id, {RETRIED_BY_TAG: again().run_id}),
                lambda: waiting.report_run_failed(again(), "The other worker is gone too."),
                lambda: waiting.add_run_tags(again().run_id, {WILL_RETRY_TAG: "false"}),
            ]
        )

        def look(seconds: float) -> None:
            # Dagster tags a failed run in the same breath here; on an engine somebody else does, a moment later.
            monkeypatch.setattr(type(waiting), "run_retries_enabled", property(lambda self: False))
            next(looks)()
            monkeypatch.setattr(type(waiting), "run_retries_enabled", property(lambda self: True))

        def first() -> dg.DagsterRun:
            return next(run for run in waiting.get_runs() if "retry" not in run.tags)

        def again() -> dg.DagsterRun:
            found = waiting.get_runs(dg.RunsFilter(tags={"retry": "1"}))
            return found[0] if found else waiting.create_run_for_job(work, tags={"retry": "1"})

        monkeypatch.setattr(launch, "sleep", look)
        (outcome,) = LaunchedRuns(known_study, waiting, submitter).carry_out([task(known_study, "first")])
    assert outcome.result.reason == "The other worker is gone too."


def test_a_database_that_is_gone_for_a_while_ends_nothing(known_study, monkeypatch):
    with engine(QUEUED) as waiting, RunSubmitter(waiting, "small") as submitter:
        asked = type(waiting).get_runs
        answers = iter([True, False, False, True, True])

        def get_runs(self, *arguments, **options):
            if not next(answers, True):
                raise OperationalError("select", {}, Exception("server closed the connection"))
            return asked(self, *arguments, **options)

        monkeypatch.setattr(type(waiting), "get_runs", get_runs)
        monkeypatch.setattr(launch, "sleep", lambda seconds: None)

        def fail(task: PartitionTask, run_id: str) -> None:
            waiting.report_run_failed(waiting.get_run_by_id(run_id), "It ended.")

        carrier = LaunchedRuns(known_study, waiting, submitter, on_the_way=fail)
        (outcome,) = carrier.carry_out([task(known_study, "first")])
        assert outcome.result.reason == "It ended."
        monkeypatch.setattr(launch, "DATABASE_PATIENCE_S", -1.0)
        answers = iter([False])
        with pytest.raises(StorageError, match=r"has not answered .* the same command follows them"):
            list(carrier.carry_out([task(known_study, "first")]))


def test_a_run_whose_submission_was_interrupted_waits_for_nobody(known_study, monkeypatch):
    with engine(QUEUED) as waiting, RunSubmitter(waiting, "small") as submitter:

        def interrupt(*arguments: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(type(waiting), "submit_run", interrupt)
        with pytest.raises(KeyboardInterrupt):
            list(LaunchedRuns(known_study, waiting, submitter).carry_out([task(known_study, "first")]))
        assert {run.status for run in waiting.get_runs()} == {dg.DagsterRunStatus.CANCELED}


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


def test_a_broken_study_beside_it_is_named_with_its_problem(known_study: StudyGraph, instance: dg.DagsterInstance):
    """The workspace loads all studies or none."""
    broken = known_study.folder.parent / "broken"
    broken.mkdir()
    (broken / "defs.yaml").write_text("type: zs_assets.Study\nattributes: {name: broken}\n")
    says_what = pytest.raises(StudyError, match=r"cannot be loaded: .*broken/defs.yaml: key 'question' is missing")
    with says_what, launched_runs(known_study, instance):
        pass
