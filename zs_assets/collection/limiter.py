"""Evenly spaced sending: a bucket of one.

A burst bucket (as rate-limit libraries such as aiolimiter have) lets twice the rate through within one window: the
full bucket at its start and the refill during it. Spacing never does.
"""

from __future__ import annotations

import asyncio
import math
import time

from zs_assets.backends.systems import Limits
from zs_assets.protocol.errors import StudyError


def limits_of_one(limits: Limits, share: int) -> Limits:
    """What one of `share` runs at once may do, so that together they keep a provider's limits.

    Rates are divided, and so are calls at once, of which each run keeps one. Raises StudyError for a share below 1.
    """
    if share < 1:
        raise StudyError(f"A provider is shared by 1 run or more, not by {share}: correct it.")
    if share == 1:
        return limits
    rates = {
        name: None if rate is None else rate / share
        for name, rate in (
            ("requests_per_second", limits.requests_per_second),
            ("tokens_per_second", limits.tokens_per_second),
        )
    }
    return limits.model_copy(update={**rates, "concurrency": max(1, limits.concurrency // share)})


class EvenlySpaced:
    """Lets calls go at least 1/requests_per_second apart, and further apart where tokens demand it."""

    def __init__(self, limits: Limits):
        self._sent_at = -math.inf
        self._owed = 0.0  # tokens that were let go at _sent_at and before, and that the rate had not yet allowed
        self._queue = asyncio.Lock()  # first come, first sent
        self.slow_to(limits)

    def slow_to(self, limits: Limits) -> None:
        """Goes on at lower rates, from any thread: a call that waits for its turn waits by the new ones."""
        self._interval = 1.0 / limits.requests_per_second if limits.requests_per_second else 0.0
        self._per_token = 1.0 / limits.tokens_per_second if limits.tokens_per_second else 0.0

    async def turn(self, estimated_tokens: float) -> None:
        """Returns when the next call may be sent."""
        if not self._interval and not self._per_token:
            return
        async with self._queue:
            while (wait := self._next_at() - time.monotonic()) > 0:
                await asyncio.sleep(wait)
            # Counted from when this call really goes: turns missed while the event loop stood still are not made up
            # for, or they would leave in one burst.
            now = time.monotonic()
            if self._per_token:
                self._owed = max(0.0, self._owed - (now - self._sent_at) / self._per_token) + estimated_tokens
            self._sent_at = now

    def _next_at(self) -> float:
        return self._sent_at + max(self._interval, self._owed * self._per_token)

    def used(self, actual_tokens: int | None, estimated_tokens: float) -> None:
        """Corrects the schedule by what the system counted, in either direction."""
        if actual_tokens is not None:
            self._owed += actual_tokens - estimated_tokens
