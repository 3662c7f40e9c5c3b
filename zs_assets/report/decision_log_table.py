"""The decision log: agreement with a reference system where nobody labelled anything, and no word that says more."""

from __future__ import annotations

from typing import Any

from zs_assets.report.charts.selective_rows import log_cells
from zs_assets.report.tables import Table
from zs_assets.report.wording import ABSENT, count, share

STRATUM_WORDS = {
    "all": "all rows",
    "majority_baseline": "always the most frequent decision",
    "decision": "by decision",
    "tier": "by tier",
    "tier and decision": "by tier and decision",
}

Row = dict[str, Any]


def decision_log_tables(report: dict[str, Any]) -> list[Table]:
    """One table per dataset and (system, reference): a row per stratum."""
    columns = ("stratum", "tier", "decision", "both decided", "alike", "agreement", "Wilson 95 %")
    return [
        Table(f"{backend} beside its reference {reference} on {dataset}", columns, tuple(_cells(row) for row in own))
        for dataset, backend, reference, own in log_cells(report)
    ]


def _cells(row: Row) -> tuple[str, ...]:
    known = row["ci95_low"] is not None and row["ci95_high"] is not None
    return (
        STRATUM_WORDS[row["stratum"]],
        row["tier"] or "",
        row["decision"] or "",
        count(row["n"]),
        count(row["agree"]),
        share(row["share"]),
        f"{share(row['ci95_low'])} to {share(row['ci95_high'])}" if known else ABSENT,
    )
