"""Each entry of systems.yaml that is asked over HTTP has a stand-in, and our own client reads its replies as ok."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from zs_assets.backends.base import Reading
from zs_assets.backends.label_only import LabelOnlyBackend
from zs_assets.backends.registry import build_backend
from zs_assets.backends.systems import known_systems
from zs_assets.emulator.profiles import LABEL_ONLY, PROFILES
from zs_assets.emulator.server import LocalServer
from zs_assets.protocol.names import Outcome
from zs_assets.protocol.question import Question
from zs_assets_tests.backends.asking import ask_all, presentation, question, shipped

KEY = "key-0123456789-secret"
LABELS = question(
    {"food": "Cooking, eating, drinking.", "travel": "A trip or a journey.", "sport": None}, "About what?"
)
TEXTS = [
    "The soup was cold.",
    "We missed the ferry and then the goalkeeper missed the ball.",
    "Two nil after extra time.",
    "It is what it is.",
    "A long walk to the bakery.",
]
BY_HTTP = sorted(name for name, spec in known_systems().items() if spec.base_url)


@pytest.fixture(scope="module")
def servers() -> Iterator[LocalServer]:
    with LocalServer(tuple(PROFILES), seed=3, key=KEY) as running:
        yield running


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLOUDFLARE_ACCOUNT_ID", "account0")
    for spec in known_systems().values():
        if spec.key_env:
            monkeypatch.setenv(spec.key_env, KEY)


def readings(servers: LocalServer, name: str, of: Question = LABELS) -> list[Reading]:
    spec = shipped(name, base_url=servers.urls[name], base_url_env=None)
    if spec.key_env is None:  # a local server without a key: the stand-ins of this module want one
        spec = spec.model_copy(update={"key_env": "OPENAI_API_KEY"})
    backend = build_backend(spec, of)
    return [reading for _, reading in ask_all(backend, [presentation(of, text) for text in TEXTS])]


def test_every_system_asked_over_http_has_a_stand_in_and_no_stand_in_is_of_an_unknown_system():
    assert set(BY_HTTP) == set(PROFILES)


@pytest.mark.parametrize("name", BY_HTTP)
def test_our_client_reads_every_system_as_ok_on_its_own_grid(servers: LocalServer, name: str):
    for reading in readings(servers, name):
        assert (reading.outcome, reading.problem) == (Outcome.OK, None)
        if PROFILES[name].wire in LABEL_ONLY:
            assert reading.probabilities is None and reading.choice in LABELS.ids
            continue
        assert reading.probabilities is not None
        decimals = PROFILES[name].decimals
        assert decimals == known_systems()[name].decimals or known_systems()[name].decimals is None
        if decimals is not None:
            assert all(p == round(p, decimals) for p in reading.probabilities)
        assert sum(reading.probabilities) == pytest.approx(1, abs=0.0100001)


def test_different_systems_decide_differently(servers: LocalServer):
    seen = {name: tuple(r.probabilities for r in readings(servers, name)) for name in BY_HTTP}
    vectors = [seen[name] for name in BY_HTTP if PROFILES[name].wire not in LABEL_ONLY]
    assert len(set(vectors)) == len(vectors)


@pytest.mark.parametrize("name", BY_HTTP)
def test_a_system_refuses_more_options_than_the_cap_of_its_entry_and_answers_as_many(servers: LocalServer, name: str):
    cap = known_systems()[name].option_cap
    if cap is None:
        pytest.skip("no cap is known")
    profile = PROFILES[name]
    assert profile.option_cap == cap
    at_cap = question({f"option_{index}": f"Subject number {index}." for index in range(cap)})
    vector = readings(servers, name, at_cap)[0].probabilities
    assert vector is not None and len(vector) == cap


def test_replies_of_a_process_of_many_are_those_of_a_process_of_one(servers: LocalServer):
    with LocalServer("kev_4b", seed=3, key=KEY) as alone:
        assert readings(alone, "kev_4b") == readings(servers, "kev_4b")


def test_faults_and_counts_belong_to_one_stand_in_of_a_process(servers: LocalServer):
    servers.set_faults([], "laya")
    servers.set_faults([{"fault": "sum_off"}], "von")
    assert {reading.outcome for reading in readings(servers, "von")} == {Outcome.INVALID}
    assert {reading.outcome for reading in readings(servers, "laya")} == {Outcome.OK}
    assert servers.stats("laya")["replies"] == servers.stats("von")["replies"] == len(TEXTS)
    servers.set_faults([], "von")


def test_refusals_of_openai_come_with_200_and_are_outcomes_of_their_own(servers: LocalServer):
    for name in ("openai_luna", "openrouter_luna", "vercel_luna"):
        servers.set_faults([{"fault": "refusal"}], name)
        assert {reading.outcome for reading in readings(servers, name)} == {Outcome.REFUSAL}
        servers.set_faults([], name)


def test_laya_cuts_a_long_text_in_silence_and_says_so_in_its_usage(servers: LocalServer):
    backend = build_backend(shipped("laya", base_url=servers.urls["laya"], base_url_env=None), LABELS)
    assert not isinstance(backend, LabelOnlyBackend)
    long, short = ask_all(backend, [presentation(LABELS, text) for text in ("It rains. " * 1000, "It rains.")])
    assert (long[1].truncated, short[1].truncated) == (True, False)
    assert json.loads(long[0].body)["usage"]["truncated"] is True
