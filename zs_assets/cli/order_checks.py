"""Commands of the choice-order study beside its run: follow affected requests up, check one system's stability."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from zs_assets.cli.app import AsJson, Backends, Datasets, StudyName, app, err, out, print_json

if TYPE_CHECKING:
    from zs_assets.components.follow_up_run import FollowUpRow
    from zs_assets.components.stability_check import StabilityPart, StabilityRow

LOWER_BOUND = (
    "Fewer orders find smaller ranges, so these figures are a lower bound of the study's; they are no result and "
    "nothing of them is published. The replies count for the whole run."
)


def _positive_usd(value: float | None) -> float | None:
    if value is not None and not 0 < value < math.inf:
        raise typer.BadParameter(f"{value:g} is no budget: give a positive number of USD.")
    return value


@app.command("follow-up")
def follow_up(
    study: StudyName,
    backend: Backends = None,
    dataset: Datasets = None,
    max_usd: Annotated[
        float | None,
        typer.Option(callback=_positive_usd, help="Stop before the study would have cost more, earlier runs included."),
    ] = None,
    rehearse: Annotated[
        bool, typer.Option("--rehearse", help="Follow a rehearsal up, against local stand-ins: no key, no cost.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Ask again, up to three times, what came without scores or against its own label; no prediction changes."""
    from zs_assets.cli.terminal import ProgressBars
    from zs_assets.components.catalogue import find_study
    from zs_assets.components.follow_up_run import FollowUpRow, FollowUpStop, run_follow_up
    from zs_assets.components.instance import dagster_instance
    from zs_assets.components.partition_loop import PartitionLoop
    from zs_assets.components.rehearsal import rehearsing

    graph = find_study(study)
    with ExitStack() as stack:
        if rehearse:
            graph = stack.enter_context(rehearsing(graph))
        bars = stack.enter_context(ProgressBars(err, quiet=as_json))
        instance = stack.enter_context(dagster_instance())
        backends, datasets = PartitionLoop(graph, instance).known(backend or (), dataset or ())
        cells = [(name, asked) for asked in backends for name in datasets]
        found = list(run_follow_up(graph, instance, cells, max_usd=max_usd, progress=bars.sink))
    rows = [row for row in found if isinstance(row, FollowUpRow)]
    stops = [stop for stop in found if isinstance(stop, FollowUpStop)]
    for stop in stops:
        said = "not followed up" if stop.missing or stop.unavailable else "stopped"
        err.print(f"[yellow]{said}[/]  {stop.dataset} x {stop.backend}: {escape(stop.reason)}", soft_wrap=True)
    if as_json:
        print_json({"follow_up": [vars(row) for row in rows], "stopped": [vars(stop) for stop in stops]})
    else:
        for row in rows:
            out.print(follow_up_line(row), soft_wrap=True, highlight=False, markup=False)
    if not rows or any(not stop.missing and not stop.unavailable for stop in stops):
        raise typer.Exit(3 if stops and all(stop.unavailable for stop in stops) else 1)
    if backend and any(stop.unavailable for stop in stops):
        raise typer.Exit(3)


def follow_up_line(row: FollowUpRow) -> str:
    where = f"{row.dataset} x {row.backend}"
    complete = f"complete samples before / after {row.complete_before:,} / {row.complete_after:,} of {row.samples:,}"
    if not row.affected:
        return f"{where}: none affected; {complete}."
    cost = "unknown" if row.cost_usd is None else f"{row.cost_usd:.4f} USD"
    kept = " (made earlier)" if row.kept else ""
    return (
        f"{where}: {row.affected:,} affected, {row.asked_again:,} asked again, {row.recovered:,} recovered, "
        f"{row.further_replies:,} further replies{kept}; {complete}; cost {cost}."
    )


