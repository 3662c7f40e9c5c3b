"""What carries a study's partitions fastest: `python -m zs_assets_tests.benchmarks.bench_engines`.

First 60 cells in which hardly anything happens, so that what is left is the engine: the loop of one process, a backfill
by the daemon with Dagster's own launcher, and two warm Celery workers. Then cells that take a second a presentation,
with one worker and with two: the second should nearly halve the time. Needs what zs_assets_tests/deployment needs.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from zs_assets_tests.backends.wire_server import WireServer
from zs_assets_tests.backends.wires import WIRES
from zs_assets_tests.deployment.engine import PYTHON, SCRIPTS, RunningEngine, running_engine
from zs_assets_tests.deployment.services import running
from zs_assets_tests.small_study import write_small_study

DATASETS = 2
SMALL_CELLS = 60
SLOW_BACKENDS = 2
SECONDS_PER_PRESENTATION = 1.0
WITHIN_S = 900

_TIMES = """
import dagster as dg, json, sys

def is_of(study, run):
    # A run of the loop names neither its job nor its assets: there an empty name means every study.
    return not study or run.job_name.startswith(study) or any(key.path[0] == study for key in run.asset_selection or ())

with dg.DagsterInstance.get() as instance:
    ended = [found for found in instance.get_run_records() if found.end_time]
    ours = [found for found in ended if is_of(sys.argv[1], found.dagster_run)]
    cells = [found for found in ours if found.dagster_run.tags.get("dagster/partition/backend")]
    print(json.dumps([[found.start_time, found.end_time, found.dagster_run.status.value] for found in cells]))
"""


class SlowServer(WireServer):
    """Answers each call after a second."""

    def good(self, request: dict[str, Any]) -> dict[str, Any]:
        time.sleep(SECONDS_PER_PRESENTATION)
        return super().good(request)


def write_study(studies: Path, name: str, systems: dict[str, dict[str, Any]]) -> None:
    write_small_study(studies / name, name=name, backends=list(systems), systems=systems, analyses={})


def cells_of(engine: RunningEngine, study: str, places: dict[str, str]) -> list[tuple[float, float, str]]:
    """(begin, end, status) of every finished run of a cell on an instance."""
    run = subprocess.run(
        [str(PYTHON), "-c", _TIMES, study],
        env={**engine.environment, **places},
        capture_output=True,
        text=True,
        check=True,
    )
    return [tuple(each) for each in json.loads(run.stdout.strip().splitlines()[-1])]


def report(what: str, cells: Sequence[tuple[float, float, str]], expected: int) -> float:
    """Prints and returns the seconds from the first cell's begin to the last one's end."""
    passed = [cell for cell in cells if cell[2] == "SUCCESS"]
    if len(passed) != expected:
        sys.exit(f"{what}: {len(passed)} of {expected} cells were made.")
    seconds = max(end for _, end, _ in passed) - min(begin for begin, _, _ in passed)
    print(
        f"{what:<44} {seconds:8.1f} s  {expected / seconds:6.2f} cells/s  {seconds / expected:6.2f} s/cell", flush=True
    )
    return seconds


def local_places(folder: Path) -> dict[str, str]:
    return {"ZS_HOME": str(folder), "ZS_LAKE": str(folder / "lake"), "DAGSTER_HOME": str(folder / "dagster")}


def in_process(engine: RunningEngine, folder: Path) -> None:
    places = local_places(folder)
    done = engine.command("run", "tiny", "--json", timeout=WITHIN_S, **places)
    if done.returncode != 0:
        sys.exit(done.stdout[-1000:] + done.stderr[-1000:])
    report("60 small cells, loop in one process", cells_of(engine, "", places), SMALL_CELLS)


def default_backfill(engine: RunningEngine, folder: Path) -> None:
    """Dagster's launcher and daemon, with the dagster.yaml that the command line writes."""
    places = local_places(folder)
    engine.command("run", "tiny", "--backend", "u0", "--json", timeout=WITHIN_S, **places)
    environment = {**engine.environment, **places}
    (folder / "workspace.yaml").write_text((engine.folder / "workspace.yaml").read_text())
    daemon = [SCRIPTS / "dagster-daemon", "run", "-w", "workspace.yaml"]
    # The first backend is made already: its cells are asked for again, so that all are runs of the daemon.
    before = len(cells_of(engine, "", places))
    with running(daemon, folder / "daemon.log", environment=environment, folder=folder):
        command = ["dagster", "job", "backfill", "-w", "workspace.yaml", "-j", "tiny__measure", "--all", "--noprompt"]
        partitions = ",".join(f"u{i}|{name}" for i in range(SMALL_CELLS // DATASETS) for name in ("first", "second"))
        command[command.index("--all")] = f"--partitions={partitions}"
        subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, timeout=WITHIN_S)
        deadline = time.monotonic() + WITHIN_S
        while len(cells_of(engine, "", places)) < before + SMALL_CELLS and time.monotonic() < deadline:
            time.sleep(5)
    cells = sorted(cells_of(engine, "", places))[before:]
    report("60 small cells, backfill by the daemon", cells, SMALL_CELLS)


def launched(engine: RunningEngine, study: str, what: str, cells: int) -> float:
    run = engine.command("run", study, "--launch", "--json", timeout=WITHIN_S)
    if run.returncode != 0:
        sys.exit(f"{what}: {run.stdout[-1000:]} {run.stderr[-1000:]}")
    return report(what, cells_of(engine, study, {}), cells)


def main() -> None:
    settings = {"concurrency": {"pools": {"default_limit": 2, "granularity": "op"}}}
    uniform = {"interface": "uniform", "title": "Uniform", "deployment": "local"}
    with tempfile.TemporaryDirectory(prefix="bench_") as name, ExitStack() as stack:
        folder = Path(name)
        server = stack.enter_context(SlowServer(WIRES["systemone"]))
        slow = {"interface": "systemone", "title": "Slow", "deployment": "hosted", "provider": "slow"}
        slow |= {"base_url": server.url, "model": "slow-1", "limits": {"concurrency": 2}}
        engine = stack.enter_context(running_engine(folder, settings=settings))
        studies = Path(engine.environment["ZS_STUDIES"])
        write_study(studies, "tiny", {f"u{i}": uniform for i in range(SMALL_CELLS // DATASETS)})
        write_study(studies, "warm", {"u0": uniform})
        for workers in ("one", "two"):
            write_study(studies, f"slow_{workers}", {f"s{i}": slow for i in range(SLOW_BACKENDS)})
        in_process(engine, folder / "loop")
        default_backfill(engine, folder / "backfill")
        with engine.worker("first"):
            launched(engine, "warm", "(warming one worker)", DATASETS)
            cells = SLOW_BACKENDS * DATASETS
            alone = launched(engine, "slow_one", "1 s a presentation, one worker", cells)
            with engine.worker("second"):
                engine.command("run", "warm", "--launch", "--force", timeout=WITHIN_S)
                both = launched(engine, "slow_two", "1 s a presentation, two workers", cells)
                print(f"speed-up by the second worker: {alone / both:.2f}", flush=True)
                launched(engine, "tiny", "60 small cells, two warm Celery workers", SMALL_CELLS)


if __name__ == "__main__":
    main()
