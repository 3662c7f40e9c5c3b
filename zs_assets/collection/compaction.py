"""Journal -> the predictions and attempts tables, in plan order. Bodies are read in batches, never all at once."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from zs_assets.backends.base import Backend, RawReply, Reading
from zs_assets.collection.attempt_rows import AttemptRows
from zs_assets.collection.journal_reading import ForeignLine, broken_journal, journal_lines
from zs_assets.collection.pricing import cost
from zs_assets.collection.stored_values import count, text
from zs_assets.protocol.names import Outcome
from zs_assets.protocol.question import Presentation
from zs_assets.storage.schemas import ATTEMPTS, PREDICTIONS

BATCH = 2_000
NEVER = -1


@dataclass
class _Replies:
    """Where each planned presentation's reply lies in the journal, and how its call began; arrays in plan order."""

    place: dict[str, int]  # presentation id -> row
    offset: np.ndarray  # of the reply's line; NEVER without one
    calls: np.ndarray  # calls begun
    in_flight: np.ndarray  # when the answered call was sent
    asked_at: list[str | None]  # of the answered call
    last_fault: dict[str, tuple[str, str | None]] = field(default_factory=dict)  # kind and detail

    @classmethod
    def of(cls, presentations: Sequence[Presentation]) -> _Replies:
        n = len(presentations)
        place = {presentation.id: row for row, presentation in enumerate(presentations)}
        return cls(place, np.full(n, NEVER), np.zeros(n, dtype=int), np.zeros(n, dtype=int), [None] * n)


def compact(
    path: Path, backend: Backend, presentations: Sequence[Presentation], prompt_hash: str
) -> tuple[pa.Table, pa.Table]:
    """Tables of schemas PREDICTIONS and ATTEMPTS; every presentation has exactly one prediction.

    Raises JournalError, naming file and line, for a line that is none of a journal, or ends a call that never began.
    """
    replies, attempts = _read_index(path, presentations)
    return _table(_prediction_rows(path, replies, backend, presentations, prompt_hash)), attempts


def not_applicable(
    backend: Backend, presentations: Sequence[Presentation], prompt_hash: str
) -> tuple[pa.Table, pa.Table]:
    """The option cap rules the partition out: a row per presentation, no call."""
    why = f"{len(backend.question)} options, the system takes at most {backend.spec.option_cap}"
    rows = (
        _row(backend, presentation, prompt_hash, outcome=Outcome.NOT_APPLICABLE.value, problem=why, attempts=0)
        for presentation in presentations
    )
    return _table(rows), ATTEMPTS.empty_table()


def _table(rows: Iterator[dict[str, Any]]) -> pa.Table:
    batches = []
    while batch := list(islice(rows, BATCH)):
        batches.append(pa.Table.from_pylist(batch, schema=PREDICTIONS))
    return pa.concat_tables(batches) if batches else PREDICTIONS.empty_table()


def _read_index(path: Path, presentations: Sequence[Presentation]) -> tuple[_Replies, pa.Table]:
    """One pass over the journal. A pilot's plan is a part of what the journal holds; the calls are all of it."""
    replies, attempts = _Replies.of(presentations), AttemptRows()
    for offset, line in journal_lines(path):
        row = replies.place.get(line["id"])
        if line["k"] == "asked":
            attempts.begun(line)
            if row is not None:
                replies.calls[row] = max(line["n"], replies.calls[row])
            continue
        try:
            begun = attempts.ended(line)
        except ForeignLine as error:
            raise broken_journal(path, offset, error) from None
        if line["k"] != "reply":
            replies.last_fault[line["id"]] = (line["kind"], line.get("detail"))
        elif row is not None and replies.offset[row] == NEVER:
            replies.offset[row] = offset
            replies.in_flight[row] = begun.in_flight
            replies.asked_at[row] = begun.asked_at
    return replies, attempts.table()


