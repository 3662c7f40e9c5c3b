"""Rows of the analysis tables by dataset and system or cascade, and how their settings are said in captions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from zs_assets.report.wording import plural

Row = dict[str, Any]


def cells(report: dict[str, Any], table: str) -> Iterator[tuple[str, str, list[Row]]]:
    """(dataset, backend, its rows) of a table by dataset x backend, in the study's order, where there are rows."""
    rows = report["analyses"][table]
    for dataset in report["study"]["datasets"]:
        for backend in report["study"]["backends"]:
            own = [row for row in rows if (row["dataset"], row["backend"]) == (dataset, backend)]
            if own:
                yield dataset, backend, own


def cascade_cells(report: dict[str, Any], table: str) -> Iterator[tuple[str, str, str, list[Row]]]:
    """(dataset, primary, fallback, its rows) of a table by dataset x cascade, cascades outermost as in the study."""
    rows = report["analyses"][table]
    for primary, fallback in report["study"]["cascades"]:
        for dataset in report["study"]["datasets"]:
            named = (dataset, primary, fallback)
            own = [row for row in rows if (row["dataset"], row["primary"], row["fallback"]) == named]
            if own:
                yield *named, own


def log_cells(report: dict[str, Any]) -> Iterator[tuple[str, str, str, list[Row]]]:
    """(dataset, backend, reference, its rows) of the decision log, in the order of the table."""
    rows = report["analyses"]["decision_log"]
    for named in dict.fromkeys((row["dataset"], row["backend"], row["reference"]) for row in rows):
        yield *named, [row for row in rows if (row["dataset"], row["backend"], row["reference"]) == named]


def drawn_from(report: dict[str, Any], analysis: str) -> str:
    """'10,000 resamples, seed 1729' of an analysis."""
    settings = report["study"]["analyses"][analysis]
    if settings is None:
        return "resamples not recorded"
    return f"{plural(settings['resamples'], 'resample')}, seed {settings['seed']}"
