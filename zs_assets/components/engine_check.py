"""Whether the parts of an engine answer: its variables, database, queue and workers; and whether a launch would work.

Each part is asked shortly and by itself, before Dagster opens them all: it would try again for a minute, and answer
with a page that may hold the password.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from zs_assets.components.catalogue import find_study
from zs_assets.components.finding import Finding, at_once
from zs_assets.components.place_check import check_lake
from zs_assets.components.service_check import DATABASE, broker_problem, check_postgres, shown_address
from zs_assets.components.worker_check import (
    Expected,
    QueueNeed,
    Surroundings,
    check_workers,
    queue_needs,
    study_sha256,
    told_lake,
)

VARIABLES = "environment"
QUEUE = "queue"
LAKE = "ZS_LAKE"
LAUNCH_PATIENCE_S = 0.7
"""Workers of a healthy engine answer within 0.1 s; only where one seems to be missing is more time given."""


def launch_problems(home: Path, lake: str, study: str, backends: Collection[str] = ()) -> list[str]:
    """Why runs of a study that are submitted now would wait, fail, or write where nobody reads.

    Parameters
    ----------
    home
        DAGSTER_HOME. Without a dagster.yaml there, or with one that names no engine, only the lake is asked.
    lake
        ZS_LAKE: a folder or an fsspec URL.
    study
        Name of the study.
    backends
        The systems that will be asked; all of the study's where none is named.

    Returns
    -------
    list of str
        One sentence each: variables that are missing, a database or queue that does not answer, a queue that no worker
        serves, a lake that cannot be written, workers with other code, another lake or without the study.

    Raises
    ------
    StudyError
        There is no such study, or it is broken.
    """
    graph = find_study(study)
    own = Surroundings(told_lake(lake), {study: study_sha256(graph)})
    expected = Expected(queue_needs([graph], backends), own, every_worker=False, patience_s=LAUNCH_PATIENCE_S)
    findings = at_once({**engine_checks(home, expected), LAKE: lambda: [check_lake(lake)]})
    return [_alone(finding) for finding in findings if not finding.ok]


def _alone(finding: Finding) -> str:
    """The sentence without a subject before it: those about a worker begin with the verb."""
    is_worker = finding.subject.startswith("worker ")
    return f"W{finding.subject[1:]} {finding.sentence}" if is_worker else finding.sentence


def engine_checks(home: Path, expected: Expected) -> dict[str, Callable[[], list[Finding]]]:
    """Checks of the variables, database, queue and workers that `home`/dagster.yaml names, for `at_once`.

    Where it names none they find nothing.

    Parameters
    ----------
    home
        DAGSTER_HOME.
    expected
        What the workers should be like.
    """
    config = _config(home)
    return {
        VARIABLES: lambda: list(_variables_missing(home, config)),
        DATABASE: lambda: list(_database(config)),
        QUEUE: lambda: list(_celery(config, expected)),
    }


def _config(home: Path) -> Mapping[str, Any]:
    """Of a file that cannot be read nothing is asked: opening the instance says what is wrong with it."""
    try:
        config = yaml.safe_load((home / "dagster.yaml").read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return {}
    return config if isinstance(config, Mapping) else {}


def named_variables(value: Any) -> Iterator[str]:
    """Names of all `{env: NAME}` in the settings."""
    if isinstance(value, Mapping):
        if set(value) == {"env"}:
            yield str(value["env"])
        else:
            for each in value.values():
                yield from named_variables(each)
    elif isinstance(value, list):
        for each in value:
            yield from named_variables(each)


def _variables_missing(home: Path, config: Mapping[str, Any]) -> Iterator[Finding]:
    names = sorted({name for name in named_variables(config) if name not in os.environ})
    if names:
        sentence = (
            f"{home / 'dagster.yaml'} reads {', '.join(names)} from the environment, and nothing is set there. "
            "In the folder of .env: set -a; . ./.env; set +a"
        )
        yield Finding(VARIABLES, False, sentence)


def _resolved(value: Any) -> Any:
    """The settings with `{env: NAME}` replaced by the variable."""
    if isinstance(value, Mapping):
        if set(value) == {"env"}:
            return os.environ.get(value["env"])
        return {name: _resolved(each) for name, each in value.items()}
    return value


def _is_complete(settings: Any) -> bool:
    """What is missing has been said; the rest cannot be asked without it."""
    return all(name in os.environ for name in named_variables(settings))


def _variable(setting: Any) -> str | None:
    """The variable that a user corrects a setting by; None where it stands in the file."""
    return str(setting["env"]) if isinstance(setting, Mapping) and set(setting) == {"env"} else None


def _part(config: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    """A part of the settings, empty where it is not there or has another form."""
    for name in names:
        part = config.get(name)
        config = part if isinstance(part, Mapping) else {}
    return config


def _database(config: Mapping[str, Any]) -> Iterator[Finding]:
    settings = _part(config, "storage", "postgres", "postgres_db")
    if settings and _is_complete(settings):
        yield check_postgres(_resolved(settings), {name: _variable(each) for name, each in settings.items()})


def _celery(config: Mapping[str, Any], expected: Expected) -> Iterator[Finding]:
    settings = _part(config, "run_launcher", "config")
    if "Celery" not in str(_part(config, "run_launcher").get("class")) or not _is_complete(settings):
        return
    broker = str(_resolved(settings.get("broker")) or "amqp://localhost")
    results = str(_resolved(settings.get("backend")) or broker)
    problem = broker_problem(broker, _variable(settings.get("broker")))
    if problem is None and results != broker and "://" in results:
        problem = broker_problem(results, _variable(settings.get("backend")))
    if problem is not None:
        yield Finding(QUEUE, False, problem)
        return
    yield Finding(QUEUE, True, f"{shown_address(broker)} answers.")
    yield from check_workers(broker, _as_routed(config, settings, expected))


def _as_routed(config: Mapping[str, Any], settings: Mapping[str, Any], expected: Expected) -> Expected:
    """Without our coordinator, which tags each run with its queue, all runs go to the launcher's only one."""
    if "Routing" in str(_part(config, "run_coordinator").get("class")):
        return expected
    systems = {system for need in expected.needs.values() for system in need.systems}
    studies = {study for need in expected.needs.values() for study in need.studies}
    queue = str(_resolved(settings.get("default_queue")) or "dagster")
    return replace(expected, needs={queue: QueueNeed(systems, studies)})
