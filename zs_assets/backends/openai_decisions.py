"""The OpenAI Decisions interface: `POST {base}/v1/decisions` (gpt-6-luna, and gateways that offer the route).

Answers are a list in the order of the questions, and a name may be missing, so the answer is found by its position.
Values are typed: the text "true" and the boolean true are two values, and an option id is always a text. A refusal
comes with HTTP 200 and no scores; it is an outcome of its own, never asked again. Source: types of the openai SDK
3.57.0 (decision, decision_create_params).
"""

from __future__ import annotations

import json
from typing import Any

from zs_assets.backends.base import RawReply, Reading
from zs_assets.backends.hosted import HostedBackend
from zs_assets.backends.local import Settings, read_settings
from zs_assets.backends.reply_json import BrokenReply, count_of, number_of, object_of, parse_strictly, shown, text_of
from zs_assets.backends.systemone_reply import choice_problem
from zs_assets.backends.systems import SystemSpec
from zs_assets.backends.vectors import read_vector
from zs_assets.protocol.names import Outcome
from zs_assets.protocol.question import Option, Presentation, Question

QUESTION_NAME = "label"


class OpenaiDecisionsBackend(HostedBackend):
    """One choice question about the text; choices in the order of the presentation."""

    path = "/v1/decisions"

    def __init__(self, spec: SystemSpec, question: Question):
        super().__init__(spec, question)
        read_settings(spec, Settings)  # it has none: an entry that sets one is told so

    def request_body(self, presentation: Presentation) -> bytes:
        choices = [_choice(self.question.options[index]) for index in presentation.order]
        asked = {
            "type": "choice",
            "name": QUESTION_NAME,
            "instructions": self.question.instructions,
            "choices": choices,
        }
        body = {"model": self.model_requested, "input": presentation.example.text, "questions": [asked]}
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")

    def read(self, reply: RawReply, presentation: Presentation) -> Reading:
        """Vector aligned to the declared order; anything broken is outcome invalid with the problem in words."""
        try:
            body = parse_strictly(reply.body)
        except BrokenReply as broken:
            return Reading.invalid(str(broken))
        known = _model_and_tokens(body)
        try:
            answer = _only_answer(body.get("answers"))
            if answer.get("type") == "refusal":
                return Reading(Outcome.REFUSAL, problem="the model declined to answer (type refusal)", **known)
            known |= {"choice": text_of(answer.get("choice")), "confidence": number_of(answer.get("confidence"))}
            vector, problem = read_vector(_by_value(answer), self.question, self.sum_tolerance)
        except BrokenReply as broken:
            return Reading(Outcome.INVALID, problem=str(broken), **known)
        problem = problem or choice_problem(answer, self.question)
        if problem is None and not known["model"]:
            problem = "the reply does not say which model answered"
        if problem is not None:
            return Reading(Outcome.INVALID, problem=problem, **known)
        return Reading(Outcome.OK, vector, **known)


def _choice(option: Option) -> dict[str, str]:
    return {"value": option.id} | ({} if option.description is None else {"description": option.description})


def _model_and_tokens(body: dict[str, Any]) -> dict[str, Any]:
    """input_tokens holds those read from a cache and those written to one; what is left missed it."""
    usage = object_of(body.get("usage"))
    details = object_of(usage.get("input_tokens_details"))
    given, read = count_of(usage.get("input_tokens")), count_of(details.get("cached_tokens"))
    written = count_of(details.get("cache_write_tokens") or 0)
    missed = None if given is None or read is None or written is None else given - read - written
    return {
        "model": text_of(body.get("model")),
        "input_tokens": given,
        "output_tokens": count_of(usage.get("output_tokens")),
        "cache_hit_tokens": read,
        "cache_miss_tokens": None if missed is None or missed < 0 else missed,
        "reasoning_tokens": count_of(object_of(usage.get("output_tokens_details")).get("reasoning_tokens")),
    }


def _only_answer(answers: Any) -> dict[str, Any]:
    if not isinstance(answers, list) or len(answers) != 1:
        got = f"a list of {len(answers)}" if isinstance(answers, list) else shown(answers)
        raise BrokenReply(f"one question was asked, and the answers are {got}")
    if not isinstance(answers[0], dict):
        raise BrokenReply(f"the answer is {shown(answers[0])}, not an object")
    return answers[0]


def _by_value(answer: dict[str, Any]) -> dict[str, Any]:
    """Value -> probability; BrokenReply for a value that is no text, or that comes twice."""
    entries = answer.get("probabilities")
    if not isinstance(entries, list):
        raise BrokenReply(f"the probabilities are {shown(entries)}, not a list")
    found: dict[str, Any] = {}
    for entry in entries:
        value = entry.get("value") if isinstance(entry, dict) else entry
        if not isinstance(value, str):
            raise BrokenReply(f"a probability is of {shown(value)}, which is no text and so no option")
        if value in found:
            raise BrokenReply(f"the probabilities name {shown(value)} twice")
        found[value] = entry.get("probability")
    return found
