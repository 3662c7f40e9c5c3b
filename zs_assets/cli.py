"""`zs-assets`: a thin front over Dagster. Every command says what it did in plain words and exits 0 only if it did it.

Exit codes: 0 done, 1 something failed or is refused, 2 wrong usage, 3 a backend that was asked for cannot run here,
130 stopped by the user.
"""

from __future__ import annotations

import json
import sys
import warnings
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from upath import UPath

from zs_assets.protocol.errors import ZsAssetsError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Measures zero-shot decision models on pinned data and publishes only what passed its gates.",
    epilog="Outputs go to ZS_HOME (default ./data), tables to ZS_LAKE (default ZS_HOME/lake). "
    "Own studies: name their folder in ZS_STUDIES. The UI: dagster dev -m zs_assets.definitions",
)
out = Console()
err = Console(stderr=True)

StudyName = Annotated[str, typer.Argument(help="Name of a study, for example demo or btzsc_pilot.")]
Backends = Annotated[list[str] | None, typer.Option("--backend", help="Only this backend; may be given again.")]
Datasets = Annotated[list[str] | None, typer.Option("--dataset", help="Only this dataset; may be given again.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]


@app.command()
def run(
    study: StudyName,
    backend: Backends = None,
    dataset: Datasets = None,
    force: Annotated[bool, typer.Option(help="Make partitions again; replies in the journal are reused.")] = False,
    retry_errors: Annotated[bool, typer.Option(help="Ask again what ended in error.")] = False,
    max_usd: Annotated[float | None, typer.Option(help="Stop before this run would cost more.")] = None,
    publish: Annotated[bool, typer.Option(help="Publish the bundle if every gate passes.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run a study: sources, manifest, predictions, gates, statistics, report. Runs again go on where they stopped."""
    from zs_assets.components.catalogue import find_study
    from zs_assets.components.instance import dagster_instance
    from zs_assets.components.partition_loop import PartitionLoop, State
    from zs_assets.terminal import ProgressBars, step_line

    graph = find_study(study)
    with ProgressBars(err, quiet=as_json) as bars, dagster_instance() as instance:
        loop = PartitionLoop(graph, instance, progress=bars.sink, report=lambda step: bars.say(step_line(step)))
        result = loop.run(backend or (), dataset or (), force=force, retry_errors=retry_errors, max_usd=max_usd)
        published = loop.publish() if publish else None
    page = loop.lake.folder(graph.name, _report_name()) / "index.html"
    for sentence in result.unavailable.values():
        err.print(f"[yellow]not run[/]  {sentence}")
    if as_json:
        _print_json(
            {
                "steps": [{**vars(step), "state": step.state.value} for step in result.steps],
                "not_run": result.unavailable,
                "report": str(page) if page.exists() else None,
            }
        )
    elif page.exists():
        _print_verdicts(page.parent / "report.json")
        out.print(f"\nReport: {page}", soft_wrap=True)
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
        _print_json(rows)
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

    rows = study_estimate(find_study(study), backend or (), dataset or ())
    if as_json:
        _print_json(rows)
        return
    table = Table("dataset", "backend", "calls", "input tokens", "cost in USD", "at least")
    for row in rows:
        cost = "unknown" if row["cost_usd"] is None else f"{row['cost_usd']:.4f}"
        seconds = "local" if row["seconds"] is None else f"{row['seconds']:.0f} s"
        tokens = "" if row["input_tokens"] is None else f"{row['input_tokens']:,}"
        table.add_row(row["dataset"], row["backend"], f"{row['calls']:,}", tokens, cost, seconds)
    out.print(table)


@app.command()
def report(study: StudyName, as_json: AsJson = False) -> None:
    """Build the tables, warehouse and page again from what is there."""
    from zs_assets.components.catalogue import find_study
    from zs_assets.components.instance import dagster_instance
    from zs_assets.components.partition_loop import PartitionLoop

    graph = find_study(study)
    with dagster_instance() as instance:
        loop = PartitionLoop(graph, instance)
        loop.summarise()
    for step in loop.result.failed:
        raise ZsAssetsError(step.reason)
    folder = loop.lake.folder(graph.name, _report_name())
    if as_json:
        out.print_json((folder / "report.json").read_text())
        return
    _print_verdicts(folder / "report.json")
    out.print(f"\nReport: {folder / 'index.html'}", soft_wrap=True)


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
    out.print(f"Published: {loop.lake.folder(graph.name, AssetName.PUBLICATION) / 'index.html'}", soft_wrap=True)


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


@app.command()
def doctor(
    system: Annotated[str | None, typer.Argument(help="A backend to ask one tiny decision.")] = None,
    as_json: AsJson = False,
) -> None:
    """Check folders, the Dagster instance and what each backend needs; with a SYSTEM, ask it one tiny decision."""
    from zs_assets.components.doctor import check_installation, check_system

    findings = check_system(system) if system else check_installation()
    if as_json:
        _print_json([vars(finding) for finding in findings])
    else:
        for finding in findings:
            mark = (
                "[green]ok[/]     " if finding.ok else "[red]problem[/]" if finding.required else "[yellow]absent[/] "
            )
            out.print(f"{mark} {finding.subject}: {finding.sentence}", soft_wrap=True)
    if any(finding.required and not finding.ok for finding in findings):
        raise typer.Exit(1)


def _report_name() -> Any:
    from zs_assets.protocol.names import AssetName

    return AssetName.REPORT


def _print_verdicts(path: UPath) -> None:
    for entry in json.loads(path.read_text())["verdicts"]:
        out.print(f"- {entry['sentence']}", markup=False, highlight=False, soft_wrap=True)


def _print_json(value: Any) -> None:
    out.print_json(json.dumps(value))


def main() -> None:
    """Entry point: errors of ours are one sentence and exit code 1, an interrupt is 130."""
    warnings.filterwarnings("ignore", module="dagster")
    try:
        app()
    except ZsAssetsError as error:
        err.print(f"[red]error[/] {error}", highlight=False, soft_wrap=True)
        sys.exit(1)
    except KeyboardInterrupt:
        err.print("stopped; what was received is in the journal, the same command goes on from there")
        sys.exit(130)


if __name__ == "__main__":
    main()
