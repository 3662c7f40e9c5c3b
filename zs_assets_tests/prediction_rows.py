"""Small predictions tables for tests: three options, one row per example."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from zs_assets.protocol.names import Outcome
from zs_assets.storage.schemas import PREDICTIONS

OPTIONS = ("a", "b", "c")


def row(index: int, **changes: Any) -> dict[str, Any]:
    """A sound prediction of example `d:<index>`, with changes."""
    values: dict[str, Any] = dict.fromkeys(PREDICTIONS.names)
    values |= {
        "presentation_id": f"d:{index}/o0r0",
        "example_id": f"d:{index}",
        "text_sha256": f"hash{index}",
        "target_index": 0,
        "order_index": 0,
        "repeat": 0,
        "option_order": [0, 1, 2],
        "outcome": Outcome.OK,
        "probabilities": [0.5, 0.3, 0.2],
        "choice": "a",
        "predicted_index": 0,
        "top_probability": 0.5,
        "model_requested": "m",
        "model_resolved": "m-1",
        "attempts": 1,
        "prompt_hash": "prompt",
    }
    values |= changes
    values["outcome"] = Outcome(values["outcome"]).value
    return values


def predictions_table(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=PREDICTIONS)
