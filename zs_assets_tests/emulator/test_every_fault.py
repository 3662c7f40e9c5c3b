"""Every system with probabilities, every fault its stand-in plays: the outcome that the rules of collection name."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from zs_assets.backends.base import Backend, CallFault, Reading, Remedy
from zs_assets.backends.registry import build_backend
from zs_assets.backends.systems import known_systems
from zs_assets.emulator.app import WIRES
from zs_assets.emulator.faults import RETRY_HEADERS
from zs_assets.emulator.profiles import LABEL_ONLY, PROFILES
from zs_assets.emulator.server import LocalServer
from zs_assets.protocol.names import Outcome
from zs_assets_tests.backends.asking import presentation, question, shipped

KEY = "key-0123456789-secret"
LABELS = question({"food": "Cooking, eating, drinking.", "travel": "A trip.", "sport": None}, "About what?")
SYSTEMS = sorted(name for name, profile in PROFILES.items() if profile.wire not in LABEL_ONLY)

EXPECTED: dict[str, Remedy | Outcome] = {
    **dict.fromkeys(RETRY_HEADERS, Remedy.RETRY),
    **dict.fromkeys(("408", "500", "503", "529"), Remedy.RETRY),
    **dict.fromkeys(("html_403", "dropped_connection", "echo_key"), Remedy.RETRY),
    "error_in_200": Remedy.RETRY,  # out of capacity, said inside a 200
    **dict.fromkeys(("400", "402", "404", "422"), Remedy.GIVE_UP),
    **dict.fromkeys(("401", "json_403"), Remedy.STOP),
    "daily_quota": Remedy.STOP,  # no wait of a run mends it
    **dict.fromkeys(("truncated_json", "not_an_object", "missing_answer"), Outcome.INVALID),
    **dict.fromkeys(("foreign_label", "nan", "sum_off"), Outcome.INVALID),
    "refusal": Outcome.REFUSAL,
    **dict.fromkeys(("slow", "other_model", "echo_key_in_reply"), Outcome.OK),
}


@pytest.fixture(scope="module")
def servers() -> Iterator[LocalServer]:
    with LocalServer(SYSTEMS, seed=3, key=KEY) as running:
        yield running


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLOUDFLARE_ACCOUNT_ID", "account0")
    for spec in known_systems().values():
        if spec.key_env:
            monkeypatch.setenv(spec.key_env, KEY)


async def met(backend: Backend) -> tuple[Remedy | Outcome, str, Reading | None]:
    """What one call ends as, all that is kept of it in words, and the reading where there is one."""
    asked = presentation(LABELS, "We missed the ferry.")
    try:
        reply = await backend.ask(asked)
    except CallFault as fault:
        return fault.remedy, f"{fault} {fault.body}", None
    reading = backend.read(reply, asked)
    return reading.outcome, reply.body, reading


@pytest.mark.parametrize("name", SYSTEMS)
def test_each_fault_ends_as_the_rules_say_and_no_key_is_kept(servers: LocalServer, name: str):
    spec = shipped(name, base_url=servers.urls[name], base_url_env=None)
    if spec.key_env is None:
        spec = spec.model_copy(update={"key_env": "OPENAI_API_KEY"})  # its stand-in wants the key here

    async def all_of_them() -> None:
        async with build_backend(spec, LABELS) as backend:
            _, _, untouched = await met(backend)
            assert untouched is not None
            for fault in WIRES[PROFILES[name].wire].faults:
                servers.set_faults([{"fault": fault, "seconds": 0.01}], name)
                ended, kept, reading = await met(backend)
                assert ended is EXPECTED[fault], (fault, kept)
                assert KEY not in kept, fault
                assert reading is None or (reading.probabilities is not None) is (ended is Outcome.OK), fault
                if fault == "other_model":
                    assert reading is not None and reading.model != untouched.model
            servers.set_faults([], name)

    asyncio.run(all_of_them())


def test_every_fault_that_a_wire_plays_has_an_outcome():
    assert {fault for wire in WIRES.values() for fault in wire.faults} == set(EXPECTED)
