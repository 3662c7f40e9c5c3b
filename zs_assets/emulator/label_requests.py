"""What the stand-ins of label-only systems have in common: a request that passed, its tokens, and a rejected one."""

from __future__ import annotations

import json
import random
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from zs_assets.backends.label_only import TEXT_MARK
from zs_assets.emulator.answers import CHARACTERS_PER_TOKEN
from zs_assets.emulator.profile import Profile

PROSE = "It could be any of these; I would rather discuss it first."
FOREIGN = "no_such_option"


@dataclass
class Refused(Exception):
    """An answer other than 200: status, the provider's own name for it, and what it says."""

    status: int
    kind: str
    message: str


@dataclass(frozen=True)
class LabelRequest:
    """A request that passed. `field` is the property that holds the label, `tool` the tool to call (None: no tool)."""

    model: str
    prompt: str
    ids: tuple[str, ...]
    field: str
    tool: str | None = None

    @property
    def text(self) -> str:
        """What is asked about: all of a prompt that does not follow our own form."""
        return self.prompt.partition(TEXT_MARK)[2] or self.prompt

    @property
    def prefix(self) -> str:
        """What other requests of the question share; empty for a prompt of another form."""
        before, mark, _ = self.prompt.partition(TEXT_MARK)
        return before if mark else ""

    @property
    def options(self) -> dict[str, str]:
        """Option id -> what the prompt says of it."""
        lines = self.prefix.split("\n")
        starts = {name: json.dumps(name, ensure_ascii=False) + ": " for name in self.ids}
        said = {name: next((line for line in lines if line.startswith(start)), "") for name, start in starts.items()}
        return {name: line.removeprefix(starts[name]) or name for name, line in said.items()}


@dataclass(frozen=True)
class Tokens:
    """Of one reply: `hit` of the `prompt` tokens came from the cache, `reasoning` is beside `answer`."""

    prompt: int
    hit: int
    answer: int
    reasoning: int


class Wire(ABC):
    """One provider's envelope: routes, auth, checks, replies, errors, and its own ways to fail."""

    routes: tuple[str, ...]
    request_id_header: str | None = None
    faults: tuple[str, ...]  # ways to fail that only such systems have
    caches_from: int | None = None  # shortest prefix, in tokens, that is cached without being asked to; None: none is

    def __init__(self, profile: Profile):
        self.profile = profile

    @abstractmethod
    def check_auth(self, headers: Mapping[str, str], key: str | None) -> None:
        """Refused without the key."""

    @abstractmethod
    def asked(self, body: dict[str, Any], path: Mapping[str, str]) -> LabelRequest:
        """The request, or Refused as the provider would."""

    @abstractmethod
    def reply(self, asked: LabelRequest, label: str, tokens: Tokens, call_id: str, fault: str | None) -> dict[str, Any]:
        """The body of a 200, with what the fault breaks in it."""

    @abstractmethod
    def error(self, status: int, kind: str | None, message: str) -> dict[str, Any]:
        """The body of any other answer."""

    def key_in(self, headers: Mapping[str, str]) -> str:
        return headers.get("authorization", "")

    def check_model(self, model: Any, status: int, kind: str) -> str:
        if model not in self.profile.aliases:
            raise Refused(status, kind, f"Model {model} does not exist")
        return str(model)


def labels_of(schema: Any, kind: str) -> tuple[str, tuple[str, ...]]:
    """The one property of an object schema that is an enum, and its values."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    for name, described in (properties or {}).items():
        if isinstance(described, dict) and isinstance(described.get("enum"), list) and described["enum"]:
            return name, tuple(map(str, described["enum"]))
    raise Refused(400, kind, "This stand-in answers requests that choose from an enum only")


def tokens_of(asked: LabelRequest, label: str, hit_from: int | None, seen: bool, draw: random.Random) -> Tokens:
    """Plausible counts: a cached prefix is hit in blocks of 64 tokens, reasoning varies as in published rows."""
    schema = sum(len(name) + 4 for name in asked.ids)
    prompt = 60 + round((len(asked.prompt) + schema) / CHARACTERS_PER_TOKEN)
    shared = round((len(asked.prefix) + schema) / CHARACTERS_PER_TOKEN) // 64 * 64
    hit = shared if seen and hit_from is not None and shared >= hit_from else 0
    return Tokens(prompt, hit, 40 + round(len(label) / CHARACTERS_PER_TOKEN), draw.randint(20, 170))


def prompt_in(messages: Any, kind: str) -> str:
    """The text of a list of messages, whose content is text or blocks of text."""
    texts = []
    for message in messages if isinstance(messages, list) else []:
        content = message.get("content") if isinstance(message, dict) else None
        blocks = content if isinstance(content, list) else [{"text": content}]
        texts += [block["text"] for block in blocks if isinstance(block, dict) and isinstance(block.get("text"), str)]
    if not texts:
        raise Refused(400, kind, "messages: at least one message with text is required")
    return "\n".join(texts)
