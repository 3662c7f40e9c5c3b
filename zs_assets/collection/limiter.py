"""Evenly spaced sending: a bucket of one.

A burst bucket (as rate-limit libraries such as aiolimiter have) lets twice the rate through within one window: the
full bucket at its start and the refill during it. Spacing never does.
"""

from __future__ import annotations

import asyncio
import time

from zs_assets.backends.systems import Limits


class EvenlySpaced:
    """Hands out send times at least 1/requests_per_second apart, further apart where tokens demand it."""

    def __init__(self, limits: Limits):
        self._interval = 1.0 / limits.requests_per_second if limits.requests_per_second else 0.0
        self._per_token = 1.0 / limits.tokens_per_second if limits.tokens_per_second else 0.0
        self._next = 0.0

    async def turn(self, estimated_tokens: float) -> None:
        """Returns when the next call may be sent."""
        if not self._interval and not self._per_token:
            return
        now = time.monotonic()
        at = max(now, self._next)
        # Claimed before sleeping: no two callers get the same slot.
        self._next = at + max(self._interval, estimated_tokens * self._per_token)
        if at > now:
            await asyncio.sleep(at - now)

    def used(self, actual_tokens: int | None, estimated_tokens: float) -> None:
        """Corrects the schedule by what the system counted beyond the estimate."""
        if actual_tokens is not None and self._per_token:
            self._next += max(0.0, actual_tokens - estimated_tokens) * self._per_token
