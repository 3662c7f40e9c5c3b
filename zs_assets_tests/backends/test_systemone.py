"""The System One client: what it sends, what it makes of replies, and where its key may not appear."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zs_assets.backends.base import CallFault, RawReply, Reading, Remedy
from zs_assets.backends.probe import probe
from zs_assets.backends.systemone import SystemOneBackend
from zs_assets.emulator.server import LocalServer
from zs_assets.protocol.errors import BackendUnavailable
from zs_assets.protocol.names import Outcome
from zs_assets_tests.backends.asking import ask_all, presentation, question, shipped

KEY = "apikey_0123456789secret"
LABELS = question({"refund": "wants money back", "delivery": "Päckchen fehlt", "other": None}, "What is it about?")
ANSWER = {
    "type": "choice",
    "choice": "delivery",
    "confidence": 0.61,
    "probabilities": {"other": 0.08, "delivery": 0.71, "refund": 0.2},
}
REPLY = {"model": "jev-1.13.0", "answers": {"label": ANSWER}, "usage": {"input_tokens": 392, "output_tokens": 38}}


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("TYPESAFE_API_KEY", KEY)
    monkeypatch.delenv("TYPESAFE_BASE_URL", raising=False)
    return KEY


@pytest.fixture(scope="module")
def server():
    with LocalServer("jev", seed=7, key=KEY) as running:
        yield running


def backend_at(url: str, **limits: float) -> SystemOneBackend:
    spec = shipped("jev", base_url=url)
    return SystemOneBackend(spec.model_copy(update={"limits": spec.limits.model_copy(update=limits)}), LABELS)


def read(body: str) -> Reading:
    backend = SystemOneBackend(shipped("jev", base_url="http://localhost:1", base_url_env=None, key_env=None), LABELS)
    return backend.read(RawReply(body), presentation(LABELS, "text"))


def changed(**changes: Any) -> str:
    return json.dumps({**REPLY, "answers": {"label": {**ANSWER, **changes}}})


def test_the_request_names_the_options_in_the_order_sent_and_keeps_non_ascii_raw(key):
    body = backend_at("http://localhost:1").request_body(presentation(LABELS, 'Где "es"?\n', order=(2, 0, 1)))
    asked = (
        '{"type":"choice","instructions":"What is it about?","criteria":'
        '{"other":null,"refund":"wants money back","delivery":"Päckchen fehlt"}}'
    )
    state = '{"text":"Где \\"es\\"?\\n"}'
    assert body.decode() == f'{{"state":{state},"model":"jev-latest","questions":{{"label":{asked}}}}}'


def test_a_reply_is_read_into_the_declared_order_whatever_its_key_order():
    assert read(json.dumps(REPLY)) == Reading(Outcome.OK, (0.2, 0.71, 0.08), "delivery", 0.61, "jev-1.13.0", 392, 38)


def test_a_choice_that_is_not_the_first_maximum_is_kept_as_the_system_gave_it():
    reading = read(changed(choice="refund"))
    assert (reading.outcome, reading.choice) == (Outcome.OK, "refund")


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (json.dumps(REPLY)[:-20], "no JSON"),
        ("", "no JSON"),
        ("[" * 100_000, "no JSON"),
        ("[]", "no JSON object"),
        ("{}", "no answer to 'label'"),
        (json.dumps({**REPLY, "answers": {"other": ANSWER}}), "no answer to 'label'"),
        (json.dumps({**REPLY, "answers": [ANSWER]}), "no answer to 'label'"),
        (changed(type="noul"), "of type 'noul'"),
        (changed(choice="lost"), "choice 'lost'"),
        (changed(choice=["refund"]), "choice (list)"),
        (changed(choice="\ud800"), "choice '\\ud800'"),
        (changed(confidence=1.5), "confidence 1.5"),
        (changed(confidence="high"), "confidence 'high'"),
        (changed(probabilities=None), "null"),
        (changed(probabilities={"refund": 0.5, "delivery": 0.5}), "missing, first 'other'"),
        (changed(probabilities={**ANSWER["probabilities"], "lost": 0.0}), "'lost'"),  # type: ignore[dict-item]
        (changed(probabilities={"refund": 0.2, "delivery": 0.5, "other": 0.1}), "sum to 0.8"),
        (changed(probabilities={"refund": 1.2, "delivery": -0.2, "other": 0.0}), "outside [0,1]"),
        (changed(probabilities={"refund": "0.2", "delivery": 0.7, "other": 0.1}), "not a number"),
        (changed(probabilities={"refund": True, "delivery": 0.0, "other": 0.0}), "not a number"),
        (changed(probabilities={"refund": math.nan, "delivery": 1.0, "other": 0.0}), "NaN"),
        (changed().replace("0.71", "1e999"), "not finite"),
        (changed().replace("0.71", "Infinity"), "Infinity"),
        (changed().replace('"other": 0.08', '"other": 0.08, "other": 0.08'), "names a key twice"),
        (json.dumps({**REPLY, "model": None}), "which model answered"),
    ],
)
def test_a_broken_reply_is_invalid_with_the_problem_in_words(body: str, problem: str):
    reading = read(body)
    assert reading.outcome is Outcome.INVALID
    assert reading.probabilities is None
    assert problem in (reading.problem or "")


def test_an_invalid_reply_keeps_its_tokens_and_model_because_it_was_billed():
    reading = read(changed(choice="lost"))
    assert (reading.model, reading.input_tokens, reading.output_tokens) == ("jev-1.13.0", 392, 38)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(LABELS.ids),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from((*LABELS.ids, "x", "label", "probabilities", "choice", "type")), inner)
    ),
    max_leaves=8,
)
NUMBERS = st.floats(0, 1) | st.sampled_from((0.0, 0.33, 0.34, 0.5, 1.0, 10**400, -0.1)) | JSON
VECTORS = st.dictionaries(st.sampled_from((*LABELS.ids, "x")), NUMBERS) | st.fixed_dictionaries(
    dict.fromkeys(LABELS.ids, NUMBERS)
)
ANSWERS = st.fixed_dictionaries(
    {"choice": st.sampled_from(LABELS.ids) | JSON, "probabilities": VECTORS | JSON},
    optional={"confidence": JSON, "type": st.just("choice") | JSON},
)
BODIES = st.one_of(
    st.text(),
    JSON.map(json.dumps),
    st.fixed_dictionaries(
        {"answers": st.fixed_dictionaries({"label": ANSWERS}), "model": st.just("jev-1.13.0") | JSON},
        optional={"usage": JSON | st.fixed_dictionaries({"input_tokens": JSON, "output_tokens": JSON})},
    ).map(json.dumps),
    st.integers(0, len(json.dumps(REPLY))).map(lambda end: json.dumps(REPLY)[:end]),
)


@given(BODIES)
def test_no_body_however_broken_breaks_the_reading_or_passes_with_an_unsound_vector(body: str):
    reading = read(body)
    for text in (reading.choice, reading.model, reading.problem):
        (text or "").encode("utf-8")
    if reading.outcome is not Outcome.OK:
        assert reading.outcome is Outcome.INVALID and reading.problem and reading.probabilities is None
        return
    vector = reading.probabilities
    assert vector is not None and len(vector) == len(LABELS)
    assert all(math.isfinite(p) and 0 <= p <= 1 for p in vector)
    assert abs(sum(vector) - 1) <= 0.02 + 1e-9
    assert reading.choice in LABELS.ids and reading.model is not None


def test_the_real_client_gets_a_vector_from_the_stand_in_and_the_alias_comes_back_resolved(server, key):
    server.set_faults([])
    texts = ["My parcel never came.", "Ich möchte mein Geld zurück 💶", "Hello there"]
    results = ask_all(backend_at(server.url), [presentation(LABELS, text) for text in texts])
    for reply, reading in results:
        assert reading.outcome is Outcome.OK, reading.problem
        assert reading.model == "jev-1.13.0"
        assert reading.input_tokens and reading.output_tokens
        assert reply.request_id is not None and reply.request_id.startswith("req_")


@pytest.mark.parametrize(
    ("fault", "kind", "remedy", "wait"),
    [
        ("429", "http_429", Remedy.RETRY, None),
        ("429_retry_after", "http_429", Remedy.RETRY, 0.05),
        ("429_retry_after_ms", "http_429", Remedy.RETRY, 0.05),
        ("429_both", "http_429", Remedy.RETRY, 0.05),
        ("529", "http_529", Remedy.RETRY, None),
        ("500", "http_500", Remedy.RETRY, None),
        ("503", "http_503", Remedy.RETRY, None),
        ("408", "http_408", Remedy.RETRY, None),
        ("echo_key", "http_500", Remedy.RETRY, None),
        ("html_403", "http_403_html", Remedy.RETRY, None),
        ("dropped_connection", "connection", Remedy.RETRY, None),
        ("slow", "timeout", Remedy.RETRY, None),
        ("400", "http_400", Remedy.GIVE_UP, None),
        ("402", "http_402", Remedy.GIVE_UP, None),
        ("404", "http_404", Remedy.GIVE_UP, None),
        ("422", "http_422", Remedy.GIVE_UP, None),
        ("401", "http_401", Remedy.STOP, None),
        ("json_403", "http_403", Remedy.STOP, None),
    ],
)
def test_each_fault_of_the_wire_is_a_call_fault_without_the_key(server, key, fault, kind, remedy, wait):
    server.set_faults([{"fault": fault, "seconds": 0.6}])
    with pytest.raises(CallFault) as raised:
        ask_all(backend_at(server.url, timeout_s=0.3 if fault == "slow" else 5.0), [presentation(LABELS, "text")])
    found = raised.value
    assert (found.kind, found.remedy, found.retry_after_s) == (kind, remedy, wait)
    assert KEY not in f"{found!s}{found!r}{found.body}{found.request_id}"
    assert found.detail


def test_a_key_echoed_in_a_good_reply_is_not_in_the_raw_body(server, key):
    server.set_faults([{"fault": "echo_key_in_reply"}])
    ((reply, reading),) = ask_all(backend_at(server.url), [presentation(LABELS, "text")])
    assert reading.outcome is Outcome.OK
    assert "authorization" in reply.body and KEY not in reply.body


def test_the_key_is_not_in_the_backend_as_shown_nor_in_its_identity(key):
    backend = backend_at("http://localhost:1")
    assert KEY not in f"{vars(backend)}{backend!r}{backend.identity()}"


def test_a_proxy_of_the_environment_is_not_used(server, key, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    server.set_faults([])
    ((_, reading),) = ask_all(backend_at(server.url), [presentation(LABELS, "text")])
    assert reading.outcome is Outcome.OK


@pytest.mark.parametrize(
    "url",
    [
        "https://a.test/v1",
        "https://a.test/v1/",
        "a.test",
        "ftp://a.test",
        "https://u:p@host",
        "https://h?k=1",
        "http://",
    ],
)
def test_a_base_url_that_cannot_work_is_one_sentence_that_names_the_variable_and_not_the_value(key, monkeypatch, url):
    monkeypatch.setenv("TYPESAFE_BASE_URL", url)
    with pytest.raises(BackendUnavailable, match=r"base URL.*TYPESAFE_BASE_URL") as raised:
        SystemOneBackend(shipped("jev"), LABELS)
    assert url not in str(raised.value)


def test_a_missing_key_is_one_sentence_and_one_that_no_header_can_carry_too(key, monkeypatch):
    monkeypatch.setenv("TYPESAFE_API_KEY", "apikey_with space")
    with pytest.raises(BackendUnavailable, match="set TYPESAFE_API_KEY") as raised:
        backend_at("http://localhost:1")
    assert "apikey_with" not in str(raised.value)
    monkeypatch.delenv("TYPESAFE_API_KEY")
    with pytest.raises(BackendUnavailable, match="needs a key: set TYPESAFE_API_KEY"):
        ask_all(backend_at("http://localhost:1"), [])


async def test_the_probe_says_what_answered_or_what_is_wrong(server, key, monkeypatch):
    server.set_faults([])
    assert "jev-1.13.0 (asked for jev-latest)" in await probe(shipped("jev", base_url=server.url))
    with pytest.raises(BackendUnavailable, match="check the model id 'jev-9'"):
        await probe(shipped("jev", base_url=server.url, model="jev-9"))
    with pytest.raises(BackendUnavailable, match="reachable"):
        await probe(shipped("jev", base_url="http://127.0.0.1:9"))
    monkeypatch.setenv("TYPESAFE_API_KEY", "apikey_of_someone_else")
    with pytest.raises(BackendUnavailable, match="check the key in TYPESAFE_API_KEY") as raised:
        await probe(shipped("jev", base_url=server.url))
    assert "someone_else" not in str(raised.value)
