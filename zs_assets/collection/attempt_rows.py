"""The attempts table, built while the journal is read: a call's row goes to Arrow as soon as its end is known.

One dict per call would hold more memory than the replies themselves at 42,000 of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from zs_assets.collection.journal_reading import never_began
from zs_assets.collection.stored_values import count, text
from zs_assets.storage.schemas import ATTEMPTS

BATCH = 2_000
IN_FLIGHT = "in_flight_at_stop"


@dataclass(frozen=True)
class Begun:
    """A call whose end is not known yet; `place` is its row in the table, which is in the sequence of asking."""

    place: int
    asked_at: str
    in_flight: int


class AttemptRows:
    """Takes the journal's lines in order; the table has one row per call, in the sequence in which they began."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, int], Begun] = {}
        self._rows: list[tuple[Any, ...]] = []  # closed, not in Arrow yet
        self._places: list[int] = []  # of every closed row
        self._batches: list[pa.RecordBatch] = []
        self._begun = 0

    def begun(self, line: dict[str, Any]) -> None:
        """An `asked` line."""
        self._open[line["id"], line["n"]] = Begun(self._begun, line["t"], line["f"])
        self._begun += 1

    def ended(self, line: dict[str, Any]) -> Begun:
        """A `reply` or `fault` line; returns how the call began. Raises ForeignLine where it is not in flight."""
        begun = self._open.pop((line["id"], line["n"]), None)
        if begun is None:
            raise never_began(line)
        self._close(begun, line["id"], line["n"], _end_of(line))
        return begun

    def table(self) -> pa.Table:
        """Schema ATTEMPTS. Calls without an end were in flight when an earlier run was killed."""
        for (name, number), begun in self._open.items():
            self._close(begun, name, number, {"result": IN_FLIGHT})
        self._open = {}
        self._flush()
        table = pa.Table.from_batches(self._batches, schema=ATTEMPTS)
        return table.take(pa.array(np.argsort(np.asarray(self._places, dtype=np.int64))))

    def _close(self, begun: Begun, name: str, number: int, end: dict[str, Any]) -> None:
        row = {"presentation_id": name, "attempt": number, "asked_at": begun.asked_at, **end}
        self._rows.append(tuple(map(row.get, ATTEMPTS.names)))
        self._places.append(begun.place)
        if len(self._rows) == BATCH:
            self._flush()

    def _flush(self) -> None:
        if self._rows:
            columns = zip(*self._rows, strict=True)
            arrays = [pa.array(values, field.type) for values, field in zip(columns, ATTEMPTS, strict=True)]
            self._batches.append(pa.RecordBatch.from_arrays(arrays, schema=ATTEMPTS))
            self._rows = []


def _end_of(line: dict[str, Any]) -> dict[str, Any]:
    if line["k"] == "reply":
        return {
            "result": "reply",
            "status": line["s"],
            "latency_ms": line["ms"],
            "request_id": text(line["r"]),
            "input_tokens": count(line.get("in")),
            "output_tokens": count(line.get("out")),
            "cost_usd": line.get("usd"),
            "pricing_tier": line.get("tier"),
        }
    return {
        "result": line["kind"],
        "status": line.get("status"),
        "detail": text(line.get("detail")),
        "wait_ms": line.get("wait_ms"),
        "latency_ms": line["ms"],
        "request_id": text(line.get("request_id")),
    }
