"""What calls cost. An unknown price or an unreported token count makes a cost unknown (None), never zero."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

from zs_assets.backends.base import Reading
from zs_assets.backends.prices import STANDARD, Rates, table_at, utc
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


def cost(spec: SystemSpec, reading: Reading, asked_at: str) -> tuple[float | None, str | None]:
    """USD of one reply and the price tier it was reckoned at, by the request's own UTC time.

    Parameters
    ----------
    asked_at : ISO 8601 with an offset or Z, taken before the call.

    Returns
    -------
    (usd, tier). usd is None where no price held or a count it needs was not reported; the tier is then None too, as it
    is for local systems. A cost that a replayed row recorded itself wins.
    """
    if reading.cost_usd is not None:
        known = math.isfinite(reading.cost_usd) and reading.cost_usd >= 0
        return (reading.cost_usd, reading.pricing_tier) if known else (None, None)
    if spec.is_free:
        return 0.0, None
    rates, tier = _rates_at(spec, asked_at)
    if rates is None:
        return None, None
    usd = tokens_cost(
        rates, reading.input_tokens, reading.output_tokens, reading.cache_hit_tokens, reading.cache_miss_tokens
    )
    return (None, None) if usd is None else (usd, tier)


def tokens_cost(
    rates: Rates,
    input_tokens: int | None,
    output_tokens: int | None,
    cache_hit_tokens: int | None = None,
    cache_miss_tokens: int | None = None,
) -> float | None:
    """USD of tokens at given rates; None where a needed count or rate is unknown, or a count is negative.

    Input that was neither hit nor miss was written to the cache. Where cached input has a price of its own, a reply
    that does not split its input has an unknown cost: the two prices of DeepSeek differ thirtyfold.
    """
    counts = (input_tokens, output_tokens, cache_hit_tokens, cache_miss_tokens)
    if input_tokens is None or any(count is not None and count < 0 for count in counts):
        return None
    if output_tokens is None and rates.output_per_million_usd:
        return None
    if cache_hit_tokens is None or cache_miss_tokens is None:
        if rates.cached_input_per_million_usd is not None or cache_hit_tokens:
            return None
        cache_hit_tokens, cache_miss_tokens = 0, input_tokens
    written = input_tokens - cache_hit_tokens - cache_miss_tokens
    if written < 0:
        return None
    parts = (
        (cache_hit_tokens, rates.cached_input_per_million_usd),
        (cache_miss_tokens, rates.input_per_million_usd),
        (written, rates.cache_write_per_million_usd),
        (output_tokens or 0, rates.output_per_million_usd),
    )
    if any(tokens and rate is None for tokens, rate in parts):
        return None
    # Each term is divided before adding, and added one by one: the sum divided once differs in the last bits from
    # published costs, and since Python 3.12 so does sum(), which corrects its rounding.
    usd = 0.0
    for tokens, rate in parts:
        usd += tokens * (rate or 0.0) / 1e6
    return usd


def _rates_at(spec: SystemSpec, asked_at: str) -> tuple[Rates | None, str | None]:
    if spec.price is not None:
        return spec.price, STANDARD
    at = utc(asked_at)
    table = None if at is None else table_at(spec.prices, at)
    if at is None or table is None:
        return None, None
    tier = table.tier_at(at)
    return table.rates_of(tier), tier


def question_tokens(question: Question) -> float:
    """Tokens of everything but the text, estimated."""
    characters = len(question.instructions) + sum(
        len(option.id) + len(option.description or "") + OPTION_SYNTAX_CHARACTERS for option in question.options
    )
    return FIXED_TOKENS + characters / CHARACTERS_PER_TOKEN


def call_tokens(question_part: float, presentation: Presentation) -> float:
    return question_part + len(presentation.example.text) / CHARACTERS_PER_TOKEN


def call_cost(spec: SystemSpec, question: Question, input_tokens: float, calls: int = 1) -> float | None:
    """Estimated USD of calls not made yet, `input_tokens` being those of all of them; None without a price.

    At the dearest price that may hold: peak hours, nothing cached, and any table that has not ended yet.
    """
    if spec.is_free:
        return 0.0
    rates = _possible_rates(spec)
    if not rates:
        return None
    per_call = spec.output_tokens_per_call
    if per_call is None:
        per_call = FIXED_OUTPUT_TOKENS + OUTPUT_TOKENS_PER_OPTION * len(question)
    return max(
        input_tokens * each.dearest_input / 1e6 + calls * per_call * each.output_per_million_usd / 1e6 for each in rates
    )


def _possible_rates(spec: SystemSpec) -> list[Rates]:
    if spec.price is not None:
        return [spec.price]
    now = datetime.now(timezone.utc)
    tables = [table for table in spec.prices if table.until is None or table.until > now]
    return [rates for table in tables for rates in table.all_rates()]


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