def _prediction_rows(
    path: Path, replies: _Replies, backend: Backend, presentations: Sequence[Presentation], prompt_hash: str
) -> Iterator[dict[str, Any]]:
    with open(path, "rb") as file:
        for place, presentation in enumerate(presentations):
            calls = int(replies.calls[place])
            asked_at = replies.asked_at[place]
            if asked_at is None:
                failed = {"outcome": Outcome.ERROR.value, "problem": _problem(replies, presentation), "attempts": calls}
                yield _row(backend, presentation, prompt_hash, **failed)
                continue
            file.seek(replies.offset[place])
            line = json.loads(file.readline())
            reading = backend.read(RawReply(line["body"], line["s"], line["r"]), presentation)
            run_date = reading.run_date or asked_at
            # As reckoned when it was paid: a price that changed since does not rewrite what was spent.
            paid = (line["usd"], line.get("tier")) if "usd" in line else cost(backend.spec, reading, run_date)
            yield _row(
                backend,
                presentation,
                prompt_hash,
                **_read_columns(reading, backend),
                request_id=text(line["r"]),
                attempts=calls,
                cost_usd=paid[0],
                pricing_tier=paid[1],
                latency_ms=line["ms"] if backend.measures_latency else reading.latency_ms,
                in_flight=int(replies.in_flight[place]),
                # A replay that recorded no date has none: when it was read is not when it was asked.
                run_date=run_date if backend.measures_latency else reading.run_date,
                raw=text(line["body"]),
            )


def _problem(replies: _Replies, presentation: Presentation) -> str | None:
    """Why a presentation has no reply: its last fault."""
    if presentation.id not in replies.last_fault:
        return "never answered"
    kind, detail = replies.last_fault[presentation.id]
    return text(f"{kind}: {detail or ''}".rstrip(": "))


def _read_columns(reading: Reading, backend: Backend) -> dict[str, Any]:
    vector, outcome, problem = reading.probabilities, reading.outcome, reading.problem
    if vector is not None and not _fits(vector, len(backend.question)):
        vector, outcome, problem = None, _unless_failed(outcome), problem or "the vector does not fit the options"
    predicted = None
    if vector is not None:
        predicted = vector.index(max(vector))
    elif reading.choice is not None:
        predicted = backend.question.index_of.get(reading.choice)
    if predicted is None and outcome is Outcome.OK:
        outcome, problem = Outcome.INVALID, "the reply names no option of the question"
    return {
        "outcome": outcome.value,
        "probabilities": vector,
        "choice": text(reading.choice),
        "predicted_index": predicted if outcome is Outcome.OK else None,  # a failure predicts nothing
        "confidence": reading.confidence,
        "top_probability": None if vector is None else max(vector),
        "truncated": reading.truncated,
        "model_resolved": text(reading.model),
        "input_tokens": count(reading.input_tokens),
        "output_tokens": count(reading.output_tokens),
        "cache_hit_tokens": count(reading.cache_hit_tokens),
        "cache_miss_tokens": count(reading.cache_miss_tokens),
        "reasoning_tokens": count(reading.reasoning_tokens),
        "problem": text(problem),
    }


def _fits(vector: tuple[float, ...], options: int) -> bool:
    """Whatever an interface returns, a vector that cannot be aligned never reaches the table; the gate judges sums."""
    return len(vector) == options and all(math.isfinite(value) for value in vector)


def _unless_failed(outcome: Outcome) -> Outcome:
    return Outcome.INVALID if outcome is Outcome.OK else outcome


def _row(backend: Backend, presentation: Presentation, prompt_hash: str, **columns: Any) -> dict[str, Any]:
    example = presentation.example
    return (
        dict.fromkeys(PREDICTIONS.names)
        | {
            "presentation_id": presentation.id,
            "example_id": example.example_id,
            "text_sha256": example.text_sha256,
            "target_index": example.target_index,
            "order_index": presentation.order_index,
            "repeat": presentation.repeat,
            "option_order": list(presentation.order),
            "model_requested": backend.model_requested,
            "prompt_hash": prompt_hash,
        }
        | columns
    )
