"""Sending is evenly spaced: no window holds more than the rate allows."""

from __future__ import annotations

import asyncio
import itertools
import time

import pytest

from zs_assets.backends.base import CallFault, Remedy
from zs_assets.backends.systems import Limits
from zs_assets.collection.backoff import wait_before_retry
from zs_assets.collection.limiter import EvenlySpaced, limits_of_one
from zs_assets.protocol.errors import StudyError


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


def test_turns_missed_while_the_loop_stood_still_do_not_leave_in_one_burst():
    async def run() -> list[float]:
        limiter, times = EvenlySpaced(Limits(requests_per_second=20)), []

        async def call() -> None:
            await limiter.turn(0.0)
            times.append(time.monotonic())

        calls = [asyncio.ensure_future(call()) for _ in range(12)]
        await asyncio.sleep(0.06)
        time.sleep(0.3)  # six turns
        await asyncio.gather(*calls)
        return times

    times = asyncio.run(run())
    assert min(later - sooner for sooner, later in itertools.pairwise(times)) >= 0.049


@pytest.mark.parametrize(("actual", "shortest", "longest"), [(300, 0.28, 0.5), (50, 0.03, 0.18), (None, 0.18, 0.28)])
def test_the_tokens_that_were_really_used_correct_the_spacing(actual, shortest, longest):
    async def run() -> float:
        limiter = EvenlySpaced(Limits(tokens_per_second=1000))
        await limiter.turn(200)
        limiter.used(actual, 200)
        started = time.monotonic()
        await limiter.turn(200)
        return time.monotonic() - started

    assert shortest <= asyncio.run(run()) <= longest


def test_backoff_doubles_is_capped_and_yields_to_the_server():
    fault = CallFault("http_500", Remedy.RETRY)
    assert all(0.375 <= wait_before_retry(fault, 0, 60.0) <= 0.5 for _ in range(50))
    assert all(1.5 <= wait_before_retry(fault, 2, 60.0) <= 2.0 for _ in range(50))
    assert all(wait_before_retry(fault, 30, 3.0) <= 3.0 for _ in range(50))
    asked = CallFault("http_429", Remedy.RETRY, retry_after_s=7.0)
    assert wait_before_retry(asked, 0, 60.0) == 7.0
    assert wait_before_retry(asked, 0, 5.0) == 5.0


def test_runs_that_share_a_provider_keep_its_limits_together():
    limits = Limits(concurrency=8, requests_per_second=10.0, tokens_per_second=None, timeout_s=7.0)
    of_one = limits_of_one(limits, 4)
    assert (of_one.concurrency, of_one.requests_per_second, of_one.tokens_per_second) == (2, 2.5, None)
    assert of_one.timeout_s == limits.timeout_s
    assert limits_of_one(limits, 1) == limits
    assert limits_of_one(limits, 20).concurrency == 1, "a run can make no less than one call at a time"
    assert limits_of_one(Limits(tokens_per_second=900.0), 3).tokens_per_second == 300.0
    with pytest.raises(StudyError, match="not by 0"):
        limits_of_one(limits, 0)
