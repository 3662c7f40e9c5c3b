"""Sentences about choice order: who holds still, what is noise, what versions changed, and who emptied a comparison."""

from __future__ import annotations

import json
from typing import Any

import pytest

from zs_assets.protocol.names import Gate
from zs_assets.report import MissingPartition, PartitionVerdict
from zs_assets.report.order_cards import order_cards
from zs_assets.report.order_verdicts import is_within_noise
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


def test_who_holds_still_and_who_moves_most_is_named_on_the_strict_samples_of_the_main_group():
    said = sentences(order_report())["stability"]
    assert said.startswith(
        "On 80 strict-complete samples of feelings, group random (70 texts) that all 5 systems share, "
    )
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


def equal_at_both_ends() -> dict[str, list[dict[str, Any]]]:
    """`noisy` and `old` move in 20 % of samples, `new` and `tiny` in 55 %; `still` is left out."""
    rows = order_rows()
    share = {"noisy": 0.2, "old": 0.2, "new": 0.55, "tiny": 0.55}
    rows["order_sensitivity"] = [
        row
        | {"large_share": share[row["backend"]], "large_ranges": 1, "large_share_exact_low": None}
        | {"large_share_exact_high": None, "large_share_low": 0.1, "large_share_high": 0.6}
        for row in rows["order_sensitivity"]
        if row["backend"] in share
    ]
    return rows


def test_of_systems_with_equal_shares_none_is_singled_out():
    said = sentences(order_report(equal_at_both_ends()))["stability"]
    assert "Noisy and Mover 1.0 move least: by at least 10 points in 20.0 % [10.0, 60.0] of samples each; " in said
    assert said.endswith("Tiny and Mover 2.0 move most: by at least 10 points in 55.0 % [10.0, 60.0] of samples each.")


def test_where_all_move_alike_nobody_moves_least_or_most():
    rows = equal_at_both_ends()
    rows["order_sensitivity"] = [row | {"large_share": 0.2} for row in rows["order_sensitivity"]]
    said = sentences(order_report(rows))["stability"]
    assert "move by at least 10 points in 20.0 % [10.0, 60.0] of samples each." in said
    assert "least:" not in said and "most" not in said


def test_few_texts_are_no_ground_to_say_that_a_system_holds_still():
    rows = order_rows()
    rows["order_sensitivity"] = [
        row | {"texts": 1, "samples": 1, "large_share_exact_high": 0.975} for row in rows["order_sensitivity"]
    ]
    said = sentences(order_report(rows))["stability"]
    assert said.startswith("On 1 strict-complete sample of feelings, group random (1 text) that all 5 systems share, ")
    assert "no range of 10 points and no winner change was seen of Still and Tiny in 1 text" in said
    # Clopper-Pearson of 0 in 1: 1 - .025
    assert "up to 97.5 % of texts may have a large one (exact 95 %)" in said
    assert "hold still" not in said


@pytest.mark.parametrize(("texts", "still"), [(29, False), (30, True)])
def test_thirty_texts_are_enough_to_hold_still(texts: int, still: bool):
    rows = order_rows()
    rows["order_sensitivity"] = [row | {"texts": texts} for row in rows["order_sensitivity"]]
    assert ("hold still" in sentences(order_report(rows))["stability"]) is still


def test_all_samples_lead_where_the_study_names_no_main_group():
    study = order_study(analyses={"order_sensitivity": {"pairs": [["new", "old"]]}})
    found = sentences(order_report(study=study))
    assert found["stability"].startswith(
        "On 100 strict-complete samples of feelings (88 texts) that all 5 systems share"
    )


def test_a_main_group_without_samples_is_said_and_all_samples_lead():
    study = order_study(analyses={"order_sensitivity": {"main_group": "radnom"}})
    said = sentences(order_report(study=study))["stability"]
    assert said.startswith("On 100 strict-complete samples of feelings (88 texts)")
    assert said.endswith("No sample is of the study's main group radnom, so these are figures of all samples.")


def test_no_row_of_a_file_decides_which_group_leads():
    rows = order_rows()
    for name in ("order_sensitivity", "order_coverage"):
        rows[name] = sorted(rows[name], key=lambda row: row["sample_group"] != "added_coverage")
    assert ", group random (70 texts)" in sentences(order_report(rows))["stability"]


def test_an_order_effect_within_its_own_repeat_noise_is_said_so():
    said = sentences(order_report())["noise"]
    assert said.startswith("Not beyond its own repeat noise is the order effect of Noisy (p = 0.420;")
    assert "20.0 % large ranges, 21.0 % [15.0, 30.0] from noise alone" in said
    assert "Mover" not in said and "Still" not in said


