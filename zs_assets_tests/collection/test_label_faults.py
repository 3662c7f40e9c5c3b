"""Each fault of a label-only system ends as the rules of collection say, and each row's cost can be reckoned again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from zs_assets.backends.registry import build_backend
from zs_assets.backends.systems import SystemSpec
from zs_assets.collection import Collected, collect
from zs_assets.collection.pricing import tokens_cost
from zs_assets.emulator.server import LocalServer
from zs_assets.protocol.errors import BackendUnavailable, CollectionStopped
from zs_assets_tests.backends.label_systems import KEY, SYSTEMS, label_servers, label_system, set_keys
from zs_assets_tests.collection.jev_run import QUESTION, header, presentations

COUNT = 5


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, LocalServer]]:
    with label_servers() as started:
        yield started


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    set_keys(monkeypatch)


def collect_from(
    server: LocalServer, name: str, journal: Path, *, fault: dict[str, Any] | None = None, **options: Any
) -> Collected:
    """A partition whose text number 2 meets the fault."""
    server.set_faults([] if fault is None else [{"marker": "number 2 ", **fault}])
    spec: SystemSpec = options.pop("spec", None) or label_system(name, server.url, options.pop("settings", None))
    backend = build_backend(spec, QUESTION)
    asked_as = header(backend=name, model_requested=str(spec.model))
    return collect(backend, presentations(COUNT), journal, asked_as, **{"attempt_budget": 3, **options})


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("fault", ["429", "429_retry_after", "500", "529", "html_403", "dropped_connection", "slow"])
def test_a_passing_fault_is_retried_within_the_budget(servers, tmp_path, name: str, fault: str):
    spec = label_system(name, servers[name].url)
    limits = spec.limits.model_copy(update={"timeout_s": 0.5 if fault == "slow" else 5.0})
    spec = spec.model_copy(update={"limits": limits})
    collected = collect_from(servers[name], name, tmp_path / "j", fault={"fault": fault, "first": 1}, spec=spec)
    rows = collected.predictions.to_pylist()
    assert [row["outcome"] for row in rows] == ["ok"] * COUNT
    assert [row["attempts"] for row in rows] == [1, 1, 2, 1, 1]


OUTCOMES = [
    *((name, fault, "invalid") for name in SYSTEMS for fault in ("truncated_json", "not_an_object", "missing_answer")),
    *((name, fault, "invalid") for name in SYSTEMS for fault in ("foreign_label", "max_tokens")),
    *((name, "refusal", "refusal") for name in SYSTEMS),
    *((name, "bad_arguments", "invalid") for name in ("deepseek", "opus")),
    ("deepseek", "no_call", "no_call"),
    ("opus", "no_call", "invalid"),  # prose where a JSON answer was asked for; with a tool it is no_call
    ("gemini_flash", "blocked_prompt", "refusal"),
]


@pytest.mark.parametrize(("name", "fault", "outcome"), OUTCOMES)
def test_a_reply_without_a_label_is_final_kept_raw_and_never_asked_again(
    servers, tmp_path, name: str, fault: str, outcome: str
):
    rows = collect_from(servers[name], name, tmp_path / "j", fault={"fault": fault}).predictions.to_pylist()
    assert [row["outcome"] for row in rows] == ["ok", "ok", outcome, "ok", "ok"]
    assert rows[2]["raw"] and rows[2]["problem"]
    assert rows[2]["attempts"] == 1 and rows[2]["predicted_index"] is None
    assert servers[name].stats()["requests"] == COUNT


def test_claude_that_does_not_call_its_tool_is_no_call(servers, tmp_path):
    settings = {"mode": "tool"}
    done = collect_from(servers["opus"], "opus", tmp_path / "j", fault={"fault": "no_call"}, settings=settings)
    assert [row["outcome"] for row in done.predictions.to_pylist()] == ["ok", "ok", "no_call", "ok", "ok"]


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("fault", ["401", "json_403"])
def test_a_refused_key_stops_the_run_and_what_was_received_is_kept(servers, tmp_path, name: str, fault: str):
    journal = tmp_path / "j"
    with pytest.raises(CollectionStopped, match=f"http_{fault[-3:]}"):
        collect_from(servers[name], name, journal, fault={"fault": fault})
    assert [row["outcome"] for row in collect_from(servers[name], name, journal).predictions.to_pylist()] == ["ok"] * 5


def test_a_wrong_key_of_gemini_stops_the_run_although_it_comes_as_a_400(servers, tmp_path, monkeypatch):
    set_keys(monkeypatch, "AIza-of-someone-else")
    with pytest.raises(CollectionStopped, match=r"http_400_key.*API key not valid"):
        collect_from(servers["gemini_flash"], "gemini_flash", tmp_path / "j")
    assert servers["gemini_flash"].stats()["rejected"] <= 2, "no more than were in flight"


def test_a_quota_per_day_stops_at_once_with_one_sentence_and_spends_no_attempt(servers, tmp_path):
    server, journal = servers["gemini_flash"], tmp_path / "j"
    with pytest.raises(CollectionStopped, match=r"quota of requests per day .*PerDay.*limit '20'") as raised:
        collect_from(server, "gemini_flash", journal, fault={"fault": "daily_quota"}, attempt_budget=1)
    assert "retry in" not in str(raised.value) and "\n" not in str(raised.value)
    assert server.stats()["requests_of_text"]["Text number 2 about rain, or bread."] == 1
    resumed = collect_from(server, "gemini_flash", journal, attempt_budget=1)
    assert [row["outcome"] for row in resumed.predictions.to_pylist()] == ["ok"] * COUNT


def test_a_quota_per_minute_is_waited_for(servers, tmp_path):
    fault = {"fault": "minute_quota", "first": 2}
    rows = collect_from(servers["gemini_flash"], "gemini_flash", tmp_path / "j", fault=fault).predictions.to_pylist()
    assert [(row["outcome"], row["attempts"]) for row in rows] == [
        ("ok", 1),
        ("ok", 1),
        ("ok", 3),
        ("ok", 1),
        ("ok", 1),
    ]


@pytest.mark.parametrize("name", SYSTEMS)
def test_no_probability_or_confidence_is_made_up_and_the_label_predicts(servers, tmp_path, name: str):
    for row in collect_from(servers[name], name, tmp_path / "j").predictions.to_pylist():
        assert row["probabilities"] is None and row["confidence"] is None and row["top_probability"] is None
        assert QUESTION.ids[row["predicted_index"]] == row["choice"]
        assert row["model_resolved"] == label_system(name).model and row["request_id"]


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_cost_of_each_row_can_be_reckoned_from_the_row_alone(servers, tmp_path, name: str):
    collected = collect_from(servers[name], name, tmp_path / "j", fault={"fault": "max_tokens"})
    spec = label_system(name)
    rows, attempts = collected.predictions.to_pylist(), collected.attempts.to_pylist()
    for row in rows:
        rates = spec.price or spec.prices[0].rates_of(row["pricing_tier"])
        tokens = ("input_tokens", "output_tokens", "cache_hit_tokens", "cache_miss_tokens")
        assert row["cost_usd"] == tokens_cost(rates, *(row[column] for column in tokens)) > 0
        assert 0 < row["reasoning_tokens"] < row["output_tokens"]
        assert row["pricing_tier"] in ({"standard"} if spec.price else {"off_peak", "peak", "peak_unlisted_year"})
    by_id = {row["presentation_id"]: row for row in rows}
    for attempt in attempts:
        row = by_id[attempt["presentation_id"]]
        assert (attempt["cost_usd"], attempt["pricing_tier"]) == (row["cost_usd"], row["pricing_tier"])


def test_a_budget_is_kept_with_dated_prices_and_refused_without_any(servers, tmp_path):
    server = servers["deepseek"]
    with pytest.raises(CollectionStopped, match="budget"):
        collect_from(server, "deepseek", tmp_path / "j", max_usd=0.003)
    assert 0 < server.stats()["replies"] < COUNT
    spec = label_system("deepseek", server.url)
    ended = spec.prices[0].model_copy(update={"until": datetime(2026, 9, 1, tzinfo=timezone.utc)})
    for prices in ((), (ended,)):
        with pytest.raises(BackendUnavailable, match="no known price"):
            unpriced = spec.model_copy(update={"prices": prices})
            collect_from(server, "deepseek", tmp_path / "k", spec=unpriced, max_usd=1.0)


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("fault", ["echo_key", "echo_key_in_reply"])
def test_a_key_that_the_server_echoes_is_kept_nowhere(servers, tmp_path, name: str, fault: str):
    journal = tmp_path / "j"
    collected = collect_from(servers[name], name, journal, fault={"fault": fault}, attempt_budget=1)
    assert KEY not in json.dumps([collected.predictions.to_pylist(), collected.attempts.to_pylist()])
    assert KEY not in journal.read_text() and "key removed" in journal.read_text()
