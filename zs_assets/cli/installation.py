"""Commands about this installation and its systems."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.markup import escape

from zs_assets.cli.app import AsJson, app, out, print_json


@app.command()
def doctor(
    system: Annotated[str | None, typer.Argument(help="A backend to ask one tiny decision.")] = None,
    as_json: AsJson = False,
) -> None:
    """Check folders, the Dagster instance and what each backend needs; with a SYSTEM, ask it one tiny decision."""
    from zs_assets.components.doctor import check_installation, check_system

    findings = check_system(system) if system else check_installation()
    if as_json:
        print_json([vars(finding) for finding in findings])
    else:
        for finding in findings:
            mark = (
                "[green]ok[/]     " if finding.ok else "[red]problem[/]" if finding.required else "[yellow]absent[/] "
            )
            out.print(f"{mark} {escape(finding.subject)}: {escape(finding.sentence)}", soft_wrap=True)
    if any(finding.required and not finding.ok for finding in findings):
        raise typer.Exit(1)
