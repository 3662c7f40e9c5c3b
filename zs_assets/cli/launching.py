"""`run --launch` at the terminal: what must be there before anything is submitted, and what is said on the way."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import monotonic, sleep
from typing import TYPE_CHECKING

import typer
from rich.markup import escape

from zs_assets.cli.app import err
from zs_assets.protocol.errors import StudyError

if TYPE_CHECKING:
    from dagster import DagsterInstance

    from zs_assets.assets.graph import StudyGraph
    from zs_assets.cli.terminal import ProgressBars
    from zs_assets.components.launch import LaunchedRuns
    from zs_assets.components.partition_tasks import PartitionTask

INTERRUPTED = 130
"""Exit code of a command that Ctrl-C ended, as shells have it."""
DAEMON_WITHIN_S = 60.0
"""A daemon that has just been started is heard of after half a minute."""


def check_engine_to_launch(study: str, backends: Sequence[str]) -> None:
    """StudyError, before anything is opened or submitted, with all that would make the study's runs wait or fail."""
    from zs_assets.components.doctor import dagster_home
    from zs_assets.components.engine_check import launch_problems
    from zs_assets.storage.places import Places

    home = dagster_home()
    if not (home / "dagster.yaml").exists():
        raise StudyError(
            f"{home} holds no dagster.yaml, so there is no engine to submit to: set DAGSTER_HOME to the folder that "
            "`zs-assets deploy` wrote, or run without --launch."
        )
    problems = launch_problems(home, Places.from_environment().lake, study, backends)
    if problems:
        raise StudyError(f"Nothing was submitted. {' '.join(problems)}")


@contextmanager
def launching(graph: StudyGraph, instance: DagsterInstance, bars: ProgressBars) -> Iterator[LaunchedRuns]:
    """The engine as a carrier of the study's runs. An interrupt ends the following only, and says so."""
    from zs_assets.components.launch import launched_runs

    _wait_for_a_daemon(instance)

    def on_the_way(task: PartitionTask, run_id: str) -> None:
        bars.say(f"[dim]{'launched':<8}[/] {task.step:<18} {escape(task.where)} [dim]run {run_id[:8]}[/]")

    try:
        with launched_runs(graph, instance, bars.sink, on_the_way) as carrier:
            yield carrier
    except KeyboardInterrupt:
        command = shlex.join(["zs-assets", *sys.argv[1:]])
        err.print(
            f"The runs go on as far as they were submitted. The same command follows them and submits the rest: "
            f"{command}",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )
        raise typer.Exit(INTERRUPTED) from None


def _wait_for_a_daemon(instance: DagsterInstance) -> None:
    from zs_assets.components.dagster_runs import queue_is_served

    until = monotonic() + DAEMON_WITHIN_S
    if queue_is_served(instance):
        return
    err.print(f"[yellow]no daemon[/]  waiting {DAEMON_WITHIN_S:.0f} s for one on {escape(instance.root_directory)}")
    while not queue_is_served(instance):
        if monotonic() > until:
            raise StudyError(
                f"Nothing was submitted. No daemon takes runs from the queue of {instance.root_directory}: start "
                "`dagster-daemon run` (or `dagster dev`) there, then run this again."
            )
        sleep(1.0)
