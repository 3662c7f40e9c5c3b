"""A pool's limit that changes while runs collect: together they keep the provider's rate."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from zs_assets.backends.systemone import SystemOneBackend
from zs_assets.backends.systems import Limits
from zs_assets.collection import collect
from zs_assets.collection.limiter import EvenlySpaced
from zs_assets.collection.pace import Pace
from zs_assets.protocol.errors import CollectionStopped
from zs_assets_tests.backends.wire_server import WireServer
from zs_assets_tests.backends.wires import WIRES
from zs_assets_tests.collection.jev_run import KEY, QUESTION, header, jev, presentations
from zs_assets_tests.collection.scripted import SPEC, Scripted, collect_scripted

EVERY_S = 0.4
LEARNT_S = 2 * EVERY_S
RATE = 8.0
NO_ANSWER = OSError("no route to the database")


@pytest.fixture(autouse=True)
def short_waits(monkeypatch):
    monkeypatch.setattr("zs_assets.collection.pace.SHARE_EVERY_S", EVERY_S)


class ArrivalServer(WireServer):
    """Notes when each request came, and how many were there at once."""

    def __init__(self, takes_s: float = 0.0) -> None:
        super().__init__(WIRES["systemone"])
        self.takes_s = takes_s
        self.arrivals: list[float] = []
        self.at_once: list[int] = []
        self._here = 0
        self._lock = threading.Lock()

    def good(self, request: dict[str, Any]) -> dict[str, Any]:
        with self._lock:
            self.arrivals.append(time.monotonic())
            self._here += 1
            self.at_once.append(self._here)
        time.sleep(self.takes_s)
        with self._lock:
            self._here -= 1
        return super().good(request)


class FakePool:
    """The limit that all runs read; an exception in its place is what the database answers."""

    def __init__(self, limit: int | Exception = 1):
        self.limit = limit
        self.readings = 0

    def __call__(self) -> int:
        self.readings += 1
        if isinstance(self.limit, Exception):
            raise self.limit
        return self.limit


def collection(
    server: ArrivalServer, journal: Path, count: int, share: Callable[[], int], said: list[str], **limits: float
) -> Callable[[], Any]:
    spec = jev(**{"concurrency": 8, "timeout_s": 10.0, **limits}).model_copy(
        update={"base_url": server.url, "base_url_env": None}
    )
    backend = SystemOneBackend(spec, QUESTION)
    return lambda: collect(
        backend, presentations(count), journal, header(), attempt_budget=4, share=share, log=said.append
    )


@pytest.fixture
def key(monkeypatch):
    monkeypatch.setenv("TYPESAFE_API_KEY", KEY)
    monkeypatch.delenv("TYPESAFE_BASE_URL", raising=False)


def busiest(arrivals: list[float], window_s: float) -> int:
    return max(sum(start <= at < start + window_s for at in arrivals) for start in arrivals)


def test_a_limit_raised_and_lowered_in_mid_run_never_breaks_the_rate(key, tmp_path):
    """1 -> 2 with a second run that begins at once, then back to 1 while both collect."""
    pool, older_said, newer_said = FakePool(1), [], []
    with ArrivalServer() as server, ThreadPoolExecutor(2) as runs:
        rate = {"requests_per_second": RATE}
        older = runs.submit(collection(server, tmp_path / "older.jsonl", 44, pool, older_said, **rate))
        time.sleep(2.0)
        pool.limit = 2
        raised_at = time.monotonic()
        newer = runs.submit(collection(server, tmp_path / "newer.jsonl", 20, pool, newer_said, **rate))
        time.sleep(3.0)
        pool.limit = 1
        assert older.result().predictions.num_rows == 44
        assert newer.result().predictions.num_rows == 20
    assert len(server.arrivals) == 64
    for window_s in (1.0, 2.0, 5.0):
        # One call of each run may stand at either end of a window.
        assert busiest(server.arrivals, window_s) <= RATE * window_s + 2
    before = [at for at in server.arrivals if at < raised_at]
    learning = [at for at in server.arrivals if raised_at + EVERY_S + 0.2 <= at < raised_at + LEARNT_S]
    assert len(before) >= RATE * 2.0 * 0.7, "alone, a run has the whole rate"
    assert len(learning) <= RATE / 2 * (LEARNT_S - EVERY_S - 0.2) + 1, "the older run goes on at half"
    assert older_said == ["The provider is now shared by 2 runs: this one goes on at 1/2 of its limits."]
    assert len(newer_said) == 1
    assert "shared by 2 runs: the first call waits 0." in newer_said[0]


def test_calls_at_once_follow_too(key, tmp_path):
    pool: FakePool = FakePool(1)
    with ArrivalServer(takes_s=0.1) as server, ThreadPoolExecutor(1) as runs:
        run = runs.submit(collection(server, tmp_path / "j.jsonl", 70, pool, [], concurrency=6))
        time.sleep(0.5)
        pool.limit = 3
        changed_at = time.monotonic()
        assert run.result().predictions.num_rows == 70
    together = list(zip(server.arrivals, server.at_once, strict=True))
    assert max(n for at, n in together if at < changed_at) == 6
    late = [n for at, n in together if at > changed_at + EVERY_S + 0.3]
    assert late and max(late) == 2


def test_the_first_call_waits_until_the_older_runs_have_read_the_limit_again(tmp_path):
    backend, said = Scripted(), []
    started = time.monotonic()
    collect_scripted(tmp_path / "two.jsonl", backend, share=lambda: 2, log=said.append)
    assert time.monotonic() - started >= LEARNT_S
    assert len(said) == 1 and "shared by 2 runs" in said[0]


FREE = SPEC.model_copy(update={"deployment": "local", "price": None})


@pytest.mark.parametrize(
    ("share", "spec"),
    [(lambda: 1, SPEC), (1, SPEC), (2, SPEC), (lambda: 2, FREE)],
    ids=["the only run", "one figure", "a figure that stays", "a local system"],
)
def test_nobody_else_waits(tmp_path, share, spec):
    said: list[str] = []
    started = time.monotonic()
    collect_scripted(tmp_path / "j.jsonl", Scripted(spec=spec), share=share, log=said.append)
    assert time.monotonic() - started < LEARNT_S
    assert said == []


def test_a_partition_that_is_complete_waits_for_nobody(tmp_path):
    collect_scripted(tmp_path / "j.jsonl", Scripted())
    started = time.monotonic()
    assert collect_scripted(tmp_path / "j.jsonl", Scripted(), share=lambda: 4).resumed == 6
    assert time.monotonic() - started < LEARNT_S


def test_a_database_that_does_not_answer_leaves_the_last_share_and_the_run_goes_on(key, tmp_path):
    pool, said = FakePool(2), []
    with ArrivalServer() as server, ThreadPoolExecutor(1) as runs:
        run = runs.submit(collection(server, tmp_path / "j.jsonl", 12, pool, said, requests_per_second=RATE))
        time.sleep(LEARNT_S)
        pool.limit = NO_ANSWER
        assert run.result().predictions["outcome"].to_pylist() == ["ok"] * 12
    assert busiest(server.arrivals, 1.0) <= RATE / 2 + 1
    assert pool.readings >= 4
    unread = [sentence for sentence in said if "could not be read" in sentence]
    assert unread == [f"How many runs share the provider could not be read: it stays 2 ({NO_ANSWER})."]


def test_a_database_that_answers_again_is_heard_again():
    pool, said = FakePool(1), []
    pace = Pace(Limits(requests_per_second=RATE), pool, said.append)
    with pace.following():
        pool.limit = NO_ANSWER
        time.sleep(2.5 * EVERY_S)
        assert pace.share == 1
        pool.limit = 4
        time.sleep(1.5 * EVERY_S)
    assert pace.share == 4
    assert pace.limits.requests_per_second == RATE / 4
    assert [sentence.split(":")[0] for sentence in said] == [
        "How many runs share the provider could not be read",
        "The provider is now shared by 4 runs",
    ]


def test_a_log_in_the_database_that_does_not_answer_stops_no_reading():
    def tell(sentence: str) -> None:
        raise NO_ANSWER

    pool = FakePool(1)
    pace = Pace(Limits(), pool, tell)
    with pace.following():
        pool.limit = NO_ANSWER
        time.sleep(1.5 * EVERY_S)
        pool.limit = 3
        time.sleep(1.5 * EVERY_S)
    assert pace.share == 3


def test_a_database_that_hangs_delays_no_call_and_not_the_end(tmp_path):
    answered, readings = threading.Event(), []

    def share() -> int:
        readings.append(time.monotonic())
        if len(readings) > 1:
            answered.wait(30.0)
        return 1

    spec = SPEC.model_copy(update={"limits": Limits(requests_per_second=10.0)})
    started = time.monotonic()
    collect_scripted(tmp_path / "j.jsonl", Scripted(spec=spec), 10, share=share)
    took = time.monotonic() - started
    answered.set()
    assert len(readings) == 2, "it hung while calls were made"
    assert took < 0.9 + EVERY_S + 0.5


def test_no_run_begins_where_the_share_cannot_be_read(tmp_path):
    backend = Scripted()
    with pytest.raises(CollectionStopped, match="no limit"):
        collect_scripted(tmp_path / "j.jsonl", backend, share=FakePool(CollectionStopped("no limit")))
    assert backend.asked == []
    assert not (tmp_path / "j.jsonl").exists()


def test_the_largest_share_of_a_run_counts():
    """Runs that began under it may still collect: their places stay claimed until they end."""
    pool = FakePool(1)
    pace = Pace(Limits(requests_per_second=RATE, tokens_per_second=900.0, concurrency=6), pool)
    with pace.following():
        for limit in (3, 2, 1):
            pool.limit = limit
            time.sleep(1.5 * EVERY_S)
            assert pace.share == 3
    assert (pace.limits.requests_per_second, pace.limits.tokens_per_second) == (RATE / 3, 300.0)
    assert pace.limits.concurrency == 2


@pytest.mark.parametrize("limits", [Limits(requests_per_second=4.0), Limits(tokens_per_second=400.0)])
def test_a_call_that_waits_for_its_turn_waits_by_the_lower_rate(limits):
    half = {
        name: rate and rate / 2
        for name, rate in limits.model_dump(include={"requests_per_second", "tokens_per_second"}).items()
    }

    async def run() -> float:
        spacing = EvenlySpaced(limits)
        await spacing.turn(100.0)
        first = time.monotonic()
        second = asyncio.ensure_future(spacing.turn(100.0))
        await asyncio.sleep(0.05)
        spacing.slow_to(limits.model_copy(update=half))
        await second
        return time.monotonic() - first

    assert 0.49 <= asyncio.run(run()) < 0.7
