"""Every system of systems.yaml that is asked over HTTP, times every fault: each ends as the rules of collection say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from zs_assets.backends.registry import build_backend
from zs_assets.backends.systems import Limits, SystemSpec, known_systems
from zs_assets.collection import Collected, collect
from zs_assets.protocol.errors import CollectionStopped
from zs_assets.protocol.hashing import sha256_text
from zs_assets.protocol.question import Example, Option, Presentation, Question
from zs_assets_tests.backends.label_wires import LABEL_BROKEN, LABEL_WIRES
from zs_assets_tests.backends.wire_server import ONCE, SLEEP_S, WireServer
from zs_assets_tests.backends.wires import BROKEN, WIRES, Wire
from zs_assets_tests.collection.jev_run import QUESTION, header

ALL_WIRES: dict[str, Wire] = {**WIRES, **LABEL_WIRES}
KEY = "sk-0123456789-very-secret"
BUDGET = 2
TRANSIENT = ("408", "429", "500", "503", "529", "html_403", "timeout", "dropped")
REJECTED = ("400", "402", "404", "422")
# The address each system is asked at when its entry's base URL is moved to this machine.
PATHS = {
    "clef_workers_ai": "/client/v4/accounts/abc123/ai/run/@cf/cloudflare/clef",
    "nanojev": "/api/evaluate",
    "openai_luna": "/v1/decisions",
    "vercel_luna": "/v1/decisions",
    "vercel_jev": "/typesafe/v1/systemone",
    "openrouter_jev": "/api/alpha/decisions",
    "openrouter_luna": "/api/alpha/decisions",
    "deepseek": "/beta/chat/completions",
    "opus": "/v1/messages",
    "gemini_flash": "/v1beta/models/gemini-3.8-flash:generateContent",
}
SYSTEMS = sorted(name for name, spec in known_systems().items() if spec.base_url)
WITH_VECTOR = [name for name in SYSTEMS if known_systems()[name].interface in WIRES]


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    monkeypatch.setenv("CLOUDFLARE_ACCOUNT_ID", "abc123")
    for name in SYSTEMS:
        spec = known_systems()[name]
        if spec.key_env:
            monkeypatch.setenv(spec.key_env, KEY)


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, WireServer]]:
    started = {interface: WireServer(wire).__enter__() for interface, wire in ALL_WIRES.items()}
    yield started
    for server in started.values():
        server.__exit__()


def moved(name: str, server: WireServer) -> SystemSpec:
    """The shipped entry at the server's address, with short waits."""
    spec = known_systems()[name]
    url = server.url + urlsplit(str(spec.base_url)).path
    limits = Limits(concurrency=4, timeout_s=SLEEP_S / 2, max_wait_s=0.01)
    return spec.model_copy(update={"base_url": url, "base_url_env": None, "limits": limits})


def texts(faults: tuple[str, ...], of: Question = QUESTION) -> list[Presentation]:
    """One presentation per fault, named by it."""
    order = tuple(reversed(range(len(of))))
    said = {fault: f"A text about rain, fault={fault}." if fault else "A text about bread." for fault in faults}
    examples = [Example(fault or "none", text, sha256_text(text), 0) for fault, text in said.items()]
    return [Presentation(example, order, 0, 0) for example in examples]


def collect_from(
    servers: dict[str, WireServer], name: str, journal: Path, faults: tuple[str, ...], of: Question = QUESTION
) -> Collected:
    server = servers[known_systems()[name].interface]
    server.texts.clear()
    server.paths.clear()
    spec = moved(name, server)
    backend = build_backend(spec, of)
    asked_as = header(backend=name, model_requested=backend.model_requested)
    return collect(backend, texts(faults, of), journal, asked_as, attempt_budget=BUDGET)


def by_fault(collected: Collected) -> dict[str, dict[str, Any]]:
    return {row["example_id"]: row for row in collected.predictions.to_pylist()}


