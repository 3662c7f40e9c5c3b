"""Commands of the choice-order study beside its run: follow affected requests up, check one system's stability."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from zs_assets.cli.app import AsJson, Backends, Datasets, StudyName, app, err, out, print_json, say_page

if TYPE_CHECKING:
    from zs_assets.components.follow_up_run import FollowUpRow, FollowUpStop
    from zs_assets.components.stability_check import StabilityRow
    from zs_assets.components.stability_part import StabilityPart

READING = (
    "With more orders the range of a text can only grow. A share of few texts is uncertain both ways, and fewer "
    "repeats leave more noise in every range. These figures are no result, and nothing of them is published. The "
    "replies count for the whole run."
)
REHEARSAL = "REHEARSAL: stand-ins answered for every hosted system, so these figures say nothing about a real one."


def positive_usd(value: float | None) -> float | None:
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
        typer.Option(callback=positive_usd, help="Stop before the study would have cost more, earlier runs included."),
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
    from zs_assets.protocol.names import AssetName

    graph = find_study(study)
    with ExitStack() as stack:
        if rehearse:
            graph = stack.enter_context(rehearsing(graph))
        bars = stack.enter_context(ProgressBars(err, quiet=as_json))
        instance = stack.enter_context(dagster_instance())
        loop = PartitionLoop(graph, instance)
        backends, datasets = loop.known(backend or (), dataset or ())
        cells = [(name, asked) for asked in backends for name in datasets]
        asked_again = run_follow_up(
            graph,
            instance,
            cells,
            max_usd=max_usd,
            progress=bars.sink,
            about_to_read=lambda dataset, backend: bars.say(f"[dim]reading[/]  {dataset} x {backend}"),
        )
        found = list(asked_again)
        if any(isinstance(row, FollowUpRow) and not row.kept for row in found):
            bars.say("[dim]writing[/]  the report with it")
            loop.summarise()
    rows = [row for row in found if isinstance(row, FollowUpRow)]
    stops = [stop for stop in found if isinstance(stop, FollowUpStop)]
    for step in loop.result.failed:
        err.print(f"[red]no report[/]  {escape(step.reason)}: run `zs-assets report {study}`.", soft_wrap=True)
    for stop in (stop for stop in stops if not stop.never_run):
        said = "not followed up" if stop.missing or stop.unavailable else "stopped"
        err.print(f"[yellow]{said}[/]  {stop.dataset} x {stop.backend}: {escape(stop.reason)}", soft_wrap=True)
    if as_json:
        stopped = [vars(stop) for stop in stops]
        print_json({"rehearsal": rehearse, "follow_up": [vars(row) for row in rows], "stopped": stopped})
    else:
        _say([follow_up_line(row, rehearsal=rehearse) for row in rows], rehearse)
        if rows:
            page = loop.lake.folder(graph.name, AssetName.REPORT) / "index.html"
            say_page("Report", loop.workspace.places, page)
    for sentence in never_run_sentences(stops):
        err.print(sentence, soft_wrap=True, highlight=False)
    if not rows or any(not stop.missing and not stop.unavailable for stop in stops):
        raise typer.Exit(3 if stops and all(stop.unavailable for stop in stops) else 1)
    if backend and any(stop.unavailable for stop in stops):
        raise typer.Exit(3)


def follow_up_line(row: FollowUpRow, *, rehearsal: bool = False) -> str:
    where = f"{row.dataset} x {row.backend}"
    complete = f"complete samples before / after {row.complete_before:,} / {row.complete_after:,} of {row.samples:,}"
    if not row.affected:
        return f"{where}: none affected; {complete}."
    kept = " (made earlier)" if row.kept else ""
    return (
        f"{where}: {row.affected:,} affected, {row.asked_again:,} asked again, {row.recovered:,} recovered, "
        f"{row.further_replies:,} further replies{kept}; {complete}; {_cost_words(row.cost_usd, rehearsal)}."
    )


def never_run_sentences(stops: Sequence[FollowUpStop]) -> Iterator[str]:
    """One line per dataset, however many of its systems were never run."""
    for dataset, number in Counter(stop.dataset for stop in stops if stop.never_run).items():
        have = "1 system has" if number == 1 else f"{number} systems have"
        yield f"{have} no predictions on {dataset}: not followed up."


def _say(lines: Sequence[str], rehearsal: bool) -> None:
    """Every line of a rehearsal says so itself: lines are copied alone."""
    if rehearsal and lines:
        out.print(REHEARSAL, soft_wrap=True, highlight=False)
    for line in "\n".join(lines).splitlines():
        out.print(f"REHEARSAL  {line}" if rehearsal else line, soft_wrap=True, highlight=False, markup=False)


def _cost_words(usd: float | None, rehearsal: bool) -> str:
    """Nothing is spent in a rehearsal."""
    if usd is None:
        return "what it would cost is unknown" if rehearsal else "cost unknown"
    return f"it would cost about {usd:.4f} USD" if rehearsal else f"cost {usd:.4f} USD"


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
    from zs_assets.cli.terminal import ProgressBars, say_troubles, step_line
    from zs_assets.components.catalogue import find_study
    from zs_assets.components.instance import dagster_instance
    from zs_assets.components.partition_loop import PartitionLoop
    from zs_assets.components.rehearsal import rehearsing
    from zs_assets.components.stability_check import StabilityRow, StabilityStop, stability_run
    from zs_assets.components.stability_part import StabilityPlan, planned_rows
    from zs_assets.components.study_total import planned_total_sentence

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

        def say_plan(plan: StabilityPlan) -> None:
            left_out.extend(plan.left_out)
            bars.say(f"[dim]planned[/]  {planned_total_sentence(planned_rows(graph, plan, cells))}")

        left_out: list[str] = []
        asked = stability_run(
            loop.workspace, graph, cells, part, max_usd=max_usd, progress=bars.sink.show, about_to_ask=say_plan
        )
        found = list(asked)
    rows = [row for row in found if isinstance(row, StabilityRow)]
    stops = [stop for stop in found if isinstance(stop, StabilityStop)]
    say_troubles(err, loop.result.unavailable, stops)
    if as_json:
        print_json(
            {
                "rehearsal": rehearse,
                "stability": [vars(row) for row in rows],
                "stopped": [vars(stop) for stop in stops],
                "not_run": loop.result.unavailable,
                "left_out": left_out,
            }
        )
    elif rows:
        _say([*(stability_lines(row, rehearsal=rehearse) for row in rows), READING], rehearse)
    for dataset in () if as_json else left_out:
        err.print(f"[yellow]left out[/]  {dataset}: it is shown in one order only, so nothing moves there.")
    if loop.result.failed or stops:
        raise typer.Exit(1)
    if loop.result.unavailable and (backends or not rows):
        raise typer.Exit(3)


def stability_lines(row: StabilityRow, *, rehearsal: bool = False) -> str:
    """One cell's figures, a sentence a line."""
    n = row.complete
    of_group = "" if row.group is None else f" of group {row.group}"
    lines = [
        f"{row.dataset} x {row.backend}: {n:,} of {row.samples:,} samples{of_group} complete; {row.orders} of "
        f"{row.planned_orders} orders, {row.repeats} of {row.planned_repeats} repeats; {row.asked:,} replies.",
        f"Range: median {row.median_range:.1f} points, 95th percentile {row.p95_range:.1f}, "
        f"maximum {row.max_range:.1f}.",
        f"{row.threshold_points} points or more: {row.large} of {n} samples; of distinct texts {row.large_texts} of "
        f"{row.texts}, {row.large_texts / row.texts:.1%} (Clopper-Pearson 95 % {row.large_low:.1%} to "
        f"{row.large_high:.1%}).",
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
    cost = _cost_words(row.cost_usd, rehearsal)
    whole = (
        "" if row.whole_study_usd is None else f", the whole plan of this dataset about {row.whole_study_usd:.4f} USD"
    )
    lines.append(f"{cost[0].upper()}{cost[1:]}{whole}.")
    return "\n  ".join(lines)
