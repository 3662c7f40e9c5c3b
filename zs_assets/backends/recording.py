"""Files of saved runs as rows: our own predictions table, the JSONL of jev-benchmarks, the JSONL of Janus, of SemIf.

What a row says is not read here (recorded.py does); only which presentation it answers, and what must agree with the
manifest before it may stand for a reply.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zs_assets.backends.local import sha256_file
from zs_assets.backends.recorded_rows import NO_GOLD, RecordedRow, RecordedSettings, count, json_lines, text
from zs_assets.backends.recording_semif import semif_rows
from zs_assets.protocol.errors import BackendUnavailable
from zs_assets.protocol.hashing import prompt_hash, sha256_text
from zs_assets.protocol.names import Outcome
from zs_assets.protocol.question import Question

# The columns of storage's PREDICTIONS table that a replay cannot do without (a test compares the two).
NATIVE_COLUMNS = (
    *("example_id", "text_sha256", "target_index", "order_index", "repeat", "option_order", "outcome"),
    *("probabilities", "choice", "confidence", "model_resolved", "problem", "prompt_hash"),
)
# Columns of a Janus row that a replay cannot do without; the others may be absent or null.
JANUS_COLUMNS = ("id", "text", "gold_label", "model_id", "prediction", "prompt_hash")
_Key = tuple[str, int, tuple[int, ...], int]  # example, order index, order sent, repeat


@dataclass
class Recording:
    """The rows of one question by presentation, and the examples that were recorded for another one."""

    rows: dict[_Key, RecordedRow] = field(default_factory=dict)
    foreign: dict[str, str] = field(default_factory=dict)  # example id -> where
    pins: dict[str, str] = field(default_factory=dict)

    def add(self, row: RecordedRow) -> None:
        if row.order is None:
            self.foreign.setdefault(row.example_id, row.where)
            return
        key = (row.example_id, row.order_index, row.order, row.repeat)
        earlier = self.rows.get(key)
        # A resumed run appends a second row after a failed one; two replies to one presentation are ambiguous.
        if earlier is not None and earlier.failure is None and row.failure is None:
            raise BackendUnavailable(
                f"{row.where} repeats {earlier.where}: two replies to example {row.example_id}; keep one, or choose "
                "with settings.dataset, settings.backend or settings.model."
            )
        if earlier is None or earlier.failure is not None:
            self.rows[key] = row


def read_recording(settings: RecordedSettings, path: Path, manifest: Path | None, question: Question) -> Recording:
    """Every wanted row of a recording; BackendUnavailable in one sentence where it cannot be read."""
    recording = Recording()
    for row in _READERS[settings.format](recording, settings, path, manifest, question):
        recording.add(row)
    return recording


def _native_rows(
    recording: Recording, settings: RecordedSettings, path: Path, manifest: Path | None, question: Question
) -> Iterator[RecordedRow]:
    expected = prompt_hash(question)
    files = [path] if path.is_file() else sorted(path.rglob("*.parquet"))
    used = []
    for file in files:
        parts = dict(part.split("=", 1) for part in file.absolute().parts if part.count("=") == 1)
        # A partition that its folder does not name is not filtered: a single file is what the user pointed at.
        if not settings.wants(**{name: parts[name] for name in ("dataset", "backend") if name in parts}):
            continue
        used.append(_check_receipt(file))
        for number, row in enumerate(_parquet_rows(file)):
            if settings.wants(model=row["model_resolved"]):
                yield _native_row(row, row["prompt_hash"] == expected, f"{file.name} row {number}")
    recording.pins = {"recording_sha256": sha256_text("".join(used)), "recording_files": str(len(used))}


def _native_row(row: dict[str, Any], same_prompt: bool, where: str) -> RecordedRow:
    failed = row["outcome"] == Outcome.ERROR.value
    return RecordedRow(
        example_id=row["example_id"],
        order_index=row["order_index"],
        order=tuple(row["option_order"]) if same_prompt else None,
        repeat=row["repeat"],
        text_sha256=row["text_sha256"],
        target_index=row["target_index"],
        failure=(row["problem"] or "recorded as an error") if failed else None,
        body=json.dumps(row, ensure_ascii=False, separators=(",", ":")),
        where=where,
    )


def _jev_benchmarks_rows(
    recording: Recording, settings: RecordedSettings, path: Path, manifest: Path | None, question: Question
) -> Iterator[RecordedRow]:
    beside = path.with_name("manifest.jsonl")
    manifest = manifest or (beside if beside.is_file() else None)
    hashes = {row.get("example_id"): row.get("text_sha256") for _, row, _ in json_lines(manifest)} if manifest else {}
    index_of = {option.sentence: index for index, option in enumerate(question.options)}
    for number, row, line in json_lines(path):
        named = {name: row.get(name) for name in ("dataset", "backend")}
        if settings.wants(**named, model=row.get("model_resolved")):
            yield _jev_benchmarks_row(row, line, index_of, hashes, f"{path.name} line {number}")
    recording.pins = {
        "recording_sha256": sha256_file(path),
        "texts_checked_by": manifest.name if manifest else "nothing: the rows have no text hash, no manifest given",
    }


def _jev_benchmarks_row(
    row: dict[str, Any], line: str, index_of: dict[str, int], hashes: dict[Any, Any], where: str
) -> RecordedRow:
    example_id, labels = row.get("example_id"), row.get("labels")
    if not isinstance(example_id, str) or not isinstance(labels, list):
        raise BackendUnavailable(f"{where} has no example_id or labels: it is no prediction row of jev-benchmarks.")
    order = tuple(index_of.get(label, -1) if isinstance(label, str) else -1 for label in labels)
    same = sorted(order) == list(range(len(index_of)))
    target = count(row.get("target_index"))
    failed = row.get("error") is not None and not row.get("probabilities")
    return RecordedRow(
        example_id=example_id,
        order_index=0,
        order=order if same else None,
        repeat=0,
        text_sha256=text(hashes.get(example_id)),
        target_index=order[target] if same and target is not None and target < len(order) else None,
        failure=(text(row["error"]) or "recorded as an error") if failed else None,
        body=line,
        where=where,
    )


def _janus_rows(
    recording: Recording, settings: RecordedSettings, path: Path, manifest: Path | None, question: Question
) -> Iterator[RecordedRow]:
    """Rows of one prompt: a file that mixes two is refused, whichever of them the study asks for."""
    expected = prompt_hash(question)
    first: tuple[str, str] | None = None
    for number, row, line in json_lines(path):
        where = f"{path.name} line {number}"
        missing = [name for name in JANUS_COLUMNS if name not in row]
        if missing:
            raise BackendUnavailable(f"{where} has no {', '.join(missing)}: it is no row of a Janus run.")
        if first is not None and row["prompt_hash"] != first[1]:
            raise BackendUnavailable(
                f"{where} has prompt_hash {row['prompt_hash']}, {first[0]} has {first[1]}: one file holds two prompts; "
                "split it and use the part of this study's prompt."
            )
        first = first or (where, row["prompt_hash"])
        if settings.wants(model=row["model_id"]):
            yield _janus_row(row, line, question, row["prompt_hash"] == expected, where)
    recording.pins = {"recording_sha256": sha256_file(path)}


def _janus_row(row: dict[str, Any], line: str, question: Question, same_prompt: bool, where: str) -> RecordedRow:
    gold = row["gold_label"]
    if isinstance(row["id"], bool) or not isinstance(row["id"], (int, str)) or row["text"] != text(row["text"]):
        raise BackendUnavailable(f"{where} has an id that is no number or text, or a text that is none: repair it.")
    return RecordedRow(
        example_id=str(row["id"]),
        order_index=0,
        order=tuple(range(len(question))) if same_prompt else None,  # the format knows the declared order alone
        repeat=0,
        text_sha256=sha256_text(row["text"]),
        target_index=None if gold is None else question.index_of.get(gold, NO_GOLD) if text(gold) else NO_GOLD,
        failure=None,
        body=line,
        where=where,
    )


def _semif_rows(
    recording: Recording, settings: RecordedSettings, path: Path, manifest: Path | None, question: Question
) -> Iterator[RecordedRow]:
    return semif_rows(recording.pins, settings, path, manifest, question)


_READERS: dict[str, Callable[..., Iterator[RecordedRow]]] = {
    "native": _native_rows,
    "jev_benchmarks": _jev_benchmarks_rows,
    "janus": _janus_rows,
    "semif": _semif_rows,
}


def _parquet_rows(path: Path) -> list[dict[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # One file by itself: read as a dataset, its folders' names would become columns.
        table = pq.ParquetFile(path).read()
    except pa.ArrowInvalid as error:
        raise BackendUnavailable(f"{path.name} is no Parquet file ({error}): point settings.path elsewhere.") from None
    missing = [name for name in NATIVE_COLUMNS if name not in table.column_names]
    if missing:
        raise BackendUnavailable(f"{path.name} is no predictions table: it lacks {', '.join(missing)}.")
    return table.to_pylist()


def _check_receipt(path: Path) -> str:
    """The file's sha256; refuses a table that was changed after its receipt (our lake's) was written."""
    digest = sha256_file(path)
    receipt = path.with_name("receipt.json")
    if receipt.is_file() and json.loads(receipt.read_text(encoding="utf-8")).get("sha256") != digest:
        raise BackendUnavailable(f"{path} was changed after it was checked: materialise that partition again.")
    return digest
