"""Label-only systems: one prompt for all, one option or none, nothing made up."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zs_assets.backends.base import RawReply, Reading
from zs_assets.backends.label_only import answer_schema, prompt_of
from zs_assets.backends.registry import build_backend
from zs_assets.protocol.names import Outcome
from zs_assets_tests.backends.asking import presentation, question, shipped
from zs_assets_tests.backends.label_systems import LABELS, SYSTEMS, label_backend, label_system, set_keys

TEXT = 'Где "es"?\n'
ORDER = (2, 0, 1)


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    set_keys(monkeypatch)


def strings_in(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from strings_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings_in(inner)
    elif isinstance(value, str):
        yield value


def test_the_prompt_holds_instructions_then_each_option_in_the_order_sent_then_the_text():
    assert prompt_of(LABELS, ORDER, TEXT) == (
        "What is it about?\n\nChoose exactly one option, by its id. Each line is an id and what it means:\n"
        '"a/b: other"\n"refund": wants money back\n"late delivery": Päckchen "fehlt"\n\nText:\nГде "es"?\n'
    )


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_system_reads_the_same_prompt_and_is_held_to_the_same_ids_in_the_same_order(name: str):
    body = json.loads(label_backend(name).request_body(presentation(LABELS, TEXT, ORDER)))
    assert list(strings_in(body)).count(prompt_of(LABELS, ORDER, TEXT)) == 1
    assert json.dumps(["a/b: other", "refund", "late delivery"]) in json.dumps(body), "ids as declared"


@pytest.mark.parametrize("name", SYSTEMS)
def test_what_calls_of_one_question_share_comes_first_and_is_the_same(name: str):
    backend = label_backend(name)
    bodies = [backend.request_body(presentation(LABELS, text)).decode() for text in ("One.", "Quite another.")]
    shared = bodies[0].partition("One.")[0]
    assert json.dumps("Text:\n")[1:-1] in shared and bodies[1].startswith(shared)


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize(
    "field", ["temperature", "top_p", "thinking", "thinkingConfig", "fallbacks", "logprobs", "seed"]
)
def test_no_sampling_thinking_or_fallback_parameter_is_sent(name: str, field: str):
    assert f'"{field}"' not in label_backend(name).request_body(presentation(LABELS, TEXT)).decode()


def chat(arguments: Any = '{"label":"refund"}', finish: Any = "tool_calls", **message: Any) -> dict:
    call = {"id": "1", "type": "function", "function": {"name": "answer", "arguments": arguments}}
    choice = {"finish_reason": finish, "message": {"content": "", "tool_calls": [call], **message}}
    usage = {
        "prompt_tokens": 90,
        "completion_tokens": 70,
        "prompt_cache_hit_tokens": 64,
        "prompt_cache_miss_tokens": 26,
    }
    usage_details = {"completion_tokens_details": {"reasoning_tokens": 33}}
    return {"id": "c", "model": "deepseek-v4-pro", "choices": [choice], "usage": {**usage, **usage_details}}


THINKING = {"type": "thinking", "thinking": '{"label":"late delivery"}', "signature": "x"}


def message(text: Any = '{"label":"refund"}', stop: Any = "end_turn", **more: Any) -> dict:
    usage = {"input_tokens": 26, "cache_read_input_tokens": 64, "cache_creation_input_tokens": 10, "output_tokens": 70}
    usage["output_tokens_details"] = {"thinking_tokens": 33}  # type: ignore[assignment]
    content = [THINKING, {"type": "text", "text": text}]
    return {"model": "claude-opus-5", "content": content, "stop_reason": stop, "usage": usage, **more}


def candidate(text: Any = "refund", finish: Any = "STOP", **more: Any) -> dict:
    parts = [{"text": "late delivery", "thought": True}, {"text": text}]
    usage = {
        "promptTokenCount": 90,
        "cachedContentTokenCount": 64,
        "candidatesTokenCount": 37,
        "thoughtsTokenCount": 33,
    }
    found = {"content": {"role": "model", "parts": parts}, "finishReason": finish}
    return {"candidates": [found], "usageMetadata": usage, "modelVersion": "gemini-3.8-flash", **more}


def read(name: str, body: Any, **settings: Any) -> Reading:
    raw = RawReply(body if isinstance(body, str) else json.dumps(body))
    return label_backend(name, **settings).read(raw, presentation(LABELS, TEXT, ORDER))


@pytest.mark.parametrize(
    ("name", "body", "tokens"),
    [
        ("deepseek", chat(), (90, 70, 64, 26, 33)),
        ("opus", message(), (100, 70, 64, 26, 33)),  # what was cached is outside input_tokens
        ("gemini_flash", candidate(), (90, 70, 64, 26, 33)),  # thoughts are outside the candidate's tokens
    ],
)
def test_a_reply_is_a_label_without_vector_or_confidence_and_tokens_mean_the_same_for_all(name, body, tokens):
    reading = read(name, body)
    assert (reading.outcome, reading.choice, reading.model) == (Outcome.OK, "refund", shipped(name).model)
    assert reading.probabilities is None and reading.confidence is None
    counts = (reading.input_tokens, reading.output_tokens, reading.cache_hit_tokens, reading.cache_miss_tokens)
    assert (*counts, reading.reasoning_tokens) == tokens


USE = {"type": "tool_use", "id": "t", "name": "answer", "input": {"label": "refund"}}


@pytest.mark.parametrize(
    ("name", "body", "outcome", "problem"),
    [
        ("deepseek", chat(tool_calls=None, finish="stop"), Outcome.NO_CALL, "did not call the tool"),
        ("deepseek", chat(tool_calls=[], finish="stop"), Outcome.NO_CALL, "did not call the tool"),
        ("deepseek", chat(finish="content_filter"), Outcome.REFUSAL, "content filter"),
        ("deepseek", chat(tool_calls=None, refusal="I will not."), Outcome.REFUSAL, "refused"),
        ("deepseek", chat(finish="length"), Outcome.INVALID, "cut off"),
        ("deepseek", chat(finish="insufficient_system_resource"), Outcome.INVALID, "cut off"),
        ("deepseek", chat('{"label":"ref'), Outcome.INVALID, "arguments is no JSON"),
        ("deepseek", chat('["refund"]'), Outcome.INVALID, "arguments is no JSON object"),
        ("deepseek", chat({"label": "refund"}), Outcome.INVALID, "no arguments in JSON"),
        ("deepseek", chat('{"label":"refund","sure":true}'), Outcome.INVALID, "alone"),
        ("deepseek", chat('{"label":"refund","label":"late delivery"}'), Outcome.INVALID, "a key twice"),
        ("deepseek", chat('{"label":"Refund"}'), Outcome.INVALID, "'Refund' is not among"),
        ("deepseek", chat('{"label":["refund"]}'), Outcome.INVALID, "(list) is not among"),
        ("deepseek", chat(tool_calls=chat()["choices"][0]["message"]["tool_calls"] * 2), Outcome.INVALID, "2 times"),
        ("deepseek", chat(tool_calls=[{"function": {"name": "x"}}]), Outcome.INVALID, "tool 'x'"),
        ("deepseek", {**chat(), "choices": []}, Outcome.INVALID, "no choices"),
        ("deepseek", {**chat(), "model": None}, Outcome.INVALID, "which model"),
        ("opus", message(stop="refusal"), Outcome.REFUSAL, "refused"),
        ("opus", message(stop="refusal", content=[]), Outcome.REFUSAL, "refused"),
        ("opus", message(stop="max_tokens"), Outcome.INVALID, "settings.max_tokens"),
        ("opus", message(content=[THINKING]), Outcome.INVALID, "no text block"),
        ("opus", message("I would say refund."), Outcome.INVALID, "no JSON"),
        ("opus", message('{"label":"lost"}'), Outcome.INVALID, "'lost' is not among"),
        ("gemini_flash", {**candidate(), "promptFeedback": {"blockReason": "SAFETY"}}, Outcome.REFUSAL, "blocked"),
        ("gemini_flash", {"promptFeedback": {"blockReason": "OTHER"}}, Outcome.REFUSAL, "blocked"),
        ("gemini_flash", candidate(finish="SAFETY"), Outcome.REFUSAL, "withheld"),
        ("gemini_flash", candidate(finish="PROHIBITED_CONTENT"), Outcome.REFUSAL, "withheld"),
        ("gemini_flash", candidate(finish="MAX_TOKENS"), Outcome.INVALID, "MAX_TOKENS"),
        ("gemini_flash", candidate(finish=None), Outcome.INVALID, "did not come to its end"),
        ("gemini_flash", candidate("refund\n"), Outcome.INVALID, "is not among"),
        ("gemini_flash", {**candidate(), "candidates": None}, Outcome.INVALID, "no candidates"),
        ("gemini_flash", candidate(None), Outcome.INVALID, "no text"),
    ],
)
def test_a_reply_without_a_declared_label_says_why(name: str, body: Any, outcome: Outcome, problem: str):
    reading = read(name, body)
    assert reading.outcome is outcome
    assert problem in (reading.problem or "")


def test_a_failed_reply_keeps_its_tokens_and_model_because_it_was_billed():
    for name, body in (("deepseek", chat("")), ("opus", message(stop="max_tokens")), ("gemini_flash", candidate("x"))):
        reading = read(name, body)
        assert (reading.output_tokens, reading.model) == (70, shipped(name).model)


def test_claude_with_a_tool_answers_through_its_call_or_not_at_all():
    tool = {"mode": "tool"}
    assert read("opus", message(content=[THINKING, USE], stop="tool_use"), **tool).choice == "refund"
    assert read("opus", message(), **tool).outcome is Outcome.NO_CALL
    assert read("opus", message(content=[USE, USE]), **tool).outcome is Outcome.INVALID
    assert read("opus", message(content=[{**USE, "name": "x"}]), **tool).outcome is Outcome.INVALID


def test_gemini_with_a_json_schema_answers_as_an_object():
    assert read("gemini_flash", candidate('{"label":"refund"}'), mode="json").choice == "refund"
    assert read("gemini_flash", candidate("refund"), mode="json").outcome is Outcome.INVALID


def test_gemini_leaves_counts_of_zero_out_and_a_reply_without_usage_reports_none():
    said = {**candidate(), "usageMetadata": {"promptTokenCount": 90, "candidatesTokenCount": 3}}
    reading = read("gemini_flash", said)
    assert (reading.output_tokens, reading.cache_hit_tokens, reading.reasoning_tokens) == (3, 0, 0)
    assert read("gemini_flash", {**candidate(), "usageMetadata": {}}).input_tokens is None


NAMES = ("label", "answer", "tool_use", "text", "refusal", "length", "STOP", "SAFETY", "end_turn", "x")
WORDS = st.sampled_from((*LABELS.ids, *NAMES, '{"label":"refund"}'))
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=4)
    | WORDS
    | st.just('{"label":"refund"}'),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)


@st.composite
def mangled(draw: st.DrawFn, whole: dict) -> str:
    """A sound reply with some of its values replaced or removed, or cut, or no reply at all."""
    body = json.loads(json.dumps(whole))
    for _ in range(draw(st.integers(0, 3))):
        at = body
        while True:
            keys: list[Any] = list(at) if isinstance(at, dict) else list(range(len(at)))
            if not keys:
                break
            key = draw(st.sampled_from(keys))
            if isinstance(at[key], (dict, list)) and draw(st.booleans()):
                at = at[key]
                continue
            if draw(st.booleans()):
                at[key] = draw(JSON)
            else:
                del at[key]
            break
    text = json.dumps(body)
    return text[: draw(st.integers(0, len(text)))] if draw(st.integers(0, 4)) == 0 else text


BODIES = st.one_of(
    st.tuples(st.just("deepseek"), st.just({}), mangled(chat())),
    st.tuples(st.just("opus"), st.just({"mode": "json"}), mangled(message())),
    st.tuples(st.just("opus"), st.just({"mode": "tool"}), mangled(message(content=[THINKING, USE]))),
    st.tuples(st.just("gemini_flash"), st.sampled_from(({"mode": "enum"}, {"mode": "json"})), mangled(candidate())),
    st.tuples(st.sampled_from(SYSTEMS), st.just({}), st.text() | JSON.map(json.dumps) | st.just("[" * 100_000)),
)


@given(BODIES)
def test_no_body_however_broken_breaks_the_reading_or_passes_with_a_label_outside_the_options(given_body):
    name, settings, body = given_body
    system = label_system(name, settings=settings).model_copy(update={"key_env": None})
    reading = build_backend(system, LABELS).read(RawReply(body), presentation(LABELS, TEXT))
    for text in (reading.choice, reading.model, reading.problem):
        (text or "").encode("utf-8")
    for count in (reading.input_tokens, reading.output_tokens, reading.cache_hit_tokens, reading.reasoning_tokens):
        assert count is None or count >= 0
    assert reading.probabilities is None and reading.confidence is None
    if reading.outcome is Outcome.OK:
        assert reading.choice in LABELS.ids and reading.model is not None
    else:
        assert reading.outcome in (Outcome.INVALID, Outcome.REFUSAL, Outcome.NO_CALL) and reading.problem


def test_an_answer_schema_closes_the_object_over_the_ids_as_declared():
    schema = answer_schema(question({"b b": None, "a/a": None}), (1, 0))
    assert schema["properties"] == {"label": {"type": "string", "enum": ["a/a", "b b"]}}
    assert (schema["required"], schema["additionalProperties"]) == (["label"], False)
