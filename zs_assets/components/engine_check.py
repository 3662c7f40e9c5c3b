"""Whether the parts of an engine answer: its variables, database, queue and workers; and whether a launch would work.

Each part is asked shortly and by itself, before Dagster opens them all: it would try again for a minute, and answer
with a page that may hold the password.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from zs_assets.components.catalogue import find_study
from zs_assets.components.finding import ANSWER_WITHIN_S, Finding, at_once
from zs_assets.components.place_check import check_lake
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
DATABASE = "database"
LAUNCH_PATIENCE_S = 1.0
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
    findings = at_once(lambda: check_engine(home, expected), lambda: [check_lake(lake)])
    return [_alone(finding) for finding in findings if not finding.ok]


def _alone(finding: Finding) -> str:
    """The sentence without a subject before it: those about a worker begin with the verb."""
    is_worker = finding.subject.startswith("worker ")
    return f"W{finding.subject[1:]} {finding.sentence}" if is_worker else finding.sentence


def check_engine(home: Path, expected: Expected) -> list[Finding]:
    """Variables, database, broker and workers that `home`/dagster.yaml names; nothing where it names none.

    Parameters
    ----------
    home
        DAGSTER_HOME.
    expected
        What the workers should be like.
    """
    config = _config(home)
    missing = [name for name in sorted(_variables(config)) if name not in os.environ]
    unset = [_unset(home, missing)] if missing else []
    return [*unset, *at_once(lambda: list(_database(config)), lambda: list(_celery(config, expected)))]


def _config(home: Path) -> Mapping[str, Any]:
    """Of a file that cannot be read nothing is asked: opening the instance says what is wrong with it."""
    try:
        config = yaml.safe_load((home / "dagster.yaml").read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return {}
    return config if isinstance(config, Mapping) else {}


def _variables(value: Any) -> Iterator[str]:
    """Names of all `{env: NAME}` in the settings."""
    if isinstance(value, Mapping):
        if set(value) == {"env"}:
            yield str(value["env"])
        else:
            for each in value.values():
                yield from _variables(each)
    elif isinstance(value, list):
        for each in value:
            yield from _variables(each)


def _unset(home: Path, names: list[str]) -> Finding:
    sentence = (
        f"{home / 'dagster.yaml'} reads {', '.join(names)} from the environment, and nothing is set there. "
        "In the folder of .env: set -a; . ./.env; set +a"
    )
    return Finding(VARIABLES, False, sentence)


def _resolved(value: Any) -> Any:
    """The settings with `{env: NAME}` replaced by the variable."""
    if isinstance(value, Mapping):
        if set(value) == {"env"}:
            return os.environ.get(value["env"])
        return {name: _resolved(each) for name, each in value.items()}
    return value


def _is_complete(settings: Any) -> bool:
    """What is missing has been said; the rest cannot be asked without it."""
    return all(name in os.environ for name in _variables(settings))


def _source(setting: Any) -> str:
    """Where a user corrects a setting: a variable, or the file itself."""
    return setting["env"] if isinstance(setting, Mapping) and set(setting) == {"env"} else "the address in dagster.yaml"


def _database(config: Mapping[str, Any]) -> Iterator[Finding]:
    database = ((config.get("storage") or {}).get("postgres") or {}).get("postgres_db")
    if database is not None and _is_complete(database):
        yield _postgres(_resolved(database))


def _postgres(settings: Mapping[str, Any]) -> Finding:
    try:
        import psycopg2
    except ImportError:
        return Finding(
            DATABASE, False, "dagster.yaml names PostgreSQL: pip install dagster-postgres, as the extra does."
        )
    host, port = settings.get("hostname"), settings.get("port") or 5432
    user, database = settings.get("username"), settings.get("db_name")
    where = f"PostgreSQL at {host}:{port}"
    try:
        psycopg2.connect(
            host=host,
            port=port,
            user=user,
            password=settings.get("password"),
            dbname=database,
            connect_timeout=ANSWER_WITHIN_S,
        ).close()
    except psycopg2.OperationalError as error:
        said = str(error)
        if "password" in said or "authentication" in said:
            what = f"refuses user {user}: check the user and password that dagster.yaml reads"
        elif f'database "{database}" does not exist' in said:
            what = f"has no database {database}: create it, or correct its name"
        elif f'role "{user}" does not exist' in said:
            what = f"has no user {user}: create it, or correct its name"
        else:
            what = "does not answer: start it, or correct its host and port"
        return Finding(DATABASE, False, f"{where} {what}.")
    return Finding(DATABASE, True, f"{where} answers.")


def _celery(config: Mapping[str, Any], expected: Expected) -> Iterator[Finding]:
    launcher = config.get("run_launcher") or {}
    settings = launcher.get("config") or {}
    if "Celery" not in str(launcher.get("class")) or not _is_complete(settings):
        return
    broker = str(_resolved(settings.get("broker")) or "amqp://localhost")
    results = _resolved(settings.get("backend")) or broker
    problem = _unreachable(broker, _source(settings.get("broker")))
    if problem is None and results != broker and "://" in str(results):
        problem = _unreachable(str(results), _source(settings.get("backend")))
    if problem is not None:
        yield Finding("queue", False, problem)
        return
    yield Finding("queue", True, f"{_shown(broker)} answers.")
    yield from check_workers(broker, _as_routed(config, settings, expected))


def _unreachable(url: str, source: str) -> str | None:
    try:
        from kombu import Connection
    except ImportError:
        return "dagster.yaml names Celery: pip install 'zs-assets[celery]'."
    try:
        with Connection(url, connect_timeout=ANSWER_WITHIN_S, transport_options=_SHORT) as connection:
            connection.ensure_connection(max_retries=1, interval_start=0, timeout=ANSWER_WITHIN_S)
            connection.default_channel.client.ping() if urlsplit(url).scheme.startswith("redis") else None
    except Exception as error:  # each transport has classes of its own
        said = str(error).lower()
        if "auth" in said or "password" in said:
            return f"{_shown(url)} refuses the password: correct {source}."
        return f"{_shown(url)} does not answer: start it, or correct {source}."
    return None


_SHORT = {"socket_connect_timeout": ANSWER_WITHIN_S, "socket_timeout": ANSWER_WITHIN_S}


def _shown(url: str) -> str:
    """Scheme, host and port: an address may hold a password."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}:{parts.port}" if parts.port else f"{parts.scheme}://{parts.hostname}"


def _as_routed(config: Mapping[str, Any], settings: Mapping[str, Any], expected: Expected) -> Expected:
    """Without our coordinator, which tags each run with its queue, all runs go to the launcher's only one."""
    if "Routing" in str((config.get("run_coordinator") or {}).get("class")):
        return expected
    every = QueueNeed()
    for need in expected.needs.values():
        every.systems |= need.systems
        every.studies |= need.studies
    queue = str(_resolved(settings.get("default_queue")) or "dagster")
    return Expected({queue: every}, expected.own, expected.every_worker, expected.patience_s)
