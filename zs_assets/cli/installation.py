"""Commands about this installation and its systems."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from zs_assets.cli.app import AsJson, app, out, print_json


@app.command()
def doctor(
    system: Annotated[str | None, typer.Argument(help="A backend to ask one tiny decision.")] = None,
    as_json: AsJson = False,
) -> None:
    """Check folders, the Dagster instance and what each backend needs; with a SYSTEM, ask it one tiny decision."""
    from zs_assets.components.doctor import check_installation, check_system, grouped

    findings = check_system(system) if system else check_installation()
    if as_json:
        print_json([vars(finding) for finding in findings])
    else:
        for finding in findings if system else grouped(findings):
            mark = (
                "[green]ok[/]     " if finding.ok else "[red]problem[/]" if finding.required else "[yellow]absent[/] "
            )
            out.print(f"{mark} {escape(finding.subject)}: {escape(finding.sentence)}", soft_wrap=True)
    if any(finding.required and not finding.ok for finding in findings):
        raise typer.Exit(1)


@app.command()
def systems(
    system: Annotated[str | None, typer.Argument(help="One system, with everything its entry says.")] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="The table as in the README.")] = False,
    as_json: AsJson = False,
) -> None:
    """List every system: interface, place, needs, option cap, grid, pin, price, and whether its codec was verified."""
    from zs_assets.components.systems_table import COLUMNS, system_facts, systems_markdown, systems_rows

    if system is not None:
        facts = system_facts(system)
        if as_json:
            print_json(facts)
        else:
            for name, value in facts.items():
                out.print(f"{name}: {value}", soft_wrap=True, markup=False, highlight=False)
    elif as_json:
        print_json([dict(zip(COLUMNS, row, strict=True)) for row in systems_rows()])
    elif markdown:
        typer.echo(systems_markdown())
    else:
        table = Table(*COLUMNS)
        for row in systems_rows():
            table.add_row(*row)
        out.print(table)
        out.print(
            "`zs-assets systems NAME` says everything about one; `zs-assets doctor NAME` asks it a tiny decision."
        )
