"""The System One interface: `POST {base}/v1/systemone`, one choice question per request (Jev and its relatives)."""

from __future__ import annotations

import json
import math
from typing import Any

from zs_assets.backends.base import CallFault, RawReply, Reading
from zs_assets.backends.hosted import HostedBackend
from zs_assets.backends.systems import SystemSpec
from zs_assets.backends.tiny_decision import PRESENTATION, QUESTION
from zs_assets.backends.vectors import read_vector
from zs_assets.protocol.errors import BackendUnavailable
from zs_assets.protocol.names import Outcome
from zs_assets.protocol.question import Presentation, Question

QUESTION_ID = "label"


class BrokenReply(ValueError):
    """Why a body is no reply: becomes the problem of an invalid outcome."""


class SystemOneBackend(HostedBackend):
    """Asks one choice question `label` about the state {"text": ...}; options in the order of the presentation."""

    path = "/v1/systemone"
    request_id_header = "x-typesafe-request-id"

    def __init__(self, spec: SystemSpec, question: Question):
        super().__init__(spec, question)
        self._tails: dict[tuple[int, ...], bytes] = {}

    def request_body(self, presentation: Presentation) -> bytes:
        tail = self._tails.get(presentation.order)
        if tail is None:
            tail = self._tails[presentation.order] = self._everything_after_the_text(presentation.order)
        text = json.dumps(presentation.example.text, ensure_ascii=False).encode("utf-8", "replace")
        return b'{"state":{"text":' + text + tail

    def _everything_after_the_text(self, order: tuple[int, ...]) -> bytes:
        options = [self.question.options[index] for index in order]
        asked = {
            "type": "choice",
            "instructions": self.question.instructions,
            "criteria": {option.id: option.description for option in options},
        }
        rest = {"model": self.model_requested, "questions": {QUESTION_ID: asked}}
        return b"}," + json.dumps(rest, ensure_ascii=False, separators=(",", ":")).encode()[1:]

    def read(self, reply: RawReply, presentation: Presentation) -> Reading:
        """Vector aligned to the declared order; anything broken is outcome invalid with the problem in words."""
        try:
            body = parse_strictly(reply.body)
        except BrokenReply as broken:
            return Reading(Outcome.INVALID, problem=str(broken))
        usage = body.get("usage")
        usage = usage if isinstance(usage, dict) else {}
        known: dict[str, Any] = {
            "model": _text(body.get("model")),
            "input_tokens": _count(usage.get("input_tokens")),
            "output_tokens": _count(usage.get("output_tokens")),
        }
        answers = body.get("answers")
        answer = answers.get(QUESTION_ID) if isinstance(answers, dict) else None
        if not isinstance(answer, dict):
            return Reading(Outcome.INVALID, problem=f"the reply has no answer to '{QUESTION_ID}'", **known)
        known |= {"choice": _text(answer.get("choice")), "confidence": _number(answer.get("confidence"))}
        vector, problem = read_vector(answer.get("probabilities"), self.question, self.sum_tolerance)  # type: ignore[arg-type]
        if problem is None:
            problem = _answer_problem(answer, self.question)
        if problem is None and known["model"] is None:
            problem = "the reply does not say which model answered"
        if problem is not None:
            return Reading(Outcome.INVALID, problem=problem, **known)
        return Reading(Outcome.OK, vector, **known)


def parse_strictly(text: str) -> dict[str, Any]:
    """A JSON object without duplicate keys and without NaN or Infinity; BrokenReply otherwise."""
    try:
        body = json.loads(text, object_pairs_hook=_unique_keys, parse_constant=_no_constant)
    except BrokenReply:
        raise
    except (ValueError, RecursionError) as error:
        raise BrokenReply(f"the reply is no JSON: {str(error)[:120]}") from None
    if not isinstance(body, dict):
        raise BrokenReply("the reply is no JSON object")
    return body


async def probe(spec: SystemSpec) -> str:
    """One tiny decision; a sentence on what answered, or BackendUnavailable with what is wrong."""
    async with SystemOneBackend(spec, QUESTION) as backend:
        try:
            reading = backend.read(await backend.ask(PRESENTATION), PRESENTATION)
        except CallFault as fault:
            raise BackendUnavailable(f"{backend.base_url} did not decide: {fault}; {_advice(spec, fault)}.") from None
    if reading.outcome is not Outcome.OK:
        raise BackendUnavailable(f"{backend.base_url} answered, but {reading.problem}: check model and interface.")
    return f"{backend.base_url} decided as {reading.model} (asked for {spec.model}), {reading.input_tokens} tokens."


def _advice(spec: SystemSpec, fault: CallFault) -> str:
    if fault.kind in ("http_401", "http_403"):
        return f"check the key in {spec.key_env}"
    if fault.kind in ("connection", "timeout"):
        return f"check that it is reachable, and {spec.base_url_env or 'base_url'}"
    if fault.kind == "http_400":
        return f"check the model id {spec.model!r}"
    if fault.kind == "http_404":
        return f"check that this host serves {SystemOneBackend.path}, and {spec.base_url_env or 'base_url'}"
    return "try again later"


def _answer_problem(answer: dict[str, Any], question: Question) -> str | None:
    """What is wrong with an answer whose vector is sound. A choice that is not the argmax is kept, not refused."""
    if answer.get("type", "choice") != "choice":
        return f"the answer is of type {_shown(answer['type'])}, not a choice"
    choice = answer.get("choice")
    if not isinstance(choice, str) or choice not in question.index_of:
        return f"choice {_shown(choice)} is not among the options"
    confidence = answer.get("confidence")
    number = _number(confidence)
    if confidence is not None and (number is None or not 0.0 <= number <= 1.0):
        return f"confidence {_shown(confidence)} is no number in [0,1]"
    return None


def _shown(value: Any) -> str:
    """A value for a problem sentence: short, and of containers only their type, which may nest without end."""
    return f"({type(value).__name__})" if isinstance(value, (dict, list)) else ascii(value)[:60]


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) != len(pairs):
        raise BrokenReply("the reply names a key twice")
    return entries


def _no_constant(name: str) -> float:
    raise BrokenReply(f"the reply holds {name}, which is no JSON number")


def _text(value: Any) -> str | None:
    """The text in a form every file can hold: JSON can escape half a surrogate pair, UTF-8 cannot."""
    return value.encode("utf-8", "replace").decode("utf-8") if isinstance(value, str) else None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63 else None


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:  # JSON integers have no limit
        return None
    return number if math.isfinite(number) else None
