"""A saved run as a backend: our own predictions table (`native`), or the JSONL of jev-benchmarks.

The body is the recorded row itself (a native row holds the original raw reply, its latency, tokens and date), so that
reading it needs neither the file nor the system that once answered. A row of another text or prompt is refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from zs_assets.backends.base import Backend, CallFault, RawReply, Reading, Remedy
from zs_assets.backends.local import Settings, read_settings, sha256_file
from zs_assets.backends.systems import SystemSpec
from zs_assets.backends.vectors import read_vector
from zs_assets.protocol.errors import BackendUnavailable
from zs_assets.protocol.hashing import prompt_hash, sha256_text
from zs_assets.protocol.names import Outcome
from zs_assets.protocol.question import Presentation, Question

# The columns of storage's PREDICTIONS table that a replay cannot do without (a test compares the two).
_NATIVE_COLUMNS = (
    *("example_id", "text_sha256", "target_index", "order_index", "repeat", "option_order", "outcome"),
    *("probabilities", "choice", "confidence", "model_resolved", "problem", "prompt_hash"),
)
_Key = tuple[str, int, tuple[int, ...], int]  # example, order index, order sent, repeat


class RecordedSettings(Settings):
    """Which rows of which recording. `manifest` (jev_benchmarks) brings the text hashes its rows lack."""

    path: str
    format: Literal["native", "jev_benchmarks"] = "native"
    dataset: str | None = None
    backend: str | None = None
    model: str | None = None  # model_resolved
    manifest: str | None = None  # default: manifest.jsonl beside the recording, where there is one


@dataclass(frozen=True)
class RecordedRow:
    """One row and what must agree with the manifest before it may stand for a reply."""

    example_id: str
    order_index: int
    order: tuple[int, ...] | None  # None: recorded with other labels or another prompt
    repeat: int
    text_sha256: str | None
    target_index: int | None
    failure: str | None  # no reply was recorded, because ...
    body: str
    where: str


@dataclass
class Recording:
    """The rows of one question by presentation, and the examples that were recorded for another one."""

    rows: dict[_Key, RecordedRow] = field(default_factory=dict)
    foreign: dict[str, str] = field(default_factory=dict)  # example id -> where

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


class RecordedBackend(Backend):
    """Answers from a file. Latency measured while reading it means nothing: the recorded one is read instead."""

    measures_latency = False

    def __init__(self, spec: SystemSpec, question: Question, *, folder: Path | None = None):
        super().__init__(spec, question)
        self.settings = read_settings(spec, RecordedSettings)
        self._native = self.settings.format == "native"
        self._path = (folder or Path()) / self.settings.path
        self._manifest = (folder or Path()) / self.settings.manifest if self.settings.manifest else None
        self._recording = Recording()
        self._pins: dict[str, str] = {}

    async def __aenter__(self) -> RecordedBackend:
        if not self._path.exists():
            raise BackendUnavailable(
                f"Backend '{self.spec.name}' reads {self._path}, which is not there: correct settings.path."
            )
        try:
            self._load()
        except OSError as error:
            raise BackendUnavailable(f"{error.filename or self._path} cannot be read: {error.strerror}.") from None
        if not self._recording.rows:
            reason = (
                "all its rows were recorded with other labels or another prompt, first "
                + next(iter(self._recording.foreign.values()))
                if self._recording.foreign
                else "no row matches the dataset, backend and model of its settings"
            )
            raise BackendUnavailable(f"Backend '{self.spec.name}' finds nothing to replay in {self._path}: {reason}.")
        return self

    def identity(self) -> dict[str, str]:
        return {**super().identity(), "recording_format": self.settings.format, **self._pins}

    async def ask(self, presentation: Presentation) -> RawReply:
        example = presentation.example
        order_index = presentation.order_index if self._native else 0  # their rows know one order per example
        row = self._recording.rows.get((example.example_id, order_index, presentation.order, presentation.repeat))
        if row is None:
            where = self._recording.foreign.get(example.example_id)
            if where is not None:
                raise _refused(where, "was recorded with other labels or another prompt")
            raise CallFault("not_recorded", Remedy.GIVE_UP, detail=f"the recording holds no {presentation.id}")
        if row.text_sha256 is not None and row.text_sha256 != example.text_sha256:
            raise _refused(row.where, f"has text {row.text_sha256[:12]}..., the manifest {example.text_sha256[:12]}...")
        if None not in (row.target_index, example.target_index) and row.target_index != example.target_index:
            raise _refused(row.where, f"has gold option {row.target_index}, the manifest {example.target_index}")
        if row.failure is not None:
            raise CallFault("recorded_error", Remedy.GIVE_UP, detail=row.failure)
        return RawReply(row.body)

    def read(self, reply: RawReply, presentation: Presentation) -> Reading:
        try:
            row = json.loads(reply.body)
        except (ValueError, RecursionError):
            return Reading(Outcome.INVALID, problem="the recorded row is not JSON")
        if not isinstance(row, dict):
            return Reading(Outcome.INVALID, problem="the recorded row is not a JSON object")
        return self._read_native(row) if self._native else self._read_jev_benchmarks(row)

    def _read_native(self, row: dict[str, Any]) -> Reading:
        try:
            outcome = Outcome(row.get("outcome"))
        except ValueError:
            return Reading(Outcome.INVALID, problem=f"unknown outcome {ascii(row.get('outcome'))[:60]}")
        choice, problem, probabilities = _text(row.get("choice")), _text(row.get("problem")), None
        if outcome is Outcome.OK and row.get("probabilities") is not None:
            probabilities, problem = self._vector(self.question.ids, row["probabilities"])
        elif outcome is Outcome.OK and choice not in self.question.index_of:
            problem = "the row has neither a vector nor a choice among the options"
        return Reading(
            Outcome.INVALID if outcome is Outcome.OK and problem else outcome,
            probabilities,
            choice,
            _number(row.get("confidence")),
            _text(row.get("model_resolved")),
            _count(row.get("input_tokens")),
            _count(row.get("output_tokens")),
            row["truncated"] if isinstance(row.get("truncated"), bool) else None,
            latency_ms=_number(row.get("latency_ms")),
            run_date=_text(row.get("run_date")),
            problem=problem,
        )

    def _read_jev_benchmarks(self, row: dict[str, Any]) -> Reading:
        names = {option.sentence: option.id for option in self.question.options}
        labels = row.get("labels")
        known = isinstance(labels, list) and all(isinstance(label, str) for label in labels)
        ids = [names.get(label, label) for label in labels or ()] if known else []
        probabilities, problem = self._vector(ids, row.get("probabilities"))
        if row.get("error") is not None:  # their validation found the reply broken: billed, kept, never a success
            probabilities, problem = None, _text(row["error"]) or "recorded as an error"
        seconds = _number(row.get("latency_seconds"))
        return Reading(
            Outcome.OK if problem is None else Outcome.INVALID,
            probabilities,
            model=_text(row.get("model_resolved")),
            input_tokens=_count(row.get("input_tokens")),
            latency_ms=None if seconds is None else seconds * 1e3,
            problem=problem,
        )

    def _vector(self, ids: Any, values: Any) -> tuple[tuple[float, ...] | None, str | None]:
        if not isinstance(values, list) or len(values) != len(ids):
            return None, f"the row has no list of {len(ids)} probabilities"
        return read_vector(dict(zip(ids, values, strict=True)), self.question, self.sum_tolerance)

    def _load(self) -> None:
        self._recording = Recording()
        for row in self._native_rows() if self._native else self._jev_benchmarks_rows():
            self._recording.add(row)

    def _wanted(self, **values: Any) -> bool:
        wanted = self.settings.model_dump(include=set(values), exclude_none=True)
        return all(values[name] == value for name, value in wanted.items())

    def _native_rows(self) -> Iterator[RecordedRow]:
        expected = prompt_hash(self.question)
        files = [self._path] if self._path.is_file() else sorted(self._path.rglob("*.parquet"))
        used = []
        for file in files:
            parts = dict(part.split("=", 1) for part in file.absolute().parts if part.count("=") == 1)
            # A partition that its folder does not name is not filtered: a single file is what the user pointed at.
            if not self._wanted(**{name: parts[name] for name in ("dataset", "backend") if name in parts}):
                continue
            used.append(_check_receipt(file))
            for number, row in enumerate(_parquet_rows(file)):
                if self._wanted(model=row["model_resolved"]):
                    yield _native_row(row, row["prompt_hash"] == expected, f"{file.name} row {number}")
        self._pins = {"recording_sha256": sha256_text("".join(used)), "recording_files": str(len(used))}

    def _jev_benchmarks_rows(self) -> Iterator[RecordedRow]:
        beside = self._path.with_name("manifest.jsonl")
        manifest = self._manifest or (beside if beside.is_file() else None)
        hashes = (
            {row.get("example_id"): row.get("text_sha256") for _, row, _ in _json_lines(manifest)} if manifest else {}
        )
        index_of = {option.sentence: index for index, option in enumerate(self.question.options)}
        for number, row, line in _json_lines(self._path):
            if self._wanted(
                **{name: row.get(name) for name in ("dataset", "backend")}, model=row.get("model_resolved")
            ):
                yield _jev_benchmarks_row(row, line, index_of, hashes, f"{self._path.name} line {number}")
        self._pins = {
            "recording_sha256": sha256_file(self._path),
            "texts_checked_by": manifest.name if manifest else "nothing: the rows have no text hash, no manifest given",
        }


def _refused(where: str, reason: str) -> CallFault:
    """Another text or prompt means another sample: going on would publish a mixture."""
    return CallFault(
        "recording_mismatch", Remedy.STOP, detail=f"{where} {reason}: use the recording of this study's manifest"
    )


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


def _jev_benchmarks_row(
    row: dict[str, Any], line: str, index_of: dict[str, int], hashes: dict[Any, Any], where: str
) -> RecordedRow:
    example_id, labels = row.get("example_id"), row.get("labels")
    if not isinstance(example_id, str) or not isinstance(labels, list):
        raise BackendUnavailable(f"{where} has no example_id or labels: it is no prediction row of jev-benchmarks.")
    order = tuple(index_of.get(label, -1) if isinstance(label, str) else -1 for label in labels)
    same = sorted(order) == list(range(len(index_of)))
    target = _count(row.get("target_index"))
    failed = row.get("error") is not None and not row.get("probabilities")
    return RecordedRow(
        example_id=example_id,
        order_index=0,
        order=order if same else None,
        repeat=0,
        text_sha256=_text(hashes.get(example_id)),
        target_index=order[target] if same and target is not None and target < len(order) else None,
        failure=(_text(row["error"]) or "recorded as an error") if failed else None,
        body=line,
        where=where,
    )


def _json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any], str]]:
    """(line number, row, line as it stands) of a JSONL file."""
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                row = None
            if not isinstance(row, dict):
                raise BackendUnavailable(f"{path.name} line {number} is not a JSON object: repair or remove it.")
            yield number, row, line.rstrip("\n")


def _parquet_rows(path: Path) -> list[dict[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # One file by itself: read as a dataset, its folders' names would become columns.
        table = pq.ParquetFile(path).read()
    except pa.ArrowInvalid as error:
        raise BackendUnavailable(f"{path.name} is no Parquet file ({error}): point settings.path elsewhere.") from None
    missing = [name for name in _NATIVE_COLUMNS if name not in table.column_names]
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


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63 else None


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, float) or _count(value) is not None else None
