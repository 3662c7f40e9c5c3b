"""A stability check asks a part of the study's plan into the study's own journal and says how far the scores moved."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
import yaml
from scipy.stats import beta

from zs_assets.assets.gated_reading import read_manifest
from zs_assets.backends.base import CallFault, Remedy
from zs_assets.cli.order_checks import stability_lines
from zs_assets.collection import journalled_replies
from zs_assets.collection.journal import journal_lines
from zs_assets.components.catalogue import load_study
from zs_assets.components.partition_loop import PartitionLoop
from zs_assets.components.stability_check import StabilityRow, StabilityStop, stability_run
from zs_assets.components.stability_part import StabilityPart, StabilityPlan, plan_stability, planned_rows
from zs_assets.protocol.errors import StudyError
from zs_assets.protocol.names import AssetName
from zs_assets.protocol.plan import option_orders
from zs_assets.protocol.study import Plan
from zs_assets_tests.assets.scripted_orders import GOOD, LABEL_ALONE, LABELS, PLAN, REFUSAL, ScriptedOrders

TWO_REPEATS = {**PLAN, "repeats": 2}
ORDERS = option_orders(len(LABELS), Plan.model_validate(PLAN))
CELLS = [("texts", "talker")]


@pytest.fixture
def study(home, tmp_path, instance, monkeypatch):
    """Eight samples in six orders, twice each: 96 presentations."""
    return ScriptedOrders(tmp_path / "study", instance, monkeypatch, 8, plan=TWO_REPEATS)


def checked(study: ScriptedOrders, **part: int) -> StabilityRow | StabilityStop:
    (found,) = stability_run(study.workspace, study.graph, CELLS, StabilityPart(**part))
    return found


def order_of(name: str) -> int:
    return int(name.rsplit("/o", 1)[1].split("r")[0])


def prefers_what_stands_first(name: str, before: int) -> Mapping[str, Any]:
    first = ORDERS[order_of(name)][0]
    vector = [0.6 if option == first else 0.2 for option in range(3)]
    return {"vector": vector, "choice": list(LABELS)[first]}


def test_a_system_that_prefers_what_stands_first_moves_by_forty_points(study):
    study.answers = prefers_what_stands_first
    row = checked(study, orders=2, limit=5)
    assert isinstance(row, StabilityRow)
    assert (row.samples, row.complete, row.orders, row.planned_orders) == (5, 5, 2, 6)
    assert (row.repeats, row.planned_repeats, row.asked) == (2, 2, 20)
    assert (row.median_range, row.p95_range, row.max_range) == pytest.approx((40.0, 40.0, 40.0))
    assert (row.large, row.winner_changes, row.tied) == (5, 5, 0)
    assert (row.texts, row.large_texts, row.group) == (5, 5, None)
    # Clopper and Pearson's lower bound for 5 of 5.
    assert (row.large_low, row.large_high) == pytest.approx((beta.ppf(0.025, 5, 1), 1.0))
    # Two options change by 40 points, the third by none; identical requests not at all.
    assert (row.same_order, row.different_order, row.excess) == pytest.approx((0.0, 80 / 3, 80 / 3))
    assert row.noise_median_range == pytest.approx(0.0)
    assert (row.cost_usd, row.whole_study_usd) == pytest.approx((0.20, 0.96))


def test_a_system_that_does_not_look_at_the_order_moves_by_nothing(study):
    row = checked(study, orders=3)
    assert isinstance(row, StabilityRow)
    assert (row.max_range, row.large, row.winner_changes, row.large_low) == (0.0, 0, 0, 0.0)
    assert row.different_order == row.excess == 0.0


def test_without_a_second_repeat_nothing_is_said_of_noise(study):
    row = checked(study, repeats=1)
    assert isinstance(row, StabilityRow)
    assert (row.orders, row.repeats, row.asked) == (6, 1, 48)
    assert row.same_order is row.excess is row.noise_median_range is None
    assert "how far identical requests differ is not known" in stability_lines(row)


def test_orders_are_evenly_spaced_over_the_plan(study):
    checked(study, orders=3, repeats=1, limit=1)
    assert {order_of(name) for name in study.replies} == {0, 2, 4}
    assert set(study.replies) == {"0/o0r0", "0/o2r0", "0/o4r0"}


def test_it_asks_in_the_sequence_of_the_whole_study_and_its_replies_count_there(study):
    checked(study, orders=2, limit=4)
    journal = study.workspace.places.journal("orders", "texts", "talker")
    asked = [line["id"] for _, line in journal_lines(journal) if line["k"] == "asked"]
    whole = [presentation.id for presentation in read_manifest(study.lake, study.graph, "texts").asking()]
    assert asked == [name for name in whole if name in asked] != sorted(asked)
    assert journalled_replies(journal) == 16
    assert not study.lake.has("orders", AssetName.PREDICTIONS, dataset="texts", backend="talker")
    assert study.measure().success
    assert len(study.replies) == 96 and set(study.replies.values()) == {1}


def test_the_same_check_again_asks_nothing(study):
    first, second = checked(study, orders=2, limit=4), checked(study, orders=2, limit=4)
    assert first == second
    assert set(study.replies.values()) == {1}


@pytest.mark.parametrize(
    ("part", "sentence"),
    [
        ({"orders": 1}, "6 orders planned, 1 were asked for: use 2 to 6"),
        ({"orders": 7}, "6 orders planned, 7 were asked for: use 2 to 6"),
        ({"repeats": 3}, "2 repeats planned, 3 were asked for: use 1 to 2"),
        ({"limit": 9}, "8 examples planned, 9 were asked for: use 1 to 8"),
        ({"limit": 0}, "8 examples planned, 0 were asked for: use 1 to 8"),
    ],
)
def test_more_than_is_planned_is_refused_before_any_call(study, part, sentence):
    with pytest.raises(StudyError, match=sentence):
        checked(study, **part)
    assert not study.replies


def test_a_study_of_one_order_has_nothing_to_check(home, tmp_path, instance, monkeypatch):
    study = ScriptedOrders(tmp_path / "study", instance, monkeypatch, 2, plan={"repeats": 2})
    with pytest.raises(StudyError, match="shows texts in one order only"):
        checked(study, repeats=1)


def test_a_label_only_system_is_told_apart(study):
    study.answers = lambda name, before: LABEL_ALONE
    stop = checked(study, limit=1)
    assert isinstance(stop, StabilityStop) and "gives no scores" in stop.reason


def test_a_system_that_only_fails_says_how(study):
    study.answers = lambda name, before: REFUSAL
    stop = checked(study, limit=1)
    assert isinstance(stop, StabilityStop) and "(12 refusal; first: " in stop.reason


def test_samples_that_lack_a_reply_are_counted_and_left_out(study):
    study.answers = lambda name, before: REFUSAL if name == "0/o0r0" else GOOD
    row = checked(study, orders=2)
    assert isinstance(row, StabilityRow) and (row.samples, row.complete) == (8, 7)
    study.answers = lambda name, before: REFUSAL
    assert isinstance(checked(study, orders=2), StabilityRow), "what the journal holds is not asked again"


def test_a_wrong_key_stops_it_with_the_reason(study):
    study.answers = lambda name, before: CallFault("http_401", Remedy.STOP, "wrong key", status=401)
    stop = checked(study, limit=1)
    assert isinstance(stop, StabilityStop) and "wrong key" in stop.reason


def test_the_budget_holds(study):
    (stop,) = stability_run(study.workspace, study.graph, CELLS, StabilityPart(limit=1), max_usd=0.05)
    assert isinstance(stop, StabilityStop) and "budget of 0.05 USD" in stop.reason


def test_replies_of_two_models_are_no_figure_of_one_system(study):
    study.answers = lambda name, before: {**GOOD, "model": f"scripted-{name[-1]}"}
    found = checked(study, orders=2, limit=2)
    assert isinstance(found, StabilityStop)
    assert "2 models answered" in found.reason


def regrouped(study: ScriptedOrders, rows: list[tuple[str, str]], main_group: str | None) -> None:
    """The study again with these texts and groups, and a main group."""
    path = study.graph.folder / "defs.yaml"
    content = yaml.safe_load(path.read_text())
    (dataset,) = content["attributes"]["datasets"]
    dataset["source"] |= {"path": "grouped.csv", "group_column": "group", "label_column": None}
    content["attributes"]["name"] = "grouped"
    content["attributes"]["analyses"] = {"order_sensitivity": {"main_group": main_group}}
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    with (study.graph.folder / "grouped.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("text", "group"), *rows])
    study.graph = load_study(path)
    study.loop = PartitionLoop(study.graph, study.instance)
    study.loop.prepare(["texts"])


GROUPED = [("Added one.", "added"), ("Added two.", "added"), *((f"Drawn {i}.", "random") for i in range(4))]


def test_the_first_examples_are_those_of_the_main_group(study):
    regrouped(study, GROUPED, "random")
    row = checked(study, orders=2, repeats=1, limit=3)
    assert isinstance(row, StabilityRow) and row.group == "random"
    assert {name.split("/")[0] for name in study.replies} == {"2", "3", "4"}
    assert "3 of 3 samples of group random complete" in stability_lines(row)
    with pytest.raises(StudyError, match="4 examples of group random planned, 5 were asked for"):
        checked(study, limit=5)


@pytest.mark.parametrize("main_group", [None, "no_such_group"])
def test_without_a_main_group_they_are_those_of_the_file(study, main_group):
    regrouped(study, GROUPED, main_group)
    row = checked(study, orders=2, repeats=1, limit=3)
    assert isinstance(row, StabilityRow) and row.group is None
    assert {name.split("/")[0] for name in study.replies} == {"0", "1", "2"}


def test_copies_of_a_text_are_one_text_in_the_interval(study):
    """Four copies of a text that moves and two that do not: a third of the texts, four sixths of the samples."""
    regrouped(study, [*[("Copied.", "random")] * 4, ("Still.", "random"), ("Calm.", "random")], "random")
    moving = {"0", "1", "2", "3"}
    study.answers = lambda name, before: (
        prefers_what_stands_first(name, before) if name.split("/")[0] in moving else GOOD
    )
    row = checked(study, orders=2, repeats=1)
    assert isinstance(row, StabilityRow)
    assert (row.large, row.complete, row.large_texts, row.texts) == (4, 6, 1, 3)
    assert (row.large_low, row.large_high) == pytest.approx((beta.ppf(0.025, 1, 3), beta.ppf(0.975, 2, 2)))


def test_what_the_part_asks_and_costs_is_known_before_the_first_call(study):
    heard: list[StabilityPlan] = []
    asked = stability_run(
        study.workspace, study.graph, CELLS, StabilityPart(orders=2, limit=5), about_to_ask=heard.append
    )
    next(iter(asked))
    (row,) = planned_rows(study.graph, heard[0], CELLS)
    assert (row["calls"], heard[0].left_out) == (20, ())
    plan = plan_stability(study.workspace, study.graph, ["texts"], StabilityPart(repeats=1))
    assert planned_rows(study.graph, plan, CELLS)[0]["calls"] == 48


def test_costs_of_a_rehearsal_are_not_said_to_be_spent(study):
    row = checked(study, orders=2, limit=5)
    assert isinstance(row, StabilityRow)
    assert "Cost 0.2000 USD, the whole plan of this dataset about 0.9600 USD." in stability_lines(row)
    assert "It would cost about 0.2000 USD, the whole plan" in stability_lines(row, rehearsal=True)
    unknown = replace(row, cost_usd=None, whole_study_usd=None)
    assert stability_lines(unknown).endswith("Cost unknown.")