def broken_of(name: str) -> tuple[str, ...]:
    return BROKEN if name in WITH_VECTOR else LABEL_BROKEN


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_fault_ends_in_the_outcome_named_for_it(servers, tmp_path, name: str):
    wire = ALL_WIRES[known_systems()[name].interface]
    passing = tuple(fault + ONCE for fault in TRANSIENT)
    refusal = ("refusal",) if wire.refuses else ()
    faults = ("", *passing, *TRANSIENT, *REJECTED, *broken_of(name), *refusal)
    rows = by_fault(collect_from(servers, name, tmp_path / "j", faults))
    found = {fault: (row["outcome"], row["attempts"]) for fault, row in rows.items()}
    expected = {
        "none": ("ok", 1),
        **dict.fromkeys(passing, ("ok", 2)),
        **dict.fromkeys(TRANSIENT, ("error", BUDGET)),
        **dict.fromkeys(REJECTED, ("error", 1)),
        **dict.fromkeys(broken_of(name), ("invalid", 1)),
        **dict.fromkeys(refusal, ("refusal", 1)),
    }
    assert found == expected
    for fault, (outcome, _) in found.items():
        assert (rows[fault]["probabilities"] is not None) == (outcome == "ok" and name in WITH_VECTOR), fault
        assert outcome == "ok" or rows[fault]["problem"], fault
        assert outcome == "error" or rows[fault]["raw"], fault


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("fault", ["401", "json_403"])
def test_a_refused_key_stops_the_run(servers, tmp_path, name: str, fault: str):
    with pytest.raises(CollectionStopped, match=f"http_{fault[-3:]}"):
        collect_from(servers, name, tmp_path / "j", ("", fault))


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_system_is_asked_at_its_documented_address_and_the_key_is_kept_nowhere(servers, tmp_path, name: str):
    journal = tmp_path / "j"
    collected = collect_from(servers, name, journal, ("", "echo_key", "echo_in_reply"))
    server = servers[known_systems()[name].interface]
    assert set(server.paths) == {PATHS.get(name, "/v1/systemone")}
    sent = [header for header, value in server.headers.items() if KEY in value]
    assert len(sent) == (1 if known_systems()[name].key_env else 0), sent
    tables = json.dumps([collected.predictions.to_pylist(), collected.attempts.to_pylist(), collected.identity])
    assert KEY not in tables and KEY not in journal.read_text()
    if sent:
        assert "key removed" in journal.read_text(), "the echo did arrive"


@pytest.mark.parametrize("name", [name for name in SYSTEMS if known_systems()[name].key_optional])
def test_no_authorization_header_is_sent_where_no_key_is_set(servers, tmp_path, monkeypatch, name: str):
    monkeypatch.delenv(str(known_systems()[name].key_env))
    assert by_fault(collect_from(servers, name, tmp_path / "j", ("",)))["none"]["outcome"] == "ok"
    assert "authorization" not in servers[known_systems()[name].interface].headers


@pytest.mark.parametrize("name", WITH_VECTOR)
@pytest.mark.parametrize("count", [77, 145])
def test_many_options_are_not_applicable_without_a_call_or_answered_by_a_complete_vector(
    servers, tmp_path, name: str, count: int
):
    many = Question("Which label?", tuple(Option(f"intent {i}", f"Intent number {i}.") for i in range(count)))
    row = by_fault(collect_from(servers, name, tmp_path / "j", ("",), many))["none"]
    cap = known_systems()[name].option_cap
    calls = sum(servers[known_systems()[name].interface].texts.values())
    if cap is not None and count > cap:
        assert (row["outcome"], row["probabilities"], calls) == ("not_applicable", None, 0)
    else:
        assert (row["outcome"], calls) == ("ok", 1)
        assert len(row["probabilities"]) == count
        assert row["predicted_index"] == count - 1, "the option sent first is the last one declared"


def test_the_caps_are_those_documented():
    caps = {name: known_systems()[name].option_cap for name in WITH_VECTOR}
    assert {name for name, cap in caps.items() if cap is not None and cap < 77} == {
        "semif",
        "nimble_9b",
        "rizzo_flow_4b",
    }
    assert (caps["semif"], caps["nimble_9b"], caps["rizzo_flow_4b"], caps["laya"]) == (16, 26, 26, 100)
