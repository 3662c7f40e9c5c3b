"""Each fault of a hosted system ends as the rules of collection say."""

from __future__ import annotations

import json

import pytest

from zs_assets.emulator.server import LocalServer
from zs_assets.protocol.errors import CollectionStopped
from zs_assets.protocol.names import Outcome
from zs_assets_tests.collection.jev_run import KEY, collect_jev, jev

COUNT = 6


@pytest.fixture(scope="module")
def server():
    with LocalServer("jev", seed=3, key=KEY) as running:
        yield running


def rows_of(collected) -> list[dict]:
    return collected.predictions.to_pylist()


RETRIED = [
    "429",
    "429_retry_after",
    "429_retry_after_ms",
    "429_both",
    "429_http_date",
    "529",
    "500",
    "503",
    "408",
    "html_403",
    "dropped_connection",
    "slow",
    "echo_key",
]


@pytest.mark.parametrize("fault", RETRIED)
def test_a_passing_fault_is_retried_within_the_budget(server, tmp_path, fault: str):
    server.set_faults([{"fault": fault, "first": 1, "marker": "number 2 "}])
    spec = jev(timeout_s=0.5) if fault == "slow" else jev()
    collected = collect_jev(tmp_path / "j.jsonl", server.url, COUNT, spec=spec)
    rows = rows_of(collected)
    assert [row["outcome"] for row in rows] == ["ok"] * COUNT
    assert rows[2]["attempts"] == 2
    attempts = [row for row in collected.attempts.to_pylist() if row["presentation_id"] == rows[2]["presentation_id"]]
    assert [row["result"] == "reply" for row in attempts] == [False, True]
    assert attempts[0]["wait_ms"] <= 50.0, "Retry-After is honoured and capped"
    assert collected.attempts.num_rows == COUNT + 1


@pytest.mark.parametrize("fault", ["429", "500", "dropped_connection"])
def test_a_lasting_fault_ends_in_error_after_the_budget_and_the_run_goes_on(server, tmp_path, fault: str):
    server.set_faults([{"fault": fault, "marker": "number 2 "}])
    collected = collect_jev(tmp_path / "j.jsonl", server.url, COUNT, attempt_budget=3)
    rows = rows_of(collected)
    assert [row["outcome"] for row in rows] == ["ok", "ok", "error", "ok", "ok", "ok"]
    assert rows[2]["attempts"] == 3
    assert rows[2]["probabilities"] is None
    assert rows[2]["problem"]


@pytest.mark.parametrize("fault", ["400", "402", "404", "422"])
def test_a_rejected_request_is_an_error_without_a_retry(server, tmp_path, fault: str):
    server.set_faults([{"fault": fault, "marker": "number 2 "}])
    rows = rows_of(collect_jev(tmp_path / "j.jsonl", server.url, COUNT))
    assert rows[2]["outcome"] == Outcome.ERROR.value
    assert rows[2]["attempts"] == 1
    assert f"http_{fault}" in rows[2]["problem"]


@pytest.mark.parametrize("fault", ["401", "json_403"])
def test_a_refused_key_stops_the_run_with_the_reason_and_keeps_what_was_received(server, tmp_path, fault: str):
    journal = tmp_path / "j.jsonl"
    server.set_faults([{"fault": fault, "marker": "number 4 "}])
    with pytest.raises(CollectionStopped, match="refused the call"):
        collect_jev(journal, server.url, COUNT, spec=jev(concurrency=1))
    assert server.stats()["requests"] == 5, "no call after the refusal"
    server.set_faults([])
    collected = collect_jev(journal, server.url, COUNT)
    assert [row["outcome"] for row in rows_of(collected)] == ["ok"] * COUNT
    assert collected.resumed == 4
    assert server.stats()["requests"] == 2


def test_a_wrong_key_stops_at_once_and_spends_no_attempt(server, tmp_path, monkeypatch):
    server.set_faults([])
    journal = tmp_path / "j.jsonl"
    monkeypatch.setattr("zs_assets_tests.collection.jev_run.KEY", "apikey_wrong")
    for _ in range(5):
        with pytest.raises(CollectionStopped, match="http_401"):
            collect_jev(journal, server.url, COUNT, spec=jev(concurrency=1))
    monkeypatch.setattr("zs_assets_tests.collection.jev_run.KEY", KEY)
    assert [row["outcome"] for row in rows_of(collect_jev(journal, server.url, COUNT))] == ["ok"] * COUNT


