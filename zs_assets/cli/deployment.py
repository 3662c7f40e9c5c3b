"""The command that leads past one machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zs_assets.cli.app import app, out
from zs_assets.deployment.engine import Deployment, Engine


@app.command()
def deploy(
    engine: Annotated[
        Engine,
        typer.Argument(help="celery: a few machines; kubernetes: a pod a run; docker: one machine, a container a run."),
    ],
    folder: Annotated[Path, typer.Argument(help="Where to write; made if missing.")],
    image: Annotated[
        str,
        typer.Option(
            help="Image of every service and run, with its registry and tag; Kubernetes needs a tag of its own."
        ),
    ] = Deployment.image,
    lake: Annotated[
        str,
        typer.Option(help="Where tables and journals go: s3://, gs:// or abfs://, or with docker a /zs/home folder."),
    ] = Deployment.lake,
    namespace: Annotated[str, typer.Option(help="Kubernetes namespace.")] = Deployment.namespace,
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there and differ.")] = False,
) -> None:
    """Write a folder that runs the same studies past one machine: instance, workers, image, environment, README.

    Nothing is started. The image installs what it needs: the extra named like the engine, and the lake's store.
    """
    from zs_assets.deployment.folder import write_deployment

    deployment = Deployment(engine, image=image, namespace=namespace, lake=lake)
    for file in write_deployment(folder, deployment, force=force):
        out.print(f"{file.state:<8} {file.path}", soft_wrap=True, markup=False, highlight=False)
    out.print(f"\nRead {folder / 'README.md'} next; secrets belong in a .env of your own beside it.", soft_wrap=True)
