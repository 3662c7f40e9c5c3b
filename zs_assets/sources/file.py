"""A csv, jsonl, parquet or xlsx file, with labels declared in the study or in a file of their own."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from zs_assets.protocol.errors import SourceError, StudyError
from zs_assets.protocol.hashing import sha256_text
from zs_assets.protocol.question import ALL_GROUPS, Example, Question
from zs_assets.protocol.source_specs import SLUG, FileSource
from zs_assets.sources.base import Dataset, make_example, repeated_texts, sha256_of_files
from zs_assets.sources.fetch import forget_download, local_file, pinned_name
from zs_assets.sources.labels import DeclaredLabels, declare, read_labels_file
from zs_assets.sources.records import Record, read_records

DATA = "The path of a file source"
LABELS = "The labels_file of a file source"


def load(source: FileSource, instructions: str | None, study_question: str, study_folder: Path | None) -> Dataset:
    """Every row as an example. Nothing is left out: a row that cannot be used is an error that names it.

    Rows with the same text are kept, each an example of its own: a sample may hold a text more than once.
    `instructions` are the dataset's own; the labels file's come next, the study's question last.
    """
    named = (source.text_column, source.label_column, source.id_column, source.group_column)
    columns = list(dict.fromkeys(column for column in named if column is not None))
    records = read_records(local_file(source.path, study_folder, DATA), columns)
    return dataset_of(source, records, instructions, study_question, study_folder)


def dataset_of(
    source: FileSource,
    records: list[Record],
    instructions: str | None,
    study_question: str,
    study_folder: Path | None,
) -> Dataset:
    """Records with the source's columns as a dataset; SourceError names the row that cannot be used."""
    path = local_file(source.path, study_folder, DATA)
    digest = _checked_sha256(path, source.sha256)
    declared = _declared_labels(source, study_folder)
    question = Question(instructions or declared.instructions or study_question, declared.options)
    examples = _examples(path, source, records, question)
    provenance = {"path": source.path, "sha256": digest, "rows": str(len(records)), **repeated_texts(examples)}
    if source.labels_file is not None:
        provenance["labels_file"] = source.labels_file
        provenance["labels_sha256"] = sha256_of_files([local_file(source.labels_file, study_folder, LABELS)])
    return Dataset(examples, question, {}, provenance)


def _checked_sha256(path: Path, pinned: str | None) -> str:
    """The file's sha256; SourceError if the study pins another one."""
    digest = sha256_of_files([path])
    if pinned is not None and pinned.lower() != digest:
        forget_download(path)
        raise SourceError(
            f"{path} has sha256 {digest} where the study pins {pinned}: restore the file or change the pin."
        )
    return digest


def pin(source: FileSource, study_folder: Path | None) -> str:
    """sha256 of the data file; with a labels file, the sha256 over both files' hashes.

    A URL stands for its file until the file is read: the pinned sha256 where there is one, else the URL's text.
    """
    digest = _pin_of(source.path, source.sha256, study_folder, DATA)
    if source.labels_file is None:
        return digest
    return sha256_text(f"{digest}\n{_pin_of(source.labels_file, None, study_folder, LABELS)}\n")


def _pin_of(path: str, sha256: str | None, study_folder: Path | None, where: str) -> str:
    found = pinned_name(path, study_folder, where)
    return sha256_of_files([found]) if isinstance(found, Path) else sha256 or sha256_text(found)


def _declared_labels(source: FileSource, study_folder: Path | None) -> DeclaredLabels:
    if (source.labels is None) == (source.labels_file is None):
        given = "neither labels nor" if source.labels is None else "both labels and"
        raise StudyError(f"The file source {source.path} has {given} labels_file: give exactly one of the two.")
    if source.labels_file is not None:
        return read_labels_file(local_file(source.labels_file, study_folder, LABELS))
    return declare(source.labels, None, f"The file source {source.path}")


def _examples(path: Path, source: FileSource, records: list[Record], question: Question) -> tuple[Example, ...]:
    """Ids are the id column's, or the row's number from 0, as BTZSC's and the automation study's ids count."""
    examples: list[Example] = []
    seen: dict[str, str] = {}
    for number, record in enumerate(records):
        text = _text(path, source.text_column, record)
        target = None
        if source.label_column is not None:
            target = _target(path, source.label_column, record, question)
        example_id = str(number)
        if source.id_column is not None:
            example_id = _scalar(record.values[source.id_column])
            if not example_id:
                raise SourceError(f"{path} has no id in {record.place}: fill column '{source.id_column}'.")
            if example_id in seen:
                raise SourceError(
                    f"{path} has id '{example_id}' in {seen[example_id]} and again in {record.place}: "
                    "make ids unique or drop id_column."
                )
            seen[example_id] = record.place
        group = None if source.group_column is None else _group(path, source.group_column, record)
        examples.append(make_example(example_id, text, target, group))
    return tuple(examples)


def _text(path: Path, column: str, record: Record) -> str:
    text = record.values[column]
    if text is not None and not isinstance(text, str):
        raise SourceError(
            f"{path} has {type(text).__name__} for a text in {record.place}: write column '{column}' as text."
        )
    if text is None or not text.strip():
        raise SourceError(f"{path} has an empty text in {record.place}: fill column '{column}' or drop the row.")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:  # JSON can escape half of a character, which no UTF-8 request can carry
        raise SourceError(
            f"{path} has half a surrogate pair in the text of {record.place}: correct the text."
        ) from error
    return text


def _target(path: Path, column: str, record: Record, question: Question) -> int:
    label = _scalar(record.values[column])
    if label not in question.index_of:
        known = ", ".join(question.ids[:10]) + (f" and {len(question) - 10} more" if len(question) > 10 else "")
        raise SourceError(
            f"{path} has label '{label}' in {record.place}, which is not declared (declared: {known}): "
            "declare it or correct the row."
        )
    return question.index_of[label]


def _group(path: Path, column: str, record: Record) -> str:
    """A group per row, or none in the file: a row of no group would belong to no reported part of the sample."""
    group = _scalar(record.values[column])
    if not group:
        raise SourceError(f"{path} has no group in {record.place}: fill column '{column}' or drop group_column.")
    if group == ALL_GROUPS:
        raise SourceError(
            f"{path} has group '{ALL_GROUPS}' in {record.place}, which means every sample in the tables: rename it."
        )
    if re.fullmatch(SLUG, group) is None:
        raise SourceError(
            f"{path} has group '{group}' in {record.place}: write it in small letters, digits and underscores."
        )
    return group


def _scalar(value: Any) -> str:
    """A label or id as text. Whole numbers keep their digits; nothing is stripped."""
    return "" if value is None else str(value)
