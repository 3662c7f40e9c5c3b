"""From replies to rows: what cannot be aligned is invalid, and no reply can break the table."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from zs_assets.backends.base import CallFault, RawReply, Reading, Remedy
from zs_assets.protocol.names import Outcome
from zs_assets.storage.schemas import ATTEMPTS, PREDICTIONS
from zs_assets_tests.collection.scripted import GOOD, Scripted, collect_scripted


def only_row(tmp_path, reading: Reading) -> dict:
    return collect_scripted(tmp_path / "j.jsonl", Scripted(reading=reading), count=1).predictions.to_pylist()[0]


@pytest.mark.parametrize("vector", [(0.5, 0.5), (0.25,) * 4, (), (math.nan, 0.5, 0.5), (math.inf, 0.0, 0.0)])
def test_a_vector_that_does_not_fit_the_options_is_invalid_and_predicts_nothing(tmp_path, vector):
    row = only_row(tmp_path, replace(GOOD, probabilities=vector))
    assert row["outcome"] == "invalid"
    assert (row["probabilities"], row["predicted_index"], row["top_probability"]) == (None, None, None)
    assert "does not fit" in row["problem"]
    assert row["raw"]


def test_the_first_maximum_of_the_vector_is_predicted_and_not_the_choice(tmp_path):
    row = only_row(tmp_path, replace(GOOD, probabilities=(0.2, 0.4, 0.4), choice="trade"))
    assert (row["predicted_index"], row["top_probability"], row["choice"]) == (1, 0.4, "trade")


def test_a_label_only_system_predicts_its_choice(tmp_path):
    row = only_row(tmp_path, replace(GOOD, probabilities=None, choice="bread"))
    assert (row["outcome"], row["predicted_index"], row["top_probability"]) == ("ok", 1, None)


@pytest.mark.parametrize("choice", ["snow", None])
def test_a_label_that_is_no_option_is_invalid(tmp_path, choice):
    assert only_row(tmp_path, replace(GOOD, probabilities=None, choice=choice))["outcome"] == "invalid"


@pytest.mark.parametrize("outcome", [Outcome.INVALID, Outcome.REFUSAL, Outcome.NO_CALL])
def test_a_failure_predicts_nothing_even_where_it_names_an_option(tmp_path, outcome):
    row = only_row(tmp_path, Reading(outcome, choice="rain", problem="because"))
    assert (row["outcome"], row["predicted_index"], row["problem"]) == (outcome.value, None, "because")


@example(body="lone surrogate \ud800", request_id="\udfff")
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=st.text(st.characters(codec=None), max_size=40), request_id=st.none() | st.text(max_size=5))
def test_any_body_survives_the_journal_and_the_table(tmp_path_factory, body: str, request_id: str | None):
    class Says(Scripted):
        async def ask(self, presentation):
            return RawReply(body, 200, request_id)

    row = collect_scripted(tmp_path_factory.mktemp("b") / "j", Says(), count=1).predictions.to_pylist()[0]
    assert row["raw"] == body.encode("utf-8", "replace").decode("utf-8")
    assert row["outcome"] == "ok"


def test_every_call_is_a_row_of_attempts(tmp_path):
    def script(name: str, before: int) -> CallFault | None:
        if name == "d:1/o0r0" and before < 2:
            return CallFault("http_429", Remedy.RETRY, "slow down", 429, retry_after_s=0.001, request_id=f"r{before}")
        return None

    collected = collect_scripted(tmp_path / "j.jsonl", Scripted(script), count=2)
    assert collected.predictions.schema.equals(PREDICTIONS)
    assert collected.attempts.schema.equals(ATTEMPTS)
    rows = [row for row in collected.attempts.to_pylist() if row["presentation_id"] == "d:1/o0r0"]
    assert [row["attempt"] for row in rows] == [1, 2, 3]
    assert [row["result"] for row in rows] == ["http_429", "http_429", "reply"]
    assert [row["status"] for row in rows] == [429, 429, 200]
    assert [row["wait_ms"] for row in rows] == [1.0, 1.0, None]
    assert [row["cost_usd"] for row in rows] == [None, None, 0.1]
    assert [row["request_id"] for row in rows] == ["r0", "r1", None]
    assert collected.predictions["attempts"].to_pylist() == [1, 3]


def test_the_latency_is_of_the_successful_attempt_without_waits(tmp_path):
    def script(name: str, before: int) -> CallFault | None:
        return CallFault("http_529", Remedy.RETRY, status=529, retry_after_s=0.3) if before == 0 else None

    backend = Scripted(script)
    limits = backend.spec.limits.model_copy(update={"max_wait_s": 0.3})
    backend.spec = backend.spec.model_copy(update={"limits": limits})
    row = collect_scripted(tmp_path / "j.jsonl", backend, count=1).predictions.to_pylist()[0]
    assert row["attempts"] == 2
    assert row["latency_ms"] < 200
