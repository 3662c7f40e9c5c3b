"""Sentences about choice order: who holds still, what is noise, what versions changed, and who emptied a comparison."""

from __future__ import annotations

import json
from typing import Any

import pytest

from zs_assets.protocol.names import Gate
from zs_assets.report import MissingPartition, PartitionVerdict
from zs_assets_tests.report.order_inputs import (
    GROUPS,
    order_inputs,
    order_report,
    order_rows,
    order_study,
    order_systems,
    sensitivity_row,
)
from zs_assets_tests.sources.real_data import TEST_DATA, needs_real_data


def sentences(report: dict[str, Any], dataset: str = "feelings") -> dict[str, str]:
    return {v["kind"]: v["sentence"] for v in report["order_verdicts"] if v["dataset"] == dataset}


def test_the_most_and_the_least_stable_are_named_on_the_strict_samples_of_the_first_group():
    said = sentences(order_report())["stability"]
    assert said.startswith("On 80 strict-complete random samples of feelings (70 texts) that all 5 systems share, ")
    assert "Still and Tiny hold still: no range reaches 10 points and no winner changes" in said
    assert "largest range 8.94e-6 points" in said
    # Clopper-Pearson of 0 in 70: 1 - .025 ** (1 / 70) = .0513
    assert "exact 95 % interval [0.0, 5.1]" in said
    assert said.endswith("Mover 2.0 moves most: by at least 10 points in 55.0 % [50.0, 60.0] of samples.")


def test_where_everybody_moves_the_least_mover_is_no_still_one():
    rows = order_rows()
    rows["order_sensitivity"] = [row for row in rows["order_sensitivity"] if row["large_share"]]
    said = sentences(order_report(rows))["stability"]
    assert "Noisy moves least: by at least 10 points in 20.0 % [15.0, 25.0] of samples; Mover 2.0 moves most" in said
    assert "still" not in said


def test_an_order_effect_within_its_own_repeat_noise_is_said_so():
    said = sentences(order_report())["noise"]
    assert said.startswith("Not beyond its own repeat noise is the order effect of Noisy (p = 0.420;")
    assert "20.0 % large ranges, 21.0 % [15.0, 30.0] from noise alone" in said
    assert "Mover" not in said and "Still" not in said


def test_a_change_between_versions_whose_interval_includes_zero_is_not_supported():
    (pair,) = [v for v in order_report()["order_verdicts"] if (v["dataset"], v["kind"]) == ("feelings", "pair")]
    assert pair["status"] == "not_supported"
    assert pair["sentence"].startswith("From Mover 1.0 to Mover 2.0, ")
    assert "+1.39 [−0.81, +3.52] points: not supported, the interval includes zero" in pair["sentence"]


@pytest.mark.parametrize(
    ("low", "high", "status"),
    [(0.5, 2.0, "supported"), (-2.0, -0.5, "supported"), (0.0, 2.0, "not_supported"), (-1.0, 0.0, "not_supported")],
)
def test_an_interval_that_touches_zero_includes_it(low: float, high: float, status: str):
    rows = order_rows()
    rows["order_differences"] = [
        row | {"difference_low": low, "difference_high": high} for row in rows["order_differences"]
    ]
    found = {v["status"] for v in order_report(rows)["order_verdicts"] if v["kind"] == "pair"}
    assert found == {status}


def test_stability_is_said_not_to_be_accuracy():
    assert sentences(order_report())["meaning"].startswith("Stability is not accuracy")


def test_the_system_that_empties_the_intersection_is_named_with_what_to_do():
    rows = order_rows()
    rows["order_sensitivity"] = []
    rows["order_coverage"] = [
        row | ({"strict_complete": 0} if row["backend"] == "old" else {}) for row in rows["order_coverage"]
    ]
    found = sentences(order_report(rows))
    assert list(found) == ["empty"]
    assert "Mover 1.0 completes none of 90" in found["empty"]
    assert "Leave Mover 1.0 out of the study's backends" in found["empty"]


