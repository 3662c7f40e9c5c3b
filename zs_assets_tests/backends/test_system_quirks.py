"""What differs between the systems that speak System One, and what envelopes and typed values add."""

from __future__ import annotations

import json
from typing import Any

import pytest

from zs_assets.backends.base import CallFault, RawReply, Reading, Remedy
from zs_assets.backends.hosted import HostedBackend
from zs_assets.backends.probe import probe
from zs_assets.backends.registry import build_backend, check_ready
from zs_assets.backends.systems import known_systems
from zs_assets.collection.pricing import cost
from zs_assets.protocol.errors import BackendUnavailable, StudyError
from zs_assets.protocol.names import Outcome
from zs_assets_tests.backends.asking import ask_all, presentation, question, shipped
from zs_assets_tests.backends.wire_server import WireServer
from zs_assets_tests.backends.wires import WIRES

LABELS = question({"true": "wants money back", "delivery": "parcel is missing", "other": None}, "What is it about?")
VECTOR = {"other": 0.1, "delivery": 0.7, "true": 0.2}
PRESENTED = presentation(LABELS, "text")
HOSTED = sorted(name for name, spec in known_systems().items() if spec.base_url)


@pytest.fixture(autouse=True)
def account(monkeypatch):
    monkeypatch.setenv("CLOUDFLARE_ACCOUNT_ID", "abc123")


def system(name: str, **changes: Any) -> HostedBackend:
    built = build_backend(shipped(name, base_url_env=None, **changes), LABELS)
    assert isinstance(built, HostedBackend)
    return built


def body_of(name: str) -> dict[str, Any]:
    return WIRES[shipped(name).interface].reply(VECTOR, "delivery")


def read(name: str, body: dict[str, Any]) -> Reading:
    return system(name).read(RawReply(json.dumps(body)), PRESENTED)


def criteria_sent(name: str) -> dict[str, Any]:
    return json.loads(system(name).request_body(PRESENTED))["questions"]["label"]["criteria"]


# Model strings.


@pytest.mark.parametrize(
    ("name", "said"),
    [("kev_4b", "kev-latest"), ("von", "von-1.3.0"), ("clef_27b", "clef"), ("jev_1_14", "jev-1.14.0")],
)
def test_the_model_is_recorded_as_answered_whatever_its_string_means(name: str, said: str):
    assert read(name, body_of(name) | {"model": said}).model == said


def test_laya_is_one_string_for_all_checkpoints_so_the_checkpoint_joins_it():
    body = body_of("laya") | {"model": "laya-rl-agent", "routing": {"repo": "convaiinnovations/laya-multilingual"}}
    assert read("laya", body).model == "laya-rl-agent@convaiinnovations/laya-multilingual"
    assert read("laya", body | {"routing": None}).model == "laya-rl-agent"


def test_the_fingerprint_of_rizzo_joins_its_served_name():
    body = body_of("rizzo_flow_4b") | {"model": "rizzo-flow-4b-q8_0", "x_rizzo": {"fingerprint": "ab12"}}
    assert read("rizzo_flow_4b", body).model == "rizzo-flow-4b-q8_0@ab12"


# Truncation.


@pytest.mark.parametrize(
    ("extra", "truncated"),
    [
        ({}, None),
        ({"truncated": True}, True),  # Kev
        ({"truncated": False}, False),
        ({"usage": {"truncated": True, "truncated_questions": []}}, True),  # Laya: the state
        ({"usage": {"truncated": False, "truncated_questions": ["label"]}}, True),  # Laya: a head too long
        ({"usage": {"truncated": False, "truncated_questions": []}}, False),
        ({"truncation": {"truncated": True}}, True),  # Von
        ({"truncation": None, "truncated": "yes"}, None),
    ],
)
def test_what_a_system_says_about_truncation_is_kept(extra: dict[str, Any], truncated: bool | None):
    reading = read("kev_4b", body_of("kev_4b") | extra)
    assert (reading.outcome, reading.truncated) == (Outcome.OK, truncated)


# What is sent.


