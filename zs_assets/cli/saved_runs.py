"""Commands that take a saved run into a study, and write one for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zs_assets.cli.app import AsJson, StudyName, app, err, out, print_json
from zs_assets.protocol.errors import ZsAssetsError

OneDataset = Annotated[str, typer.Option("--dataset", help="The dataset the run answers.")]
OneBackend = Annotated[str, typer.Option("--backend", help="The backend whose answers it holds.")]


@app.command("import")
def import_(
    study: StudyName,
    file: Annotated[Path, typer.Argument(help="The saved run.", exists=True, dir_okay=False, readable=True)],
    dataset: OneDataset,
    backend: OneBackend,
    kind: Annotated[
        str, typer.Option("--format", help="janus (JSONL of the automation study), jev_benchmarks, semif or native.")
    ] = "janus",
    model: Annotated[
        str | None, typer.Option(help="The model that answered, where the backend's entry names an alias.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Take a saved run as the answers of one backend on one dataset: no call, no key, the same gates."""
    from zs_assets.cli.terminal import step_line
    from zs_assets.components.catalogue import find_study
    from zs_assets.components.instance import dagster_instance
    from zs_assets.components.partition_loop import PartitionLoop
    from zs_assets.components.run_import import import_run

    graph = find_study(study)
    with dagster_instance() as instance:
        loop = PartitionLoop(graph, instance, report=lambda step: None if as_json else err.print(step_line(step)))
        loop.known([backend], [dataset])
        loop.observe()
        loop.prepare([dataset])
        for step in loop.result.failed:
            raise ZsAssetsError(step.reason)
        imported = import_run(loop.workspace, graph, dataset, backend, file, kind, model=model)
        result = loop.run([backend], [dataset], force=True)
    if as_json:
        steps = [{**vars(step), "state": step.state.value} for step in result.steps]
        print_json({"rows": imported.rows, "sha256": imported.sha256, "steps": steps})
    else:
        said = f"{imported.rows} rows of {file.name} (sha256 {imported.sha256}) answer {dataset} as {backend}."
        out.print(said, soft_wrap=True, highlight=False)
    if result.failed:
        raise typer.Exit(1)


@app.command()
def export(
    study: StudyName,
    dataset: OneDataset,
    backend: OneBackend,
    to: Annotated[Path, typer.Option(help="Folder to write into.", file_okay=False)] = Path("."),
) -> None:
    """Write a checked partition as the automation study's files: the run, its sample and its labels. Texts included."""
    from zs_assets.assets.resources import Workspace
    from zs_assets.components.catalogue import find_study
    from zs_assets.components.run_export import export_run

    for path in export_run(Workspace.from_environment(), find_study(study), dataset, backend, to):
        out.print(str(path), soft_wrap=True)
