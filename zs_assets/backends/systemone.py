"""The System One interface: `POST {base}/v1/systemone`, one choice question per request (Jev and its relatives)."""

from __future__ import annotations

import json
from typing import Any

from zs_assets.backends.base import RawReply, Reading
from zs_assets.backends.hosted import HostedBackend
from zs_assets.backends.reply_json import BrokenReply, count_of, number_of, object_of, parse_strictly, shown, text_of
from zs_assets.backends.systems import SystemSpec
from zs_assets.backends.vectors import read_vector
from zs_assets.protocol.names import Outcome
from zs_assets.protocol.question import Presentation, Question

QUESTION_ID = "label"


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
        usage = object_of(body.get("usage"))
        known: dict[str, Any] = {
            "model": text_of(body.get("model")),
            "input_tokens": count_of(usage.get("input_tokens")),
            "output_tokens": count_of(usage.get("output_tokens")),
        }
        answers = body.get("answers")
        answer = answers.get(QUESTION_ID) if isinstance(answers, dict) else None
        if not isinstance(answer, dict):
            return Reading(Outcome.INVALID, problem=f"the reply has no answer to '{QUESTION_ID}'", **known)
        known |= {"choice": text_of(answer.get("choice")), "confidence": number_of(answer.get("confidence"))}
        vector, problem = read_vector(answer.get("probabilities"), self.question, self.sum_tolerance)  # type: ignore[arg-type]
        if problem is None:
            problem = _answer_problem(answer, self.question)
        if problem is None and known["model"] is None:
            problem = "the reply does not say which model answered"
        if problem is not None:
            return Reading(Outcome.INVALID, problem=problem, **known)
        return Reading(Outcome.OK, vector, **known)


def _answer_problem(answer: dict[str, Any], question: Question) -> str | None:
    """What is wrong with an answer whose vector is sound. A choice that is not the argmax is kept, not refused."""
    if answer.get("type", "choice") != "choice":
        return f"the answer is of type {shown(answer['type'])}, not a choice"
    choice = answer.get("choice")
    if not isinstance(choice, str) or choice not in question.index_of:
        return f"choice {shown(choice)} is not among the options"
    confidence = answer.get("confidence")
    number = number_of(confidence)
    if confidence is not None and (number is None or not 0.0 <= number <= 1.0):
        return f"confidence {shown(confidence)} is no number in [0,1]"
    return None
