"""Two workers on an instance in PostgreSQL and a lake on S3 make the tables that one process makes on one disk."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from zs_assets_tests.deployment.engine import LAKE, PYTHON, RunningEngine, copy_of_the_code, running_engine
from zs_assets_tests.loopback_hub import LoopbackHub
from zs_assets_tests.sources.real_data import TEST_DATA, needs_real_data

pytestmark = pytest.mark.engine

pytest.importorskip("dagster_celery", reason="needs the extra celery")
pytest.importorskip("dagster_postgres", reason="needs the extra celery")
pytest.importorskip("s3fs", reason="needs the extra s3")

# When, how fast, and beside what a call was made; everything else is the same wherever it runs.
OF_THE_RUN = {"run_date", "asked_at", "in_flight", "wait_ms"}  # and every latency
PILOT = ["--backend", "uniform", "--backend", "sparrow", "--backend", "minilm"]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningEngine]:
    """With two places in the pool of local systems: one a worker."""
    settings = {"concurrency": {"pools": {"default_limit": 2, "granularity": "op"}}}
    folder = tmp_path_factory.mktemp("engine")
    with ExitStack() as stack:
        hub = {}
        if TEST_DATA is not None:
            served = stack.enter_context(LoopbackHub(Path(TEST_DATA) / "hub"))
            hub = {"HF_ENDPOINT": served.url, "HF_HOME": str(folder / "hf")}
        found = stack.enter_context(running_engine(folder, settings=settings, **hub))
        for name in ("one", "two"):
            stack.enter_context(found.worker(name))
        yield found


@pytest.fixture(scope="module")
def launched(engine: RunningEngine) -> dict[str, object]:
    """What `run demo --launch` reports."""
    run = engine.command("run", "demo", "--launch", "--json")
    assert run.returncode == 0, (run.stdout[-2000:], run.stderr[-2000:], engine.logs())
    return json.loads(run.stdout)


@pytest.fixture(scope="module")
def local(engine: RunningEngine, tmp_path_factory: pytest.TempPathFactory, launched: dict) -> tuple[dict, Path]:
    """The same command in one process, on a disk of its own."""
    home = tmp_path_factory.mktemp("local")
    places = {"ZS_HOME": str(home), "ZS_LAKE": str(home / "lake"), "DAGSTER_HOME": str(home / "dagster")}
    run = engine.command("run", "demo", "--json", **places)
    assert run.returncode == 0, run.stdout + run.stderr
    return json.loads(run.stdout), home / "lake" / "demo"


def steps(report: dict) -> list[tuple[str, str, str]]:
    return sorted((step["step"], step["partition"], step["state"]) for step in report["steps"])


def remote_tables(engine: RunningEngine, study: str = "demo") -> dict[str, pa.Table]:
    """Every table of the study on S3, by its path in the lake."""
    from s3fs import S3FileSystem

    names = ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
    url, key, secret = (engine.environment[name] for name in names)
    files = S3FileSystem(endpoint_url=url, key=key, secret=secret, skip_instance_cache=True)
    root = f"{LAKE.removeprefix('s3://')}/{study}/"
    found = [path for path in files.find(root) if path.endswith(".parquet") and "/publication/" not in path]
    return {path.removeprefix(root): pq.read_table(pa.BufferReader(files.cat_file(path))) for path in found}


def disk_tables(lake: Path) -> dict[str, pa.Table]:
    return {str(path.relative_to(lake)): pq.ParquetFile(path).read() for path in lake.rglob("part*.parquet")}


def comparable(table: pa.Table) -> pa.Table:
    kept = [name for name in table.column_names if name not in OF_THE_RUN and "latency" not in name]
    return table.select(kept).replace_schema_metadata(None)


def test_the_steps_are_those_of_one_process(launched: dict, local: tuple[dict, Path]):
    assert steps(launched) == steps(local[0])
    assert all(state != "failed" for _, _, state in steps(launched))
    assert sum((step, state) == ("predictions", "made") for step, _, state in steps(launched)) == 9


def test_the_tables_are_those_of_one_process(engine: RunningEngine, launched: dict, local: tuple[dict, Path]):
    remote = remote_tables(engine)
    disk = disk_tables(local[1])
    assert set(remote) == set(disk)
    assert len(disk) > 10
    for name, table in disk.items():
        assert comparable(remote[name]).equals(comparable(table)), name


def test_both_workers_took_part_and_every_run_knew_its_code(engine: RunningEngine, launched: dict):
    said = engine.logs()
    assert all("succeeded" in said[f"{name}.log"] for name in ("one", "two")), said


@needs_real_data
def test_the_pilot_on_real_data_is_that_of_one_process(engine: RunningEngine, tmp_path: Path):
    launched = engine.command("run", "btzsc_pilot", *PILOT, "--launch", "--json", timeout=600)
    assert launched.returncode == 0, (launched.stdout[-2000:], launched.stderr[-2000:], engine.logs())
    places = {"ZS_HOME": str(tmp_path), "ZS_LAKE": str(tmp_path / "lake"), "DAGSTER_HOME": str(tmp_path / "dagster")}
    alone = engine.command("run", "btzsc_pilot", *PILOT, "--json", timeout=600, **places)
    assert alone.returncode == 0, alone.stdout + alone.stderr
    remote, disk = remote_tables(engine, "btzsc_pilot"), disk_tables(tmp_path / "lake" / "btzsc_pilot")
    assert set(remote) == set(disk)
    assert sum("predictions" in name for name in disk) == 9
    for name, table in disk.items():
        assert comparable(remote[name]).equals(comparable(table)), name


def test_launching_again_keeps_what_is_there(engine: RunningEngine, launched: dict):
    again = engine.command("run", "demo", "--launch", "--json")
    assert again.returncode == 0, again.stdout + again.stderr
    made = {(step, state) for step, _, state in steps(json.loads(again.stdout))}
    assert ("predictions", "kept") in made and ("predictions", "made") not in made


def test_the_doctor_finds_everything_in_order(engine: RunningEngine, launched: dict):
    run = engine.command("doctor", "--json")
    found = {finding["subject"]: finding for finding in json.loads(run.stdout)}
    for subject in ("database", "queue", "ZS_LAKE", "Dagster instance"):
        assert found[subject]["ok"], found[subject]
    workers = {subject: finding for subject, finding in found.items() if subject.startswith("worker ")}
    assert len(workers) == 2
    assert all(finding["ok"] and "same code" in finding["sentence"] for finding in workers.values())


def test_old_code_on_a_worker_is_refused_with_both_hashes(engine: RunningEngine, tmp_path: Path, launched: dict):
    """The only worker of a queue runs a copy of the package with one changed line."""
    old = copy_of_the_code(tmp_path / "old", changed_line="OLD = True")
    with engine.worker("old", queues="old_code", code=old):
        tags = {"dagster/partition": "minilm|topics", "dagster/partition/backend": "minilm"}
        tags |= {"dagster/partition/dataset": "topics", "dagster-celery/queue": "old_code"}
        before = remote_tables(engine)
        launch = ["job", "launch", "-w", "workspace.yaml", "-j", "demo__measure", "--tags", json.dumps(tags)]
        done = subprocess.run(
            ["dagster", *launch], cwd=engine.folder, env=engine.environment, capture_output=True, text=True, timeout=240
        )
        assert done.returncode == 0, done.stdout + done.stderr
        reason = failure_of(engine, "old_code")
        doctor = engine.command("doctor", "--json")
    hashes = {code_of(engine.code), code_of(old)}
    assert len(hashes) == 2 and all(each in reason for each in hashes), (reason, engine.logs())
    assert "restart the workers" in reason
    (worker,) = [finding for finding in json.loads(doctor.stdout) if finding["subject"].startswith("worker old")]
    assert not worker["ok"] and all(each in worker["sentence"] for each in hashes)
    after = remote_tables(engine)
    assert set(after) == set(before) and all(after[name].equals(before[name]) for name in before)


_FAILURE = """
import sys, time, dagster as dg
from zs_assets.components.run_failure import TELLING_EVENTS, run_failure

with dg.DagsterInstance.get() as instance:
    for _ in range(600):
        (run,) = instance.get_runs(dg.RunsFilter(tags={"dagster-celery/queue": sys.argv[1]}))
        if run.is_finished:
            break
        time.sleep(0.2)
    print(run_failure(entry.dagster_event for entry in instance.all_logs(run.run_id, of_type=TELLING_EVENTS)).sentence)
"""


def failure_of(engine: RunningEngine, queue: str) -> str:
    """Why the queue's only run failed, once it has ended."""
    run = subprocess.run(
        [str(PYTHON), "-c", _FAILURE, queue], env=engine.environment, capture_output=True, text=True, check=True
    )
    return run.stdout


def code_of(folder: Path) -> str:
    from zs_assets.protocol.code_identity import hash_of_code

    return hash_of_code(folder / "zs_assets")
