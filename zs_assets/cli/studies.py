"""Commands that run a study, show where it stands, and publish it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table
from upath import UPath

from zs_assets.cli.app import AsJson, Backends, Datasets, StudyName, app, err, out, print_json, say_page
from zs_assets.cli.bundle import bundle_sentences
from zs_assets.cli.launching import check_engine_to_launch, launching
from zs_assets.cli.order_checks import REHEARSAL, positive_usd, stability
from zs_assets.protocol.errors import ZsAssetsError


@app.command()
def run(
    study: StudyName,
    backend: Backends = None,
    dataset: Datasets = None,
    force: Annotated[bool, typer.Option(help="Make partitions again; replies in the journal are reused.")] = False,
    retry_errors: Annotated[bool, typer.Option(help="Ask again what ended in error.")] = False,
    max_usd: Annotated[
        float | None,
        typer.Option(callback=positive_usd, help="Stop before the study would have cost more, earlier runs included."),
    ] = None,
    publish: Annotated[bool, typer.Option(help="Publish the bundle if every gate passes.")] = False,
    sample: Annotated[
        int | None, typer.Option(min=1, help="A pilot: ask only this many examples of each sample (with --seed).")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the pilot's draw (with --sample).")] = None,
    rehearse: Annotated[
        bool, typer.Option("--rehearse", help="Against local stand-ins: no key, no cost, nothing to publish.")
    ] = False,
    keep_limits: Annotated[bool, typer.Option("--keep-limits", help="Keep provider limits in a rehearsal.")] = False,
    orders: Annotated[
        int | None, typer.Option(min=2, help="Stability of a system in minutes: ask only this many option orders.")
    ] = None,
    repeats: Annotated[int | None, typer.Option(min=1, help="Likewise: only this many repeats of each order.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Likewise: only the first so many examples.")] = None,
    launch: Annotated[
        bool, typer.Option("--launch", help="Submit runs to the engine of DAGSTER_HOME and follow them.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run a study: sources, manifest, predictions, gates, statistics, report. Runs again go on where they stopped."""
    from zs_assets.cli.pilot import pilot
    from zs_assets.cli.terminal import ProgressBars, step_line
    from zs_assets.components.catalogue import find_study
    from zs_assets.components.instance import dagster_instance
    from zs_assets.components.partition_loop import PartitionLoop, State, StepResult
    from zs_assets.components.rehearsal import rehearsing
    from zs_assets.components.stability_part import StabilityPart
    from zs_assets.components.study_estimate import cells_estimate
    from zs_assets.components.study_total import planned_total_sentence

    if launch and (rehearse or any(part is not None for part in (sample, orders, repeats, limit))):
        raise typer.BadParameter("--launch runs the whole study on an engine; pilots, rehearsals and parts run here.")
    if rehearse and sample is not None:
        raise typer.BadParameter("A rehearsal costs nothing, so it needs no pilot: drop --sample and --seed.")
    if (sample is None) != (seed is None):
        raise typer.BadParameter("A pilot needs both --sample and --seed: without a seed nobody can draw it again.")
    if any(part is not None for part in (orders, repeats, limit)):
        if sample is not None:
            raise typer.BadParameter("--sample draws a pilot, --orders, --repeats and --limit check stability: choose.")
        if publish:
            raise typer.BadParameter("Nothing of a stability check is published: drop --publish.")
        stability(
            study,
            backend or (),
            dataset or (),
            StabilityPart(orders, repeats, limit),
            max_usd=max_usd,
            rehearse=rehearse,
            keep_limits=keep_limits,
            as_json=as_json,
        )
        return
    if sample is not None and seed is not None:
        pilot(study, backend or (), dataset or (), sample, seed, max_usd, as_json)
        return
    graph = find_study(study)
    if launch:
        check_engine_to_launch(study, backend or ())
    with ExitStack() as stack:
        if rehearse:
            graph = stack.enter_context(rehearsing(graph, keep_limits=keep_limits))
        bars = stack.enter_context(ProgressBars(err, quiet=as_json))
        instance = stack.enter_context(dagster_instance())

        def say_total(cells: Sequence[tuple[str, str]]) -> None:
            if cells:
                bars.say(f"[dim]planned[/]  {planned_total_sentence(cells_estimate(loop.lake, graph, cells))}")

        def say_step(step: StepResult) -> None:
            bars.finish(step.partition)
            bars.say(step_line(step))

        carrier = stack.enter_context(launching(graph, instance, bars)) if launch else None
        loop = PartitionLoop(
            graph, instance, progress=bars.sink, report=say_step, about_to_ask=say_total, carrier=carrier
        )
        result = loop.run(backend or (), dataset or (), force=force, retry_errors=retry_errors, max_usd=max_usd)
        published = loop.publish() if publish else None
    page = loop.lake.folder(graph.name, _report_name()) / "index.html"
    manifests = [step for step in result.steps if step.step == "manifest"]
    # A report of earlier runs says nothing about a run that could not begin.
    told = page.exists() and not (manifests and all(step.state is State.FAILED for step in manifests))
    for sentence in result.unavailable.values():
        err.print(f"[yellow]not run[/]  {escape(sentence)}")
    if as_json:
        print_json(
            {
                "steps": [{**vars(step), "state": step.state.value} for step in result.steps],
                "not_run": result.unavailable,
                "report": str(page) if told else None,
                **(_verdicts(page.parent) if told else {}),
            }
        )
    elif told:
        _print_verdicts(page.parent / "report.json")
        say_page("\nReport", loop.workspace.places, page)
    if result.failed or (published is not None and published.state is State.FAILED):
        raise typer.Exit(1)
    if result.unavailable and backend:
        raise typer.Exit(3)


