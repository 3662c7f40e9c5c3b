"""Faults by name, and the script that says which request meets which."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from email.utils import formatdate
from time import time
from typing import Any

RETRY_HEADERS: dict[str, dict[str, str]] = {
    "429": {},
    "429_retry_after": {"retry-after": "0.05"},
    "429_retry_after_ms": {"retry-after-ms": "50"},
    "429_both": {"retry-after-ms": "50", "retry-after": "30"},
    "429_http_date": {},  # computed when it is sent
}
STATUS = {"400": 400, "401": 401, "402": 402, "404": 404, "408": 408, "422": 422, "500": 500, "503": 503, "529": 529}
INSTEAD_OF_A_REPLY = (*RETRY_HEADERS, *STATUS, "dropped_connection", "html_403", "json_403", "echo_key")
BROKEN_REPLIES = (
    "truncated_json",
    "not_an_object",
    "missing_answer",
    "foreign_label",
    "nan",
    "sum_off",
    "other_model",
    "echo_key_in_reply",
)
LABEL_REPLIES = (
    "truncated_json",
    "not_an_object",
    "missing_answer",
    "foreign_label",
    "other_model",
    "echo_key_in_reply",
)
"""Replies that any label-only system may break in the same way."""
LABEL_FAULTS = ("no_call", "refusal", "blocked_prompt", "max_tokens", "bad_arguments", "daily_quota", "minute_quota")
"""Ways to fail that only some label-only systems have."""
DECISION_FAULTS = ("refusal", "daily_quota", "error_in_200")
"""Ways to fail that only some systems with probabilities have."""
SYSTEM_ONE = (*INSTEAD_OF_A_REPLY, *BROKEN_REPLIES, "slow")
NAMES = tuple(dict.fromkeys((*SYSTEM_ONE, *LABEL_FAULTS, *DECISION_FAULTS)))


@dataclass(frozen=True)
class Rule:
    """One fault and when it strikes.

    first: the first n requests of a text; every: each n-th request of all; share: this share of the texts, drawn by
    hash; marker: only texts that hold it. All conditions given must hold. `seconds` is how long `slow` takes.
    """

    fault: str
    first: int | None = None
    every: int | None = None
    share: float | None = None
    marker: str | None = None
    seconds: float = 2.0

    def __post_init__(self) -> None:
        if self.fault not in NAMES:
            raise ValueError(f"There is no fault '{self.fault}': use one of {', '.join(NAMES)}.")
        if self.every is not None and self.every < 1:
            raise ValueError(f"Fault '{self.fault}' cannot strike every {self.every} requests: use 1 or more.")

    def strikes(self, text: str, requests_of_text: int, requests: int) -> bool:
        if self.marker is not None and self.marker not in text:
            return False
        if self.first is not None and requests_of_text > self.first:
            return False
        if self.every is not None and requests % self.every:
            return False
        return self.share is None or _unit(text) < self.share


class Script:
    """Counts requests and says which rule, if any, the next one meets: the first that strikes.

    `played` are the faults this stand-in can play; a rule for another is a ValueError.
    """

    def __init__(self, rules: Iterable[Mapping[str, Any]] | None = None, played: Sequence[str] = SYSTEM_ONE):
        self.rules = parse_rules(rules or [])
        unknown = [rule.fault for rule in self.rules if rule.fault not in played]
        if unknown:
            raise ValueError(f"This stand-in has no fault '{unknown[0]}': use one of {', '.join(played)}.")
        self.rejected = 0  # requests that never reached the script: wrong key, shape or meaning
        self._requests: Counter[str] = Counter()
        self._replies: Counter[str] = Counter()
        self._requests_of_body: Counter[str] = Counter()
        self._replies_of_body: Counter[str] = Counter()

    def meet(self, text: str, body_sha256: str) -> Rule | None:
        self._requests[text] += 1
        self._requests_of_body[body_sha256] += 1
        total = sum(self._requests_of_body.values()) if any(rule.every for rule in self.rules) else 0
        for rule in self.rules:
            if rule.strikes(text, self._requests[text], total):
                return rule
        return None

    def repeat_of(self, body_sha256: str) -> int:
        """How often this body has been answered already."""
        return self._replies_of_body[body_sha256]

    def replied(self, text: str, body_sha256: str) -> None:
        self._replies[text] += 1
        self._replies_of_body[body_sha256] += 1

    def stats(self) -> dict[str, Any]:
        return {
            "requests": sum(self._requests.values()),
            "replies": sum(self._replies.values()),
            "rejected": self.rejected,
            "requests_of_text": dict(self._requests),
            "replies_of_text": dict(self._replies),
            "requests_of_body": dict(self._requests_of_body),
            "replies_of_body": dict(self._replies_of_body),
        }


def parse_rules(rules: Iterable[Mapping[str, Any]]) -> list[Rule]:
    """Rules as given in JSON; ValueError says what is wrong with one."""
    try:
        return [Rule(**rule) for rule in rules]
    except TypeError:
        raise ValueError(
            f"Faults are a list of objects with the keys {', '.join(Rule.__dataclass_fields__)}, not {rules!r}."
        ) from None


def retry_headers(fault: str) -> dict[str, str]:
    if fault == "429_http_date":
        return {"retry-after": formatdate(time() + 1, usegmt=True)}
    return RETRY_HEADERS[fault]


def _unit(text: str) -> float:
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "replace")).digest()[:8], "big") / 2**64