def test_an_option_without_a_description_is_sent_as_null_or_as_its_id_where_null_is_refused():
    assert criteria_sent("kev_4b")["other"] is None
    assert criteria_sent("openrouter_jev")["other"] == "other"
    nanojev = json.loads(system("nanojev").request_body(PRESENTED))["states"][0]["questions"]["label"]
    assert nanojev["criteria"]["other"] == "other"
    luna = json.loads(system("openai_luna").request_body(PRESENTED))["questions"][0]
    assert luna["choices"][2] == {"value": "other"}


def test_the_question_id_is_a_setting_since_some_models_read_it():
    spec = shipped("nimble_9b", base_url_env=None, settings={"question_id": "topic"})
    backend = build_backend(spec, LABELS)
    assert list(json.loads(backend.request_body(PRESENTED))["questions"]) == ["topic"]  # type: ignore[attr-defined]
    body = body_of("nimble_9b")
    body["answers"] = {"topic": body["answers"]["label"]}
    assert backend.read(RawReply(json.dumps(body)), PRESENTED).outcome is Outcome.OK


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"question_id": "a b"}, "question_id"),
        ({"path": "v1"}, "path"),
        ({"null_description": "empty"}, "null_description"),
        ({"pin_field": "a..b"}, "pin_field"),
    ],
)
def test_a_wrong_setting_is_one_sentence(settings: dict[str, Any], said: str):
    with pytest.raises(StudyError, match=f"wrong at 'settings.{said}'"):
        system("kev_4b", settings=settings)


# What is served.


def test_what_a_server_says_of_itself_is_recorded_once_per_run_and_a_gap_is_said():
    with WireServer(WIRES["systemone"]) as server:
        kev = system("kev_4b", base_url=server.url)
        assert ask_all(kev, [PRESENTED])[0][1].outcome is Outcome.OK
        assert '"runs": "a-run"' in kev.identity()["served"]
        assert kev.identity()["revision_declared"] == "139fdd94"
    gone = system("kev_4b", base_url="http://127.0.0.1:9")
    ask_all(gone, [])
    assert gone.identity()["served"].startswith("unknown: connection")


async def test_the_probe_names_the_server_that_has_to_be_started(monkeypatch):
    monkeypatch.delenv("KEV_API_KEY", raising=False)
    kev = shipped("kev_4b", base_url="http://127.0.0.1:9", base_url_env=None)
    with pytest.raises(BackendUnavailable, match=r"check that its server \(kev.serve.*running, and base_url"):
        await probe(kev)


async def test_the_probe_names_the_key_that_cloudflare_refuses_by_a_code_of_its_own(monkeypatch):
    monkeypatch.setenv("CLOUDFLARE_API_TOKEN", "token-0123456789")
    with WireServer(WIRES["workers_ai"]) as server:
        monkeypatch.setattr(server, "good", lambda request: json.loads(envelope(10000, "Authentication error")))
        with pytest.raises(BackendUnavailable, match="check the key in CLOUDFLARE_API_TOKEN") as raised:
            await probe(shipped("clef_workers_ai", base_url=server.url, base_url_env=None))
    assert "token-0123456789" not in str(raised.value)


# Gateways and envelopes.


def test_what_a_gateway_billed_wins_over_the_price_list():
    body = body_of("openrouter_jev")
    body["usage"]["cost"] = 0.0000123
    reading = read("openrouter_jev", body | {"id": "gen-1"})
    assert cost(shipped("openrouter_jev"), reading, "2026-11-01T00:00:00Z")[0] == 0.0000123
    assert system("openrouter_jev").id_in(json.dumps(body | {"id": "gen-1"})) == "gen-1"
    assert read("openrouter_jev", body | {"usage": {"cost": -1}}).cost_usd is None


def envelope(code: int, message: str = "said so") -> str:
    return json.dumps({"result": None, "success": False, "errors": [{"code": code, "message": message}]})


@pytest.mark.parametrize(
    ("code", "remedy"),
    [
        (3040, Remedy.RETRY),
        (5012, Remedy.RETRY),
        (4006, Remedy.STOP),
        (3036, Remedy.STOP),
        (10000, Remedy.STOP),
        (5021, Remedy.GIVE_UP),
    ],
)
def test_an_error_of_cloudflare_inside_a_200_is_no_reply(code: int, remedy: Remedy):
    fault = system("clef_workers_ai").fault_in(envelope(code), "id-1")
    assert fault is not None and (fault.remedy, fault.status, fault.request_id) == (remedy, 200, "id-1")
    assert str(code) in fault.detail and "said so" in fault.detail


