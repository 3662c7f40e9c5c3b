"""The published figures through the whole pipeline: 500 real replies imported, gated, analysed, reported, exported."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import dagster as dg
import pytest

from zs_assets.assets.analysis_inputs import ReadableAnalyses
from zs_assets.components.catalogue import find_study
from zs_assets.components.partition_loop import PartitionLoop, State
from zs_assets.components.run_export import export_run
from zs_assets.components.run_import import import_run
from zs_assets.protocol.names import AssetName
from zs_assets_tests.janus_rows import AUTOMATION, fallback_rows, jev_rows, write_run
from zs_assets_tests.sources.real_data import needs_real_data

pytestmark = needs_real_data


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """The shipped study with both runs imported on Banking77; its tables by name and its report."""
    home = tmp_path_factory.mktemp("automation")
    with pytest.MonkeyPatch.context() as patch, dg.DagsterInstance.ephemeral() as instance:
        for name in ("ZS_LAKE", "ZS_STUDIES", "ZS_SYSTEMS", "DAGSTER_HOME"):
            patch.delenv(name, raising=False)
        patch.setenv("ZS_HOME", str(home))
        patch.setenv("ZS_BANKING77", str(AUTOMATION / "banking77_test.csv"))
        patch.setenv("ZS_WOS", str(AUTOMATION / "wos_1000.jsonl"))
        patch.setenv("ZS_AUTOMATION_LABELS", str(AUTOMATION))
        loop = PartitionLoop(find_study("selective_automation"), instance)
        loop.prepare(["banking77"])
        for backend, rows in (("jev", jev_rows()), ("deepseek", fallback_rows())):
            path = write_run(home / "runs" / f"{backend}.jsonl", rows)
            import_run(loop.workspace, loop.graph, "banking77", backend, path, "janus", model=rows[0]["model_id"])
        result = loop.run(["jev", "deepseek"], ["banking77"])
        assert result.failed == []
        yield loop


@pytest.fixture(scope="module")
def tables(study):
    return {name: table.to_pylist() for name, table in ReadableAnalyses(study.lake, study.graph).tables().items()}


def of(rows, **named):
    found = [row for row in rows if named.items() <= row.items()]
    assert len(found) == 1
    return found[0]


def rounded(row, *names, digits=4):
    return [round(row[name], digits) for name in names]


def test_the_level_table_is_the_published_one(tables):
    levels = [row for row in tables["confidence_levels"] if row["backend"] == "jev"]
    assert len(levels) == 63
    shown = [(row["level"], row["count"], row["correct"]) for row in levels[:4]]
    assert shown == [(1.0, 238, 228), (0.99, 46, 37), (0.98, 24, 19), (0.97, 18, 14)]
    wilson = [rounded(row, "accuracy", "wilson_low", "wilson_high", digits=3) for row in levels[:4]]
    assert wilson == [[0.958, 0.924, 0.977], [0.804, 0.668, 0.893], [0.792, 0.595, 0.908], [0.778, 0.548, 0.91]]
    small = [row for row in levels if row["small"]]
    assert (len(small), sum(row["count"] for row in small)) == (58, round(0.324 * 500))
    assert [row["level"] for row in levels if row["atom"]] == [1.0]
    assert levels[-1]["accepted"] == 500 and levels[-1]["errors"] == 111


def test_calibration_figures_and_their_published_intervals(tables):
    ends = ("value", "ci95_low", "ci95_high")
    published = {
        "ece_by_level": [0.1568, 0.1418, 0.2],
        "ece": [0.1302, 0.1015, 0.1636],
        "brier": [0.3518, 0.2947, 0.4102],
    }
    for figure, values in published.items():
        row = of(tables["calibration"], backend="jev", figure=figure, method="protocol")
        assert rounded(row, *ends) == values
    assert rounded(of(tables["calibration"], figure="confidence_gap", backend="jev"), "value", digits=3) == [0.129]
    floor = of(tables["calibration"], backend="jev", figure="ece_by_level", method="addition")
    assert rounded(floor, "noise_mean", "noise_p95", digits=2) == [0.07, 0.08]
    floor = of(tables["calibration"], backend="jev", figure="ece", method="addition")
    assert rounded(floor, "noise_mean", "noise_p95", digits=3) == [0.023, 0.034]


def test_auroc_outside_the_atom_in_both_forms_and_corrected(tables):
    def row(form, statistic):
        return of(tables["auroc_comparisons"], backend="jev", form=form, statistic=statistic)

    own = row("integer", "confidence")
    assert (own["n"], own["correct"], own["atom"], round(own["auroc"], 3)) == (262, 161, 238, 0.706)
    assert [round(row("float", name)["auroc"], 3) for name in ("entropy_norm", "margin_top2", "ratio_top2")] == [
        0.705,
        0.695,
        0.691,
    ]
    ends = ("difference", "ci95_low", "ci95_high")
    assert rounded(row("float", "entropy_norm"), *ends) == [0.0015, -0.0124, 0.0152]
    assert rounded(row("float", "margin_top2"), *ends) == [0.0109, 0.0013, 0.0207]
    assert rounded(row("integer", "margin_top2"), "ci95_low", "ci95_high") == [0.0013, 0.0206]
    assert rounded(row("float", "ratio_top2"), *ends) == [0.0154, 0.0026, 0.0281]
    assert rounded(row("integer", "ratio_top2"), "ci95_low", "ci95_high") == [0.0025, 0.0282]
    assert rounded(row("float", "ratio_top2"), "p_value", "p_holm", digits=3) == [0.018, 0.055]
    assert rounded(row("float", "margin_top2"), "p_value", "p_holm", digits=3) == [0.028, 0.056]


@pytest.mark.parametrize(
    ("confidence_level", "coverages"), [("19/20", [0.0, 0.476, 0.568, 0.732]), ("9/10", [0.0, 0.476, 0.568, 0.786])]
)
def test_certified_coverage_at_four_risks(tables, confidence_level, coverages):
    rows = [row for row in tables["certified_thresholds"] if row["confidence_level"] == confidence_level]
    found = [row["coverage"] for row in rows if row["backend"] == "jev"]
    assert found == coverages
    assert {row["plug_in_coverage"] for row in rows if row["risk_limit"] == "1/20"} == {0.476}


def test_a_label_only_backend_has_no_calibration_and_no_made_up_confidence(study, tables):
    for name in ("confidence_levels", "confidence_tiers", "calibration", "auroc_comparisons", "certified_thresholds"):
        assert {row["backend"] for row in tables[name]} == {"jev"}
    predictions = study.lake.read(study.graph.name, AssetName.PREDICTIONS, dataset="banking77", backend="deepseek")
    assert predictions["confidence"].null_count == predictions["probabilities"].null_count == 500


def test_agreement_and_ceiling_are_the_published_counts(tables):
    row = of(tables["agreements"], primary="jev", fallback="deepseek")
    counts = ("both_correct", "both_wrong_same", "both_wrong_different", "primary_only", "fallback_only")
    assert [row[name] for name in counts] == [367, 75, 9, 22, 27]
    sweep = {row["kind"]: row for row in tables["cascade_sweep"] if row["kind"] != "threshold"}
    assert [sweep[kind]["accuracy"] for kind in ("primary", "fallback", "oracle")] == [0.778, 0.788, 0.832]
    assert sweep["primary"]["cost_usd"] == pytest.approx(0.050722, abs=5e-7)
    at = of(tables["cascade_sweep"], kind="threshold", threshold=0.67)
    assert (at["escalated"], at["coverage"]) == (58, 0.884)


def test_targets_out_of_reach_stay_and_are_said_to_be(tables):
    rows = tables["cascade_targets"]
    assert [row["target"] for row in rows] == ["9/10", "19/20", "49/50"]
    assert not any(row["attainable"] for row in rows)
    assert all(row["oracle_misses"] for row in rows)


def test_the_report_says_all_of_it_and_names_what_is_missing(study):
    report = json.loads((study.lake.folder(study.graph.name, AssetName.REPORT) / "report.json").read_text())
    statuses = {(v["dataset"], v["fallback"]): v["status"] for v in report["cascade_verdicts"]}
    assert statuses["banking77", "deepseek"] == "route"  # of this built fallback: its wins lie below the atom
    assert statuses["wos", "deepseek"] == statuses["banking77", "opus"] == "not_publishable"
    said = " ".join(v["sentence"] for v in [*report["cascade_verdicts"], *report["remarks"]])
    for fact in (
        "83.2 %",
        "unattainable: 90 %, 95 % and 98 %; not even the ceiling",
        "+12.9 points",
        "not after Holm's correction",
    ):
        assert fact in said
    page = (study.lake.folder(study.graph.name, AssetName.REPORT) / "index.html").read_text()
    assert "jev then deepseek" in page


def test_the_one_prompt_gate_is_asked_over_all_backends(study):
    report = json.loads((study.lake.folder(study.graph.name, AssetName.REPORT) / "report.json").read_text())
    gate = of(report["gates"], gate="one_prompt", dataset="banking77", backend="")
    assert gate["passed"]
    assert "5736ce180df568e6f6ce31640093764d8e046abe69110550e6429021c78439a7" in gate["sentence"]


def test_a_second_run_computes_no_table_again(study):
    before = len(study.result.steps)
    study.run(["jev", "deepseek"], ["banking77"])
    again = [step for step in study.result.steps[before:] if step.state is State.MADE]
    assert [step.step for step in again] == ["summary"]


@pytest.mark.skipif(find_spec("janus") is None, reason="janus-decide is not installed")
def test_janus_measures_the_exported_run_alike(study, tables, tmp_path):
    """`measure --replay` of the study's own tool: every threshold's coverage, accuracy and cost, and the ceiling."""
    for backend, name in (("jev", "primary"), ("deepseek", "fallback")):
        export_run(study.workspace, study.graph, "banking77", backend, tmp_path)
        shutil.move(tmp_path / f"{backend}_banking77.jsonl", tmp_path / f"{name}.jsonl")
    printed = janus_measure(tmp_path)
    points = re.findall(r"^\s+\w+\s+(\d\.\d\d)\s+([\d.]+)%\s+([\d.]+)%\s+([\d.]+)\s+(\d+)ms", printed, re.MULTILINE)
    assert len(points) > 40
    ours = {f"{row['threshold']:.2f}": row for row in tables["cascade_sweep"] if row["kind"] == "threshold"}
    for threshold, coverage, accuracy, cost, p50 in points:
        row = ours[threshold]
        assert (float(coverage), float(accuracy)) == (round(100 * row["coverage"], 1), round(100 * row["accuracy"], 1))
        assert float(cost) == pytest.approx(row["cost_usd"], abs=10.0 ** -len(cost.split(".")[1]))
        assert int(p50) == pytest.approx(row["latency_p50_ms"], abs=1)
    assert "83.2" in printed[printed.index("VERDICT") :]


def janus_measure(folder: Path) -> str:
    start = "import sys; from janus.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [
        *(sys.executable, "-c", start, "--color", "never", "measure", "--replay"),
        *("--dataset", str(folder / "banking77.jsonl"), "--labels", str(folder / "banking77.labels.json")),
        *("--primary", "typesafe:jev", "--fallback", "deepseek:deepseek-v4-pro", "--raw-dir", str(folder)),
    ]
    run = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=120)
    assert run.returncode == 0, run.stderr
    return run.stdout
