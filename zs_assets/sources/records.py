"""Rows of a csv, jsonl, parquet or xlsx file with the place each stands at, so that every complaint can name it."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

from zs_assets.protocol.errors import SourceError


class MissingColumns(SourceError):
    """The file lacks columns that were asked for; `present` are those it has."""

    present: tuple[str, ...] = ()


@dataclass(frozen=True)
class Record:
    """One row: the wanted columns and where it stands (`row 3 (line 4)`, `line 4`, `row 3`)."""

    place: str
    values: dict[str, Any]


def read_records(path: Path, columns: Sequence[str]) -> list[Record]:
    """The wanted columns of every row, in file order; the file's ending says which format it is in."""
    readers = {".csv": _csv, ".jsonl": _jsonl, ".parquet": _parquet, ".xlsx": _xlsx}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise SourceError(f"{path} ends in '{path.suffix}': give a file that ends in {', '.join(readers)}.")
    try:
        records = list(reader(path, columns))
    except UnicodeDecodeError as error:
        raise SourceError(f"{path} is not UTF-8 ({error.reason}): save it as UTF-8.") from error
    if not records:
        raise SourceError(f"{path} holds no rows: give a file with at least one.")
    return records


def _check_columns(path: Path, wanted: Sequence[str], present: Sequence[str]) -> None:
    twice = [column for column in wanted if list(present).count(column) > 1]
    if twice:
        raise SourceError(f"{path} has two columns named '{twice[0]}': rename one of them.")
    missing = [column for column in wanted if column not in present]
    if missing:
        error = MissingColumns(
            f"{path} has no column {', '.join(repr(column) for column in missing)}, its columns are "
            f"{', '.join(present)}: correct text_column, label_column, id_column or group_column."
        )
        error.present = tuple(present)
        raise error


def _csv(path: Path, columns: Sequence[str]) -> Iterator[Record]:
    # The default limit of 131,072 characters a field is shorter than a long document.
    csv.field_size_limit(2**31 - 1)
    # utf-8-sig: spreadsheets put a byte order mark before the first column's name.
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, strict=True)
        try:
            header = next(reader, [])
            if not header:
                return
            _check_columns(path, columns, header)
            at = {column: header.index(column) for column in columns}
            row, line = 0, reader.line_num + 1
            for fields in reader:
                if fields:  # an empty line is no row
                    row += 1
                    place = f"row {row} (line {line})"
                    if len(fields) != len(header):
                        raise SourceError(
                            f"{path} has {len(fields)} fields in {place} and {len(header)} in its header: "
                            "quote texts that hold commas or line breaks."
                        )
                    yield Record(place, {column: fields[index] for column, index in at.items()})
                line = reader.line_num + 1
        except csv.Error as error:
            raise SourceError(f"{path} is not valid csv near line {reader.line_num} ({error}): correct it.") from error


def _jsonl(path: Path, columns: Sequence[str]) -> Iterator[Record]:
    first = True
    # newline="\n": a lone carriage return or a Unicode line separator within a string ends no line.
    with path.open(encoding="utf-8-sig", newline="\n") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                value = json.loads(line)
            except json.JSONDecodeError as error:
                raise SourceError(
                    f"{path} has broken JSON in line {number} ({error.msg}): correct the line."
                ) from error
            except RecursionError as error:
                raise SourceError(f"{path} nests too deeply in line {number}: correct the line.") from error
            if not isinstance(value, dict):
                raise SourceError(f"{path} has no JSON object in line {number}: write one object a line.")
            if first:
                _check_columns(path, columns, list(value))
                first = False
            absent = [column for column in columns if column not in value]
            if absent:
                raise SourceError(f"{path} has no '{absent[0]}' in line {number}: add it to the line.")
            yield Record(f"line {number}", {column: value[column] for column in columns})


def _parquet(path: Path, columns: Sequence[str]) -> Iterator[Record]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as parquet:
            _check_columns(path, columns, parquet.schema_arrow.names)
            rows = parquet.read(columns=list(columns)).to_pylist()
    except (pa.ArrowException, OSError) as error:
        raise SourceError(f"{path} cannot be read as parquet ({error}): write it again.") from error
    for number, values in enumerate(rows, start=1):
        yield Record(f"row {number}", values)


def _xlsx(path: Path, columns: Sequence[str]) -> Iterator[Record]:
    """The first sheet, whose first row names the columns."""
    try:
        from openpyxl import load_workbook
        from openpyxl.utils.exceptions import InvalidFileException
    except ImportError:
        raise SourceError(
            f"Reading {path} needs the extra xlsx: pip install 'zs-assets[xlsx]', or save the sheet as csv."
        ) from None
    try:
        book = load_workbook(path, read_only=True, data_only=True)
        sheet = book.worksheets[0]
    # The library meets a damaged workbook wherever it happens to read: a ParseError is a SyntaxError.
    except (InvalidFileException, BadZipFile, LookupError, OSError, ValueError, SyntaxError, AttributeError) as error:
        raise SourceError(f"{path} cannot be read as xlsx ({error}): save it again.") from error
    try:
        rows = sheet.iter_rows(values_only=True)
        header = ["" if name is None else str(name).strip() for name in next(rows, ())]
        _check_columns(path, columns, header)
        at = {column: header.index(column) for column in columns}
        for number, cells in enumerate(rows, start=2):
            if any(cell is not None for cell in cells):  # sheets end in rows that were once formatted
                values = {column: cells[index] if index < len(cells) else None for column, index in at.items()}
                yield Record(f"row {number}", values)
    except (BadZipFile, SyntaxError, ValueError, AttributeError) as error:
        raise SourceError(f"{path} cannot be read as xlsx ({error}): save it again.") from error
    finally:
        book.close()
