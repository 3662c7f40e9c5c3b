"""What calls cost. An unknown price or an unreported token count makes a cost unknown (None), never zero."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from zs_assets.backends.base import Reading
from zs_assets.backends.systems import SystemSpec
from zs_assets.protocol.question import Presentation, Question

# A one-line state with one question measures about 280 tokens; 3 characters a token is on the careful side of 3 to 4.
FIXED_TOKENS = 280
CHARACTERS_PER_TOKEN = 3.0
OPTION_SYNTAX_CHARACTERS = 6
# Measured output of one choice question.
FIXED_OUTPUT_TOKENS = 17
OUTPUT_TOKENS_PER_OPTION = 7


@dataclass(frozen=True)
class Estimate:
    """Before spending. `input_tokens` and `seconds` are None for local backends, `cost_usd` where no price is known."""

    calls: int
    input_tokens: int | None
    cost_usd: float | None
    seconds: float | None


def reading_cost(spec: SystemSpec, reading: Reading) -> float | None:
    """USD of one reply at the system's price."""
    if spec.is_free:
        return 0.0
    if spec.price is None or reading.input_tokens is None:
        return None
    if reading.output_tokens is None and spec.price.output_per_million_usd:
        return None
    # Each term is divided before adding: the sum divided once differs in the last bits from published costs.
    return (
        reading.input_tokens * spec.price.input_per_million_usd / 1e6
        + (reading.output_tokens or 0) * spec.price.output_per_million_usd / 1e6
    )


def question_tokens(question: Question) -> float:
    """Tokens of everything but the text, estimated."""
    characters = len(question.instructions) + sum(
        len(option.id) + len(option.description or "") + OPTION_SYNTAX_CHARACTERS for option in question.options
    )
    return FIXED_TOKENS + characters / CHARACTERS_PER_TOKEN


def call_tokens(question_part: float, presentation: Presentation) -> float:
    return question_part + len(presentation.example.text) / CHARACTERS_PER_TOKEN


def call_cost(spec: SystemSpec, question: Question, input_tokens: float, calls: int = 1) -> float | None:
    """Estimated USD of calls not made yet, `input_tokens` being those of all of them; None without a price."""
    if spec.is_free:
        return 0.0
    if spec.price is None:
        return None
    output_tokens = calls * (FIXED_OUTPUT_TOKENS + OUTPUT_TOKENS_PER_OPTION * len(question))
    return input_tokens * spec.price.input_per_million_usd / 1e6 + (
        output_tokens * spec.price.output_per_million_usd / 1e6
    )


def estimate(spec: SystemSpec, question: Question, presentations: Sequence[Presentation]) -> Estimate:
    """Calls, tokens, cost and the least time the limits allow. No call is made where the option cap forbids it."""
    if spec.option_cap is not None and len(question) > spec.option_cap:
        return Estimate(0, 0, 0.0, 0.0)
    calls = len(presentations)
    if spec.is_free:
        return Estimate(calls, None, 0.0, None)
    part = question_tokens(question)
    tokens = sum(call_tokens(part, presentation) for presentation in presentations)
    by_requests = calls / spec.limits.requests_per_second if spec.limits.requests_per_second else 0.0
    by_tokens = tokens / spec.limits.tokens_per_second if spec.limits.tokens_per_second else 0.0
    return Estimate(calls, round(tokens), call_cost(spec, question, tokens, calls), max(by_requests, by_tokens))
