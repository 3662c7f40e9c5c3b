"""Sending is evenly spaced: no window holds more than the rate allows."""

from __future__ import annotations

import asyncio
import time

from zs_assets.backends.systems import Limits
from zs_assets.collection.limiter import EvenlySpaced


def send_times(limits: Limits, calls: int, tokens: float = 0.0) -> list[float]:
    async def run() -> list[float]:
        limiter, times = EvenlySpaced(limits), []

        async def call() -> None:
            await limiter.turn(tokens)
            times.append(time.monotonic())

        await asyncio.gather(*(call() for _ in range(calls)))
        return times

    return sorted(asyncio.run(run()))


def test_no_window_of_one_second_holds_more_than_the_rate_and_one():
    times = send_times(Limits(requests_per_second=40), 70)
    assert max(sum(start <= at < start + 1.0 for at in times) for start in times) <= 41


def test_tokens_stretch_the_spacing():
    times = send_times(Limits(tokens_per_second=1000), 4, tokens=200)
    assert times[-1] - times[0] >= 0.59


def test_without_limits_nothing_waits():
    times = send_times(Limits(), 500)
    assert len(times) == 500
