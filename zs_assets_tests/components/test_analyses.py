"""Analyses of selective automation on a small study: what they read, when they are made again, and stated nulls."""

from __future__ import annotations

import csv
import json

import dagster as dg
import pytest

from zs_assets.assets import cells
from zs_assets.assets.analysis_inputs import ReadableAnalyses
from zs_assets.components.catalogue import load_study
from zs_assets.components.partition_loop import PartitionLoop, State
from zs_assets.components.study import study_definitions
from zs_assets.protocol.errors import StudyError
from zs_assets.protocol.names import AssetName
from zs_assets_tests.small_study import LABELS, ScriptedBackend, write_small_study

CASCADE = {"pairs": [["sparrow", "uniform"]], "targets": ["1/2", "9/10"], "resamples": 100, "seed": 3}
ANALYSES = {"calibration": {"resamples": 200, "seed": 3}, "cascades": CASCADE}


def number_of(presentation):
    """Texts are `... day 3.` or `... number 3.`, six of each label."""
    return int(presentation.example.text.rstrip(".").split()[-1])


def unsure(presentation):
    """Right where sure, wrong where unsure: every second text."""
    rain = "rain" in presentation.example.text
    sure = number_of(presentation) % 2 == 0
    p = 0.9 if sure else 0.4
    return {"rain": p, "bread": 1 - p} if rain else {"rain": 1 - p, "bread": p}


def always_right(presentation):
    p = 0.8 if "rain" in presentation.example.text else 0.2
    return {"rain": p, "bread": 1 - p}


@pytest.fixture
def study(home, instance, tmp_path, monkeypatch):
    """A function: the small study with some analyses and scripted answers, run; the loop is returned."""

    def run(analyses, answers=None, **changes):
        vectors = {"sparrow": unsure, "uniform": always_right} | (answers or {})

        def build(spec, question, folder=None):
            return ScriptedBackend(spec, question, vectors[spec.name])

        monkeypatch.setattr(cells, "build_backend", build)
        path = write_small_study(tmp_path / "study", analyses=analyses, **changes)
        loop = PartitionLoop(load_study(path), instance)
        assert loop.run().failed == []
        return loop

    return run


def tables(loop):
    return {name: table.to_pylist() for name, table in ReadableAnalyses(loop.lake, loop.graph).tables().items()}


def test_a_cascade_keeps_what_is_sure_and_escalates_the_rest(study):
    found = tables(study(ANALYSES))
    first = [row for row in found["cascades"] if row["dataset"] == "first"]
    assert len(first) == 1
    row = first[0]
    assert (row["primary_correct"], row["fallback_correct"], row["oracle_correct"]) == (6, 12, 12)
    # Keeping the sure half and escalating the rest gets all right, which the fallback alone does too: no route.
    assert (row["best_correct"], row["route"], row["better_single"]) == (12, False, "fallback")
    assert "no more than the fallback alone" in row["verdict"]
    assert row["gain_in_sample"] == 0
    targets = [
        (t["target"], t["attainable"], t["reached_by"]) for t in found["cascade_targets"] if t["dataset"] == "first"
    ]
    assert targets == [("1/2", True, "primary"), ("9/10", True, "fallback")]


def test_every_threshold_is_an_observed_level_and_one_above(study):
    found = tables(study(ANALYSES))
    sweep = [row for row in found["cascade_sweep"] if row["dataset"] == "first" and row["kind"] == "threshold"]
    assert [row["threshold"] for row in sweep] == pytest.approx([0.6, 0.9, 0.91])
    assert [row["escalated"] for row in sweep] == [0, 6, 12]
    assert [row["correct"] for row in sweep] == [6, 12, 12]


def test_a_confirmatory_run_chooses_on_one_part_and_looks_once_at_the_other(study):
    split = CASCADE | {"validation": {"share": "1/2", "seed": 5}}
    row = tables(study({"cascades": split}))["cascades"][0]
    assert (row["validation_rows"], row["test_rows"]) == (6, 6)
    assert row["confirmed_correct"] == row["confirmed_single_correct"] == 6
    assert row["confirmed_difference"] == 0 and row["confirmed_p"] == 1.0


def test_all_answers_right_is_a_stated_null_and_no_area(study):
    found = tables(study(ANALYSES, {"sparrow": always_right}))
    rows = [row for row in found["auroc_comparisons"] if row["backend"] == "sparrow"]
    assert {row["auroc"] for row in rows} == {None}
    assert {row["undefined"] for row in rows} == {"all 12 answers are right: there is no pair to compare"}


def test_unknown_costs_stay_unknown_in_every_sum(study):
    hosted = {"sparrow": {"interface": "sparrow", "title": "s", "deployment": "hosted"}}
    found = tables(study(ANALYSES, systems=hosted))
    sweep = [row for row in found["cascade_sweep"] if row["dataset"] == "first"]
    fallback_alone = [row for row in sweep if row["kind"] == "fallback"]
    assert [row["cost_usd"] for row in fallback_alone] == [0.0]
    others = [row for row in sweep if row["kind"] != "fallback"]
    assert {row["cost_usd"] for row in others} == {None}
    assert all(row["cost_unknown"] == 12 for row in others)