@app.command()
def status(study: StudyName, as_json: AsJson = False) -> None:
    """Show what is there for every dataset and backend, and which gate stands in the way."""
    from zs_assets.assets.resources import Workspace
    from zs_assets.components.catalogue import find_study
    from zs_assets.components.partition_status import partition_status

    graph = find_study(study)
    rows = partition_status(Workspace.from_environment(), graph)
    if as_json:
        print_json(rows)
        return
    table = Table("dataset", "backend", "state", "replies journalled", "why")
    for row in rows:
        table.add_row(row["dataset"], row["backend"], row["state"], str(row["journalled"]), row["why"])
    out.print(table)


@app.command()
def estimate(study: StudyName, backend: Backends = None, dataset: Datasets = None, as_json: AsJson = False) -> None:
    """Count calls, tokens, cost and time before anything is spent."""
    from zs_assets.components.catalogue import find_study
    from zs_assets.components.study_estimate import study_estimate
    from zs_assets.components.study_total import known_cost_words, planned_total, planned_total_sentence

    rows = study_estimate(find_study(study), backend or (), dataset or ())
    total = planned_total(rows)
    if as_json:
        print_json({"rows": rows, "total": total.as_row(), "sentence": planned_total_sentence(rows)})
        return
    table = Table("dataset", "backend", "calls", "input tokens", "cost in USD", "takes at least")
    for row in rows:
        cost = "unknown" if row["cost_usd"] is None else f"{row['cost_usd']:.4f}"
        seconds = "local" if row["seconds"] is None else f"{row['seconds']:.0f} s"
        tokens = "" if row["input_tokens"] is None else f"{row['input_tokens']:,}"
        table.add_row(row["dataset"], row["backend"], f"{row['calls']:,}", tokens, cost, seconds)
    cells = (f"{total.calls:,}", f"{total.input_tokens:,}", known_cost_words(total), f"{total.seconds:.0f} s")
    table.add_section()
    table.add_row("total", str(len(total.systems)), *cells)
    out.print(table)
    out.print(planned_total_sentence(rows) + ".", soft_wrap=True)
    out.print("Costs are careful: the dearest price that may hold, and no input found in a provider's cache.")


