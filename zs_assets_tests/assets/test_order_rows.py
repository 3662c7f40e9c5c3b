"""Rows of the choice-order tables from systems of known behaviour: what is compared, on what, and what is said."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from zs_assets.assets.gated_reading import PlannedPartition
from zs_assets.assets.graph import StudyGraph
from zs_assets.assets.order_cells import OrderCell, planned_samples
from zs_assets.assets.order_rows import order_tables
from zs_assets.protocol.errors import StudyError
from zs_assets.protocol.hashing import sha256_text
from zs_assets.protocol.names import AssetName
from zs_assets.protocol.plan import option_orders, presentations
from zs_assets.protocol.question import Example, Option, Question
from zs_assets.protocol.study import Plan, Rotations, StudySpec
from zs_assets.stats import NO_LABEL, OrderScores

N = 12
FIRST = 0.2
"""What the biased system gives to whatever stands first."""


def study(options: int = 3, repeats: int = 3, **settings) -> StudySpec:
    labels = {f"o{i}": None for i in range(options)}
    return StudySpec.model_validate(
        {
            "name": "orders",
            "question": "Which?",
            "datasets": [
                {"name": "texts", "private": False, "source": {"kind": "file", "path": "t.csv", "labels": labels}}
            ],
            "backends": ["blind", "biased", "dropping"],
            "systems": {name: {"interface": "uniform", "title": name} for name in ("blind", "biased", "dropping")},
            "plan": {"orders": {"kind": "rotations", "seed": 3}, "repeats": repeats},
            "analyses": {"order_sensitivity": {"resamples": 200, "permutations": 50, **settings}},
        }
    )


def planned(spec: StudySpec, options: int = 3, texts: list[str] | None = None) -> PlannedPartition:
    texts = texts or [f"text {i}" for i in range(N)]
    question = Question("Which?", tuple(Option(f"o{i}", None) for i in range(options)))
    examples = [
        Example(f"e{i}", text, sha256_text(text), 0, "random" if i < N // 2 else "added_coverage")
        for i, text in enumerate(texts)
    ]
    return PlannedPartition(
        examples=examples,
        question=question,
        plan=spec.plan,
        presentations=presentations(examples, question, spec.plan),
        manifest_hash="m",
        prompt_hash="p",
        protocol_hash="h",
        metadata={},
    )


def replies(spec: StudySpec, options: int, bias: float) -> OrderScores:
    """Even scores scaled to 1 - bias, and the bias to whatever stands first; the chosen label is the first maximum."""
    orders = np.asarray(option_orders(options, spec.plan))
    base = np.linspace(1, 2, N * options).reshape(N, options)
    base = base / base.sum(axis=1, keepdims=True) * (1 - bias)
    first = np.zeros((len(orders), options))
    first[np.arange(len(orders)), orders[:, 0]] = bias
    repeats = spec.plan.repeats * (2 * options // len(orders))
    scores = np.repeat((base[:, None] + first)[:, :, None], repeats, axis=2)
    return OrderScores(scores, scores.argmax(axis=3), orders, None)


def cell(backend: str, scores: OrderScores, **facts) -> OrderCell:
    shape = scores.chosen.shape
    given = {
        "outcomes": np.full(shape, "ok", dtype=object),
        "faults": np.zeros(len(scores), dtype=np.int64),
        "recovered": np.zeros(len(scores), dtype=np.int64),
        "cost_usd": 0.001,
        "model": backend,
        "why_not": None,
    }
    return OrderCell(backend=backend, scores=scores, **(given | facts))


def without(scores: OrderScores, *replies: tuple[int, int, int]) -> OrderScores:
    """The same with these (sample, order, repeat) replies lost."""
    lost = scores.scores.copy()
    chosen = scores.chosen.copy()
    for at in replies:
        lost[at] = np.nan
        chosen[at] = NO_LABEL
    return OrderScores(lost, chosen, scores.orders, scores.decimals)


def tables(spec: StudySpec, cells: list[OrderCell], options: int = 3, texts: list[str] | None = None):
    graph = StudyGraph(spec, Path("."))
    samples = planned_samples(planned(spec, options, texts), spec.plan)
    made = order_tables(graph, spec.analyses.order_sensitivity, "texts", samples, cells)
    return {asset: table.to_pylist() for asset, table in made.items()}


def rows(found, asset: AssetName, **where):
    return [row for row in found[asset] if all(row[name] == value for name, value in where.items())]


def the_row(found, asset: AssetName, **where):
    (row,) = rows(found, asset, **where)
    return row


@pytest.fixture(scope="module")
def two_systems():
    spec = study(pairs=[["biased", "blind"]])
    cells = [cell("blind", replies(spec, 3, 0.0)), cell("biased", replies(spec, 3, FIRST))]
    return tables(spec, cells)


EVERY = {"rule": "strict_complete", "sample_group": "all"}


def test_an_order_blind_system_has_no_range_no_noise_and_no_effect(two_systems):
    row = the_row(two_systems, AssetName.ORDER_SENSITIVITY, backend="blind", **EVERY)
    assert (row["max_range"], row["noise_median_range_high"], row["large_share"]) == (0.0, 0.0, 0.0)
    assert row["order_p_value"] == 1.0
    assert (row["same_order"], row["different_order"]) == (0.0, 0.0)


def test_mass_moved_to_the_first_place_is_the_range(two_systems):
    row = the_row(two_systems, AssetName.ORDER_SENSITIVITY, backend="biased", **EVERY)
    assert row["median_range"] == pytest.approx(100 * FIRST)
    assert (row["large_ranges"], row["large_share"], row["samples"], row["texts"]) == (N, 1.0, N, N)
    assert row["noise_large_share_high"] == 0.0
    first, *others = [p["mean_score"] for p in rows(two_systems, AssetName.ORDER_POSITIONS, backend="biased", **EVERY)]
    assert first == pytest.approx(100 * (FIRST + (1 - FIRST) / 3))
    assert others == pytest.approx([100 * (1 - FIRST) / 3] * 2)


def test_none_of_n_has_an_exact_interval_beside_the_empty_one(two_systems):
    row = the_row(two_systems, AssetName.ORDER_SENSITIVITY, backend="blind", **EVERY)
    assert (row["large_share_low"], row["large_share_high"]) == (0.0, 0.0)
    # Clopper-Pearson at 0 of 12: 1 - .025^(1/12)
    assert row["large_share_exact_high"] == pytest.approx(1 - 0.025 ** (1 / N))


def test_groups_are_parts_of_all(two_systems):
    by_group = {
        row["sample_group"]: row["samples"]
        for row in rows(two_systems, AssetName.ORDER_SENSITIVITY, backend="blind", rule="score_complete")
    }
    assert by_group == {"all": N, "random": N // 2, "added_coverage": N // 2}


def test_versions_are_compared_on_the_same_samples(two_systems):
    row = the_row(two_systems, AssetName.ORDER_DIFFERENCES, **EVERY, figure="large_share", weighting="sample")
    assert (row["backend_a"], row["backend_b"]) == ("biased", "blind")
    assert (row["difference"], row["difference_low"], row["difference_high"]) == (100.0, 100.0, 100.0)


def test_averaging_all_rotations_takes_the_bias_away_at_k_times_the_cost(two_systems):
    steps = rows(two_systems, AssetName.ORDER_AVERAGING, backend="biased", **EVERY)
    assert [step["rotations"] for step in steps] == [1, 2, 3]
    assert [step["median_range"] for step in steps] == pytest.approx([20.0, 10.0, 0.0])
    assert [step["cost_usd"] for step in steps] == pytest.approx([0.001, 0.002, 0.003])
    assert [step["calls"] for step in steps] == [1, 2, 3]


def test_large_ranges_after_averaging_have_the_intervals_of_the_comparison(two_systems):
    one, *_, every = rows(two_systems, AssetName.ORDER_AVERAGING, backend="biased", **EVERY)
    assert (one["large_share"], one["large_share_low"], one["large_share_high"]) == (1.0, 1.0, 1.0)
    # Clopper-Pearson over 12 texts: all of 12 from .025^(1/12), none of 12 up to 1 - .025^(1/12)
    assert one["large_share_exact_low"] == pytest.approx(0.025 ** (1 / N))
    assert (every["large_share"], every["large_share_exact_low"]) == (0.0, 0.0)
    assert every["large_share_exact_high"] == pytest.approx(1 - 0.025 ** (1 / N))


def test_after_one_rotation_of_one_repeat_the_share_and_its_interval_are_those_of_the_study():
    spec = study(repeats=1)
    weak = replies(spec, 3, 0.0)
    strong = replies(spec, 3, FIRST)
    half = np.where((np.arange(N) < N // 2)[:, None, None, None], weak.scores, strong.scores)
    found = tables(spec, [cell("biased", OrderScores(half, half.argmax(axis=3), strong.orders, None))])
    whole = the_row(found, AssetName.ORDER_SENSITIVITY, backend="biased", **EVERY)
    one = the_row(found, AssetName.ORDER_AVERAGING, backend="biased", rotations=1, **EVERY)
    shown = ("large_share", "large_share_low", "large_share_high", "large_share_exact_low", "large_share_exact_high")
    assert [one[name] for name in shown] == [whole[name] for name in shown]
    assert one["large_share"] == 0.5 and one["large_share_low"] < 0.5 < one["large_share_high"]


def test_a_lost_reply_takes_its_sample_from_every_system():
    spec = study()
    dropping = without(replies(spec, 3, 0.0), (0, 2, 1))
    outcomes = np.full(dropping.chosen.shape, "ok", dtype=object)
    outcomes[0, 2, 1] = "invalid"
    found = tables(spec, [cell("biased", replies(spec, 3, FIRST)), cell("dropping", dropping, outcomes=outcomes)])
    for backend in ("biased", "dropping"):
        assert the_row(found, AssetName.ORDER_SENSITIVITY, backend=backend, **EVERY)["samples"] == N - 1
    excluded = the_row(found, AssetName.ORDER_EXCLUSIONS, sample_group="all")
    assert (excluded["backend"], excluded["reason"], excluded["replies"], excluded["samples"]) == (
        *("dropping", "invalid"),
        *(1, 1),
    )
    coverage = the_row(found, AssetName.ORDER_COVERAGE, backend="dropping", sample_group="all")
    assert (coverage["planned"], coverage["scored"], coverage["score_complete"]) == (N * 18, N * 18 - 1, N - 1)


def test_a_label_below_the_maximum_counts_under_one_rule_only():
    spec = study()
    scores = replies(spec, 3, FIRST)
    chosen = scores.chosen.copy()
    chosen[3, 0, 0] = scores.scores[3, 0, 0].argmin()
    found = tables(spec, [cell("biased", OrderScores(scores.scores, chosen, scores.orders, None))])
    by_rule = {row["rule"]: row["samples"] for row in rows(found, AssetName.ORDER_SENSITIVITY, sample_group="all")}
    assert by_rule == {"score_complete": N, "strict_complete": N - 1}
    assert the_row(found, AssetName.ORDER_EXCLUSIONS, sample_group="all")["reason"] == "label_mismatch"


def test_repeats_missing_for_one_order_make_the_sample_incomplete():
    spec = study()
    holes = without(replies(spec, 3, 0.0), *[(5, 1, repeat) for repeat in range(3)])
    found = tables(spec, [cell("dropping", holes)])
    assert the_row(found, AssetName.ORDER_SENSITIVITY, backend="dropping", **EVERY)["samples"] == N - 1


def test_an_empty_intersection_is_a_row_without_figures():
    spec = study()
    first, second = without(replies(spec, 3, 0.0), *[(i, 0, 0) for i in range(6)]), replies(spec, 3, 0.0)
    second = without(second, *[(i, 0, 0) for i in range(6, N)])
    found = tables(spec, [cell("blind", first), cell("biased", second)])
    row = the_row(found, AssetName.ORDER_SENSITIVITY, backend="blind", **EVERY)
    assert row["samples"] == 0 and row["median_range"] is None and row["orders"] == 6
    assert rows(found, AssetName.ORDER_RANGES) == []


def test_a_system_without_scores_is_covered_and_not_compared():
    spec = study()
    silent = replies(spec, 3, 0.0)
    silent = without(silent, *[tuple(at) for at in np.argwhere(silent.scored)])
    found = tables(spec, [cell("blind", replies(spec, 3, 0.0)), cell("dropping", silent, why_not="labels only")])
    assert {row["backend"] for row in found[AssetName.ORDER_SENSITIVITY]} == {"blind"}
    assert the_row(found, AssetName.ORDER_COVERAGE, backend="dropping", sample_group="all")["why_not"] == "labels only"
    assert the_row(found, AssetName.ORDER_EXCLUSIONS, backend="dropping", sample_group="all")["reason"] == "no_scores"


def test_two_options_have_two_orders_and_twice_the_repeats():
    spec = study(options=2)
    found = tables(spec, [cell("biased", replies(spec, 2, FIRST))], options=2)
    row = the_row(found, AssetName.ORDER_SENSITIVITY, backend="biased", **EVERY)
    assert (row["orders"], row["repeats"], row["options"]) == (2, 6, 2)
    assert row["median_range"] == pytest.approx(100 * FIRST)


def test_one_option_is_refused_in_one_sentence():
    with pytest.raises(StudyError, match="at least two options"):
        option_orders(1, Plan(orders=Rotations(seed=1), repeats=3))


def test_copies_of_a_text_are_one_cluster_and_white_space_makes_another_text():
    spec = study()
    texts = ["same"] * 4 + ["same "] * 2 + [f"text {i}" for i in range(N - 6)]
    found = tables(spec, [cell("blind", replies(spec, 3, 0.0))], texts=texts)
    assert the_row(found, AssetName.ORDER_SENSITIVITY, backend="blind", **EVERY)["texts"] == 2 + N - 6


def test_recorded_scores_go_out_for_public_datasets_only(two_systems):
    assert len(rows(two_systems, AssetName.ORDER_SCORES, backend="biased")) == N * 6
    private = study()
    private = private.model_copy(update={"datasets": (private.datasets[0].model_copy(update={"private": True}),)})
    assert tables(private, [cell("blind", replies(private, 3, 0.0))])[AssetName.ORDER_SCORES] == []