def test_the_last_digits_of_an_arithmetic_are_no_order_effect_to_test():
    rows = order_rows()
    rows["order_sensitivity"] = [row | {"order_p_value": 0.9} for row in rows["order_sensitivity"]]
    said = sentences(order_report(rows))["noise"]
    assert "Mover 2.0" in said and "Tiny" not in said


def test_a_system_that_repeats_itself_exactly_has_no_noise_to_be_within():
    row = {"order_p_value": 0.25, "noise_large_share_high": 0.0, "large_share": 0.0, "same_order": 0.5}
    assert is_within_noise(row) and not is_within_noise(row | {"same_order": 0.0})


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


def test_no_ranking_of_systems_is_claimed():
    said = sentences(order_report())["meaning"]
    assert "No ranking is claimed" in said and "paired interval of a named pair excludes zero" in said


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


def test_every_system_that_completes_nothing_is_named():
    rows = order_rows()
    rows["order_sensitivity"] = []
    rows["order_coverage"] = [
        row | ({"strict_complete": 0} if row["backend"] in ("old", "noisy") else {}) for row in rows["order_coverage"]
    ]
    said = sentences(order_report(rows))["empty"]
    assert "Mover 1.0 and Noisy complete none of 90. Leave Mover 1.0 and Noisy out of the study's backends" in said


def test_an_empty_intersection_of_nonempty_systems_names_the_fewest():
    rows = order_rows()
    rows["order_sensitivity"] = [row | {"samples": 0} for row in rows["order_sensitivity"]]
    assert "Mover 2.0 completes the fewest, 83 of 90" in sentences(order_report(rows))["empty"]


def test_a_dataset_asked_in_one_order_has_no_order_verdict():
    assert sentences(order_report(), "smoke") == {}


def test_an_unreadable_system_leaves_no_row_and_its_pair_is_not_publishable():
    gap = MissingPartition("feelings", "old", "must be run again")
    failed = PartitionVerdict("letters", "noisy", Gate.MAX_INVALID_RATE.value, False, True, "too many")
    ran = PartitionVerdict("feelings", "old", Gate.MAX_INVALID_RATE.value, True, True, "fine")
    report = order_report(missing=(gap,), verdicts=(failed, ran))
    for name, rows in report["analyses"].items():
        for row in rows:
            systems = {row.get("backend"), row.get("backend_a"), row.get("backend_b")}
            assert not (row["dataset"] == "feelings" and "old" in systems), name
            assert not (row["dataset"] == "letters" and "noisy" in systems), name
    (pair,) = [v for v in report["order_verdicts"] if (v["dataset"], v["kind"]) == ("feelings", "pair")]
    assert pair["status"] == "not_publishable"
    assert "that all 4 systems share" in sentences(report)["stability"]


def test_a_version_that_was_never_run_is_not_measured_rather_than_not_publishable():
    report = order_report(missing=(MissingPartition("feelings", "old", "no predictions"),))
    (pair,) = [v for v in report["order_verdicts"] if (v["dataset"], v["kind"]) == ("feelings", "pair")]
    assert pair["status"] == "described"
    assert pair["sentence"] == "From Mover 1.0 to Mover 2.0: Mover 1.0 was not measured on feelings."
    line = next(line for line in order_cards(report)[0]["lines"] if "was not measured" in line["sentence"])
    assert line["words"] == "Not measured"


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
    study = order_study(
        backends=list(names), analyses={"order_sensitivity": {"pairs": [["s4", "s3"]], "main_group": "random"}}
    )
    change = published["version_change_share_ge10"]
    difference = {**shared, "backend_a": "s4", "backend_b": "s3", "figure": "large_share", "weighting": "sample"}
    difference |= {"samples": 721, "texts": 674, "difference": change["diff_pp"]}
    difference |= dict(zip(("difference_low", "difference_high"), change["ci95"], strict=True))
    tables = {"order_sensitivity": rows, "order_differences": [difference]}
    found = sentences(order_report(tables, study=study, systems=order_systems(names)))
    shared_by = "On 721 strict-complete samples of feelings, group random (674 texts) that all 12 systems share, "
    assert found["stability"].startswith(shared_by + "Von, Clef-27B (local) and NanoJev hold still")
    assert "Laya moves most: by at least 10 points in 99.9 % [99.6, 100.0] of samples." in found["stability"]
    assert "From Jev 1.13.0 to Jev 1.14.0" in found["pair"] and "+1.39 [−0.81, +3.52]" in found["pair"]


def test_a_main_group_that_comes_after_all_samples_still_leads():
    rows = order_rows()
    rows["order_sensitivity"] = sorted(rows["order_sensitivity"], key=lambda row: row["sample_group"] != "all")
    assert "80 strict-complete samples of feelings, group random" in sentences(order_report(rows))["stability"]
    assert set(GROUPS) == {row["sample_group"] for row in order_inputs(rows).analyses["order_coverage"].to_pylist()}
