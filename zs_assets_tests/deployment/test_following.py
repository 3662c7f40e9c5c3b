"""`run --launch` at a terminal: bars while workers ask, Control C that leaves the runs alone, a key that is refused."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from zs_assets_tests.backends.wire_server import WireServer
from zs_assets_tests.backends.wires import WIRES
from zs_assets_tests.deployment.engine import PYTHON, RunningEngine, running_engine
from zs_assets_tests.small_study import LABELS, write_small_study

pytestmark = pytest.mark.engine

pytest.importorskip("dagster_celery", reason="needs the extra celery")
pytest.importorskip("dagster_postgres", reason="needs the extra celery")
pytest.importorskip("s3fs", reason="needs the extra s3")

LATENCY_S = 1.0
WITHIN_S = 180
TEXTS_OF_A_DATASET = 12
INTERRUPTED = 130


class Slow(WireServer):
    """Answers after a second."""

    def good(self, request: dict[str, Any]) -> dict[str, Any]:
        time.sleep(LATENCY_S)
        return super().good(request)


class Locked(WireServer):
    """Knows no key."""

    def __init__(self) -> None:
        wire = WIRES["systemone"]
        super().__init__(replace(wire, text=lambda request: f"fault=401 {wire.text(request)}"))


@pytest.fixture(scope="module")
def slow() -> Iterator[Slow]:
    with Slow(WIRES["systemone"]) as server:
        yield server


@pytest.fixture(scope="module")
def locked() -> Iterator[Locked]:
    with Locked() as server:
        yield server


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory, slow: Slow, locked: Locked) -> Iterator[RunningEngine]:
    """One worker, and a study of each provider."""
    with running_engine(tmp_path_factory.mktemp("following"), ZS_TEST_FAR_KEY="a-key") as found:
        studies = Path(found.environment["ZS_STUDIES"])
        for name, server in (("watched", slow), ("refused", locked)):
            far = {"interface": "systemone", "title": "Far", "deployment": "hosted", "base_url": server.url}
            far |= {"provider": name, "key_env": "ZS_TEST_FAR_KEY", "model": "far-latest"}
            far |= {"limits": {"concurrency": 1}}
            more = {} if server is slow else {"datasets": four_datasets()}
            write_small_study(studies / name, name=name, backends=["far"], systems={"far": far}, analyses={}, **more)
        with found.worker("one"):
            yield found


def four_datasets() -> list[dict[str, Any]]:
    """Two of one file each, so that runs wait in the pool behind one another."""
    return [
        {"name": f"{name}_{number}", "source": {"kind": "file", "path": f"{name}.csv", "labels": LABELS}}
        for name in ("first", "second")
        for number in (1, 2)
    ]


class Terminal:
    """A command that believes to be at a terminal; `shown` is all it has printed."""

    def __init__(self, process: subprocess.Popen[bytes], screen: int):
        self.process = process
        self.shown = ""
        self._screen = screen

    def read_until(self, pattern: str, within_s: float = WITHIN_S) -> bool:
        """Whether the pattern was printed before the command ended or the time was up."""
        deadline = time.monotonic() + within_s
        while not re.search(pattern, self.shown) and time.monotonic() < deadline:
            if not select.select([self._screen], [], [], 0.2)[0]:
                if self.process.poll() is not None:
                    break
                continue
            try:
                self.shown += os.read(self._screen, 65536).decode(errors="replace")
            except OSError:  # the command closed its side
                break
        return bool(re.search(pattern, self.shown))


@contextmanager
def at_a_terminal(engine: RunningEngine, *arguments: str) -> Iterator[Terminal]:
    mine, theirs = pty.openpty()
    process = subprocess.Popen(
        [str(PYTHON), "-m", "zs_assets.cli", *arguments],
        cwd=engine.folder,
        env={**engine.environment, "TERM": "xterm", "COLUMNS": "160"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        # A test run in the background inherits interrupts as ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    os.close(theirs)
    try:
        yield Terminal(process, mine)
    finally:
        process.kill()
        process.wait()
        os.close(mine)


_STATUSES = """
import dagster as dg, json, sys

with dg.DagsterInstance.get() as instance:
    cells = [run for run in instance.get_runs() if run.tags.get("dagster/partition/backend")]
    ours = [run for run in cells if any(key.path[0] == sys.argv[1] for key in run.asset_selection)]
    print(json.dumps([run.status.value for run in ours]))
"""


def statuses_of_cells(engine: RunningEngine, study: str) -> list[str]:
    command = [str(PYTHON), "-c", _STATUSES, study]
    run = subprocess.run(command, env=engine.environment, capture_output=True, text=True, check=True)
    return json.loads(run.stdout.strip().splitlines()[-1])


def test_bars_show_the_workers_progress_and_control_c_leaves_the_runs_alone(engine: RunningEngine, slow: Slow):
    with at_a_terminal(engine, "run", "watched", "--launch") as terminal:
        # A count between nothing and all, from an observation that the worker wrote while it asked.
        assert terminal.read_until(r"(first|second) x far.*?\b([1-9]|1[01])/12\b"), (terminal.shown, engine.logs())
        terminal.process.send_signal(signal.SIGINT)
        assert terminal.read_until(r"The runs go on.*zs-assets run watched --launch"), terminal.shown
        assert terminal.process.wait(WITHIN_S) == INTERRUPTED
    again = engine.command("run", "watched", "--launch", "--json", timeout=WITHIN_S)
    assert again.returncode == 0, (again.stdout[-2000:], again.stderr[-2000:], engine.logs())
    states = {step["partition"]: step["state"] for step in json.loads(again.stdout)["steps"]}
    assert all(states[f"{dataset} x far"] in ("made", "kept") for dataset in ("first", "second")), states
    # What was on its way was followed, not submitted anew.
    assert (len(slow.texts), set(slow.texts.values())) == (2 * TEXTS_OF_A_DATASET, {1})


def test_a_refused_key_is_one_sentence_and_is_not_tried_on_every_dataset(engine: RunningEngine, locked: Locked):
    run = engine.command("run", "refused", "--launch", "--json", timeout=WITHIN_S)
    assert run.returncode == 1, (run.stdout[-2000:], run.stderr[-2000:], engine.logs())
    failed = [step for step in json.loads(run.stdout)["steps"] if step["step"] == "predictions"]
    assert {step["state"] for step in failed} == {"failed"}
    assert "401" in failed[0]["reason"] and "check the key in ZS_TEST_FAR_KEY" in failed[0]["reason"]
    # The pool lets the next run begin in the moment in which the first ends; those behind it are cancelled.
    assert locked.texts.total() <= 2
    deadline = time.monotonic() + WITHIN_S
    while (statuses := statuses_of_cells(engine, "refused")) and time.monotonic() < deadline:
        if set(statuses) <= {"FAILURE", "CANCELED"}:
            break
        time.sleep(1)
    assert "CANCELED" in statuses and set(statuses) <= {"CANCELED", "FAILURE"}
    assert "a-key" not in run.stdout + run.stderr
