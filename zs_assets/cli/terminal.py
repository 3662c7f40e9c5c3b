"""What the command line shows while it works: one bar per running partition, one line per finished one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from zs_assets.assets.resources import ProgressSink

if TYPE_CHECKING:
    from zs_assets.collection import Progress as CollectionProgress
    from zs_assets.components.partition_loop import StepResult

_COLOURS = {"made": "green", "kept": "cyan", "failed": "red", "withheld": "yellow"}


def step_line(step: StepResult) -> str:
    colour = _COLOURS[step.state.value]
    reason = f": {escape(step.reason)}" if step.reason else ""
    return f"[{colour}]{step.state.value:<8}[/] {step.step:<18} {step.partition}{reason}"


class Stopped(Protocol):
    """A dataset x backend that was not asked to the end, and the sentence why."""

    @property
    def dataset(self) -> str: ...
    @property
    def backend(self) -> str: ...
    @property
    def reason(self) -> str: ...


def say_troubles(console: Console, unavailable: Mapping[str, str], stops: Sequence[Stopped]) -> None:
    """Backends that could not start, and those that stopped."""
    for sentence in unavailable.values():
        console.print(f"[yellow]not run[/]  {escape(sentence)}")
    for stop in stops:
        console.print(f"[red]stopped[/]  {stop.dataset} x {stop.backend}: {escape(stop.reason)}", soft_wrap=True)


class _BarSink(ProgressSink):
    """Hands the progress of a partition on to its bar. Dagster may copy resources, so it only holds the bars."""

    def __init__(self, bars: ProgressBars):
        self._bars = bars

    def show(self, dataset: str, backend: str, progress: CollectionProgress) -> None:
        self._bars.update(f"{dataset} x {backend}", progress)


class ProgressBars:
    """Context manager around rich's display; quiet shows nothing."""

    def __init__(self, console: Console, *, quiet: bool = False):
        self._console = console
        self._quiet = quiet
        self._display = Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[detail]}"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=quiet,
        )
        self._tasks: dict[str, TaskID] = {}
        self.sink: ProgressSink = _BarSink(self)

    def __enter__(self) -> ProgressBars:
        self._display.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._display.stop()

    def update(self, partition: str, progress: CollectionProgress) -> None:
        if partition not in self._tasks:
            self._tasks[partition] = self._display.add_task(partition, total=progress.total, detail="")
        cost = "" if not progress.cost_usd else f" {progress.cost_usd:.4f} USD"
        detail = f"{progress.rate_per_s:.0f}/s {progress.failures} failed{cost}"
        self._display.update(self._tasks[partition], completed=progress.done, detail=detail)
        if progress.done >= progress.total:
            self.finish(partition)

    def finish(self, partition: str) -> None:
        """Takes the partition's bar away, if it has one: a run that failed never says that it is through."""
        if partition in self._tasks:
            self._display.remove_task(self._tasks.pop(partition))

    def say(self, line: str) -> None:
        if not self._quiet:
            self._console.print(line, soft_wrap=True, highlight=False)
