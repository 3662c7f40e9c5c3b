"""The choice-order study for a file of one's own: read by the source that will read it, then written as a YAML."""

from __future__ import annotations

import re
import secrets
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from zs_assets.components.catalogue import SHIPPED, study_files
from zs_assets.protocol.errors import StudyError
from zs_assets.protocol.source_specs import SLUG
from zs_assets.protocol.study import StudySpec
from zs_assets.sources import Dataset, load_dataset
from zs_assets.sources.records import MissingColumns, read_records

DEFAULT_NAME = "my_choice_order"
TEXT, GROUP = "text", "group"
TEMPLATE = SHIPPED / "choice_order" / "own_texts.yaml"
_FILE = "${ZS_ORDER_TEXTS:-texts.csv}"
_GROUP_LINE = "        group_column: group\n"
_HEAD = """\
# The choice-order study on texts of one's own, written by `zs-assets own-texts`.
#
# Its seeds were drawn for this file and stand nowhere else: who knows them knows the orders beforehand, so no
# publication names them. Keep the file, since without it the same orders cannot be drawn again.
"""


@dataclass(frozen=True)
class OwnColumns:
    """Which columns of the file are read. `group` None: all samples are one group."""

    text: str
    group: str | None
    near_group: str | None = None  # a column that may have been meant for it


@dataclass(frozen=True)
class OwnStudy:
    """A study that its own source can read, not yet written."""

    name: str
    content: str
    columns: OwnColumns
    dataset: Dataset

    @property
    def distinct_texts(self) -> int:
        return len({example.text for example in self.dataset.examples})

    @property
    def texts_by_group(self) -> dict[str, int]:
        """Distinct texts of each group, in the order of the file."""
        return dict(
            Counter(group for group, _ in dict.fromkeys((e.group, e.text) for e in self.dataset.examples) if group)
        )


def own_study(texts: Path, name: str, text_column: str, group_column: str | None) -> OwnStudy:
    """The study of a file, after its source has read every row.

    Raises StudyError or SourceError in one sentence: no such file or column, another separator, an empty text or
    group, a name that is none or taken.
    """
    if re.fullmatch(SLUG, name) is None:
        raise StudyError(f"'{name}' is no name of a study: write it in small letters, digits and underscores.")
    if name in {path.parent.name for path in study_files(SHIPPED)}:
        raise StudyError(f"A study that comes with the package is named '{name}': give --name another.")
    if not texts.is_file():
        raise StudyError(f"{texts} is no file: give a csv, jsonl, parquet or xlsx file with a column `{text_column}`.")
    for written in (str(texts), text_column, group_column or ""):
        if "${" in written:
            what = "the file" if written == str(texts) else "the column"
            raise StudyError(
                f"{written} holds '${{', which a study reads as a variable of the environment: rename {what}."
            )
    columns = own_columns(texts, text_column, group_column)
    content = _content(texts, name, columns)
    spec = StudySpec.model_validate(yaml.safe_load(content)["attributes"])
    dataset = load_dataset(spec.datasets[0], study_question=spec.question, study_folder=None)
    return OwnStudy(name, content, columns, dataset)


def own_columns(texts: Path, text_column: str, group_column: str | None) -> OwnColumns:
    """The columns to read; without `group_column`, `group` is read where the file has it."""
    try:
        read_records(texts, [text_column])
    except MissingColumns as error:
        raise StudyError(_no_column(texts, text_column, "--text-column", error.present)) from None
    try:
        read_records(texts, [text_column, group_column or GROUP])
    except MissingColumns as error:
        if group_column is not None:
            raise StudyError(_no_column(texts, group_column, "--group-column", error.present)) from None
        return OwnColumns(text_column, None, _near(GROUP, error.present))
    return OwnColumns(text_column, group_column or GROUP)


def _no_column(texts: Path, column: str, option: str, present: Sequence[str]) -> str:
    separator = next((mark for mark in (";", "\t", "|") if len(present) == 1 and mark in present[0]), None)
    if separator is not None and texts.suffix.lower() == ".csv":
        return f"{texts} looks separated by {'tabs' if separator == chr(9) else separator}: save it with commas."
    near = _near(column, present)
    if near is not None:
        return f"{texts} has no column '{column}'; it has '{near}': rename it, or give {option} {near}."
    known = ", ".join(f"'{name}'" for name in present)
    return f"{texts} has no column '{column}'; it has {known}: rename the one meant, or give {option} NAME."


def _near(column: str, present: Sequence[str]) -> str | None:
    """The one column that differs in case, blanks or a plural s only."""
    found = [name for name in present if name.strip().casefold().removesuffix("s") == column.strip().casefold()]
    return found[0] if len(found) == 1 else None


def _content(texts: Path, name: str, columns: OwnColumns) -> str:
    """The shipped example with this file, these columns and seeds that stand nowhere else."""
    template = TEMPLATE.read_text(encoding="utf-8")
    body = template[template.index("type: zs_assets.Study") :]
    read = "" if columns.text == TEXT else f"        text_column: {_quoted(columns.text)}\n"
    read += "" if columns.group is None else f"        group_column: {_quoted(columns.group)}\n"
    for old, new in ((f"name: {DEFAULT_NAME}", f"name: {name}"), (_FILE, _quoted(str(texts))), (_GROUP_LINE, read)):
        assert body.count(old) == 1, f"{TEMPLATE.name} holds {old!r} once"
        body = body.replace(old, new)
    return _HEAD + re.sub(r"seed: \d+", lambda _: f"seed: {secrets.randbelow(2**31)}", body)


def _quoted(text: str) -> str:
    return yaml.safe_dump(text, default_style='"', allow_unicode=True, width=10_000).strip()
