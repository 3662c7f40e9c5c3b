"""The application the commands register with, its two streams, and the options that several of them share."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

if TYPE_CHECKING:
    from upath import UPath

    from zs_assets.storage.places import Places

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


def say_page(what: str, places: Places, page: UPath) -> None:
    """Where a page lies, and for a lake on an object store also a copy that a browser can open."""
    from zs_assets.storage.local_copy import copy_to_open

    out.print(f"{what}: {page}", soft_wrap=True, highlight=False)
    copied = copy_to_open(places, page.parent)
    if copied is not None:
        out.print(f"A copy to open: {copied / page.name}", soft_wrap=True, highlight=False)


def print_json(value: Any) -> None:
    out.print_json(json.dumps(value))