@pytest.mark.parametrize(
    ("status", "code", "remedy"),
    [
        (429, 4006, Remedy.STOP),  # the day's allocation: no wait mends it
        (429, 3040, Remedy.RETRY),
        (529, 5012, Remedy.RETRY),
        (413, 5021, Remedy.GIVE_UP),
        (400, 7000, Remedy.GIVE_UP),
        (500, 7000, Remedy.RETRY),
    ],
)
def test_the_code_of_cloudflare_tells_a_used_up_day_from_a_busy_minute(status: int, code: int, remedy: Remedy):
    fault = system("clef_workers_ai").fault_of(status, {}, envelope(code), None)
    assert fault.remedy is remedy and str(code) in fault.detail


def test_a_failed_envelope_that_was_kept_as_a_reply_is_invalid():
    reading = system("clef_workers_ai").read(RawReply(envelope(5021)), PRESENTED)
    assert reading.outcome is Outcome.INVALID and "5021" in (reading.problem or "")


def test_workers_ai_needs_the_id_of_an_account(monkeypatch):
    monkeypatch.setenv("CLOUDFLARE_API_TOKEN", "x")
    assert check_ready(shipped("clef_workers_ai")) is None
    monkeypatch.delenv("CLOUDFLARE_ACCOUNT_ID")
    assert "set CLOUDFLARE_ACCOUNT_ID" in (check_ready(shipped("clef_workers_ai")) or "")
    with pytest.raises(BackendUnavailable, match="set CLOUDFLARE_ACCOUNT_ID"):
        system("clef_workers_ai")


async def test_a_call_that_fails_inside_a_200_raises_and_is_not_kept_as_a_reply(monkeypatch):
    monkeypatch.setenv("CLOUDFLARE_API_TOKEN", "token-0123456789")
    wire = WIRES["workers_ai"]
    with WireServer(wire) as server:
        monkeypatch.setattr(server, "good", lambda request: json.loads(envelope(3040, "no capacity")))
        async with system("clef_workers_ai", base_url=server.url) as backend:
            with pytest.raises(CallFault, match="3040 no capacity") as raised:
                await backend.ask(PRESENTED)
    assert raised.value.kind == "http_in_200_capacity"


# Typed values.


def test_a_boolean_value_is_no_option_even_where_an_option_is_named_true():
    body = body_of("openai_luna")
    for entry in body["answers"][0]["probabilities"]:
        entry["value"] = True if entry["value"] == "true" else entry["value"]
    assert "no text" in (read("openai_luna", body).problem or "")
    assert read("openai_luna", body_of("openai_luna")).outcome is Outcome.OK


@pytest.mark.parametrize("answers", [[], None, {}, "x", [[]]])
def test_answers_are_matched_by_position_and_one_question_has_one(answers: Any):
    assert read("openai_luna", body_of("openai_luna") | {"answers": answers}).outcome is Outcome.INVALID


def test_a_value_named_twice_is_invalid_and_cached_tokens_are_kept_apart():
    body = body_of("openai_luna")
    body["answers"][0]["probabilities"].append({"value": "other", "probability": 0.0})
    reading = read("openai_luna", body)
    assert "'other' twice" in (reading.problem or "")
    assert (reading.input_tokens, reading.cache_hit_tokens, reading.cache_miss_tokens) == (392, 300, 90)


# The table.


@pytest.mark.parametrize("name", HOSTED)
def test_every_entry_says_how_it_is_pinned_what_verified_it_and_what_its_terms_are(name: str):
    spec = shipped(name)
    assert spec.pin and spec.verified and spec.terms and spec.title
    assert spec.model_rule is not None or spec.pinned == "no"
    assert spec.needs or spec.deployment == "hosted"
    assert (spec.price is not None) <= (spec.deployment == "hosted")
    # A rule under which the string may stay while the weights change can never pin by itself.
    if spec.pinned == "yes":
        assert spec.model_rule in ("resolved", "served_name")
