"""What `zs-assets doctor` and a launch say of workers: a Celery worker on a real Redis says what it is told."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from zs_assets.assets.graph import StudyGraph
from zs_assets.components.catalogue import load_study
from zs_assets.components.engine_check import launch_problems
from zs_assets.components.finding import Finding
from zs_assets.components.worker_check import (
    Expected,
    QueueNeed,
    Surroundings,
    check_workers,
    own_surroundings,
    queue_needs,
    study_sha256,
    told_lake,
    worker_report,
)
from zs_assets.protocol.code_identity import code_identity
from zs_assets_tests.deployment.engine import RunningEngine, running_engine
from zs_assets_tests.deployment.services import STARTS_WITHIN_S, redis_service
from zs_assets_tests.small_study import write_small_study

pytest.importorskip("celery", reason="needs the extra celery")

OWN = Surroundings("s3://b", {"tickets": "1", "demo": "2"})
CODE = dict(vars(code_identity()))
NEEDS = {"cpu": QueueNeed({"minilm"}, {"demo"})}


@pytest.fixture(scope="module")
def broker() -> Iterator[str]:
    with redis_service() as address:
        yield f"{address}/0"


@contextmanager
def worker(broker: str, says: dict[str, Any], *, queues: str = "cpu") -> Iterator[None]:
    """A worker in a thread of this process, with `says` as its report."""
    from celery import Celery
    from celery.contrib.testing.worker import start_worker

    from zs_assets.deployment import worker_code

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worker_code, "worker_report", lambda: says)
        app = Celery("tested", broker=broker, set_as_current=False)
        app.select_queues(queues.split(","))
        with start_worker(app, pool="solo", perform_ping_check=False, shutdown_timeout=30):
            yield


def asked(broker: str, own: Surroundings = OWN, needs: dict[str, QueueNeed] = NEEDS, **how: Any) -> list[Finding]:
    return list(check_workers(broker, Expected(needs, own, patience_s=1.0, **how)))


def of_the_worker(findings: list[Finding]) -> list[tuple[bool, str]]:
    return [(each.ok, each.sentence) for each in findings if each.subject.startswith("worker ")]


def test_a_worker_with_the_same_code_lake_and_studies(broker: str):
    with worker(broker, {**CODE, "lake": "s3://b", "studies": {"tickets": "1", "demo": "2", "more": "3"}}):
        findings = asked(broker)
    assert of_the_worker(findings) == [(True, "runs the same code as this command, and has the same lake and studies.")]


def test_a_worker_with_another_lake_is_told_with_both(broker: str):
    with worker(broker, {**CODE, "lake": "s3://a", "studies": dict(OWN.studies)}):
        findings = asked(broker)
    assert of_the_worker(findings) == [
        (False, "writes to s3://a, this command reads s3://b: set ZS_LAKE alike and restart the workers.")
    ]


def test_a_worker_without_a_study_or_with_another_of_its_name(broker: str):
    with worker(broker, {**CODE, "lake": "s3://b", "studies": {"demo": "other"}}):
        findings = asked(broker)
    assert of_the_worker(findings) == [
        (False, "has no study tickets: set ZS_STUDIES on daemon, webserver and workers, and restart them."),
        (
            False,
            "has study demo with other content than this command: give daemon, webserver and workers the same files "
            "(ZS_STUDIES, ZS_SYSTEMS), and restart them.",
        ),
    ]


def test_a_worker_whose_studies_folder_is_not_there_says_so(broker: str):
    said = "ZS_STUDIES names /zs/studies, which is no folder: create it or correct ZS_STUDIES."
    with worker(broker, {**CODE, "lake": "s3://b", "studies": {}, "studies_problem": said}):
        findings = asked(broker)
    assert of_the_worker(findings) == [(False, f"loads no study: {said}")]


def test_a_worker_whose_lake_is_none_says_so(broker: str):
    said = "The lake s3:// (ZS_LAKE) names no bucket: write s3://BUCKET or s3://BUCKET/FOLDER."
    with worker(broker, {**CODE, "lake": "", "lake_problem": said, "studies": dict(OWN.studies)}):
        findings = asked(broker)
    assert of_the_worker(findings) == [(False, f"writes nowhere: {said}")]


def test_a_worker_of_an_earlier_version_has_the_finding_about_its_code_only(broker: str):
    with worker(broker, {"package_version": "0.1.0", "code_sha256": "0" * 64}):
        (finding,) = of_the_worker(asked(broker))
    assert finding == (
        False,
        f"runs code {'0' * 64} and this command {CODE['code_sha256']}: install the same zs-assets on both and restart "
        "the worker.",
    )
    with worker(broker, dict(CODE)):
        assert of_the_worker(asked(broker)) == [(True, "runs the same code as this command.")]


def test_a_queue_that_nobody_serves_names_who_would_wait(broker: str):
    needs = {**NEEDS, "gpu": QueueNeed({"laya", "gliner"}, {"tickets", "demo"})}
    with worker(broker, dict(CODE)):
        findings = asked(broker, needs=needs)
    (waiting,) = [each for each in findings if each.subject == "workers"]
    assert not waiting.ok and not waiting.required
    assert waiting.sentence == (
        "No worker serves gpu: runs of gliner, laya (studies demo, tickets) would wait; "
        "start one (README of the folder)."
    )


def test_without_a_worker_of_cpu_the_tables_wait_too(broker: str):
    with worker(broker, dict(CODE), queues="hosted"):
        (waiting, *_) = asked(broker)
    assert waiting.sentence == (
        "No worker serves cpu: runs of minilm and manifests, tables and reports (study demo) would wait; "
        "start one (README of the folder)."
    )


def test_a_launch_does_not_mind_a_worker_that_serves_none_of_its_queues(broker: str):
    with worker(broker, {**CODE, "lake": "s3://a", "studies": {}}, queues="gpu"):
        assert of_the_worker(asked(broker, every_worker=False)) == []


def test_a_launch_is_told_of_a_worker_elsewhere_in_whole_sentences(
    broker: str, small_study: StudyGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("ZS_STUDIES", str(small_study.folder))
    launcher = {"class": "WatchingCeleryRunLauncher", "config": {"broker": broker}}
    coordinator = {"class": "RoutingRunCoordinator"}
    (tmp_path / "dagster.yaml").write_text(yaml.safe_dump({"run_launcher": launcher, "run_coordinator": coordinator}))
    lake = str(tmp_path / "lake")
    same = {**CODE, "lake": lake, "studies": {"small": study_sha256(small_study)}}
    with worker(broker, same):
        began = time.monotonic()
        assert launch_problems(tmp_path, lake, "small") == []
        assert time.monotonic() - began < 3
    with worker(broker, {**same, "lake": "/elsewhere"}):
        (problem,) = launch_problems(tmp_path, lake, "small")
    assert problem.startswith("Worker ")
    assert problem.endswith(
        f" writes to /elsewhere, this command reads {lake}: set ZS_LAKE alike and restart the workers."
    )
    with worker(broker, same, queues="gpu"):
        (problem,) = launch_problems(tmp_path, lake, "small")
    assert problem == (
        "No worker serves cpu: runs of sparrow, uniform and manifests, tables and reports (study small) would wait; "
        "start one (README of the folder)."
    )


def test_a_queue_is_needed_by_the_systems_that_are_asked(small_study: StudyGraph):
    assert queue_needs([small_study]) == {"cpu": QueueNeed({"uniform", "sparrow"}, {"small"})}
    assert queue_needs([small_study], ["sparrow"]) == {"cpu": QueueNeed({"sparrow"}, {"small"})}
    assert queue_needs([]) == {"cpu": QueueNeed()}


@pytest.mark.parametrize(
    ("lake", "told"),
    [
        ("s3://bucket/prefix/", "s3://bucket/prefix"),
        ("s3://key:sec/ret@bucket/prefix", "s3://bucket/prefix"),
        ("https://user@host:9000/lake?sig=abc#x", "https://host:9000/lake"),
        ("simplecache::s3://key:secret@bucket/a", "simplecache::s3://bucket/a"),
        ("s3://bucket/of@home", "s3://bucket/of@home"),
        ("/data/lake", "/data/lake"),
        ("file:///data/lake", "/data/lake"),
    ],
)
def test_a_lake_is_told_without_credentials(lake: str, told: str):
    assert told_lake(lake) == told


def test_a_relative_lake_is_another_one_in_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    assert told_lake("lake") == str(tmp_path / "lake")


def test_the_same_study_in_another_folder_has_the_same_hash(tmp_path: Path):
    one, other = (load_study(write_small_study(tmp_path / name)) for name in ("one", "other"))
    changed = load_study(write_small_study(tmp_path / "changed", question="What else is the text about?"))
    assert study_sha256(one) == study_sha256(other) != study_sha256(changed)


def test_a_worker_reports_this_process_and_no_credentials(
    home: Path, small_study: StudyGraph, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("ZS_STUDIES", str(small_study.folder))
    monkeypatch.setenv("ZS_LAKE", "s3://key:secret@bucket/zs")
    report = worker_report()
    assert report["code_sha256"] == CODE["code_sha256"] and report["lake"] == "s3://bucket/zs"
    assert {"demo", "small"} <= report["studies"].keys()
    assert "secret" not in json.dumps(report)
    monkeypatch.setenv("ZS_STUDIES", str(home / "nowhere"))
    monkeypatch.setenv("ZS_LAKE", "s3://")
    assert "names no bucket" in str(own_surroundings().lake_problem)
    assert own_surroundings().studies == {}
    assert "which is no folder" in str(own_surroundings().studies_problem)


@pytest.mark.engine
def test_workers_of_a_whole_engine_tell_their_lake_and_studies(tmp_path: Path):
    for package in ("dagster_celery", "dagster_postgres", "s3fs"):
        pytest.importorskip(package)
    write_small_study(tmp_path / "studies" / "small")
    with running_engine(tmp_path / "engine") as engine, engine.worker("one"):
        wait_for_the_worker(engine)
        same = worker_findings(engine)
        elsewhere = worker_findings(engine, ZS_LAKE="s3://lake/other")
        unknown = worker_findings(engine, ZS_STUDIES=str(tmp_path / "studies"))
    assert same == [(True, "runs the same code as this command, and has the same lake and studies.")]
    what = "writes to s3://lake/zs, this command reads s3://lake/other"
    assert elsewhere == [(False, f"{what}: set ZS_LAKE alike and restart the workers.")]
    assert unknown == [
        (False, "has no study small: set ZS_STUDIES on daemon, webserver and workers, and restart them.")
    ]


def worker_findings(engine: RunningEngine, **changes: str) -> list[tuple[bool, str]]:
    found = json.loads(engine.command("doctor", "--json", **changes).stdout)
    return [(each["ok"], each["sentence"]) for each in found if each["subject"].startswith("worker ")]


def wait_for_the_worker(engine: RunningEngine) -> None:
    deadline = time.monotonic() + STARTS_WITHIN_S
    while not worker_findings(engine):
        assert time.monotonic() < deadline, engine.logs()
