"""What a stand-in can be told about the system it stands in for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

LINEAR, ENTROPY, TOP, MARGIN = "linear", "entropy", "top", "margin"
"""Formulas of `confidence`: (K pmax - 1)/(K - 1), 1 - H/log K, pmax, pmax - second."""


@dataclass(frozen=True)
class Profile:
    """One system as its clients see it.

    Wire. `wire` names the family of requests and replies, `paths` where it is asked. `aliases` maps what may be sent to
    what answers; other names that match `other_models` are answered as `answers_as`, None: as they were sent.
    `decimals` rounds after the confidence is computed, None: no rounding.

    Limits. `option_min` to `option_cap` options; a request over a token cap is refused, or its text is cut to
    `cut_at_tokens` without an error. `rejects_with` is the status of a request whose shape is right and whose meaning
    is not; `strict`: unknown keys are such.

    Decisions. `sharpness` multiplies the model's log probabilities, `quality_noise` is the standard deviation of what
    the system adds of its own, `position_bias` what the first option gains over the last, all three in logits.
    `order_range` is the published median range over 14 orders, in points, that the bias is set to; None: not published.
    `refusal_rate` and `label_mismatch_rate` are shares of replies.

    Disturbances, off unless asked for: `repeat_noise` (standard deviation of a probability when a request comes again),
    `transient_rate` (share of requests met with 429, 500, 503 or 529), `requests_per_second`, `latency_s` (median).
    """

    name: str
    wire: str = "systemone"
    paths: tuple[str, ...] = ("/v1/systemone",)
    aliases: Mapping[str, str] = field(default_factory=dict)
    other_models: str = r"(?!)"
    answers_as: str | None = None
    request_id_header: str | None = None
    has_auth: bool = True
    decimals: int | None = 2
    confidence: str = LINEAR
    option_min: int = 1
    option_cap: int = 255
    level_cap: int = 10
    question_cap: int | None = None
    total_token_cap: int = 65_536
    question_token_cap: int = 65_536
    cut_at_tokens: int | None = None
    rejects_with: int = 422
    strict: bool = False
    shuffles_keys: bool = False
    sharpness: float = 1.0
    quality_noise: float = 0.5
    position_bias: float = 0.0
    order_range: float | None = None
    refusal_rate: float = 0.0
    label_mismatch_rate: float = 0.0
    repeat_noise: float = 0.0
    transient_rate: float = 0.002
    requests_per_second: float = 40.0
    latency_s: float = 0.25

    def resolved(self, model: str) -> str | None:
        """The model a reply names when it is asked by this name; None where the system does not know it."""
        if model in self.aliases:
            return self.aliases[model]
        return (self.answers_as or model) if re.fullmatch(self.other_models, model) else None
