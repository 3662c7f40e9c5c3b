"""The vendors' own clients say the same as our codecs: same request on the wire, same reading of the same reply."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from zs_assets.backends.base import RawReply, Reading
from zs_assets.backends.hosted import HostedBackend
from zs_assets.backends.registry import build_backend
from zs_assets.protocol.names import Outcome
from zs_assets.protocol.question import Presentation
from zs_assets_tests.backends.asking import presentation, question, shipped
from zs_assets_tests.backends.wire_server import WireServer
from zs_assets_tests.backends.wires import WIRES, Wire

LABELS = question({"refund": "wants money back", "delivery": "Päckchen fehlt", "other": None}, "What is it about?")
ORDER = (2, 0, 1)
PRESENTED = presentation(LABELS, 'Где "es"?\n', ORDER)
CRITERIA = {LABELS.ids[index]: LABELS.options[index].description for index in ORDER}


class Recording(WireServer):
    """Keeps what it was asked and what it answered."""

    def __init__(self, wire: Wire):
        super().__init__(wire)
        self.requests: list[dict[str, Any]] = []
        self.replies: list[dict[str, Any]] = []

    def good(self, request: dict[str, Any]) -> dict[str, Any]:
        self.requests.append(request)
        self.replies.append(super().good(request))
        return self.replies[-1]


def ours(name: str) -> HostedBackend:
    built = build_backend(shipped(name, base_url_env=None), LABELS)
    assert isinstance(built, HostedBackend)
    return built


def reading_of(name: str, body: Any, presented: Presentation = PRESENTED) -> Reading:
    return ours(name).read(RawReply(json.dumps(body)), presented)


def sent(name: str) -> dict[str, Any]:
    return json.loads(ours(name).request_body(PRESENTED))


@pytest.fixture
def openai_server() -> Iterator[Recording]:
    with Recording(WIRES["openai_decisions"]) as server:
        yield server


@pytest.fixture
def systemone_server() -> Iterator[Recording]:
    with Recording(WIRES["systemone"]) as server:
        yield server


def test_the_openai_sdk_sends_our_request_and_reads_our_reply(openai_server: Recording):
    openai = pytest.importorskip("openai")
    client = openai.OpenAI(api_key="sk-test", base_url=f"{openai_server.url}/v1", max_retries=0)
    choices = [{"value": name} | ({"description": text} if text else {}) for name, text in CRITERIA.items()]
    asked = {"type": "choice", "name": "label", "instructions": LABELS.instructions, "choices": choices}
    decision = client.decisions.create(model="gpt-6-luna", input=PRESENTED.example.text, questions=[asked])
    assert openai_server.requests == [sent("openai_luna")]
    theirs, reading = decision.answers[0], reading_of("openai_luna", openai_server.replies[0])
    assert reading.outcome is Outcome.OK and reading.probabilities is not None
    assert {p.value: p.probability for p in theirs.probabilities} == dict(
        zip(LABELS.ids, reading.probabilities, strict=True)
    )
    assert (theirs.choice, theirs.confidence, decision.model) == (reading.choice, reading.confidence, reading.model)
    assert decision.usage.input_tokens_details.cached_tokens == reading.cache_hit_tokens


def test_what_our_codec_calls_a_refusal_the_openai_sdk_calls_one():
    types = pytest.importorskip("openai.types.decision")
    body = json.loads(WIRES["openai_decisions"].broken(WIRES["openai_decisions"].reply({"a": 1.0}, "a"), "refusal"))
    parsed = types.Decision.model_validate(body)
    assert isinstance(parsed.answers[0], types.AnswerAnswerResourceRefusal)
    assert reading_of("openai_luna", body).outcome is Outcome.REFUSAL


def test_the_typed_values_of_the_openai_sdk_are_what_our_codec_holds_them_to():
    """The SDK keeps the boolean and the text apart; an option id is a text, so the boolean is no option of ours."""
    types = pytest.importorskip("openai.types.decision")
    probability = types.AnswerAnswerResourceChoiceProbability
    assert probability.model_validate({"value": "true", "probability": 1.0}).value == "true"
    assert probability.model_validate({"value": True, "probability": 1.0}).value is True


def test_the_nimble_client_sends_our_request_and_accepts_the_reply_we_read(systemone_server: Recording):
    nimble = pytest.importorskip("bespokelabs.nimble")
    client = nimble.Nimble(base_url=systemone_server.url, max_retries=0)
    asked = {"type": "choice", "instructions": LABELS.instructions, "criteria": CRITERIA}
    result = client.system_one({"text": PRESENTED.example.text}, {"label": asked})
    assert systemone_server.requests == [sent("nimble_9b")]
    reading = reading_of("nimble_9b", systemone_server.replies[0])
    assert reading.probabilities is not None
    theirs = result.choices["label"]
    assert theirs.probabilities == dict(zip(LABELS.ids, reading.probabilities, strict=True))
    assert (theirs.choice, theirs.confidence, result.model) == (reading.choice, reading.confidence, reading.model)


def test_the_nimble_client_refuses_27_options_as_our_cap_does():
    schema = pytest.importorskip("bespokelabs.nimble._schema")
    for count, allowed in ((26, True), (27, False)):
        criteria = {f"o{index}": None for index in range(count)}
        request = {"model": "nimble-latest", "state": "x", "questions": {"label": {"instructions": "Which?"}}}
        request["questions"]["label"] |= {"type": "choice", "criteria": criteria}  # type: ignore[index]
        try:
            schema.SystemOneRequest.model_validate(request)
            accepted = True
        except ValueError:
            accepted = False
        assert accepted is allowed is (count <= (shipped("nimble_9b").option_cap or 0))


@pytest.mark.parametrize("name", ["jev", "jev_1_13", "jev_1_14"])
def test_the_typesafe_sdk_sends_our_request_and_accepts_the_reply_we_read(systemone_server: Recording, name: str):
    sdk = pytest.importorskip("typesafe_sdk")
    model = str(shipped(name).model)
    with sdk.TypeSafeClient(api_key="apikey_test", base_url=systemone_server.url) as client:
        asked = sdk.Choice(instructions=LABELS.instructions, criteria=CRITERIA)
        result = client.system_one({"text": PRESENTED.example.text}, {"label": asked}, model=model)
    assert systemone_server.requests == [sent(name)]
    reading = reading_of(name, systemone_server.replies[0])
    assert reading.probabilities is not None
    theirs = result.choices["label"]
    assert dict(theirs.probabilities) == dict(zip(LABELS.ids, reading.probabilities, strict=True))
    assert (theirs.choice, theirs.confidence, result.model) == (reading.choice, reading.confidence, reading.model)