@app.command()
def report(
    study: StudyName,
    rehearse: Annotated[bool, typer.Option("--rehearse", help="Of the rehearsal of the study.")] = False,
    as_json: AsJson = False,
) -> None:
    """Build the tables, warehouse and page again from what is there."""
    from zs_assets.components.catalogue import find_study
    from zs_assets.components.instance import dagster_instance
    from zs_assets.components.partition_loop import PartitionLoop
    from zs_assets.components.rehearsal import rehearsing

    graph = find_study(study)
    with ExitStack() as stack:
        if rehearse:
            graph = stack.enter_context(rehearsing(graph))
        loop = PartitionLoop(graph, stack.enter_context(dagster_instance()))
        loop.summarise()
    for step in loop.result.failed:
        raise ZsAssetsError(step.reason)
    folder = loop.lake.folder(graph.name, _report_name())
    if as_json:
        out.print_json((folder / "report.json").read_text())
        return
    _print_verdicts(folder / "report.json")
    say_page("\nReport", loop.workspace.places, folder / "index.html")


@app.command()
def publish(study: StudyName) -> None:
    """Write the bundle to publish, if every gate of every included partition passes. Check vendors' terms first."""
    from zs_assets.components.catalogue import find_study
    from zs_assets.components.instance import dagster_instance
    from zs_assets.components.partition_loop import PartitionLoop, State
    from zs_assets.protocol.names import AssetName

    graph = find_study(study)
    with dagster_instance() as instance:
        loop = PartitionLoop(graph, instance)
        step = loop.publish()
    if step.state is State.FAILED:
        raise ZsAssetsError(step.reason)
    published = json.loads((loop.lake.folder(graph.name, AssetName.PUBLICATION) / "hashes.json").read_text())
    for sentence in bundle_sentences(published, graph.systems):
        out.print(sentence, soft_wrap=True, highlight=False, markup=False)
    say_page("Published", loop.workspace.places, loop.lake.folder(graph.name, AssetName.PUBLICATION) / "index.html")


@app.command()
def reset(
    study: StudyName,
    archive: Annotated[
        bool, typer.Option("--archive", help="Move outputs and journals aside (nothing is deleted).")
    ] = False,
) -> None:
    """Start a study over: the only way past a frozen manifest."""
    from zs_assets.assets.resources import Workspace
    from zs_assets.components.catalogue import find_study
    from zs_assets.components.instance import dagster_instance
    from zs_assets.components.study_reset import archive_study

    graph = find_study(study)
    if not archive:
        raise ZsAssetsError(
            f"Nothing was done: `zs-assets reset {study} --archive` moves the study's tables and journals aside, "
            "paid replies included; run it with --archive if you mean it."
        )
    with dagster_instance() as instance:
        moved = archive_study(Workspace.from_environment(), graph, instance)
    for old, new in moved:
        out.print(f"{old} -> {new}", soft_wrap=True)
    if not moved:
        out.print(f"Study {study} has no outputs yet.")


def _report_name() -> Any:
    from zs_assets.protocol.names import AssetName

    return AssetName.REPORT


def _verdicts(folder: UPath) -> dict[str, Any]:
    from zs_assets.assets.report_asset import verdict_sentences

    report = json.loads((folder / "report.json").read_text())
    return {"verdicts": verdict_sentences(report), "publication": report["publication"]}


def _print_verdicts(path: UPath) -> None:
    from zs_assets.assets.report_asset import verdict_sentences

    report = json.loads(path.read_text())
    if report["rehearsal"]:
        out.print(REHEARSAL, highlight=False, soft_wrap=True)
    for sentence in [*verdict_sentences(report), report["publication"]["sentence"]]:
        out.print(f"- {sentence}", markup=False, highlight=False, soft_wrap=True)
