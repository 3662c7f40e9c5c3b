"""The application the commands register with, its two streams, and the options that several of them share."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer
from rich.console import Console

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


def print_json(value: Any) -> None:
    out.print_json(json.dumps(value))
