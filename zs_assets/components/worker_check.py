"""What Celery workers say of themselves: the queues they serve, their code, their lake and their studies.

A worker with another lake makes tables that nobody here finds; one without the study fails every run of it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from zs_assets.assets.graph import StudyGraph
from zs_assets.components.catalogue import loadable_studies
from zs_assets.components.finding import ANSWER_WITHIN_S, Finding
from zs_assets.protocol.code_identity import WORKER_COMMAND, code_identity
from zs_assets.protocol.errors import ZsAssetsError
from zs_assets.protocol.hashing import sha256_json
from zs_assets.storage.object_store import is_remote, store_path
from zs_assets.storage.places import Places
from zs_assets.storage.store_failures import shown

WITHOUT_SYSTEM = "cpu"
"""Queue of the runs that ask no system: manifests, tables, report."""


@dataclass(frozen=True)
class Surroundings:
    """What a process works with besides its code."""

    lake: str  # as `told_lake` tells it
    studies: Mapping[str, str]  # name -> hash of what it measures
    studies_problem: str | None = None  # why no study can be listed
    lake_problem: str | None = None  # why ZS_LAKE is none


@dataclass
class QueueNeed:
    """Whose runs go to a queue."""

    systems: set[str] = field(default_factory=set)
    studies: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class Expected:
    """What the workers should be like.

    `patience_s` counts from the last answer. Without `every_worker`, those that serve no needed queue are left out.
    """

    needs: Mapping[str, QueueNeed]
    own: Surroundings
    every_worker: bool = True
    patience_s: float = ANSWER_WITHIN_S


def own_surroundings() -> Surroundings:
    """Lake and studies of this process, as its environment and the files are now. Raises nothing."""
    lake, studies, lake_problem, studies_problem = "", {}, None, None
    try:
        lake = told_lake(Places.from_environment().lake)
    except ZsAssetsError as error:
        lake_problem = str(error)
    try:
        studies = {study.name: study_sha256(study) for study in loadable_studies()}
    except ZsAssetsError as error:
        studies_problem = str(error)
    return Surroundings(lake, studies, studies_problem, lake_problem)


def told_lake(lake: str) -> str:
    """The lake as it may be told to others: an absolute folder, or a URL without user, password and query.

    A relative folder is another one for each process, so it is told as the one it is for this process.
    """
    if not is_remote(lake):
        return str(store_path(lake).absolute())
    return re.sub(r"[?#].*", "", shown(lake), flags=re.DOTALL).rstrip("/")


def study_sha256(study: StudyGraph) -> str:
    """Hash of a study's YAML as it was read and of the systems it names, wherever its folder lies."""
    systems = {name: system.spec_hash() for name, system in study.systems.items()}
    return sha256_json([study.spec.model_dump(mode="json"), systems])


def queue_needs(studies: Iterable[StudyGraph], backends: Collection[str] = ()) -> dict[str, QueueNeed]:
    """Who needs which queue; `backends` counts these only."""
    needs = {WITHOUT_SYSTEM: QueueNeed()}
    for study in studies:
        needs[WITHOUT_SYSTEM].studies.add(study.name)
        for name, system in study.systems.items():
            if not backends or name in backends:
                need = needs.setdefault(system.queue, QueueNeed())
                need.systems.add(name)
                need.studies.add(study.name)
    return needs


def check_workers(broker: str, expected: Expected) -> Iterator[Finding]:
    """Asks the workers of a broker that answers.

    Yields
    ------
    Finding
        `workers`: who serves the queues, or one finding for each needed queue that none serves. Then per worker what
        differs from this process, or that nothing does. A worker of an earlier version says its code only, or nothing.
    """
    from celery import Celery

    with Celery("doctor", broker=broker) as app:
        served = _served(app, expected.patience_s)
        if expected.patience_s < ANSWER_WITHIN_S and not expected.needs.keys() <= set().union(*served.values()):
            served = _served(app, ANSWER_WITHIN_S)
        asked = [each for each, queues in served.items() if expected.every_worker or queues & expected.needs.keys()]
        # Those that are named are waited for until the last has answered, and no longer.
        wait = {"destination": asked, "reply": True, "timeout": ANSWER_WITHIN_S}
        replies = app.control.broadcast(WORKER_COMMAND, **wait) if asked else []
    said = {worker: reply for each in replies or [] for worker, reply in each.items()}
    yield from _queues(served, expected.needs)
    for worker in sorted(asked):
        reply = said.get(worker)
        yield from _worker(worker, reply if isinstance(reply, Mapping) else {}, expected.own)


