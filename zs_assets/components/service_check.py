"""Whether PostgreSQL and the broker answer: one sentence each, within seconds, and no password in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from zs_assets.components.finding import ANSWER_WITHIN_S, Finding

DATABASE = "database"


def check_postgres(settings: Mapping[str, Any], variables: Mapping[str, str | None]) -> Finding:
    """Logs in to a database and out again.

    Parameters
    ----------
    settings
        As under `postgres_db` in dagster.yaml, with the variables' values.
    variables
        The variable each setting comes from; None where it stands in dagster.yaml.
    """
    try:
        import psycopg2
    except ImportError:
        what = "names PostgreSQL, whose client is not here: pip install 'zs-assets[celery]' (or docker, kubernetes)."
        return Finding(DATABASE, False, f"dagster.yaml {what}")
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
            named = _named(variables, "username", "password") or "the user and password that dagster.yaml reads"
            what = f"refuses user {user}: check {named}"
        elif f'database "{database}" does not exist' in said:
            what = f"has no database {database}: create it, or correct {_named(variables, 'db_name') or 'its name'}"
        elif f'role "{user}" does not exist' in said:
            what = f"has no user {user}: create it, or correct {_named(variables, 'username') or 'its name'}"
        else:
            named = _named(variables, "hostname", "port") or "its host and port"
            what = f"does not answer: start it, or correct {named}"
        return Finding(DATABASE, False, f"{where} {what}.")
    return Finding(DATABASE, True, f"{where} answers.")


def _named(variables: Mapping[str, str | None], *settings: str) -> str:
    return " and ".join(variable for name in settings if (variable := variables.get(name)))


def broker_problem(url: str, variable: str | None) -> str | None:
    """Why a broker or a store of results cannot be used; None where it answers. `variable` holds its address."""
    try:
        from kombu import Connection
    except ImportError:
        return "dagster.yaml names Celery, which is not installed here: pip install 'zs-assets[celery]'."
    correct = f"correct {variable or 'the address that dagster.yaml names'}"
    try:
        with Connection(url, connect_timeout=ANSWER_WITHIN_S, transport_options=_SHORT) as connection:
            connection.ensure_connection(max_retries=1, interval_start=0, timeout=ANSWER_WITHIN_S)
            connection.default_channel.client.ping() if urlsplit(url).scheme.startswith("redis") else None
    except Exception as error:  # each transport has classes of its own
        said = str(error).lower()
        if "auth" in said or "password" in said:
            return f"{shown_address(url)} refuses the password: {correct}."
        return f"{shown_address(url)} does not answer: start it, or {correct}."
    return None


_SHORT = {"socket_connect_timeout": ANSWER_WITHIN_S, "socket_timeout": ANSWER_WITHIN_S}


def shown_address(url: str) -> str:
    """Scheme, host and port: an address may hold a password."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}:{parts.port}" if parts.port else f"{parts.scheme}://{parts.hostname}"
