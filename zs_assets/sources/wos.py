"""WOS-46985 by the (Domain, area) pairs of its Meta-data sheet: 145 classes named `Domain/area`.

The archive's other label files contradict each other and cannot be mapped to names without ambiguity; the pair is the
key because two areas (Depression, Schizophrenia) exist in two domains. Tested on table files; the archive's own xlsx
was not at hand, its reader is tested on a sheet of the same columns.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from zs_assets.protocol.errors import SourceError
from zs_assets.protocol.source_specs import FileSource, WosSource
from zs_assets.sources import file
from zs_assets.sources.base import Dataset
from zs_assets.sources.fetch import local_file
from zs_assets.sources.records import MissingColumns, Record, read_records

DOMAIN, AREA, ABSTRACT = "Domain", "area", "Abstract"
TEXT, LABEL, ID = "text", "gold_label", "id"
SEPARATOR = "/"


def as_file(source: WosSource) -> FileSource:
    """The same file with our columns: what its rows are turned into."""
    return FileSource(
        path=source.path,
        text_column=TEXT,
        label_column=LABEL,
        id_column=ID,
        labels_file=source.labels_file,
        sha256=source.sha256,
    )


def load(source: WosSource, instructions: str | None, study_question: str, study_folder: Path | None) -> Dataset:
    """Every row as an example, its id the row's own where there is one, else its number from 0."""
    path = local_file(source.path, study_folder, file.DATA)
    return file.dataset_of(as_file(source), _records(path), instructions, study_question, study_folder)


def _records(path: Path) -> list[Record]:
    try:
        sheet = read_records(path, [DOMAIN, AREA, ABSTRACT])
    except MissingColumns:
        return _table_records(path)
    return [Record(record.place, {ID: number, **_from_sheet(record)}) for number, record in enumerate(sheet)]


def _table_records(path: Path) -> list[Record]:
    try:
        return read_records(path, [ID, TEXT, LABEL])
    except MissingColumns:
        pass
    try:
        table = read_records(path, [TEXT, LABEL])
    except MissingColumns:
        raise SourceError(
            f"{path} has neither the columns {DOMAIN}, {AREA}, {ABSTRACT} of the Meta-data sheet nor {TEXT} and "
            f"{LABEL}: give one of the two."
        ) from None
    return [Record(record.place, {ID: number, **record.values}) for number, record in enumerate(table)]


def _from_sheet(record: Record) -> dict[str, str]:
    """The sheet pads its cells ("CS ", " Symbolic computation "): the study strips all three."""
    domain, area, abstract = (_stripped(record.values[name]) for name in (DOMAIN, AREA, ABSTRACT))
    return {TEXT: abstract, LABEL: f"{domain}{SEPARATOR}{area}"}


def _stripped(value: Any) -> str:
    return "" if value is None else str(value).strip()
