"""Two runs of one provider on two workers, one of which is killed: the rate holds, the study ends, nothing is lost."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from zs_assets_tests.backends.wire_server import WireServer
from zs_assets_tests.backends.wires import WIRES
from zs_assets_tests.deployment.engine import LAKE, PYTHON, RunningEngine, kill_all_at_once, running_engine
from zs_assets_tests.small_study import write_small_study

pytestmark = pytest.mark.engine

pytest.importorskip("dagster_celery", reason="needs the extra celery")
pytest.importorskip("dagster_postgres", reason="needs the extra celery")
pytest.importorskip("s3fs", reason="needs the extra s3")

RATE_PER_S = 2.0  # of the provider, whoever asks
LATENCY_S = 0.6
CONCURRENCY = 2
TEXTS = 24
JITTER_S = 0.1  # of a busy machine's loopback: two calls that left a second apart may arrive a little closer
ENDS_WITHIN_S = 240


class Provider(WireServer):
    """Answers slowly and writes down when it was asked what, and what it has answered."""

    def __init__(self) -> None:
        super().__init__(WIRES["systemone"])
        self.arrivals: list[tuple[float, str]] = []

    def good(self, request: dict[str, Any]) -> dict[str, Any]:
        self.arrivals.append((time.monotonic(), self.wire.text(request)))
        time.sleep(LATENCY_S)
        return super().good(request)


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with Provider() as server:
        yield server


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory, provider: Provider) -> Iterator[RunningEngine]:
    """Two places in every pool; the monitor looks every two seconds."""
    folder = tmp_path_factory.mktemp("lost")
    settings = {
        "concurrency": {"pools": {"default_limit": 2, "granularity": "op"}},
        "run_monitoring": {"poll_interval_seconds": 2, "free_slots_after_run_end_seconds": 1},
    }
    with running_engine(folder, settings=settings, ZS_TEST_FAR_KEY="a-key") as found:
        limits = {"concurrency": CONCURRENCY, "requests_per_second": RATE_PER_S}
        far = {"interface": "systemone", "title": "Far", "deployment": "hosted", "base_url": provider.url}
        far |= {"key_env": "ZS_TEST_FAR_KEY", "model": "far-latest", "limits": limits}
        path = Path(found.environment["ZS_STUDIES"]) / "small"
        write_small_study(path, backends=["far"], systems={"far": far}, analyses={})
        yield found


def read_lake(engine: RunningEngine, asset: str, dataset: str) -> pa.Table:
    from s3fs import S3FileSystem

    names = ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
    url, key, secret = (engine.environment[name] for name in names)
    files = S3FileSystem(endpoint_url=url, key=key, secret=secret, skip_instance_cache=True)
    path = f"{LAKE.removeprefix('s3://')}/small/{asset}/dataset={dataset}/backend=far/part.parquet"
    return pq.read_table(pa.BufferReader(files.cat_file(path)))


def most_within(arrivals: list[float], seconds: float) -> int:
    """The largest number of arrivals in any half-open window of so many seconds."""
    return max(sum(start <= at < start + seconds for at in arrivals) for start in arrivals)


def test_a_killed_worker_loses_nothing_and_two_workers_keep_one_rate(engine: RunningEngine, provider: Provider):
    command = [str(PYTHON), "-m", "zs_assets.cli", "run", "small", "--launch", "--json"]
    with engine.worker("one") as first, engine.worker("two"):
        following = subprocess.Popen(
            command,
            cwd=engine.folder,
            env=engine.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        deadline = time.monotonic() + ENDS_WITHIN_S
        while time.monotonic() < deadline and following.poll() is None:
            asked = [text for _, text in provider.arrivals]
            if all(sum(text.startswith(f"{name}:") for text in asked) >= 4 for name in ("first", "second")):
                break
            time.sleep(0.1)
        before = list(provider.arrivals)
        kill_all_at_once(first)
        killed_at = time.monotonic()
        try:
            said, errors = following.communicate(timeout=ENDS_WITHIN_S)
        finally:
            following.kill()
    assert following.returncode == 0, (said[-2000:], errors[-2000:], engine.logs())
    states = {step["partition"]: step["state"] for step in json.loads(said)["steps"] if step["step"] == "predictions"}
    assert states == {"first x far": "made", "second x far": "made"}

    # One prediction for every planned text, each answered.
    tables = [read_lake(engine, "predictions", name) for name in ("first", "second")]
    assert [table.num_rows for table in tables] == [TEXTS // 2, TEXTS // 2]
    assert {outcome for table in tables for outcome in table["outcome"].to_pylist()} == {"ok"}

    # Asked twice were only calls without a known end at the kill, and each of those is reported.
    twice = {text for text, count in provider.texts.items() if count > 1}
    reported = [
        row
        for name in ("first", "second")
        for row in read_lake(engine, "attempts", name).to_pylist()
        if row["result"] == "in_flight_at_stop"
    ]
    assert len(twice) <= len(reported) <= CONCURRENCY * 2
    in_flight = {text for at, text in before if at > killed_at - LATENCY_S - 1.0}
    assert twice <= in_flight
    assert set(provider.texts.values()) <= {1, 2}

    # Before the kill both ran at once, and together they kept the provider's rate.
    arrivals = [at for at, _ in provider.arrivals]
    order = [text.split(":")[0] for _, text in before]
    assert len(set(order[:4])) == 2, order
    for seconds in (1.0, 2.0, 5.0):
        assert most_within(arrivals, seconds - JITTER_S) <= RATE_PER_S * seconds


def test_the_lost_run_was_failed_by_the_monitor_and_started_anew(engine: RunningEngine):
    script = (
        "import dagster as dg, json\n"
        "with dg.DagsterInstance.get() as instance:\n"
        "    print(json.dumps([[r.status.value, r.tags.get('dagster/retry_number')] for r in instance.get_runs()\n"
        "        if r.tags.get('dagster/partition/backend')]))\n"
    )
    run = subprocess.run(
        [str(PYTHON), "-c", script],
        env={**os.environ, **engine.environment},
        capture_output=True,
        text=True,
        check=True,
    )
    runs = sorted(json.loads(run.stdout.strip().splitlines()[-1]), key=str)
    assert runs == [["FAILURE", None], ["SUCCESS", "1"], ["SUCCESS", None]]
