"""A killed run gives its place in the pool back, and a living one keeps it."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import dagster as dg
import pytest

from zs_assets.components import dead_runs
from zs_assets.components.dead_runs import BEGAN, BOOT, NAMESPACE, PROCESS, SILENT_S, end_dead_runs, process_tags


@dg.op(pool="one_at_a_time")
def step() -> None:
    return None


@dg.job
def work() -> None:
    step()


def started(instance: dg.DagsterInstance, tags: dict[str, str]) -> dg.DagsterRun:
    """A run that holds the pool's only place."""
    run = instance.create_run_for_job(work, tags=tags, status=dg.DagsterRunStatus.STARTED)
    instance.event_log_storage.set_concurrency_slots("one_at_a_time", 1)
    claim = instance.event_log_storage.claim_concurrency_slot("one_at_a_time", run.run_id, "step")
    assert claim.is_claimed
    return run


@pytest.fixture
def gone() -> dict[str, str]:
    """Tags of a process that has ended."""
    said = "import json; from zs_assets.components.dead_runs import process_tags; print(json.dumps(process_tags()))"
    return json.loads(subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True).stdout)


def places_taken(instance: dg.DagsterInstance) -> int:
    return len(instance.event_log_storage.get_concurrency_info("one_at_a_time").claimed_slots)


def test_the_run_of_a_process_that_is_gone_is_ended_and_its_place_is_free(instance, gone):
    run = started(instance, gone)
    assert end_dead_runs(instance) == [run.run_id]
    assert places_taken(instance) == 0
    assert instance.get_run_by_id(run.run_id).status is dg.DagsterRunStatus.FAILURE
    assert end_dead_runs(instance) == []


def test_the_run_of_a_living_process_is_left_alone(instance):
    run = started(instance, process_tags())
    assert end_dead_runs(instance) == []
    assert places_taken(instance) == 1
    assert instance.get_run_by_id(run.run_id).status is dg.DagsterRunStatus.STARTED


@pytest.mark.skipif(not process_tags()[BEGAN], reason="this system does not say when a process began")
def test_a_process_number_given_anew_is_another_process(instance, gone):
    run = started(instance, {**gone, PROCESS: process_tags()[PROCESS]})
    assert end_dead_runs(instance) == [run.run_id]


def test_a_run_of_another_machine_of_this_name_is_left_alone(instance, gone, tmp_path, monkeypatch):
    started(instance, gone)
    other = tmp_path / "machine-id"
    other.write_text("0123456789abcdef0123456789abcdef\n")
    monkeypatch.setattr(dead_runs, "MACHINE_ID", other)
    assert end_dead_runs(instance) == []
    assert "0123456789abcdef" not in " ".join(process_tags().values())


def test_a_run_of_an_earlier_boot_is_dead(instance):
    run = started(instance, {**process_tags(), BOOT: "an earlier one"})
    assert end_dead_runs(instance) == [run.run_id]


def test_a_run_of_another_container_is_dead_only_after_a_long_silence(instance, gone, monkeypatch):
    """Its process number says nothing here."""
    run = started(instance, {**gone, NAMESPACE: "pid:[1]"})
    instance.report_engine_event("still here", run)
    assert end_dead_runs(instance) == []
    now = time.time()
    monkeypatch.setattr(dead_runs.time, "time", lambda: now + SILENT_S + 1)
    assert end_dead_runs(instance) == [run.run_id]
    assert places_taken(instance) == 0


def test_runs_of_the_ui_are_none_of_ours(instance):
    started(instance, {})
    assert end_dead_runs(instance) == []
    assert places_taken(instance) == 1
