"""What `zs-assets doctor` and a launch say of workers: one Celery worker on a real Redis, which says what it is told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from zs_assets.components.finding import Finding
from zs_assets.components.worker_check import (
    Expected,
    QueueNeed,
    Surroundings,
    check_workers,
)
from zs_assets.protocol.code_identity import code_identity
from zs_assets_tests.deployment.services import redis_service

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
