"""Collector (journal on) against the best bare client: `python -m zs_assets_tests.benchmarks.bench_collector`.

Both use httpx with several clients of eight connections against precomputed replies served by another process; the
bare client sends prepared bytes and parses the JSON, and keeps nothing. Rounds alternate; the ratio is of medians.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

import httpx

from zs_assets.backends.hosted import CONNECTIONS_PER_CLIENT
from zs_assets.backends.systemone import SystemOneBackend
from zs_assets.collection import collector
from zs_assets.collection.budget import Budget
from zs_assets.collection.journal import Journal
from zs_assets.collection.pace import Pace
from zs_assets.storage.journal_place import JournalPath, JournalPlace
from zs_assets_tests.collection.jev_run import KEY, QUESTION, header, jev, presentations
from zs_assets_tests.remote_lake import s3_lake

CALLS = 4_000
ROUNDS = 5
REMOTE_CALLS = 800
REMOTE_ROUNDS = 3
TARGET = 0.8


def bare_rate(url: str, concurrency: int) -> float:
    """Calls per second of the bare client."""
    backend = SystemOneBackend(jev(), QUESTION)
    bodies = [backend.request_body(presentation) for presentation in presentations(CALLS)]

    async def run() -> float:
        headers = {"content-type": "application/json", "authorization": f"Bearer {KEY}"}
        limits = httpx.Limits(max_connections=CONNECTIONS_PER_CLIENT, max_keepalive_connections=CONNECTIONS_PER_CLIENT)
        clients = [
            httpx.AsyncClient(headers=headers, limits=limits) for _ in range(-(-concurrency // CONNECTIONS_PER_CLIENT))
        ]
        target = httpx.URL(url + "/v1/systemone")
        queue = iter(bodies)

        async def work(client: httpx.AsyncClient) -> None:
            for body in queue:
                response = await client.post(target, content=body)
                json.loads(response.content)

        started = time.perf_counter()
        await asyncio.gather(*(work(clients[number % len(clients)]) for number in range(concurrency)))
        elapsed = time.perf_counter() - started
        for client in clients:
            await client.aclose()
        return CALLS / elapsed

    return asyncio.run(run())


def resident_mb() -> float:
    """Memory of this process now, not its peak."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def memory_over_a_long_run(url: str, calls: int = 50_000, looks: int = 5) -> list[tuple[int, float]]:
    """(replies so far, MB) at even steps of one run at concurrency 64."""
    os.environ["TYPESAFE_BASE_URL"], os.environ["TYPESAFE_API_KEY"] = url, KEY
    backend = SystemOneBackend(jev(concurrency=64), QUESTION)
    planned = presentations(calls)
    seen: list[tuple[int, float]] = []

    def look(progress: collector.Progress) -> None:
        if len(seen) < looks and progress.done >= (len(seen) + 1) * calls // looks:
            seen.append((progress.done, resident_mb()))

    with tempfile.TemporaryDirectory() as folder:
        pace = Pace(backend.spec.limits)
        run = collector._Collection(backend, planned, 4, Budget(backend.spec, QUESTION, None), pace, False, look, 0.2)
        with Journal(Path(folder) / "journal.jsonl", header(), run.on_synced) as journal:
            asyncio.run(run.complete(journal))
            journal.sync()
        run.report()
    return seen


def collector_rate(
    url: str, concurrency: int, lake: str | None = None, *, announces: bool = True, calls: int = CALLS
) -> float:
    """Calls per second of the collector with its journal, until everything is on the disk, and on a remote lake.

    `announces`: as for a system that bills, each call waits until the lake knows of it.
    """
    os.environ["TYPESAFE_BASE_URL"], os.environ["TYPESAFE_API_KEY"] = url, KEY
    backend = SystemOneBackend(jev(concurrency=concurrency), QUESTION)
    planned = presentations(calls)
    with tempfile.TemporaryDirectory() as folder:
        path: JournalPath = Path(folder) / "journal.jsonl"
        if lake is not None:
            path = JournalPlace(Path(folder) / "journal.jsonl", f"{lake}/{uuid.uuid4().hex}")
        pace = Pace(backend.spec.limits)
        run = collector._Collection(backend, planned, 4, Budget(backend.spec, QUESTION, None), pace, False, None, 1.0)
        with Journal(path, header(), run.on_synced, announces=announces) as journal:
            started = time.perf_counter()
            asyncio.run(run.complete(journal))
            journal.sync()
            return calls / (time.perf_counter() - started)


def remote_rates(url: str) -> None:
    """The journal on an S3 stand-in of this machine, which shares its processors with the rest, beside a local one."""
    with s3_lake() as lake:
        for concurrency in (8, 64):
            rates: dict[str, list[float]] = {"local": [], "uploaded": [], "announced": []}
            for _ in range(REMOTE_ROUNDS):
                rates["local"].append(collector_rate(url, concurrency, calls=REMOTE_CALLS))
                rates["uploaded"].append(collector_rate(url, concurrency, lake, announces=False, calls=REMOTE_CALLS))
                rates["announced"].append(collector_rate(url, concurrency, lake, calls=REMOTE_CALLS))
            local, uploaded, announced = (statistics.median(rates[name]) for name in rates)
            print(
                f"concurrency {concurrency}: journal on the disk {local:.0f} replies/s, on S3 as well {uploaded:.0f}/s "
                f"({uploaded / local:.2f}), and every call announced there first {announced:.0f}/s"
            )


def main() -> None:
    server = subprocess.Popen(
        [sys.executable, "-m", "zs_assets_tests.benchmarks.precomputed_server"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        url = json.loads(server.stdout.readline())["url"]
        for concurrency in (8, 32, 64):
            rates: dict[str, list[float]] = {"bare": [], "collector": []}
            for _ in range(ROUNDS):
                rates["bare"].append(bare_rate(url, concurrency))
                rates["collector"].append(collector_rate(url, concurrency))
            bare, ours = (statistics.median(rates[name]) for name in ("bare", "collector"))
            print(
                f"concurrency {concurrency}: bare client {bare:.0f}/s, collector with journal {ours:.0f}/s, "
                f"ratio {ours / bare:.2f} (target {TARGET})"
            )
        remote_rates(url)
        looks = memory_over_a_long_run(url)
        print("memory of one run at concurrency 64: " + ", ".join(f"{n:,} replies {mb:.0f} MB" for n, mb in looks))
    finally:
        server.kill()


if __name__ == "__main__":
    main()
