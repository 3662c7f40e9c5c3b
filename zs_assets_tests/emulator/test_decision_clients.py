"""Clients that the vendors wrote, against the stand-ins of systems with probabilities."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from zs_assets.backends.registry import build_backend
from zs_assets.emulator.server import LocalServer
from zs_assets_tests.backends.asking import ask_all, presentation, question, shipped

KEY = "key-0123456789-secret"
NAMES = ("openai_luna", "vercel_luna", "nimble_9b", "vercel_jev", "openrouter_jev", "kev_4b")
LABELS = question({"food": "Cooking, eating, drinking.", "travel": "A trip.", "sport": "A match."}, "About what?")
TEXT = "We missed the ferry."


@pytest.fixture(scope="module")
def servers() -> Iterator[LocalServer]:
    with LocalServer(NAMES, seed=3, key=KEY) as running:
        yield running


def ours(servers: LocalServer, name: str, monkeypatch: pytest.MonkeyPatch) -> tuple[float, ...] | None:
    """The vector that our own client reads for the same question."""
    spec = shipped(name, base_url=servers.urls[name], base_url_env=None)
    monkeypatch.setenv(str(spec.key_env), KEY)
    return ask_all(build_backend(spec, LABELS), [presentation(LABELS, TEXT)])[0][1].probabilities


def choices() -> list[dict[str, Any]]:
    return [{"value": option.id, "description": option.description} for option in LABELS.options]


@pytest.mark.parametrize(
    ("name", "model"), [("openai_luna", "gpt-6-luna"), ("vercel_luna", "openai/gpt-6-luna-decisions")]
)
def test_the_openai_client_reads_the_decision_that_our_client_reads(servers, monkeypatch, name: str, model: str):
    openai = pytest.importorskip("openai")
    client = openai.OpenAI(api_key=KEY, base_url=f"{servers.urls[name]}/v1", max_retries=0)
    if not hasattr(client, "decisions"):
        pytest.skip("this openai SDK is older than decisions (3.26)")
    asked = {"type": "choice", "name": "label", "instructions": LABELS.instructions, "choices": choices()}
    decision = client.decisions.create(model=model, input=TEXT, questions=[asked])
    [answer] = decision.answers
    assert (decision.model, answer.type, answer.name) == (model, "choice", "label")
    vector = {entry.value: entry.probability for entry in answer.probabilities}
    assert tuple(vector[name] for name in LABELS.ids) == ours(servers, name, monkeypatch)
    assert vector[answer.choice] == max(vector.values())
    assert decision.usage.total_tokens == decision.usage.input_tokens + decision.usage.output_tokens


def test_the_openai_client_reads_answers_by_position_typed_values_predicates_scores_and_refusals(servers):
    openai = pytest.importorskip("openai")
    client = openai.OpenAI(api_key=KEY, base_url=f"{servers.urls['openai_luna']}/v1", max_retries=0)
    if not hasattr(client, "decisions"):
        pytest.skip("this openai SDK is older than decisions (3.26)")
    typed = [{"value": True}, {"value": "true"}, {"value": False, "description": "It is not so."}]
    questions = [
        {"type": "choice", "instructions": "Is it so?", "choices": typed},
        {"type": "predicate", "name": "late", "instructions": "Is somebody late?"},
        {"type": "score", "instructions": "How bad?", "levels": [{"label": "fine"}, {"label": "bad"}]},
    ]
    messages = [{"role": "user", "content": [{"type": "input_text", "text": TEXT}]}]
    first, second, third = client.decisions.create(model="gpt-6-luna", input=messages, questions=questions).answers
    values = [entry.value for entry in first.probabilities]
    assert {(type(value), value) for value in values} == {(bool, True), (str, "true"), (bool, False)}
    assert (first.name, second.name, second.type) == (None, "late", "predicate")
    assert 0 <= second.probability <= 1
    assert [entry.label for entry in third.probabilities] == ["fine", "bad"]
    servers.set_faults([{"fault": "refusal"}], "openai_luna")
    refused = client.decisions.create(model="gpt-6-luna", input=TEXT, questions=questions).answers
    assert [(answer.type, answer.name) for answer in refused] == [
        ("refusal", None),
        ("refusal", "late"),
        ("refusal", None),
    ]
    servers.set_faults([], "openai_luna")


def test_the_openai_client_meets_each_error_of_decisions_as_its_own_class(servers):
    openai = pytest.importorskip("openai")
    client = openai.OpenAI(api_key=KEY, base_url=f"{servers.urls['openai_luna']}/v1", max_retries=0)
    if not hasattr(client, "decisions"):
        pytest.skip("this openai SDK is older than decisions (3.26)")

    def ask(client: Any = client, model: str = "gpt-6-luna", values: int = 3, **more: Any) -> Any:
        asked = {"type": "choice", "instructions": "?", "choices": [{"value": str(at)} for at in range(values)]}
        return client.decisions.create(model=model, input=TEXT, questions=[asked], **more)

    assert len(ask(values=255).answers[0].probabilities) == 255
    for values in (1, 256):
        with pytest.raises(openai.BadRequestError, match="take 2 to 255 options"):
            ask(values=values)
    with pytest.raises(openai.BadRequestError, match="Unknown parameter: 'temperature'"):
        ask(extra_body={"temperature": 0})
    with pytest.raises(openai.NotFoundError):
        ask(model="gpt-7")
    with pytest.raises(openai.AuthenticationError):
        ask(client.with_options(api_key="sk-wrong"))
    for fault, error in {"429": openai.RateLimitError, "500": openai.InternalServerError}.items():
        servers.set_faults([{"fault": fault}], "openai_luna")
        with pytest.raises(error):
            ask()
    servers.set_faults([], "openai_luna")


def test_nimbles_own_client_checks_and_accepts_its_stand_in(servers, monkeypatch):
    """It demands a sum within 1e-5 of 1 and a choice that is the argmax."""
    nimble = pytest.importorskip("bespokelabs.nimble")
    with nimble.Nimble(base_url=servers.urls["nimble_9b"], api_key=KEY, max_retries=0) as client:
        criteria = {option.id: option.description for option in LABELS.options}
        asked = {"label": nimble.Choice(instructions=LABELS.instructions, criteria=criteria)}
        reply = client.system_one({"text": TEXT}, asked)
        assert reply.model == "bespokelabs/Bespoke-Nimble-9B"
        assert reply.usage.output_tokens == 2, "questions + 1"
        vector = reply.choices["label"].probabilities
        assert tuple(vector[name] for name in LABELS.ids) == ours(servers, "nimble_9b", monkeypatch)
        servers.set_faults([{"fault": "sum_off"}], "nimble_9b")
        with pytest.raises(nimble.APIResponseError):
            client.system_one({"text": TEXT}, asked)
        servers.set_faults([{"fault": "429"}], "nimble_9b")
        with pytest.raises(nimble.RateLimitError):
            client.system_one({"text": TEXT}, asked)
    servers.set_faults([], "nimble_9b")
    with (
        nimble.Nimble(base_url=servers.urls["nimble_9b"], api_key="wrong", max_retries=0) as client,
        pytest.raises(nimble.AuthenticationError),
    ):
        client.system_one({"text": TEXT}, asked)


@pytest.mark.parametrize(
    ("name", "model", "resolved"),
    [
        ("vercel_jev", "typesafe-ai/jev", "jev-1.13.0"),
        ("openrouter_jev", "typesafe/jev-1.13", "typesafe/jev-1.13-20260917"),
        ("kev_4b", "kev-latest", "kev-latest"),
    ],
)
def test_the_typesafe_client_works_unchanged_with_gateways_and_relatives(
    servers, monkeypatch, name: str, model: str, resolved: str
):
    sdk = pytest.importorskip("typesafe_sdk")
    criteria = {option.id: option.description for option in LABELS.options}
    asked = {"label": sdk.Choice(instructions=LABELS.instructions, criteria=criteria)}
    with sdk.TypeSafeClient(api_key=KEY, base_url=servers.urls[name]) as client:
        reply = client.system_one({"text": TEXT}, asked, model=model)
    assert reply.model == resolved
    vector = reply.choices["label"].probabilities
    assert tuple(vector[label] for label in LABELS.ids) == ours(servers, name, monkeypatch)