def stability(
    study: str,
    backends: Sequence[str],
    datasets: Sequence[str],
    part: StabilityPart,
    *,
    max_usd: float | None = None,
    rehearse: bool = False,
    keep_limits: bool = False,
    as_json: bool = False,
) -> None:
    """What `run` does with --orders, --repeats or --limit: a part of the plan, figures at once, nothing published."""
    from zs_assets.cli.terminal import ProgressBars, step_line
    from zs_assets.components.catalogue import find_study
    from zs_assets.components.instance import dagster_instance
    from zs_assets.components.partition_loop import PartitionLoop
    from zs_assets.components.rehearsal import rehearsing
    from zs_assets.components.stability_check import StabilityRow, StabilityStop, stability_run

    graph = find_study(study)
    with ExitStack() as stack:
        if rehearse:
            graph = stack.enter_context(rehearsing(graph, keep_limits=keep_limits))
        bars = stack.enter_context(ProgressBars(err, quiet=as_json))
        instance = stack.enter_context(dagster_instance())
        loop = PartitionLoop(graph, instance, report=lambda step: bars.say(step_line(step)))
        asked_backends, asked_datasets = loop.known(backends, datasets)
        prepared = loop.prepare(asked_datasets)
        cells = [(d, b) for b in asked_backends for d in loop.ready(b, prepared, asked_datasets)]
        asked = stability_run(loop.workspace, graph, cells, part, max_usd=max_usd, progress=bars.sink.show)
        found = list(asked)
    rows = [row for row in found if isinstance(row, StabilityRow)]
    stops = [stop for stop in found if isinstance(stop, StabilityStop)]
    for sentence in loop.result.unavailable.values():
        err.print(f"[yellow]not run[/]  {escape(sentence)}")
    for stop in stops:
        err.print(f"[red]stopped[/]  {stop.dataset} x {stop.backend}: {escape(stop.reason)}", soft_wrap=True)
    if as_json:
        stopped = [vars(stop) for stop in stops]
        print_json({"stability": [vars(row) for row in rows], "stopped": stopped, "not_run": loop.result.unavailable})
    else:
        for row in rows:
            out.print(stability_lines(row), soft_wrap=True, highlight=False, markup=False)
        if rows:
            out.print(LOWER_BOUND, soft_wrap=True, highlight=False)
    if loop.result.failed or stops:
        raise typer.Exit(1)
    if loop.result.unavailable and (backends or not rows):
        raise typer.Exit(3)


def stability_lines(row: StabilityRow) -> str:
    """One cell's figures, a sentence a line."""
    n = row.complete
    lines = [
        f"{row.dataset} x {row.backend}: {n:,} of {row.samples:,} samples complete; {row.orders} of "
        f"{row.planned_orders} orders, {row.repeats} of {row.planned_repeats} repeats; {row.asked:,} replies.",
        f"Range: median {row.median_range:.1f} points, 95th percentile {row.p95_range:.1f}, "
        f"maximum {row.max_range:.1f}.",
        f"{row.threshold_points} points or more: {row.large} of {n} samples, {row.large / n:.1%} "
        f"(Clopper-Pearson 95 % {row.large_low:.1%} to {row.large_high:.1%}).",
        f"Untied winner changes: {row.winner_changes} of {n} samples; samples with a tie: {row.tied}.",
    ]
    if row.same_order is None or row.excess is None:
        lines.append(
            f"Mean difference between orders {row.different_order:.2f} points; each order was asked once, so how far "
            "identical requests differ is not known."
        )
    else:
        lines.append(
            f"Mean difference between identical requests {row.same_order:.2f} points, between orders "
            f"{row.different_order:.2f}, excess {row.excess:.2f}."
        )
    if row.noise_median_range is not None:
        lines.append(f"Repeat noise alone would show a median range of {row.noise_median_range:.1f} points.")
    cost, whole = ("unknown" if usd is None else f"{usd:.4f} USD" for usd in (row.cost_usd, row.whole_study_usd))
    lines.append(f"Cost {cost}, of the whole plan about {whole}.")
    return "\n  ".join(lines)
