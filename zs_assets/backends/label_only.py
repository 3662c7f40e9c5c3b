"""Systems that name one option and give no probabilities: one prompt for all of them, one rule for what counts.

The prompt is the same text whatever the provider, and so is the schema that holds the answer to the options; only the
envelope differs. Vector and confidence stay None: neither log-probabilities nor a self-assessment stand in for them.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from zs_assets.backends.base import RawReply, Reading
from zs_assets.backends.hosted import HostedBackend
from zs_assets.backends.local import Settings, read_settings
from zs_assets.backends.reply_json import BrokenReply, parse_strictly, shown, text_of
from zs_assets.backends.systems import SystemSpec
from zs_assets.protocol.names import Outcome
from zs_assets.protocol.question import Presentation, Question

ANSWER = "label"
"""The one field of an answer."""

TEXT_MARK = "\n\nText:\n"
"""Stands once between what every call of a question shares, which providers cache, and the text."""


class NoLabel(Exception):
    """A whole reply that names no option: the outcome and its problem in words."""

    def __init__(self, outcome: Outcome, problem: str):
        super().__init__(problem)
        self.outcome = outcome
        self.problem = problem


def prompt_of(question: Question, order: tuple[int, ...], text: str) -> str:
    """Everything a label-only system reads: instructions, the options in the order of the presentation, the text.

    The text comes last, so that the part before it is the same in every call and a provider's cache finds it.
    """
    return _before_the_text(question, order) + TEXT_MARK + text


def _before_the_text(question: Question, order: tuple[int, ...]) -> str:
    lines = [question.instructions, "", "Choose exactly one option, by its id. Each line is an id and what it means:"]
    for option in (question.options[index] for index in order):
        name = json.dumps(option.id, ensure_ascii=False)  # quoted: an id may hold spaces, colons and slashes
        lines.append(name if option.description is None else f"{name}: {option.description}")
    return "\n".join(lines)


def answer_schema(question: Question, order: tuple[int, ...]) -> dict[str, Any]:
    """JSON schema of {"label": one of the option ids as declared, in the order of the presentation}."""
    ids = [question.options[index].id for index in order]
    return {
        "type": "object",
        "properties": {ANSWER: {"type": "string", "enum": ids}},
        "required": [ANSWER],
        "additionalProperties": False,
    }


def label_in(answer: Mapping[str, Any], what: str) -> Any:
    """The label of an answer object; BrokenReply where it holds anything else or more."""
    if set(answer) != {ANSWER}:
        raise BrokenReply(f"{what} should hold '{ANSWER}' alone, not {shown(', '.join(map(str, answer)))}")
    return answer[ANSWER]


class LabelOnlyBackend(HostedBackend):
    """Subclasses wrap prompt and schema in their provider's envelope, and find label, model and tokens in a reply."""

    settings_model: ClassVar[type[Settings]] = Settings
    id_field = "id"
    """Field of a reply that names the call, for providers that send no request id in a header."""

    def __init__(self, spec: SystemSpec, question: Question):
        super().__init__(spec, question)
        self.settings: Any = read_settings(spec, self.settings_model)

    @abstractmethod
    def envelope(self, prompt: str, schema: dict[str, Any]) -> dict[str, Any]:
        """The request's body as an object."""

    @abstractmethod
    def usage(self, body: dict[str, Any]) -> dict[str, Any]:
        """Model and token counts of a reply, under the names of Reading; None for what it does not say."""

    @abstractmethod
    def label(self, body: dict[str, Any]) -> Any:
        """What the reply gives as its label, unchecked; NoLabel or BrokenReply where it gives none."""

    def request_body(self, presentation: Presentation) -> bytes:
        order = presentation.order
        prompt = prompt_of(self.question, order, presentation.example.text)
        body = self.envelope(prompt, answer_schema(self.question, order))
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")

    def read(self, reply: RawReply, presentation: Presentation) -> Reading:
        """The option the reply names; anything else is refusal, no_call or invalid with the problem in words."""
        try:
            body = parse_strictly(reply.body)
        except BrokenReply as broken:
            return Reading(Outcome.INVALID, problem=str(broken))
        known = self.usage(body)
        try:
            given = self.label(body)
        except NoLabel as none:
            return Reading(none.outcome, problem=none.problem, **known)
        except BrokenReply as broken:
            return Reading(Outcome.INVALID, problem=str(broken), **known)
        known["choice"] = text_of(given)
        if not isinstance(given, str) or given not in self.question.index_of:
            return Reading(Outcome.INVALID, problem=f"label {shown(given)} is not among the options", **known)
        if not known["model"]:
            return Reading(Outcome.INVALID, problem="the reply does not say which model answered", **known)
        return Reading(Outcome.OK, **known)

    def id_in(self, body: str) -> str | None:
        try:
            return text_of(parse_strictly(body).get(self.id_field))
        except BrokenReply:
            return None
