"""Every codec with probabilities: what it sends, what it makes of good replies, and that nothing broken passes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zs_assets.backends.base import RawReply, Reading
from zs_assets.backends.hosted import HostedBackend
from zs_assets.backends.registry import build_backend
from zs_assets.backends.systems import SystemSpec
from zs_assets.protocol.errors import StudyError
from zs_assets.protocol.names import Outcome
from zs_assets_tests.backends.asking import presentation, question
from zs_assets_tests.backends.wires import BROKEN, WIRES

LABELS = question({"refund": "wants money back", "delivery": "Päckchen fehlt", "other": None}, "What is it about?")
VECTOR = {"other": 0.08, "delivery": 0.71, "refund": 0.2}  # sums to 0.99, in an order nobody sent
CODECS = sorted(WIRES)


@pytest.fixture(autouse=True, scope="module")
def account():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLOUDFLARE_ACCOUNT_ID", "abc123")
        yield


def backend(interface: str, **settings: Any) -> HostedBackend:
    spec = SystemSpec(
        name="tested",
        interface=interface,
        title="Tested",
        deployment="hosted",
        model="m-latest",
        base_url="http://localhost:1",
        settings=settings,
    )
    built = build_backend(spec, LABELS)
    assert isinstance(built, HostedBackend)
    return built


def request_of(interface: str, order: tuple[int, ...] = (0, 1, 2), **settings: Any) -> dict[str, Any]:
    return json.loads(backend(interface, **settings).request_body(presentation(LABELS, 'Где "es"?\n', order)))


def read(interface: str, body: str, **settings: Any) -> Reading:
    return backend(interface, **settings).read(RawReply(body), presentation(LABELS, "text", (2, 0, 1)))


def good(interface: str, choice: str = "delivery") -> dict[str, Any]:
    # A copy: what a test breaks must not be broken in the next.
    return json.loads(json.dumps(WIRES[interface].reply(VECTOR, choice)))


@pytest.mark.parametrize("interface", CODECS)
def test_a_reply_is_read_into_the_declared_order_whatever_order_was_sent_or_answered(interface: str):
    reading = read(interface, json.dumps(good(interface)))
    assert reading.outcome is Outcome.OK, reading.problem
    assert reading.probabilities == (0.2, 0.71, 0.08)
    assert (reading.choice, reading.model) == ("delivery", "m-1")


@pytest.mark.parametrize("interface", CODECS)
def test_the_request_names_the_options_in_the_order_of_the_presentation(interface: str):
    wire, sent = WIRES[interface], request_of(interface, (2, 0, 1))
    assert wire.options(sent) == ["other", "refund", "delivery"]
    assert wire.text(sent) == 'Где "es"?\n'


@pytest.mark.parametrize("interface", CODECS)
def test_a_choice_that_is_not_the_argmax_is_kept_as_the_system_gave_it(interface: str):
    reading = read(interface, json.dumps(good(interface, choice="refund")))
    assert (reading.outcome, reading.choice) == (Outcome.OK, "refund")


@pytest.mark.parametrize("interface", CODECS)
@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_reply_is_invalid_with_the_problem_in_words(interface: str, fault: str):
    reading = read(interface, WIRES[interface].broken(good(interface), fault))
    assert reading.outcome is Outcome.INVALID and reading.problem and reading.probabilities is None


@pytest.mark.parametrize("interface", [name for name in CODECS if WIRES[name].refuses])
def test_a_refusal_is_an_outcome_of_its_own_that_keeps_its_tokens(interface: str):
    reading = read(interface, WIRES[interface].broken(good(interface), "refusal"))
    assert reading.outcome is Outcome.REFUSAL and reading.problem and reading.probabilities is None
    assert (reading.model, reading.input_tokens, reading.output_tokens) == ("m-1", 392, 38)


@pytest.mark.parametrize("interface", CODECS)
def test_an_unknown_setting_names_the_allowed_ones(interface: str):
    with pytest.raises(StudyError, match=r"settings.colour.*allowed settings"):
        backend(interface, colour="red")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | st.sampled_from(LABELS.ids),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from((*LABELS.ids, "x", "type")), inner),
    max_leaves=6,
)


@st.composite
def broken_bodies(draw: st.DrawFn, interface: str) -> str:
    """A good body in which up to three values, anywhere, were replaced, removed, or the text cut."""
    body = good(interface)
    for _ in range(draw(st.integers(0, 3))):
        place: Any = body
        while True:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            if not keys:
                break
            key = draw(st.sampled_from(keys))
            if isinstance(place[key], (dict, list)) and draw(st.integers(0, 4)):
                place = place[key]
                continue
            if draw(st.booleans()):
                place[key] = draw(JSON)
            else:
                del place[key]
            break
    text = json.dumps(body)
    return text if draw(st.integers(0, 9)) else text[: draw(st.integers(0, len(text)))]


@pytest.mark.parametrize("interface", CODECS)
@given(data=st.data())
def test_no_body_however_broken_breaks_the_reading_or_passes_with_an_unsound_vector(interface: str, data):
    body = data.draw(broken_bodies(interface) | st.text(max_size=20) | JSON.map(json.dumps))
    codec = backend(interface)
    codec.fault_in(body, None)
    codec.id_in(body)
    reading = codec.read(RawReply(body), presentation(LABELS, "text"))
    for text in (reading.choice, reading.model, reading.problem):
        (text or "").encode("utf-8")
    if reading.outcome is not Outcome.OK:
        assert reading.outcome in (Outcome.INVALID, Outcome.REFUSAL)
        assert reading.problem and reading.probabilities is None
        return
    vector = reading.probabilities
    assert vector is not None and len(vector) == len(LABELS)
    assert all(0.0 <= p <= 1.0 for p in vector) and abs(sum(vector) - 1.0) <= 0.02 + 1e-9
    assert reading.choice in LABELS.ids and reading.model


@pytest.mark.parametrize("interface", CODECS)
def test_an_empty_model_names_no_model(interface: str):
    emptied = json.dumps(good(interface)).replace('"m-1"', '""')
    reading = read(interface, emptied)
    assert reading.outcome is Outcome.INVALID
    assert "does not say which" in str(reading.problem)
