"""An independent conformance suite: its judgement of the stand-ins, and our client against its server's faults."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from zs_assets.backends.base import CallFault, Reading, Remedy
from zs_assets.backends.systemone import SystemOneBackend
from zs_assets.emulator.profiles import PROFILES
from zs_assets.emulator.server import LocalServer
from zs_assets.protocol.names import Outcome
from zs_assets.protocol.question import Question
from zs_assets_tests.backends.asking import ask_all, presentation, question, shipped

jevcompat = pytest.importorskip("jevcompat")
KEY = "apikey_0123456789secret"

CAP = "choice.options"  # 128 options and more are asked for
ALIAS = "request.model-alias"  # Jev's alias is asked for
JUDGED: dict[str, tuple[str, list[str]]] = {
    "jev": ("jev-latest", []),
    "jev_1_13": ("jev-1.13.0", []),
    "jev_1_14": ("jev-1.14.0", []),
    "vercel_jev": ("typesafe-ai/jev", []),
    "kev_4b": ("kev-latest", []),
    "von": ("von-1.3.0", []),
    "clef_27b": ("clef", []),
    "laya": ("english", [CAP]),
    "rizzo_flow_4b": ("rizzo-latest", [CAP]),
    "semif": ("semif-latest", [CAP]),
    "nimble_9b": ("nimble-latest", [CAP, ALIAS]),
    "subq_snap": ("subq-snap-preview", [ALIAS]),
}
"""Model sent, and the MUSTs missed as the real system misses them: its option cap, and names of others' models."""


@pytest.fixture(scope="module")
def stand_ins() -> Iterator[LocalServer]:
    with LocalServer(tuple(JUDGED), seed=1, key=KEY) as running:
        yield running


def test_every_profile_of_the_wire_is_judged():
    wired = {name for name, profile in PROFILES.items() if profile.wire == "systemone"}
    assert wired - set(JUDGED) == {"openvons"}  # nothing is known of its conformance


@pytest.mark.parametrize("name", sorted(JUDGED))
def test_a_stand_in_meets_every_must_that_the_real_system_meets(stand_ins: LocalServer, name: str):
    model, missed = JUDGED[name]
    command = shutil.which("jevcompat", path=str(Path(sys.executable).parent)) or shutil.which("jevcompat")
    assert command is not None
    asked = [command, "test", stand_ins.urls[name], "--key", KEY, "--model", model]
    run = subprocess.run(asked, capture_output=True, text=True, timeout=60)
    failed = re.findall(r"✗ MUST\s+(\S+)", run.stdout)
    assert sorted(failed) == sorted(missed), run.stdout
    assert f"MUST {32 - len(missed)}/32" in run.stdout


LABELS = question({"Refund": "wants money back", "käse": None, "other": "anything else"}, "What is it about?")
MANY = question({f"label_{index:03d}": f"Subject number {index}." for index in range(77)}, "What is it about?")

OK, INVALID, ERROR, STOP = Outcome.OK, Outcome.INVALID, Outcome.ERROR, "stop"
FAULTS: dict[str, object] = {
    # No reply: the request is rejected and not asked again, or nobody is let in.
    "wrong-route": ERROR,
    "reject-jev-latest": ERROR,
    "no-null-description": ERROR,
    "auth-x-api-key": STOP,
    "auth-rejects-header": STOP,
    # A reply that breaks integrity: billed, kept, never asked again.
    "xssi-200": INVALID,
    "nan": INVALID,
    "nfd-keys": INVALID,
    "choice-key-case": INVALID,
    "choice-sum": INVALID,
    "confidence-over": INVALID,
    # A sound vector, whatever else is odd; what is odd is kept or told.
    "plain-content-type": OK,
    "string-only-text": OK,
    "no-usage": OK,
    "float-usage": OK,
    "extra-answer": OK,
    "unprefixed-extra": OK,
    "choice-no-confidence": OK,
    "choice-second": OK,
    "confidence-margin": OK,
    "id-leaks": OK,
    "batch-leaks": OK,
    "order-leaks": OK,
    # Faults in what this client never does: other types of question, several of them, wrong requests, other routes.
    **dict.fromkeys(("text-errors", "models-404", "auth-plain", "auth-invalid-403-text", "reject-array-state"), OK),
    **dict.fromkeys(("first-question-only", "strict-ids", "forbid-extra", "noul-two-sided"), OK),
    **dict.fromkeys(("noul-needs-instructions", "cap-64", "cap-5-levels", "accept-map-score", "boolean-type"), OK),
    **dict.fromkeys(("noul-range", "score-no-legend", "legend-1-based", "score-keys-1-based", "score-sum"), OK),
    **dict.fromkeys(("score-argmax", "500-on-unknown-type", "accept-boolean", "validation-400", "error-flat"), OK),
}


