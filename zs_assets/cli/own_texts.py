"""`zs-assets own-texts`: the choice-order study on texts of one's own, written out to be run or changed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
import yaml

from zs_assets.cli.app import app, out
from zs_assets.protocol.errors import StudyError

GROUPS = "        group_column: group\n"
FILE = "${ZS_ORDER_TEXTS:-texts.csv}"


@app.command("own-texts")
def own_texts(
    texts: Annotated[Path, typer.Argument(help="A csv, jsonl, parquet or xlsx file with a column `text`.")],
    folder: Annotated[Path, typer.Argument(help="Where the study is written: FOLDER/my_choice_order/defs.yaml.")],
) -> None:
    """Write the choice-order study for a file of your own: same question and plan, texts private, systems to choose."""
    from zs_assets.components.catalogue import SHIPPED
    from zs_assets.sources.records import MissingColumns, read_records

    texts = texts.absolute()
    if not texts.is_file():
        raise StudyError(f"{texts} is no file: give a csv, jsonl, parquet or xlsx file with a column `text`.")
    if "${" in str(texts):
        raise StudyError(f"{texts} holds '${{', which a study reads as a variable of the environment: rename the file.")
    study = (SHIPPED / "choice_order" / "own_texts.yaml").read_text(encoding="utf-8")
    rows = len(read_records(texts, ["text"]))
    try:
        read_records(texts, ["text", "group"])
        said = "its column `group` names the sample groups"
    except MissingColumns:
        study = study.replace(GROUPS, "")
        said = "it has no column `group`, so all samples are one group"
    target = folder / "my_choice_order" / "defs.yaml"
    if target.exists():
        raise StudyError(f"{target} is there already: change it, or name another folder.")
    quoted = yaml.safe_dump(str(texts), default_style='"', allow_unicode=True, width=10_000).strip()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(study.replace(FILE, quoted), encoding="utf-8")
    except OSError as error:
        raise StudyError(f"Cannot write {target}: {error.strerror or error}. Name another folder.") from None
    out.print(f"{texts}: {rows:,} texts; {said}.", soft_wrap=True, markup=False)
    written = f"Written: {target.absolute()}. Choose the systems there (`backends`), then:"
    out.print(written, soft_wrap=True, markup=False)
    where = f"ZS_STUDIES={folder.absolute()}"
    for command in ("estimate", "run"):
        out.print(f"  {where} zs-assets {command} my_choice_order", soft_wrap=True, highlight=False, markup=False)
