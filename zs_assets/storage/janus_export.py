"""A predictions table, and the sample it answers, in the files of the automation study (`protocol.janus_format`)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from zs_assets.protocol.janus_format import BILLED_COLUMNS, DATASET_COLUMNS, RUN_COLUMNS
from zs_assets.protocol.names import Outcome
from zs_assets.protocol.question import Example, Question

STATISTICS = ("margin_top2", "entropy_norm", "ratio_top2")


def dataset_jsonl(examples: Iterable[Example], question: Question) -> bytes:
    """The sample, one `{id, text, gold_label}` a line; ids that are whole numbers become numbers, as published."""
    return b"".join(
        _line(dict(zip(DATASET_COLUMNS, (_id(e.example_id), e.text, _gold(e, question)), strict=True)))
        for e in examples
    )


def labels_json(question: Question) -> bytes:
    """Instructions and labels in declared order, as the study's tools (and our `labels_file`) read them."""
    return json.dumps({"instructions": question.instructions, "labels": question.criteria}, ensure_ascii=False).encode()


def run_jsonl(
    predictions: pa.Table, examples: Sequence[Example], question: Question, statistics: Mapping[str, Sequence[float]]
) -> bytes:
    """One line per prediction that is ok, in the order of the sample; the others have no place in the format.

    Parameters
    ----------
    predictions : schema PREDICTIONS, one presentation per example
    statistics : margin_top2, entropy_norm and ratio_top2 of each row that has a vector, in the table's order
    """
    by_id = {example.example_id: example for example in examples}
    return b"".join(_line(row) for row in _run_rows(predictions, by_id, question, statistics))


def _run_rows(
    predictions: pa.Table, by_id: Mapping[str, Example], question: Question, statistics: Mapping[str, Sequence[float]]
) -> Iterator[dict[str, Any]]:
    vectors = 0
    for row in predictions.to_pylist():
        if row["outcome"] != Outcome.OK.value:
            continue
        example = by_id[row["example_id"]]
        chosen = row["choice"] if row["choice"] is not None else question.ids[row["predicted_index"]]
        values = dict.fromkeys(STATISTICS)
        vector = row["probabilities"]
        if vector is not None:
            values = {name: float(statistics[name][vectors]) for name in STATISTICS}
            vectors += 1
        named = {
            "id": _id(row["example_id"]),
            "text": example.text,
            "gold_label": _gold(example, question),
            "model_id": row["model_resolved"],
            "prediction": chosen,
            "confidence": row["confidence"],
            "probabilities": None if vector is None else dict(zip(question.ids, vector, strict=True)),
            **values,
            **{name: row[name] for name in ("input_tokens", "latency_ms", "prompt_hash", "run_date")},
        }
        billed = {name: row[name] for name in BILLED_COLUMNS if row.get(name) is not None}
        yield {name: named[name] for name in RUN_COLUMNS} | billed


def _gold(example: Example, question: Question) -> str | None:
    return None if example.target_index is None else question.ids[example.target_index]


def _id(example_id: str) -> int | str:
    """A row number as a number; "007" is a name and stays text."""
    try:
        number = int(example_id)
    except ValueError:
        return example_id
    return number if str(number) == example_id else example_id


def _line(row: Mapping[str, Any]) -> bytes:
    return (json.dumps(row, ensure_ascii=False) + "\n").encode()