def asked(
    fault: str | None, monkeypatch: pytest.MonkeyPatch, of: Question = LABELS, key: str = KEY
) -> Reading | Remedy:
    """What our client makes of the suite's server with this fault: a reading, or what to do about no reply."""
    from jevcompat.mock import MockConfig, Running

    monkeypatch.setenv("TYPESAFE_API_KEY", key)
    wanted = None if fault == "auth-rejects-header" else KEY  # that server has auth off
    with Running(MockConfig(key=wanted, faults=frozenset([fault] if fault else []))) as running:
        backend = SystemOneBackend(shipped("jev", base_url=running.url, base_url_env=None), of)
        try:
            [(_, reading)] = ask_all(backend, [presentation(of, "The parcel never came.")])
        except CallFault as no_reply:
            return no_reply.remedy
    return reading


def test_every_fault_of_the_server_is_in_the_table():
    from jevcompat.mock import FAULTS as named

    assert set(FAULTS) == set(named)


@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_each_fault_of_an_independent_server_ends_as_the_rules_of_collection_say(fault: str, monkeypatch):
    expected = FAULTS[fault]
    got = asked(fault, monkeypatch)
    if isinstance(got, Remedy):
        assert got is {ERROR: Remedy.GIVE_UP, STOP: Remedy.STOP}[expected]  # type: ignore[index]
        return
    assert got.outcome is expected, got.problem
    assert (got.probabilities is not None) is (expected is OK)
    assert (got.problem is not None) is (expected is INVALID)


def test_without_a_fault_the_same_server_is_read_whole(monkeypatch):
    reading = asked(None, monkeypatch)
    assert isinstance(reading, Reading)
    assert reading.outcome is OK and reading.probabilities is not None
    assert reading.choice == LABELS.ids[max(range(3), key=reading.probabilities.__getitem__)]
    assert (reading.input_tokens or 0) > 0


def test_more_options_than_a_server_takes_is_an_error_not_asked_again(monkeypatch):
    assert asked("cap-64", monkeypatch, MANY) is Remedy.GIVE_UP
    whole = asked(None, monkeypatch, MANY)
    assert isinstance(whole, Reading) and len(whole.probabilities or ()) == 77


def test_a_choice_that_is_not_the_argmax_and_a_missing_confidence_are_told_as_they_came(monkeypatch):
    second, silent = (asked(fault, monkeypatch) for fault in ("choice-second", "choice-no-confidence"))
    assert isinstance(second, Reading) and isinstance(silent, Reading)
    assert second.probabilities is not None
    assert second.choice == LABELS.ids[sorted(range(3), key=second.probabilities.__getitem__)[-2]]
    assert silent.confidence is None


@pytest.mark.parametrize("fault", ["auth-plain", "auth-invalid-403-text", None])
def test_a_wrong_key_stops_the_run_whatever_shape_the_refusal_has(fault: str | None, monkeypatch):
    assert asked(fault, monkeypatch, key="apikey_of_somebody_else") is Remedy.STOP
