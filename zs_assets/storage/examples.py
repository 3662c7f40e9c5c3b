"""Examples and their question to and from Arrow: a table's rows are examples, its metadata holds the question."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pyarrow as pa

from zs_assets.protocol.question import Example, Option, Question
from zs_assets.storage.schemas import EXAMPLES

GROUP = "sample_group"


def examples_table(examples: Sequence[Example]) -> pa.Table:
    return pa.table(
        {
            "example_id": [example.example_id for example in examples],
            "text": [example.text for example in examples],
            "text_sha256": [example.text_sha256 for example in examples],
            "target_index": [example.target_index for example in examples],
            "sample_group": [example.group for example in examples],
        },
        schema=EXAMPLES,
    )


def examples_of(table: pa.Table) -> list[Example]:
    """The rows as examples, in their order; tables of any version of the schema."""
    columns = (column.to_pylist() for column in in_current_schema(table).columns)
    return [Example(*row) for row in zip(*columns, strict=True)]


def in_current_schema(table: pa.Table) -> pa.Table:
    """The table with today's columns: lakes written before samples had groups lack theirs."""
    if GROUP not in table.column_names:
        table = table.append_column(EXAMPLES.field(GROUP), pa.nulls(table.num_rows, pa.string()))
    return table.select(EXAMPLES.names)


def question_json(question: Question) -> str:
    body = {"instructions": question.instructions, "options": [[o.id, o.description] for o in question.options]}
    return json.dumps(body, ensure_ascii=False)


def question_from_json(text: str) -> Question:
    body = json.loads(text)
    return Question(body["instructions"], tuple(Option(id, description) for id, description in body["options"]))
