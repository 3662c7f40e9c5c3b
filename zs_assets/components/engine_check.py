"""Whether the parts of an engine answer: database, queue, workers, and the lake on an object store.

Each part is asked shortly and by itself, before Dagster opens them all: it would try again for a minute, and answer
with a page that may hold the password.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from zs_assets.protocol.code_identity import WORKER_COMMAND, code_identity
from zs_assets.protocol.errors import StorageError
from zs_assets.storage.object_store import delete_objects, keeps_conditions, object_bytes, put_object, store_path

ANSWER_WITHIN_S = 3


@dataclass(frozen=True)
class Finding:
    """One thing checked. A finding that is not required may be absent without harm."""

    subject: str
    ok: bool
    sentence: str
    required: bool = True


class Unset(Exception):
    """A variable that dagster.yaml names is not in the environment."""


def check_engine(home: Path, queues: frozenset[str]) -> Iterator[Finding]:
    """Database, broker and workers that `home`/dagster.yaml names; nothing where it names none.

    Parameters
    ----------
    home
        DAGSTER_HOME.
    queues
        Kinds of machine that the studies' systems need.
    """
    try:
        config = yaml.safe_load((home / "dagster.yaml").read_text(encoding="utf-8")) or {}
    except (OSError, yaml.YAMLError):
        return  # opening the instance says what is wrong with the file
    try:
        database = (config.get("storage") or {}).get("postgres", {}).get("postgres_db")
        if database is not None:
            yield _postgres(_resolved(database))
        launcher = config.get("run_launcher") or {}
        if "Celery" in str(launcher.get("class")):
            yield from _celery(_resolved(launcher.get("config") or {}), queues)
    except Unset as unset:
        yield Finding("engine", False, f"{home / 'dagster.yaml'} reads {unset} from the environment: set it (.env).")


def check_lake(root: str) -> Finding:
    """Writes, reads, creates once and deletes probe objects on an object store."""
    folder = store_path(root)
    probe = folder / f".probe-{uuid.uuid4().hex}"
    try:
        put_object(probe, b"probe")
        read = object_bytes(probe)
        delete_objects([probe])
        conditional = keeps_conditions(folder)
    except StorageError as error:
        return Finding("ZS_LAKE", False, str(error))
    if read != b"probe":
        return Finding("ZS_LAKE", False, f"{root} does not give back what was written: use another store.")
    if not conditional:
        what = "overwrites what was to be created once, so a frozen manifest could be replaced"
        return Finding("ZS_LAKE", False, f"{root} {what}: use a store with conditional writes.")
    return Finding("ZS_LAKE", True, f"{root} takes, keeps, gives back and deletes objects.")


def _resolved(value: Any) -> Any:
    """The settings with `{env: NAME}` replaced by the variable; raises Unset."""
    if isinstance(value, Mapping):
        if set(value) == {"env"}:
            if value["env"] not in os.environ:
                raise Unset(value["env"])
            return os.environ[value["env"]]
        return {name: _resolved(each) for name, each in value.items()}
    return value


def _postgres(settings: Mapping[str, Any]) -> Finding:
    import psycopg2

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
        return Finding("database", False, f"{where} {what}.")
    return Finding("database", True, f"{where} answers.")


def _celery(settings: Mapping[str, Any], queues: frozenset[str]) -> Iterator[Finding]:
    from celery import Celery

    broker, results = settings.get("broker") or "amqp://localhost", settings.get("backend")
    problems = [
        problem
        for name, url in (("queue", broker), ("results", results))
        if url and (problem := _unreachable(str(url))) is not None and (name == "queue" or url != broker)
    ]
    if problems:
        yield Finding("queue", False, problems[0])
        return
    yield Finding("queue", True, f"{_shown(str(broker))} answers.")
    with Celery("doctor", broker=broker) as app:
        served = app.control.inspect(timeout=ANSWER_WITHIN_S).active_queues() or {}
        codes = app.control.broadcast(WORKER_COMMAND, reply=True, timeout=ANSWER_WITHIN_S) if served else []
    yield _queues(served, queues)
    if served:
        yield from _codes(served, codes or [])


def _queues(served: Mapping[str, Any], queues: frozenset[str]) -> Finding:
    if not served:
        return Finding("workers", False, "No worker answers: start one with `dagster-celery worker start` (README).")
    found = {queue["name"] for each in served.values() for queue in each}
    missing = sorted(queues - found)
    if missing:
        sentence = f"No worker serves {', '.join(missing)}: runs of these systems would wait; start one with -q."
        return Finding("workers", False, sentence, required=False)
    return Finding("workers", True, f"{len(served)} serve {', '.join(sorted(found))}.")


def _codes(served: Mapping[str, Any], replies: list[Mapping[str, Any]]) -> Iterator[Finding]:
    """One finding per worker: the same code as ours, other code, or none that it could name."""
    own = code_identity().code_sha256
    said = {worker: reply for each in replies for worker, reply in each.items()}
    for worker in sorted(served):
        code = (said.get(worker) or {}).get("code_sha256")
        if code == own:
            yield Finding(f"worker {worker}", True, "runs the same code as this command.")
        elif code is None:
            yield Finding(
                f"worker {worker}",
                False,
                "does not say which code it runs: start it with the worker.yaml of `zs-assets deploy celery`.",
            )
        else:
            yield Finding(
                f"worker {worker}",
                False,
                f"runs code {code} and this command {own}: install the same zs-assets on both and restart the worker.",
            )


def _unreachable(url: str) -> str | None:
    from kombu import Connection

    try:
        with Connection(url, connect_timeout=ANSWER_WITHIN_S, transport_options=_SHORT) as connection:
            connection.ensure_connection(max_retries=1, interval_start=0, timeout=ANSWER_WITHIN_S)
            connection.default_channel.client.ping() if urlsplit(url).scheme.startswith("redis") else None
    except Exception as error:  # each transport has classes of its own
        said = str(error).lower()
        if "auth" in said or "password" in said:
            return f"{_shown(url)} refuses the password: correct the broker's address that dagster.yaml reads."
        return f"{_shown(url)} does not answer: start it, or correct the address that dagster.yaml reads."
    return None


_SHORT = {"socket_connect_timeout": ANSWER_WITHIN_S, "socket_timeout": ANSWER_WITHIN_S}


def _shown(url: str) -> str:
    """Scheme, host and port: an address may hold a password."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}:{parts.port}" if parts.port else f"{parts.scheme}://{parts.hostname}"
