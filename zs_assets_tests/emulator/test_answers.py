"""What a stand-in decides: confidence before rounding, sums within a step of 1, seeded with or without a model."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zs_assets.emulator import decider as decider_module
from zs_assets.emulator.answers import answer, choice_confidence, on_grid, score_confidence, usage
from zs_assets.emulator.decider import Decider
from zs_assets.emulator.profiles import JEV

OPTIONS = {"a": "apples", "b": "bread", "c": "cheese"}
CHOICE = {"type": "choice", "instructions": "Which?", "criteria": OPTIONS}


@given(st.lists(st.floats(1e-6, 1), min_size=1, max_size=255))
def test_on_the_grid_each_value_moves_less_than_two_steps_and_the_sum_at_most_one(weights: list[float]):
    exact = {str(index): weight / sum(weights) for index, weight in enumerate(weights)}
    shown = on_grid(exact, 2)
    assert all(round(p * 100) / 100 == p and 0 <= p <= 1 for p in shown.values())
    assert all(abs(shown[option] - exact[option]) < 0.0150001 for option in exact)
    assert abs(round(sum(shown.values()) * 100) - 100) <= 1


def test_sums_of_099_and_101_do_occur():
    assert round(sum(on_grid({"a": 0.334, "b": 0.333, "c": 0.333}, 2).values()), 2) == 0.99
    assert round(sum(on_grid({"a": 0.335 + 1e-9, "b": 0.335 - 1e-3, "c": 0.331}, 2).values()), 2) == 1.0
    assert round(sum(on_grid({"a": 0.336, "b": 0.336, "c": 0.328}, 2).values()), 2) == 1.01


def test_confidence_follows_the_published_formulas():
    assert choice_confidence([0.71, 0.20, 0.05, 0.04]) == pytest.approx((4 * 0.71 - 1) / 3)
    assert choice_confidence([1.0]) == score_confidence([1.0]) == 1.0
    assert choice_confidence([0.25] * 4) == 0.0
    assert score_confidence([0.0, 1.0, 0.0]) == 1.0
    assert score_confidence([0.06, 0.62, 0.32]) == pytest.approx(1 - 0.38 / (2 / 3))


@pytest.mark.parametrize("with_model", [True, False])
def test_an_answer_depends_on_request_and_seed_alone(monkeypatch, with_model: bool):
    if with_model:
        pytest.importorskip("sparrow_decider")
    else:
        monkeypatch.setattr(decider_module, "find_spec", lambda name: None)
    first, same, other = (Decider(JEV, seed) for seed in (1, 1, 2))
    given_answers = [answer(CHOICE, "bread and cheese", d, JEV, repeat=0) for d in (first, same, other)]
    assert given_answers[0] == given_answers[1]
    assert (
        max(given_answers[0]["probabilities"].values()) == given_answers[0]["probabilities"][given_answers[0]["choice"]]
    )
    if not with_model:
        assert given_answers[0] != given_answers[2]
        assert given_answers[0] != answer(CHOICE, "another text", first, JEV, repeat=0)


def test_repeat_noise_moves_a_repeated_request_a_little_and_the_first_not_at_all():
    noisy = replace(JEV, repeat_noise=0.02, decimals=None)
    decider = Decider(noisy, 1)
    plain = Decider(replace(JEV, decimals=None), 1).decide("bread", "Which?", OPTIONS)
    assert decider.decide("bread", "Which?", OPTIONS, repeat=0) == plain
    again = decider.decide("bread", "Which?", OPTIONS, repeat=1)
    assert again != plain and again == decider.decide("bread", "Which?", OPTIONS, repeat=1)
    assert all(abs(again[option] - plain[option]) < 0.15 for option in OPTIONS)
    assert sum(again.values()) == pytest.approx(1)


def test_usage_counts_options_and_extra_questions():
    one = usage("x" * 390, {"q": CHOICE})
    two = usage("x" * 390, {"q": CHOICE, "r": {"type": "noul", "instructions": ""}})
    assert one["output_tokens"] == 17 + 7 * 3
    assert two["output_tokens"] == one["output_tokens"] + 20
    assert one["input_tokens"] >= 380
    assert two["input_tokens"] >= one["input_tokens"] + 20
