"""A Celery worker in one process: `python -m zs_assets.deployment.worker -n NAME -q QUEUE`.

`dagster-celery worker start` starts Celery as a child and passes no signal on: SIGTERM ends it alone, and the child
goes on taking runs with the code it was started with. Here Celery gets SIGTERM itself: it takes no further run, waits
for the end of those it has, and leaves. The settings go from worker.yaml to Celery in memory: no file holds the
broker's password.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from zs_assets.components.engine_check import named_variables
from zs_assets.deployment.engine import DeploymentError
from zs_assets.protocol.errors import ZsAssetsError


def worker_settings(path: Path) -> dict[str, Any]:
    """Celery's settings from a worker.yaml, checked as `dagster-celery` checks them.

    Parameters
    ----------
    path
        A YAML file with broker, backend and config_source under `execution: {config: ...}`.

    Returns
    -------
    dict
        Celery's lower-case names, for `app.conf.update`.

    Raises
    ------
    DeploymentError
        The file cannot be read or holds no settings, a variable that it names is not set, or dagster-celery does not
        know a setting.
    """
    from dagster import DagsterInvalidConfigError
    from dagster_celery.cli import get_config_value_from_yaml, get_validated_config

    try:
        given = get_config_value_from_yaml(str(path))
    except OSError as error:
        raise DeploymentError(f"Cannot read {path}: {error.strerror}. Start in its folder, or give -y.") from None
    except (yaml.YAMLError, AssertionError):
        raise DeploymentError(f"{path} is no YAML of settings: write it anew with `zs-assets deploy celery`.") from None
    if not given:  # dagster-celery would wait at amqp://localhost, without a word
        raise DeploymentError(f"{path} holds no settings: they stand under `execution: {{config: ...}}`.")
    unset = sorted({name for name in named_variables(given) if name not in os.environ})
    if unset:
        raise DeploymentError(f"{path} reads {', '.join(unset)} from the environment: `set -a; . ./.env; set +a`.")
    try:
        settings = get_validated_config(str(path))
    except DagsterInvalidConfigError as error:
        raise DeploymentError(f"{path}: {error.errors[0].message}") from None
    addresses = {"broker_url": settings.get("broker"), "result_backend": settings.get("backend")}
    return {name: str(url) for name, url in addresses.items() if url} | dict(settings.get("config_source") or {})


def start(
    queues: Annotated[list[str], typer.Option("--queue", "-q", help="hosted, cpu or gpu; may be given again.")],
    name: Annotated[str | None, typer.Option("--name", "-n", help="Its own on a machine; default: its queues.")] = None,
    settings: Annotated[Path, typer.Option("--config-yaml", "-y", help="Its settings.")] = Path("worker.yaml"),
    concurrency: Annotated[int, typer.Option("--concurrency", "-c", min=1, help="Runs at a time.")] = 1,
) -> None:
    """Take runs from queues until SIGTERM or Control C; then finish the runs at hand and end.

    A second Control C ends the runs too. What a run received is in its journal either way.
    """
    from dagster_celery.app import app

    app.conf.update(worker_settings(settings))
    listened = ",".join(queues)
    options = ["-n", f"{name or listened.replace(',', '-')}@%h", "-Q", listened, "--concurrency", str(concurrency)]
    app.worker_main(["worker", "--prefetch-multiplier=1", "--loglevel", "INFO", *options])


def main() -> None:
    """Entry point: errors of ours are one sentence and exit code 1."""
    try:
        typer.run(start)
    except ZsAssetsError as error:
        print(f"error {error}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
