"""Faults by name, and the script that says which request meets which."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from email.utils import formatdate
from time import time
from typing import Any

RETRY_HEADERS = {
    "429": {},
    "429_retry_after": {"retry-after": "0.05"},
    "429_retry_after_ms": {"retry-after-ms": "50"},
    "429_both": {"retry-after-ms": "50", "retry-after": "30"},
    "429_http_date": {},  # computed when it is sent
}
STATUS = {"400": 400, "401": 401, "402": 402, "404": 404, "408": 408, "422": 422, "500": 500, "503": 503, "529": 529}
BODY_FAULTS = ("truncated_json", "missing_answer", "foreign_label", "nan", "sum_off", "other_model", "not_an_object")
SPECIAL = ("slow", "dropped_connection", "html_403", "json_403", "echo_key", "echo_key_in_reply")
NAMES = (*RETRY_HEADERS, *STATUS, *BODY_FAULTS, *SPECIAL)


@dataclass(frozen=True)
class Rule:
    """One fault and when it strikes.

    first: the first n requests of a text; every: each n-th request of all; share: this share of the texts, drawn by
    hash; marker: only texts that hold it. All conditions given must hold.
    """

    fault: str
    first: int | None = None
    every: int | None = None
    share: float | None = None
    marker: str | None = None

    def __post_init__(self) -> None:
        if self.fault not in NAMES:
            raise ValueError(f"There is no fault '{self.fault}': use one of {', '.join(NAMES)}.")

    def strikes(self, text: str, requests_of_text: int, requests: int) -> bool:
        if self.marker is not None and self.marker not in text:
            return False
        if self.first is not None and requests_of_text > self.first:
            return False
        if self.every is not None and requests % self.every:
            return False
        return self.share is None or _unit(text) < self.share


class Script:
    """Counts requests and says which fault, if any, the next one meets."""

    def __init__(self, rules: list[dict[str, Any]] | None = None):
        self.rules = [Rule(**rule) for rule in rules or []]
        self.requests = 0
        self.of_text: Counter[str] = Counter()
        self.replies_of_text: Counter[str] = Counter()

    def fault_for(self, text: str) -> str | None:
        self.requests += 1
        self.of_text[text] += 1
        for rule in self.rules:
            if rule.strikes(text, self.of_text[text], self.requests):
                return rule.fault
        return None

    def stats(self) -> dict[str, Any]:
        return {
            "requests": self.requests,
            "replies": sum(self.replies_of_text.values()),
            "requests_of_text": dict(self.of_text),
            "replies_of_text": dict(self.replies_of_text),
        }


def retry_headers(fault: str) -> dict[str, str]:
    if fault == "429_http_date":
        return {"retry-after": formatdate(time() + 1, usegmt=True)}
    return RETRY_HEADERS[fault]


def _unit(text: str) -> float:
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "replace")).digest()[:8], "big") / 2**64
