"""The System One interface: `POST {base}/v1/systemone`, one choice question per request (Jev and its relatives).

One question per request everywhere: some systems score questions apart, some together (Clef), and only alone are they
comparable. What differs between the relatives is a setting; what they add to a reply is tolerated.
"""

from __future__ import annotations

import json
from typing import Any, ClassVar, Literal

from pydantic import Field

from zs_assets.backends.base import RawReply, Reading
from zs_assets.backends.hosted import HostedBackend
from zs_assets.backends.local import Settings, read_settings
from zs_assets.backends.reply_json import BrokenReply, parse_strictly, text_of
from zs_assets.backends.systemone_reply import read_answer
from zs_assets.backends.systems import SystemSpec
from zs_assets.protocol.question import Option, Presentation, Question

QUESTION_ID = "label"


class SystemOneSettings(Settings):
    """What differs between the systems that speak this wire.

    `question_id` is shown to the model by Clef and Nimble, so it belongs to the prompt there. `null_description`: what
    is sent for an option without a description where a server takes no null. `pin_field` names a text of each reply
    that pins the weights where `model` does not; `identity_path` is asked once per run and its answer recorded.
    """

    path: str = Field(default="/v1/systemone", pattern=r"^/\S+$")
    question_id: str = Field(default=QUESTION_ID, pattern=r"^[A-Za-z0-9_.-]{1,100}$")
    null_description: Literal["null", "id"] = "null"
    pin_field: str | None = Field(default=None, pattern=r"^\w+(\.\w+)*$")
    identity_path: str | None = Field(default=None, pattern=r"^/\S+$")


class SystemOneBackend(HostedBackend):
    """Asks one choice question about the state {"text": ...}; options in the order of the presentation."""

    path = "/v1/systemone"
    request_id_header = "x-typesafe-request-id"
    settings_model: ClassVar[type[SystemOneSettings]] = SystemOneSettings

    def __init__(self, spec: SystemSpec, question: Question):
        self.settings: Any = read_settings(spec, self.settings_model)
        self.path = self.path_of(spec)
        self.identity_path = self.settings.identity_path
        super().__init__(spec, question)
        self._tails: dict[tuple[int, ...], bytes] = {}

    def path_of(self, spec: SystemSpec) -> str:
        """What is appended to the base URL."""
        return self.settings.path

    def body_model(self) -> str:
        """The model string of the request's body."""
        return self.model_requested

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
            "criteria": {option.id: self._description(option) for option in options},
        }
        rest = {"model": self.body_model(), "questions": {self.settings.question_id: asked}}
        return b"}," + json.dumps(rest, ensure_ascii=False, separators=(",", ":")).encode()[1:]

    def _description(self, option: Option) -> str | None:
        return option.description if self.settings.null_description == "null" else option.sentence

    def read(self, reply: RawReply, presentation: Presentation) -> Reading:
        """Vector aligned to the declared order; anything broken is outcome invalid with the problem in words."""
        try:
            body = self.unwrapped(parse_strictly(reply.body))
        except BrokenReply as broken:
            return Reading.invalid(str(broken))
        settings = self.settings
        return read_answer(body, self.question, settings.question_id, self.sum_tolerance, settings.pin_field)

    def unwrapped(self, body: dict[str, Any]) -> dict[str, Any]:
        """The System One body inside whatever envelope a host puts around it; BrokenReply where there is none."""
        return body

    def id_in(self, body: str) -> str | None:
        """Gateways name the call in the body (OpenRouter's `id`)."""
        try:
            return text_of(parse_strictly(body).get("id"))
        except BrokenReply:
            return None
