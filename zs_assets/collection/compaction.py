"""Journal -> the predictions and attempts tables, in plan order. Bodies are read in batches, never all at once."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from zs_assets.backends.base import Backend, RawReply, Reading
from zs_assets.collection.journal import journal_lines
from zs_assets.collection.pricing import cost
from zs_assets.protocol.names import Outcome
from zs_assets.protocol.question import Presentation
from zs_assets.storage.schemas import ATTEMPTS, PREDICTIONS

BATCH = 2_000
IN_FLIGHT = "in_flight_at_stop"


@dataclass
class _Index:
    """Where each presentation's reply lies, and every attempt's row."""

    reply_offset: dict[str, int] = field(default_factory=dict)
    asked: dict[tuple[str, int], dict[str, Any]] = field(default_factory=dict)
    attempts: dict[tuple[str, int], dict[str, Any]] = field(default_factory=dict)
    last_fault: dict[str, dict[str, Any]] = field(default_factory=dict)
    calls: dict[str, int] = field(default_factory=dict)


def compact(
    path: Path, backend: Backend, presentations: Sequence[Presentation], prompt_hash: str
) -> tuple[pa.Table, pa.Table]:
    """Tables of schemas PREDICTIONS and ATTEMPTS; every presentation has exactly one prediction."""
    index = _read_index(path)
    rows = iter(_prediction_rows(path, index, backend, presentations, prompt_hash))
    batches = []
    while batch := list(islice(rows, BATCH)):
        batches.append(pa.Table.from_pylist(batch, schema=PREDICTIONS))
    predictions = pa.concat_tables(batches) if batches else PREDICTIONS.empty_table()
    return predictions, pa.Table.from_pylist(list(index.attempts.values()), schema=ATTEMPTS)


def not_applicable(
    backend: Backend, presentations: Sequence[Presentation], prompt_hash: str
) -> tuple[pa.Table, pa.Table]:
    """The option cap rules the partition out: a row per presentation, no call."""
    why = f"{len(backend.question)} options, the system takes at most {backend.spec.option_cap}"
    rows = [
        _row(backend, presentation, prompt_hash, outcome=Outcome.NOT_APPLICABLE.value, problem=why, attempts=0)
        for presentation in presentations
    ]
    return pa.Table.from_pylist(rows, schema=PREDICTIONS), ATTEMPTS.empty_table()


def _read_index(path: Path) -> _Index:
    index = _Index()
    for offset, line in journal_lines(path):
        name, number = line["id"], line["n"]
        if line["k"] == "asked":
            index.asked[name, number] = {"t": line["t"], "f": line["f"]}
            index.calls[name] = max(number, index.calls.get(name, 0))
            index.attempts[name, number] = dict.fromkeys(ATTEMPTS.names) | {
                "presentation_id": name,
                "attempt": number,
                "asked_at": line["t"],
                "result": IN_FLIGHT,
            }
            continue
        row = index.attempts[name, number]
        row["latency_ms"] = line["ms"]
        if line["k"] == "reply":
            index.reply_offset.setdefault(name, offset)
            row |= {"result": "reply", "status": line["s"], "request_id": _text(line["r"]), "cost_usd": line.get("usd")}
            row |= {"input_tokens": _count(line.get("in")), "output_tokens": _count(line.get("out"))}
            row["pricing_tier"] = line.get("tier")
        else:
            index.last_fault[name] = line
            row |= {"result": line["kind"], "status": line.get("status"), "detail": _text(line.get("detail"))}
            row |= {"wait_ms": line.get("wait_ms"), "request_id": _text(line.get("request_id"))}
    return index


def _prediction_rows(
    path: Path, index: _Index, backend: Backend, presentations: Sequence[Presentation], prompt_hash: str
) -> Iterator[dict[str, Any]]:
    with open(path, "rb") as file:
        for presentation in presentations:
            offset = index.reply_offset.get(presentation.id)
            calls = index.calls.get(presentation.id, 0)
            if offset is None:
                fault = index.last_fault.get(presentation.id)
                problem = f"{fault['kind']}: {fault.get('detail') or ''}".rstrip(": ") if fault else "never answered"
                failed = {"outcome": Outcome.ERROR.value, "problem": _text(problem), "attempts": calls}
                yield _row(backend, presentation, prompt_hash, **failed)
                continue
            file.seek(offset)
            line = json.loads(file.readline())
            asked = index.asked[presentation.id, line["n"]]
            reply = RawReply(line["body"], line["s"], line["r"])
            reading = backend.read(reply, presentation)
            run_date = reading.run_date or asked["t"]
            # As reckoned when it was paid: a price that changed since does not rewrite what was spent.
            paid = (line["usd"], line.get("tier")) if "usd" in line else cost(backend.spec, reading, run_date)
            yield _row(
                backend,
                presentation,
                prompt_hash,
                **_read_columns(reading, backend),
                request_id=_text(line["r"]),
                attempts=calls,
                cost_usd=paid[0],
                pricing_tier=paid[1],
                latency_ms=line["ms"] if backend.measures_latency else reading.latency_ms,
                in_flight=asked["f"],
                # A replay that recorded no date has none: when it was read is not when it was asked.
                run_date=run_date if backend.measures_latency else reading.run_date,
                raw=_text(line["body"]),
            )


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
        "choice": _text(reading.choice),
        "predicted_index": predicted if outcome is Outcome.OK else None,  # a failure predicts nothing
        "confidence": reading.confidence,
        "top_probability": None if vector is None else max(vector),
        "truncated": reading.truncated,
        "model_resolved": _text(reading.model),
        "input_tokens": _count(reading.input_tokens),
        "output_tokens": _count(reading.output_tokens),
        "cache_hit_tokens": _count(reading.cache_hit_tokens),
        "cache_miss_tokens": _count(reading.cache_miss_tokens),
        "reasoning_tokens": _count(reading.reasoning_tokens),
        "problem": _text(problem),
    }


def _fits(vector: tuple[float, ...], options: int) -> bool:
    """Whatever an interface returns, a vector that cannot be aligned never reaches the table; the gate judges sums."""
    return len(vector) == options and all(math.isfinite(value) for value in vector)


def _unless_failed(outcome: Outcome) -> Outcome:
    return Outcome.INVALID if outcome is Outcome.OK else outcome


def _text(value: str | None) -> str | None:
    """JSON escapes can smuggle in lone surrogates, which no table stores."""
    return None if value is None else value.encode("utf-8", "replace").decode("utf-8")


def _count(value: int | None) -> int | None:
    return value if value is not None and 0 <= value < 2**63 else None


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
