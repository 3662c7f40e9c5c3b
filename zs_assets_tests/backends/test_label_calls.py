"""Calls to label-only systems: what comes back from the stand-ins, the probe, settings, and keys kept nowhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from zs_assets.backends.anthropic import AnthropicSettings
from zs_assets.backends.base import CallFault
from zs_assets.backends.probe import probe
from zs_assets.emulator.server import LocalServer
from zs_assets.protocol.errors import BackendUnavailable, StudyError
from zs_assets.protocol.names import Outcome
from zs_assets_tests.backends.asking import ask_all, presentation, shipped
from zs_assets_tests.backends.label_systems import (
    KEY,
    LABELS,
    SYSTEMS,
    label_backend,
    label_servers,
    label_system,
    set_keys,
)

TEXT = 'Где "es"?\n'


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, LocalServer]]:
    with label_servers() as started:
        yield started


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    set_keys(monkeypatch)


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_real_client_gets_a_label_and_an_id_of_the_call_from_the_stand_in(servers, name: str):
    servers[name].set_faults([])
    texts = ["My parcel never came.", "Ich möchte mein Geld zurück 💶"]
    for reply, reading in ask_all(label_backend(name, servers[name].url), [presentation(LABELS, t) for t in texts]):
        assert reading.outcome is Outcome.OK, reading.problem
        assert reading.model == shipped(name).model
        assert reply.request_id


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_key_is_sent_where_the_provider_wants_it_and_kept_nowhere(servers, name: str):
    backend = label_backend(name, servers[name].url)
    assert KEY not in backend.request_body(presentation(LABELS, TEXT)).decode()
    assert KEY not in json.dumps(backend.identity())
    servers[name].set_faults([{"fault": "echo_key"}])
    with pytest.raises(CallFault) as raised:
        ask_all(backend, [presentation(LABELS, TEXT)])
    servers[name].set_faults([{"fault": "echo_key_in_reply"}])
    ((reply, _),) = ask_all(label_backend(name, servers[name].url), [presentation(LABELS, TEXT)])
    assert "key removed" in str(raised.value) and "key removed" in reply.body
    assert KEY not in f"{raised.value!r} {raised.value.body} {reply.body}"


@pytest.mark.parametrize("name", SYSTEMS)
async def test_the_probe_says_what_answered_or_what_is_wrong(servers, monkeypatch, name: str):
    server = servers[name]
    server.set_faults([])
    system = label_system(name, server.url)
    assert f"decided as {system.model} (asked for {system.model})" in await probe(system)
    with pytest.raises(BackendUnavailable, match="check the model id 'none-such'"):
        await probe(system.model_copy(update={"model": "none-such"}))
    with pytest.raises(BackendUnavailable, match="reachable"):
        await probe(label_system(name, "http://127.0.0.1:9"))
    set_keys(monkeypatch, "sk-of-someone-else")
    with pytest.raises(BackendUnavailable, match=f"check the key in {system.key_env}") as raised:
        await probe(system)
    assert "someone" not in str(raised.value)


@pytest.mark.parametrize(
    ("name", "settings", "said"),
    [
        ("deepseek", {"temperature": 0}, "settings.temperature"),
        ("opus", {"mode": "forced"}, "settings.mode"),
        ("opus", {"fallbacks": ["x"]}, "settings.fallbacks"),
        ("gemini_flash", {"thinking_level": "NONE"}, "settings.thinking_level"),
    ],
)
def test_a_wrong_setting_is_one_sentence_that_names_it(name: str, settings: dict, said: str):
    with pytest.raises(StudyError, match=f"'{name}' is wrong at '{said}'"):
        label_backend(name, **settings)


@pytest.mark.parametrize(("name", "end"), [("deepseek", "/beta"), ("opus", "/v1"), ("gemini_flash", "/v1beta")])
def test_a_base_url_that_already_holds_the_beginning_of_the_path_is_refused(name: str, end: str):
    with pytest.raises(BackendUnavailable, match=f"must not end in {end}"):
        label_backend(name, f"http://localhost:1{end}")


def test_optional_settings_are_sent_only_where_they_are_set():
    def body(name: str, **settings: Any) -> dict:
        return json.loads(label_backend(name, **settings).request_body(presentation(LABELS, TEXT)))

    assert body("deepseek", max_tokens=900)["max_tokens"] == 900 and "max_tokens" not in body("deepseek")
    assert body("opus", effort="low")["output_config"]["effort"] == "low"
    assert body("gemini_flash", thinking_level="LOW")["generationConfig"]["thinkingConfig"] == {"thinkingLevel": "LOW"}
    assert body("gemini_flash", max_output_tokens=900)["generationConfig"]["maxOutputTokens"] == 900
    assert body("opus")["max_tokens"] == AnthropicSettings().max_tokens == 4096
