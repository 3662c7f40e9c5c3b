"""`zs-assets own-texts`: the choice-order study on texts of one's own, written out to be run or changed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from zs_assets.cli.app import app, out
from zs_assets.protocol.errors import StudyError

if TYPE_CHECKING:
    from zs_assets.components.own_study import OwnStudy


@app.command("own-texts")
def own_texts(
    texts: Annotated[Path, typer.Argument(help="A csv, jsonl, parquet or xlsx file with a text a row.")],
    folder: Annotated[Path, typer.Argument(help="Where the study is written: FOLDER/NAME/defs.yaml.")],
    text_column: Annotated[str, typer.Option(help="The column with the texts.")] = "text",
    group_column: Annotated[
        str | None, typer.Option(help="The column that names sample groups; `group` where the file has it.")
    ] = None,
    name: Annotated[str, typer.Option(help="The name of the study.")] = "my_choice_order",
) -> None:
    """Write the choice-order study for a file of your own: same question and plan, texts private, systems to choose."""
    from zs_assets.components.own_study import own_study

    texts = texts.absolute()
    target = folder / name / "defs.yaml"
    study = own_study(texts, name, text_column, group_column)
    if target.exists():
        raise StudyError(f"{target} is there already: change it, or give another folder or --name.")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(study.content, encoding="utf-8")
    except OSError as error:
        raise StudyError(f"Cannot write {target}: {error.strerror or error}. Name another folder.") from None
    for sentence in own_study_sentences(texts, study):
        out.print(sentence, soft_wrap=True, markup=False)
    written = f"Written: {target.absolute()}. Choose the systems there (`backends`), then:"
    out.print(written, soft_wrap=True, markup=False)
    where = f"ZS_STUDIES={folder.absolute()}"
    for command in ("estimate", "run"):
        out.print(f"  {where} zs-assets {command} {name}", soft_wrap=True, highlight=False, markup=False)


def own_study_sentences(texts: Path, study: OwnStudy) -> list[str]:
    """What was read, and what a publication will leave out."""
    from zs_assets.assets.private_groups import FEWEST_TEXTS

    columns, rows, distinct = study.columns, len(study.dataset.examples), study.distinct_texts
    groups = study.texts_by_group
    if columns.group is not None:
        counted = ", ".join(f"{group} ({number:,})" for group, number in groups.items())
        said = f"column `{columns.group}` names the sample groups: {counted}"
    elif columns.near_group is not None:
        near = columns.near_group
        said = f"no column `group` (if '{near}' is it, give --group-column {near}), so all samples are one group"
    else:
        said = "no column `group`, so all samples are one group"
    sentences = [f"{texts}: {_counted(rows, 'row')}, {_counted(distinct, 'distinct text')}; {said}."]
    few = [group for group, number in groups.items() if number < FEWEST_TEXTS]
    if distinct < FEWEST_TEXTS:
        sentences.append(f"A publication will hold no order figures: it needs {FEWEST_TEXTS} distinct private texts.")
    elif few:
        sentences.append(f"A publication will leave out {', '.join(few)}: fewer than {FEWEST_TEXTS} distinct texts.")
    return sentences


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
