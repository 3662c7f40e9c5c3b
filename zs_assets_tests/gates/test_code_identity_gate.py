"""A worker with other code is refused before it asks anything, with both hashes."""

from __future__ import annotations

import dagster as dg

from zs_assets.assets.follow_up_asset import follow_up_asset
from zs_assets.assets.gated_reading import load_gated
from zs_assets.assets.graph import StudyGraph
from zs_assets.assets.report_asset import study_report
from zs_assets.assets.resources import Workspace
from zs_assets.components.partition_loop import PartitionLoop, State, failure_reason
from zs_assets.components.partition_status import partition_status
from zs_assets.components.study import measured_assets
from zs_assets.gates import one_code, same_code
from zs_assets.protocol.code_identity import CODE_TAG, code_identity
from zs_assets.protocol.names import AssetName, Gate
from zs_assets.storage.lake import metadata_of

OLD, NEW = "0" * 64, "1" * 64


def measure(loop: PartitionLoop, tags: dict[str, str]) -> dg.ExecuteInProcessResult:
    return dg.materialize(
        loop.assets,
        selection=[loop.graph.key(name) for name in measured_assets(loop.graph)],
        partition_key=loop.graph.cell("first", "uniform"),
        instance=loop.instance,
        resources=loop.resources,
        tags=tags,
        raise_on_error=False,
    )


def code_check(result: dg.ExecuteInProcessResult) -> dg.AssetCheckEvaluation:
    (check,) = [found for found in result.get_asset_check_evaluations() if found.check_name == Gate.CODE_IDENTITY.value]
    return check


def test_the_same_code_passes_and_other_code_stops_with_both_hashes():
    assert not same_code(OLD, OLD).stops
    refused = same_code(OLD, NEW)
    assert refused.stops
    assert OLD in refused.sentence and NEW in refused.sentence and "restart the workers" in refused.sentence


def test_a_run_of_plain_dagster_passes_and_says_that_it_does_not_know():
    verdict = same_code(None, NEW)
    assert not verdict.stops
    assert "does not say" in verdict.sentence


def test_tables_of_two_codes_are_a_warning_that_says_which_made_what():
    assert one_code({}).passed and one_code({"metrics of a": OLD, "rankings": OLD}).passed
    mixed = one_code({"metrics of a": OLD, "rankings": NEW, **{f"predictions of {i}": OLD for i in range(6)}})
    assert not mixed.passed and not mixed.stops
    assert mixed.sentence == (
        "the tables of this study were made by 2 different codes: 000000000000 made metrics of a, predictions of 0, "
        "predictions of 1, predictions of 2, predictions of 3 and 2 more; 111111111111 made rankings"
    )


def test_the_report_says_which_code_made_what_after_an_upgrade(home, small_study: StudyGraph, instance, monkeypatch):
    def said() -> list[str]:
        report = study_report(loop.workspace, small_study)
        return [gate["sentence"] for gate in report["gates"] if gate["gate"] == "code_identity" and not gate["passed"]]

    loop = PartitionLoop(small_study, instance)
    assert loop.run(["uniform"], ["first"]).failed == []
    assert said() == []
    before = code_identity().code_sha256[:12]
    monkeypatch.setattr("zs_assets.protocol.code_identity._LOADED", type(code_identity())("9.9", NEW))
    loop.summarise()
    (sentence,) = said()
    assert f"{before} made manifest of first, predictions of first x uniform, metrics of first x uniform" in sentence
    assert f"{NEW[:12]} made rankings" in sentence
    assert loop.publish().state is State.MADE, "an upgrade in mid-study is no reason to refuse"


def test_other_code_asks_nothing_and_leaves_what_was_published(home, small_study: StudyGraph, instance):
    loop = PartitionLoop(small_study, instance)
    loop.prepare(["first"])
    refused = measure(loop, {CODE_TAG: OLD})
    assert not refused.success
    assert OLD in failure_reason(refused) and code_identity().code_sha256 in failure_reason(refused)
    assert not code_check(refused).passed
    journal = Workspace.from_environment().places.journal("small", "first", "uniform")
    assert not journal.exists()
    assert next(iter(partition_status(loop.workspace, small_study)))["state"] == "not run"

    assert measure(loop, {CODE_TAG: code_identity().code_sha256}).success
    before = loop.lake.sha256("small", AssetName.PREDICTIONS, dataset="first", backend="uniform")
    assert not measure(loop, {CODE_TAG: OLD}).success
    assert loop.lake.sha256("small", AssetName.PREDICTIONS, dataset="first", backend="uniform") == before
    assert load_gated(loop.lake, small_study, "first", "uniform").predictions.num_rows == 12


def test_the_command_lines_own_runs_carry_their_code_and_every_table_names_it(home, small_study: StudyGraph, instance):
    loop = PartitionLoop(small_study, instance)
    assert loop.run(["uniform"], ["first"]).failed == []
    tags = [run.tags for run in instance.get_runs() if "dagster/partition/backend" in run.tags]
    assert [found[CODE_TAG] for found in tags] == [code_identity().code_sha256]
    own = vars(code_identity())
    cell = {"dataset": "first", "backend": "uniform"}
    for asset, partition in (
        (AssetName.EXAMPLES, {"dataset": "first"}),
        (AssetName.MANIFEST, {"dataset": "first"}),
        (AssetName.PREDICTIONS, cell),
        (AssetName.ATTEMPTS, cell),
        (AssetName.METRICS, cell),
    ):
        assert own.items() <= metadata_of(loop.lake.read("small", asset, **partition)).items()
    assert load_gated(loop.lake, small_study, "first", "uniform").code_sha256 == code_identity().code_sha256
    assert own.items() <= (loop.lake.read_verdicts("small", "first", "uniform") or {}).items()


def test_a_partition_of_other_code_is_read_as_any_other(home, small_study: StudyGraph, instance, monkeypatch):
    """Upgrades are normal: the hash says what made a table, and is no reason to refuse it."""
    loop = PartitionLoop(small_study, instance)
    loop.run(["uniform"], ["first"])
    monkeypatch.setattr("zs_assets.protocol.code_identity._LOADED", type(code_identity())("9.9", NEW))
    read = load_gated(loop.lake, small_study, "first", "uniform")
    assert read.code_sha256 not in (None, NEW)


def test_other_code_follows_nothing_up(home, small_study: StudyGraph, instance):
    loop = PartitionLoop(small_study, instance)
    loop.run(["uniform"], ["first"])
    refused = dg.materialize(
        [follow_up_asset(small_study)],
        partition_key=small_study.cell("first", "uniform"),
        instance=instance,
        resources=loop.resources,
        tags={CODE_TAG: OLD},
        raise_on_error=False,
    )
    assert not refused.success
    assert OLD in failure_reason(refused) and code_identity().code_sha256 in failure_reason(refused)
