"""Downloads of the choice-order study: the comparison as CSV, and every aggregate with the pinned settings.

What belongs here: figures of groups of samples, and invented sentences of public datasets. What never does: texts and
ids of examples, single records, seeds (choice-order study, "Scope and downloads").
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from typing import Any

from zs_assets.protocol.names import AssetName
from zs_assets.report.order_viewer import order_titles
from zs_assets.storage.order_schemas import FOLLOW_UP_COUNTS_TABLE, ORDER_TABLES

Row = dict[str, Any]

COMPARISON = (
    *("dataset", "rule", "sample_group", "backend", "title", "samples", "texts", "options", "orders", "repeats"),
    *("threshold_points", "large_ranges", "large_share", "large_share_low", "large_share_high"),
    *("large_share_exact_low", "large_share_exact_high", "large_share_by_text"),
    *("large_share_by_text_low", "large_share_by_text_high"),
    *("median_range", "median_range_low", "median_range_high", "p95_range", "max_range", "range_tolerance"),
    *("winner_changes", "winner_change_share", "winner_change_share_low", "winner_change_share_high"),
    *("tied_samples", "tied_share", "same_order", "different_order", "excess", "excess_low", "excess_high"),
    *("repeat_groups", "repeat_winner_changes", "repeat_change_samples", "order_p_value"),
)
"""Columns of the comparison, as ORDER_SENSITIVITY names them, with the title of the system."""

SINGLE_RECORDS = (AssetName.ORDER_SCORES, AssetName.REPEAT_VERIFICATION)
"""Tables with a row per example: not aggregates. Repeat verification goes out without ids."""

# Not order_behaviour: it quotes the published study, and a download holds what was measured.
SYSTEM_SETTINGS = (
    *("name", "title", "deployment", "model", "revision", "decimals", "pin", "pinned", "model_rule"),
    *("confidence_formula", "verified", "identity"),
)
VERIFICATION_FIGURES = (
    *("dataset", "backend", "model_resolved", "planned", "scored", "distinct_vectors", "distinct_labels"),
    *("distinct_winners", "largest_range"),
)
SECRET = ("seed", "example_id", "presentation_id", "text")
"""Keys that no download has; a seed by any name."""


def comparison_csv(report: dict[str, Any]) -> str:
    """One row per dataset x rule x sample group x system; shares between 0 and 1, ranges in points, null empty.

    Parameters
    ----------
    report
        A report as `build_report` makes it.
    """
    titles = order_titles(report)
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(COMPARISON)
    for row in report["analyses"][AssetName.ORDER_SENSITIVITY.value]:
        titled = {**row, "title": titles[row["backend"]]}
        writer.writerow([titled[name] for name in COMPARISON])
    return buffer.getvalue()


def aggregates(report: dict[str, Any]) -> Row:
    """Every aggregate table, the settings of the study and of every system, and the repeat verification.

    Retry counts are `faults` and `recovered` of `order_coverage`. A sentence is there for public datasets only.
    """
    study = report["study"]
    asked = study["analyses"].get("order_sensitivity") or {}
    return {
        "study": {name: study[name] for name in ("name", "title", "question", "limitations")},
        "settings": without_secrets({"plan": study["plan"], "order_sensitivity": asked}),
        "datasets": [
            {name: facts[name] for name in ("name", "sampled", "options", "protocol_hash", "prompt_hash", "private")}
            for facts in report["datasets"]
        ],
        "systems": [{name: system[name] for name in SYSTEM_SETTINGS} for system in report["systems"]],
        "tables": {
            asset.value: report["analyses"][asset.value] for asset in ORDER_TABLES if asset not in SINGLE_RECORDS
        },
        "columns": {
            asset.value: {column.name: (column.metadata or {}).get(b"description", b"").decode() for column in schema}
            for asset, schema in ORDER_TABLES.items()
            if asset not in SINGLE_RECORDS
        },
        "follow_up": report["analyses"][FOLLOW_UP_COUNTS_TABLE],
        "repeat_verification": list(_verification(report)),
        "generated_at": report["generated_at"],
        "versions": report["versions"],
    }


def _verification(report: dict[str, Any]) -> Iterable[Row]:
    public = {facts["name"] for facts in report["datasets"] if not facts["private"]}
    for row in report["analyses"][AssetName.REPEAT_VERIFICATION.value]:
        figures = {name: row[name] for name in VERIFICATION_FIGURES}
        if row["dataset"] in public and row["text"] is not None:
            figures["sentence"] = row["text"]
        yield figures


def without_secrets(value: Any) -> Any:
    """The settings without keys that name a seed, an id or a text, at any depth."""
    if isinstance(value, dict):
        return {key: without_secrets(item) for key, item in value.items() if not is_secret(key)}
    if isinstance(value, list):
        return [without_secrets(item) for item in value]
    return value


def is_secret(key: str) -> bool:
    return key in SECRET or key.endswith("_seed")