def test_tables_of_other_predictions_or_settings_are_not_read_and_are_made_again(
    study, monkeypatch, tmp_path, instance
):
    loop = study(ANALYSES)
    assert tables(loop)["cascades"]
    reseeded = ANALYSES | {"cascades": CASCADE | {"seed": 4}}
    changed = PartitionLoop(load_study(write_small_study(tmp_path / "study", analyses=reseeded)), instance)
    assert tables(changed)["cascades"] == []
    assert len(tables(changed)["confidence_levels"]) > 0  # its settings did not change
    steps = changed.run().steps
    made = [(step.step, step.partition) for step in steps if step.state is State.MADE]
    assert made == [
        ("cascades", "first x sparrow__vs__uniform"),
        ("cascades", "second x sparrow__vs__uniform"),
        ("summary", "small"),
    ]
    assert tables(changed)["cascades"]


def test_a_partition_that_fails_its_gates_takes_its_analyses_along(study):
    loop = study(ANALYSES)
    path = loop.lake.table("small", AssetName.PREDICTIONS, dataset="first", backend="uniform")
    path.write_bytes(path.read_bytes() + b" ")
    found = tables(loop)
    assert {row["dataset"] for row in found["cascades"]} == {"second"}
    assert {row["dataset"] for row in found["confidence_levels"] if row["backend"] == "uniform"} == {"second"}
    assert {row["dataset"] for row in found["confidence_levels"] if row["backend"] == "sparrow"} == {"first", "second"}


def test_a_decision_log_needs_no_gold_labels_and_claims_none(study):
    log = {"decision_log": {"pairs": [["sparrow", "uniform"]]}}
    sources = [
        {"name": name, "source": {"kind": "file", "path": f"{name}.csv", "label_column": None, "labels": dict(LABELS)}}
        for name in ("first", "second")
    ]
    loop = study(log, datasets=sources)
    rows = [row for row in tables(loop)["decision_log"] if row["dataset"] == "first"]
    overall = next(row for row in rows if row["stratum"] == "all")
    assert (overall["n"], overall["agree"], overall["share"]) == (12, 6, 0.5)
    baseline = next(row for row in rows if row["stratum"] == "majority_baseline")
    assert (baseline["agree"], baseline["n"]) == (6, 12)
    written = json.dumps(rows)
    assert not any(word in written for word in ("accuracy", "correct", "ground truth"))


def test_a_private_dataset_publishes_no_figure_of_a_single_example(study):
    source = {"kind": "file", "path": "first.csv", "labels": dict(LABELS)}
    other = {"kind": "file", "path": "second.csv", "labels": dict(LABELS)}
    datasets = [
        {"name": "first", "source": source, "private": True},
        {"name": "second", "source": other, "private": False},
    ]
    loop = study(ANALYSES, datasets=datasets)
    assert loop.publish().state is State.MADE
    folder = loop.lake.folder("small", AssetName.PUBLICATION)
    published = json.loads((folder / "report.json").read_text())
    for name in ("confidence_levels", "shared_errors"):
        assert {row["dataset"] for row in published["analyses"][name]} <= {"second"}
    sweep = [row for row in published["analyses"]["cascade_sweep"] if row["dataset"] == "first"]
    assert sorted(row["kind"] for row in sweep) == ["fallback", "oracle", "primary", "threshold"]
    for curve in ("risk_coverage", "latency"):
        assert {points["dataset"] for points in published["curves"][curve]} <= {"second"}
    with (folder / "confidence_levels.csv").open() as file:
        assert {row["dataset"] for row in csv.DictReader(file)} == {"second"}


def test_every_job_of_a_study_with_all_analyses_resolves(study):
    """A job may not be named like an asset's step: the whole code location would fail to load."""
    log = {"decision_log": {"pairs": [["sparrow", "uniform"]]}}
    loop = study(ANALYSES | log)
    resources = dg.Definitions(resources=loop.resources)
    repository = dg.Definitions.merge(study_definitions(loop.graph), resources).get_repository_def()
    assert {job.name for job in repository.get_all_jobs()} >= {"small__analyse_decision_log", "small__measure"}


def test_the_tables_reach_the_warehouse_and_the_bundle(study):
    import duckdb

    loop = study(ANALYSES)
    with duckdb.connect(str(loop.workspace.places.warehouse), read_only=True) as connection:
        rows = connection.execute("select dataset, route from small.cascades order by dataset").fetchall()
    assert rows == [("first", False), ("second", False)]
    assert loop.publish().state is State.MADE
    folder = loop.lake.folder("small", AssetName.PUBLICATION)
    with (folder / "cascades.csv").open() as file:
        assert [row["dataset"] for row in csv.DictReader(file)] == ["first", "second"]


@pytest.mark.parametrize(
    ("analyses", "sentence"),
    [
        ({"cascades": {"pairs": [["sparrow", "jev"]]}}, "compares 'jev' in cascades, which is none of its backends"),
        ({"cascades": {"pairs": [["sparrow", "sparrow"]]}}, "compares 'sparrow' with itself in cascades"),
        ({"cascades": {"pairs": [["sparrow"]]}}, "a pair names two backends, not 1"),
        ({"cascades": {"pairs": [["sparrow", "uniform"]], "targets": ["1.2"]}}, "1.2 must lie between 0 and 1"),
        ({"calibration": {"seeds": 1}}, "seeds"),
    ],
)
def test_an_analysis_that_cannot_be_made_is_refused_when_the_study_loads(tmp_path, analyses, sentence):
    with pytest.raises(StudyError, match=sentence):
        load_study(write_small_study(tmp_path / "study", analyses=analyses))
