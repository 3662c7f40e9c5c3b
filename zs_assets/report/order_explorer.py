"""The explorer of public sentences: which are kept, and each one's recorded scores by order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from zs_assets.report.order_wording import points
from zs_assets.report.tables import Table

EXPLORER_SENTENCES = 24
"""Sentences kept of one dataset: twelve systems with fourteen orders of seven scores are 28,000 figures already."""

EXPLORER_FIGURES = 20_000
"""Scores kept of one system: 77 options in 154 orders leave one sentence, 300 options none."""

Row = dict[str, Any]


def explorer_rows(table: pa.Table, public: Sequence[str]) -> pa.Table:
    """The rows of the first sentences of every public dataset; a private dataset has none.

    Parameters
    ----------
    table
        Columns of ORDER_SCORES.
    public
        Datasets whose texts may be shown.
    """
    parts = [_first_sentences(table.filter(pc.equal(table["dataset"], dataset))) for dataset in public]
    return pa.concat_tables([table.slice(0, 0), *parts])


def _first_sentences(table: pa.Table) -> pa.Table:
    """As many as the page can carry."""
    if table.num_rows == 0:
        return table
    options, orders = len(table["option_order"][0]), len(pc.unique(table["order_index"]))
    kept = pc.unique(table["example_id"]).slice(0, min(EXPLORER_SENTENCES, EXPLORER_FIGURES // (options * orders)))
    return table.filter(pc.is_in(table["example_id"], value_set=kept))


def option_names(report: dict[str, Any], dataset: str, rows: Sequence[Row]) -> list[str]:
    """Ids of the declared options; numbered where the report does not know them."""
    facts = next((facts for facts in report["datasets"] if facts["name"] == dataset), None)
    if facts and facts["options"]:
        return list(facts["options"])
    return [f"option {number}" for number in range(1, max(len(row["option_order"]) for row in rows) + 1)]


def explorer(report: dict[str, Any], dataset: str) -> Row | None:
    """Sentences with every system's scores by order as written figures; None where nothing is public.

    `orders` holds, per order, the 1-based position of each declared option; `scores` of a sentence and system hold,
    per order, one figure per option (null where the system did not score it), then `mean` and `range` over orders.
    """
    rows = [row for row in report["analyses"]["order_scores"] if row["dataset"] == dataset]
    if not rows:
        return None
    orders = {row["order_index"]: row["option_order"] for row in sorted(rows, key=lambda row: row["order_index"])}
    sentences: dict[str, Row] = {}
    for row in rows:
        sentence = sentences.setdefault(row["example_id"], {"text": row["text"], "scores": {}})
        sentence["scores"].setdefault(row["backend"], {})[row["order_index"]] = row["scores"]
    for sentence in sentences.values():
        sentence["scores"] = {
            backend: _written([by_order.get(order) for order in orders])
            for backend, by_order in sentence["scores"].items()
        }
    return {
        "options": option_names(report, dataset, rows),
        "numbers": [order + 1 for order in orders],
        "orders": [[order.index(option) + 1 for option in range(len(order))] for order in orders.values()],
        "sentences": list(sentences.values()),
        "note": explorer_note(report, dataset, len(sentences)),
    }


def explorer_note(report: dict[str, Any], dataset: str, shown: int) -> str:
    facts = next((facts for facts in report["datasets"] if facts["name"] == dataset), None)
    total = facts["sampled"] if facts else shown
    part = f"The first {shown} of {total:,} sentences" if shown < total else f"All {shown} sentences"
    return f"{part} with the scores that were recorded, means of the repeats in points. Nothing is asked here."


def _written(scores: list[list[float] | None]) -> Row:
    complete = [vector for vector in scores if vector is not None]
    by_option = list(zip(*complete, strict=True))
    return {
        "by_order": [None if vector is None else [points(100 * score) for score in vector] for vector in scores],
        "mean": [points(100 * sum(own) / len(own)) for own in by_option],
        "lowest": [points(100 * min(own)) for own in by_option],
        "highest": [points(100 * max(own)) for own in by_option],
        # Equal means of repeats may differ in their last bits: nine decimals keep real ranges of 1e-6 points.
        "range": [points(round(100 * (max(own) - min(own)), 9)) for own in by_option],
    }


def sentence_tables(found: Row, titles: dict[str, str]) -> list[Table]:
    """One table per sentence for readers without script: mean and extremes over the orders, a row per system."""
    columns = ("system", *found["options"])
    tables = []
    for sentence in found["sentences"]:
        rows = []
        for backend, scores in sentence["scores"].items():
            cells = [
                f"{mean} [{low}, {high}]"
                for mean, low, high in zip(scores["mean"], scores["lowest"], scores["highest"], strict=True)
            ]
            rows.append((titles[backend], *(cells or ["not scored"] * len(found["options"]))))
        tables.append(Table(f"“{sentence['text']}”", columns, tuple(rows)))
    return tables