def _served(app: Any, patience_s: float) -> dict[str, set[str]]:
    """Worker -> queues, of those that answer."""
    found = app.control.inspect(timeout=patience_s).active_queues() or {}
    return {worker: {queue["name"] for queue in queues} for worker, queues in found.items()}


def _queues(served: Mapping[str, set[str]], needs: Mapping[str, QueueNeed]) -> Iterator[Finding]:
    if not served:
        yield Finding("workers", False, "No worker answers: start one (README of the folder).")
        return
    found = set().union(*served.values())
    missing = sorted(needs.keys() - found)
    if not missing:
        yield Finding("workers", True, f"{len(served)} serve {', '.join(sorted(found))}.")
    for queue in missing:
        sentence = (
            f"No worker serves {queue}: {_waiting(queue, needs[queue])} would wait; start one (README of the folder)."
        )
        yield Finding("workers", False, sentence, required=False)


def _waiting(queue: str, need: QueueNeed) -> str:
    asked = [f"runs of {', '.join(sorted(need.systems))}"] if need.systems else []
    asked += ["manifests, tables and reports"] if queue == WITHOUT_SYSTEM or not asked else []
    studies = f" ({'study' if len(need.studies) == 1 else 'studies'} {', '.join(sorted(need.studies))})"
    return " and ".join(asked) + (studies if need.studies else "")


def _worker(worker: str, reply: Mapping[str, Any], own: Surroundings) -> Iterator[Finding]:
    subject = f"worker {worker}"
    code, our_code = reply.get("code_sha256"), code_identity().code_sha256
    problems = []
    if code is None:
        problems.append("does not say which code it runs: start it with the worker.yaml of `zs-assets deploy celery`.")
    elif code != our_code:
        problems.append(
            f"runs code {code} and this command {our_code}: install the same zs-assets on both and restart the worker."
        )
    if "lake" in reply:
        problems += _differences(_told(reply), own, same_code=code == our_code)
    for problem in problems:
        yield Finding(subject, False, problem)
    if not problems:
        rest = ", and has the same lake and studies" if "lake" in reply else ""
        yield Finding(subject, True, f"runs the same code as this command{rest}.")


def _told(reply: Mapping[str, Any]) -> Surroundings:
    studies = reply.get("studies")
    return Surroundings(
        str(reply["lake"]),
        studies if isinstance(studies, Mapping) else {},
        reply.get("studies_problem"),
        reply.get("lake_problem"),
    )


def _differences(its: Surroundings, own: Surroundings, *, same_code: bool) -> Iterator[str]:
    if its.lake_problem is not None:
        yield f"writes nowhere: {its.lake_problem}"
    elif its.lake != own.lake and own.lake_problem is None:
        yield f"writes to {its.lake}, this command reads {own.lake}: set ZS_LAKE alike and restart the workers."
    if its.studies_problem is not None:
        yield f"loads no study: {its.studies_problem}"
        return
    absent = sorted(own.studies.keys() - its.studies.keys())
    if absent:
        yield (f"has no {_named(absent)}: set ZS_STUDIES on daemon, webserver and workers, and restart them.")
    # Other code may read the same YAML into other words: the finding about the code says what to do.
    others = sorted(name for name in own.studies.keys() & its.studies.keys() if own.studies[name] != its.studies[name])
    if others and same_code:
        yield (
            f"has {_named(others)} with other content than this command: give daemon, webserver and workers the same "
            "files (ZS_STUDIES, ZS_SYSTEMS), and restart them."
        )


def _named(studies: list[str]) -> str:
    return f"{'study' if len(studies) == 1 else 'studies'} {', '.join(studies)}"


def worker_report() -> dict[str, Any]:
    """What a worker answers: version and hash of its code, its lake, and its studies with a hash each."""
    return {**vars(code_identity()), **asdict(own_surroundings())}
