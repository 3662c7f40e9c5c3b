"""The sentences a report opens with."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from zs_assets.protocol.names import Gate
from zs_assets.report import MissingPartition, PartitionVerdict, build_report
from zs_assets.report.verdicts import QUESTIONS
from zs_assets.stats import Metric, Scheme
from zs_assets.storage.schemas import DATASET_MEANS, METRICS
from zs_assets_tests.report.report_inputs import LABELS, report_inputs, study

STRATIFIED, PLAIN = Scheme.TARGET_STRATIFIED.value, Scheme.PLAIN.value


def verdict(report: dict[str, Any], metric: str = "macro_f1", a: str = "jev", b: str = "sparrow") -> dict[str, Any]:
    (found,) = [v for v in report["verdicts"] if (v["backend_a"], v["backend_b"], v["metric"]) == (a, b, metric)]
    return found


def with_means(metric: str, scheme: str, **changes: Any) -> pa.Table:
    """The synthetic means with one row of jev minus sparrow changed."""
    rows = report_inputs().dataset_means.to_pylist()
    for row in rows:
        if (row["backend_a"], row["metric"], row["scheme"]) == ("jev", metric, scheme):
            row.update(changes)
    return pa.Table.from_pylist(rows, schema=DATASET_MEANS)


def remarks(report: dict[str, Any], kind: str) -> list[str]:
    return [remark["sentence"] for remark in report["remarks"] if remark["kind"] == kind]


def test_every_pair_has_one_verdict_per_question():
    report = build_report(report_inputs())
    asked = [(v["backend_a"], v["backend_b"], v["metric"]) for v in report["verdicts"]]
    assert asked == [(a, b, m.value) for a, b in study().pairs for m in QUESTIONS]


def test_a_supported_difference_names_the_better_backend_with_numbers_interval_and_n():
    inputs = report_inputs(
        dataset_means=with_means(
            "brier",
            STRATIFIED,
            difference=-0.25,
            ci95_low=-0.31,
            ci95_high=-0.19,
            supported=True,
            better="jev",
            weak=None,
        )
    )
    found = verdict(build_report(inputs), "brier")
    assert found["status"] == "supported"
    assert found["sentence"].startswith(
        "Supported: jev is better than sparrow in Brier score (lower is better): jev minus sparrow is −0.250 with a "
        "95 % interval of −0.310 to −0.190 (mean over 3 datasets, n = 282 examples answered by both)"
    )


def test_an_interval_that_includes_zero_is_not_supported_and_says_where_the_estimate_leans():
    inputs = report_inputs(
        dataset_means=with_means(
            "nll", STRATIFIED, difference=0.2, ci95_low=-0.1, ci95_high=0.5, supported=False, better=None
        )
    )
    found = verdict(build_report(inputs), "nll")
    assert found["status"] == "not_supported"
    assert found["sentence"].startswith("Not supported: no difference shown between jev and sparrow")
    assert "interval of −0.100 to +0.500 that includes zero; the estimate leans to sparrow" in found["sentence"]


def test_the_protocols_scheme_decides_and_our_disagreeing_interval_is_in_the_same_sentence():
    change = {"ci95_low": -0.01, "ci95_high": 0.3, "supported": False, "better": None}
    found = verdict(build_report(report_inputs(dataset_means=with_means("accuracy", PLAIN, **change))), "accuracy")
    assert found["status"] == "supported"
    assert found["schemes_agree"] is False
    assert "but our plain bootstrap disagrees: its interval of −0.010 to +0.300 includes zero" in found["sentence"]


def test_a_weak_interval_says_so_in_its_sentence():
    changed = with_means("accuracy", STRATIFIED, weak="72 strata for 100 rows; one stream for all")
    found = verdict(build_report(report_inputs(dataset_means=changed)), "accuracy")
    assert "the protocol's interval is weak: 72 strata for 100 rows (and 1 further caveat)" in found["sentence"]


def test_the_floor_that_decides_nll_is_named():
    changed = with_means("nll_half_step", STRATIFIED, ci95_low=-0.2, ci95_high=0.1, supported=False, better=None)
    sentence = verdict(build_report(report_inputs(dataset_means=changed)), "nll")["sentence"]
    assert "the floor decides it: with 0.005 instead of 1e-12 the interval includes zero" in sentence


def test_a_failed_gate_makes_the_verdicts_of_its_pairs_not_publishable_and_hides_its_figures():
    failed = PartitionVerdict(
        "emotions", "jev", Gate.MAX_INVALID_RATE.value, False, True, "9 of 96 replies are invalid."
    )
    report = build_report(report_inputs(verdicts=(failed,)))
    found = verdict(report)
    assert found["status"] == "not_publishable"
    assert "emotions x jev failed gate max_invalid_rate: 9 of 96 replies are invalid" in found["sentence"]
    assert found["difference"] is None
    assert verdict(report, a="sparrow", b="uniform")["status"] == "supported"
    shown = [*report["metrics"], *report["curves"]["latency"], *report["curves"]["reliability"]]
    assert ("emotions", "jev") not in {(row["dataset"], row["backend"]) for row in shown}
    assert not [r for r in report["paired_differences"] if r["dataset"] == "emotions" and r["backend_a"] == "jev"]
    assert not [r for r in report["dataset_means"] if r["backend_a"] == "jev"]


def test_a_warning_keeps_nothing_back():
    warning = PartitionVerdict("emotions", "jev", Gate.FAILURE_RATE.value, False, False, "6 of 96 failed.")
    assert verdict(build_report(report_inputs(verdicts=(warning,))))["status"] == "supported"


def test_a_gate_about_the_whole_study_holds_every_verdict_back():
    frozen = PartitionVerdict("", "", Gate.MANIFEST_PUBLISHED.value, False, True, "the manifest has another hash.")
    assert {v["status"] for v in build_report(report_inputs(verdicts=(frozen,)))["verdicts"]} == {"not_publishable"}


def test_missing_partitions_are_named_with_their_reason():
    missing = tuple(MissingPartition(d, "jev", "never run.") for d in LABELS)
    report = build_report(report_inputs(missing=missing))
    assert "because topics x jev is missing: never run; emotions x jev is missing" in verdict(report)["sentence"]
    assert verdict(report)["reasons"] == [f"{d} x jev is missing: never run" for d in LABELS]
    assert remarks(report, "left_out")


def test_a_mean_over_fewer_datasets_than_can_be_compared_is_refused_as_out_of_date():
    changed = with_means("macro_f1", STRATIFIED, datasets=["topics"])
    found = verdict(build_report(report_inputs(dataset_means=changed)))
    assert found["status"] == "not_publishable"
    assert "the stored mean covers topics only" in found["sentence"]


def test_a_partition_the_system_does_not_apply_to_is_left_out_of_the_mean_and_named():
    inputs = report_inputs()
    paired = inputs.paired_differences.filter(
        pa.array([r["dataset"] != "intents" or r["backend_a"] != "jev" for r in inputs.paired_differences.to_pylist()])
    )
    rows = inputs.metrics.to_pylist()
    for row in rows:
        if (row["dataset"], row["backend"]) == ("intents", "jev"):
            kept = {k: row[k] for k in ("dataset", "backend", "title", "deployment", "n", "valid", "failures")}
            counts = {name: 0 for name in row if name.endswith("_count")}
            row.update(dict.fromkeys(row) | counts | kept | {"applicable": False, "not_applicable_count": 96})
    means = inputs.dataset_means.to_pylist()
    for row in means:
        if row["backend_a"] == "jev":
            row["datasets"] = ["topics", "emotions"]
    report = build_report(
        replace(
            inputs,
            metrics=pa.Table.from_pylist(rows, schema=METRICS),
            paired_differences=paired,
            dataset_means=pa.Table.from_pylist(means, schema=DATASET_MEANS),
        )
    )
    assert "mean over 2 of 3 datasets: intents left out, jev does not apply" in verdict(report)["sentence"]
    assert remarks(report, "left_out") == [
        "intents x jev do not apply (option cap, known before any call) and are in no mean."
    ]


def test_a_rehearsal_supports_nothing():
    report = build_report(report_inputs(rehearsal=True))
    assert {v["status"] for v in report["verdicts"]} == {"not_publishable"}
    assert "rehearsal" in verdict(report)["sentence"]


def test_rankings_that_reverse_by_dataset_are_said_with_the_leads():
    (sentence,) = remarks(build_report(report_inputs()), "ranking")
    assert "sparrow and jev change places by dataset" in sentence
    assert "in macro-F1 sparrow is ahead on topics" in sentence


def test_a_reversal_that_rests_on_a_refused_partition_is_none():
    failed = PartitionVerdict("topics", "jev", Gate.ONE_MODEL.value, False, True, "two models answered.")
    (sentence,) = remarks(build_report(report_inputs(verdicts=(failed,))), "ranking")
    assert sentence.startswith("No ranking")
    assert sentence.endswith("among the partitions that can be read.")


def test_the_control_is_said_to_be_beaten_or_where_it_is_not():
    beaten = remarks(build_report(report_inputs()), "control")
    assert "jev beats the control uniform in every question on topics, emotions and intents (point figures)." in beaten
    lost = remarks(build_report(report_inputs(signal={("emotions", "sparrow"): 0.0})), "control")
    assert lost[0].startswith("sparrow does not beat the control uniform everywhere")
    assert "Brier score on emotions" in lost[0]


@pytest.mark.parametrize("metric", QUESTIONS)
def test_the_better_backend_follows_the_direction_of_the_metric(metric: Metric):
    found = verdict(build_report(report_inputs()), metric.value)
    assert found["better"] == "jev"
    assert (found["difference"] > 0) == metric.higher_is_better