@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        ("truncated_json", "no JSON"),
        ("missing_answer", "no answer to 'label'"),
        ("foreign_label", "no_such_option"),
        ("nan", "NaN"),
        ("sum_off", "sum to 0.8"),
        ("not_an_object", "no JSON object"),
    ],
)
def test_a_broken_reply_is_invalid_kept_raw_and_never_asked_again(server, tmp_path, fault: str, problem: str):
    journal = tmp_path / "j.jsonl"
    server.set_faults([{"fault": fault, "marker": "number 2 "}])
    rows = rows_of(collect_jev(journal, server.url, COUNT))
    assert [row["outcome"] for row in rows] == ["ok", "ok", "invalid", "ok", "ok", "ok"]
    assert problem in rows[2]["problem"]
    assert rows[2]["raw"]
    assert rows[2]["attempts"] == 1
    again = rows_of(collect_jev(journal, server.url, COUNT, retry_errors=True))
    assert again == rows
    assert server.stats()["requests"] == COUNT


def test_another_model_answering_is_stored_as_it_answered(server, tmp_path):
    server.set_faults([{"fault": "other_model", "marker": "number 2 "}])
    models = [row["model_resolved"] for row in rows_of(collect_jev(tmp_path / "j.jsonl", server.url, COUNT))]
    assert models == ["jev-1.13.0", "jev-1.13.0", "jev-0.0.1", "jev-1.13.0", "jev-1.13.0", "jev-1.13.0"]


def test_errors_are_final_until_they_are_asked_for_again(server, tmp_path):
    journal = tmp_path / "j.jsonl"
    server.set_faults([{"fault": "500", "marker": "number 2 "}])
    collect_jev(journal, server.url, COUNT, attempt_budget=2)
    server.set_faults([])
    final = rows_of(collect_jev(journal, server.url, COUNT, attempt_budget=2))
    assert final[2]["outcome"] == "error"
    assert server.stats()["requests"] == 0
    retried = collect_jev(journal, server.url, COUNT, attempt_budget=2, retry_errors=True)
    assert rows_of(retried)[2]["outcome"] == "ok"
    assert rows_of(retried)[2]["attempts"] == 3, "the attempt is recorded as a further one"
    assert server.stats()["requests"] == 1


@pytest.mark.parametrize("fault", ["echo_key", "echo_key_in_reply"])
def test_a_key_that_the_server_echoes_is_kept_nowhere(server, tmp_path, fault: str):
    journal = tmp_path / "j.jsonl"
    server.set_faults([{"fault": fault, "marker": "number 2 "}])
    collected = collect_jev(journal, server.url, COUNT, attempt_budget=1)
    assert KEY not in journal.read_text()
    assert KEY not in json.dumps([collected.predictions.to_pylist(), collected.attempts.to_pylist()])
    assert "key removed" in journal.read_text(), "the echo did arrive"


def test_the_budget_stops_before_the_next_call_would_pass_it(server, tmp_path):
    server.set_faults([])
    with pytest.raises(CollectionStopped, match="budget"):
        collect_jev(tmp_path / "j.jsonl", server.url, 200, max_usd=0.001)
    spent = server.stats()["replies"] * 330 * 0.042e-6
    assert 0 < spent < 0.001


def test_latency_and_calls_in_flight_are_stored_with_each_reply(server, tmp_path):
    server.set_faults([])
    rows = rows_of(collect_jev(tmp_path / "j.jsonl", server.url, 40))
    assert all(row["latency_ms"] > 0 for row in rows)
    assert {row["in_flight"] for row in rows} <= {1, 2, 3, 4}
    assert all(row["run_date"].endswith("Z") for row in rows)
    assert all(row["cost_usd"] == row["input_tokens"] * 0.042 / 1e6 for row in rows)