def test_an_empty_intersection_of_nonempty_systems_names_the_fewest():
    rows = order_rows()
    rows["order_sensitivity"] = [row | {"samples": 0} for row in rows["order_sensitivity"]]
    assert "Mover 2.0 completes the fewest, 83 of 90" in sentences(order_report(rows))["empty"]


def test_a_dataset_asked_in_one_order_has_no_order_verdict():
    assert sentences(order_report(), "smoke") == {}


def test_an_unreadable_system_leaves_no_row_and_its_pair_is_not_publishable():
    gap = MissingPartition("feelings", "old", "must be run again")
    failed = PartitionVerdict("letters", "noisy", Gate.MAX_INVALID_RATE.value, False, True, "too many")
    report = order_report(missing=(gap,), verdicts=(failed,))
    for name, rows in report["analyses"].items():
        for row in rows:
            systems = {row.get("backend"), row.get("backend_a"), row.get("backend_b")}
            assert not (row["dataset"] == "feelings" and "old" in systems), name
            assert not (row["dataset"] == "letters" and "noisy" in systems), name
    (pair,) = [v for v in report["order_verdicts"] if (v["dataset"], v["kind"]) == ("feelings", "pair")]
    assert pair["status"] == "not_publishable"
    assert "that all 4 systems share" in sentences(report)["stability"]


@needs_real_data
def test_the_published_twelve_systems_are_told_as_published():
    published = json.loads((TEST_DATA / "order" / "published.json").read_text())
    names = {f"s{at}": row["system"] for at, row in enumerate(published["systems"])}
    shared = {"dataset": "feelings", "rule": "strict_complete", "sample_group": "random"}
    rows = []
    for backend, row in zip(names, published["systems"], strict=True):
        low, high = (end / 100 for end in row["share_ge10_ci95"])
        share = row["share_ge10_pct"] / 100
        changes = {"p95_range": row["p95_range"], "max_range": row["max_range"]}
        changes |= {"large_share_low": low, "large_share_high": high, "order_p_value": 1 / 201}
        changes |= {"winner_changes": round(row["untied_winner_change_pct"] * 7.21)}
        rows.append(sensitivity_row({**shared, "backend": backend}, 721, 674, share, row["median_range"], **changes))
    study = order_study(backends=list(names), analyses={"order_sensitivity": {"pairs": [["s4", "s3"]], "seed": 1}})
    change = published["version_change_share_ge10"]
    difference = {**shared, "backend_a": "s4", "backend_b": "s3", "figure": "large_share", "weighting": "sample"}
    difference |= {"samples": 721, "texts": 674, "difference": change["diff_pp"]}
    difference |= dict(zip(("difference_low", "difference_high"), change["ci95"], strict=True))
    tables = {"order_sensitivity": rows, "order_differences": [difference]}
    found = sentences(order_report(tables, study=study, systems=order_systems(names)))
    shared_by = "On 721 strict-complete random samples of feelings (674 texts) that all 12 systems share, "
    assert found["stability"].startswith(shared_by + "Von, Clef-27B (local) and NanoJev hold still")
    assert "Laya moves most: by at least 10 points in 99.9 % [99.6, 100.0] of samples." in found["stability"]
    assert "From Jev 1.13.0 to Jev 1.14.0" in found["pair"] and "+1.39 [−0.81, +3.52]" in found["pair"]


def test_groups_that_come_after_all_of_them_still_lead():
    rows = order_rows()
    rows["order_sensitivity"] = sorted(rows["order_sensitivity"], key=lambda row: row["sample_group"] != "all")
    assert "80 strict-complete random samples" in sentences(order_report(rows))["stability"]
    assert set(GROUPS) == {row["sample_group"] for row in order_inputs(rows).analyses["order_coverage"].to_pylist()}
