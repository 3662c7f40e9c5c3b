"""Tables of how far a stated confidence can be trusted: figures, levels, tiers, certified thresholds, AUROC."""

from __future__ import annotations

from typing import Any

from zs_assets.report.charts.selective_rows import cells, drawn_from
from zs_assets.report.tables import Table
from zs_assets.report.wording import ABSENT, count, exact_share, figure, share, signed

FIGURE_WORDS = {
    "accuracy": "share right",
    "mean_confidence": "mean stated confidence",
    "confidence_gap": "stated minus right",
    "ece_by_level": "ECE, every level a group",
    "ece": "ECE, 10 equal bins",
    "brier": "Brier score, all labels",
}
MAX_LEVEL_ROWS = 200
"""Rows of one folded table of levels; a system off the grid has one level per row, all of them in report.json."""

Row = dict[str, Any]


def calibration_table(report: dict[str, Any]) -> Table:
    """The protocol's figure and interval, ours beside it, and what a perfectly calibrated system would show."""
    rows: list[tuple[str, ...]] = []
    for dataset, backend, own in cells(report, "calibration"):
        by_figure: dict[str, dict[str, Row]] = {}
        for row in own:
            by_figure.setdefault(row["figure"], {})[row["method"]] = row
        rows += [(f"{backend} on {dataset}", *_calibration_cells(name, by)) for name, by in by_figure.items()]
    simulated = {row["resamples"] for row in report["analyses"]["calibration"] if row["method"] == "addition"}
    beside = f"; addition: {count(max(simulated))} simulations" if simulated else ""
    return Table(
        f"Calibration figures (protocol: {drawn_from(report, 'calibration')}{beside})",
        ("system", "figure", "n", "protocol [95 %]", "addition [95 %]", "if calibrated: mean / p95", "remark"),
        tuple(rows),
        prose_last=True,
    )


def _calibration_cells(name: str, by_method: dict[str, Row]) -> tuple[str, ...]:
    protocols, ours = by_method.get("protocol"), by_method.get("addition")
    some = protocols or ours
    assert some is not None
    remarks = [
        f"{who}: {row['remark']}"
        for who, row in (("protocol", protocols), ("addition", ours))
        if row is not None and row["remark"]
    ]
    weak = " · weak" if protocols is not None and (protocols["remark"] or "").startswith("weak") else ""
    noise = ABSENT if ours is None or ours["noise_mean"] is None else _noise(ours)
    return (
        FIGURE_WORDS.get(name, name),
        count(some["n"]),
        _with_interval(protocols) + weak,
        _with_interval(ours),
        noise,
        "; ".join(remarks),
    )


def _noise(row: Row) -> str:
    return f"{figure(row['noise_mean'])} / {figure(row['noise_p95'])}"


def _with_interval(row: Row | None, digits: int = 4) -> str:
    """0.1568 [0.1418, 0.2000]; brackets only where there is an interval."""
    if row is None or row["value"] is None:
        return ABSENT
    if row["ci95_low"] is None or row["ci95_high"] is None:
        return figure(row["value"], digits)
    low, high = (figure(row[key], digits) for key in ("ci95_low", "ci95_high"))
    return f"{figure(row['value'], digits)} [{low}, {high}]"


def level_tables(report: dict[str, Any]) -> list[Table]:
    """One long table per dataset and system: a row per observed level, from the highest down."""
    columns: tuple[str, ...] = ("confidence", "N", "correct", "accuracy", "Wilson 95 %", "exact 95 % (addition)")
    columns += ("accepted", "errors", "coverage", "risk", "risk, upper 95 % (addition)")
    tables = []
    for dataset, backend, own in cells(report, "confidence_levels"):
        left = len(own) - MAX_LEVEL_ROWS
        more = f", the highest {MAX_LEVEL_ROWS}; {left:,} more in report.json" if left > 0 else ""
        caption = f"Observed levels of {backend} on {dataset}{more}"
        tables.append(Table(caption, columns, tuple(_level_cells(row) for row in own[:MAX_LEVEL_ROWS])))
    return tables


def _level_cells(row: Row) -> tuple[str, ...]:
    return (
        f"{row['level']:.4g}" if row["level"] != 1.0 else "1.00",
        count(row["count"]) + (" · small" if row["small"] else ""),
        count(row["correct"]),
        share(row["accuracy"]),
        f"{share(row['wilson_low'])} to {share(row['wilson_high'])}",
        f"{share(row['exact_low'])} to {share(row['exact_high'])}",
        count(row["accepted"]),
        count(row["errors"]),
        share(row["coverage"]),
        share(row["risk"]),
        share(row["risk_upper"]),
    )


def tier_table(report: dict[str, Any]) -> Table:
    rows: list[tuple[str, ...]] = [
        (
            f"{backend} on {dataset}",
            row["tier"],
            count(row["count"]),
            count(row["correct"]),
            share(row["accuracy"]),
            figure(row["mean_confidence"]),
        )
        for dataset, backend, own in cells(report, "confidence_tiers")
        for row in own
    ]
    return Table(
        "Tiers of confidence (fixed by the protocol)",
        ("system", "tier", "N", "correct", "accuracy", "mean confidence"),
        tuple(rows),
    )


def certified_table(report: dict[str, Any]) -> Table:
    """What exact tests certify, and beside it what the uncertified choice on the same rows would have claimed."""
    rows: list[tuple[str, ...]] = [
        (
            f"{backend} on {dataset}",
            exact_share(row["risk_limit"]),
            exact_share(row["confidence_level"]),
            "none" if row["threshold"] is None else f"{row['threshold']:.4g}",
            share(row["coverage"]),
            ABSENT if row["threshold"] is None else f"{row['errors']} of {row['accepted']}",
            figure(row["p_value"]),
            ABSENT if row["stopped_at"] is None else f"{row['stopped_at']:.4g}",
            share(row["plug_in_coverage"]),
        )
        for dataset, backend, own in cells(report, "certified_thresholds")
        for row in own
    ]
    columns: tuple[str, ...] = (
        "system",
        "errors at most",
        "held with",
        "threshold",
        "coverage",
        "errors",
        "p of its test",
    )
    columns += ("stopped at", "plug-in coverage, no promise")
    return Table("Certified thresholds (addition: exact binomial tests in a fixed order)", columns, tuple(rows))


def auroc_table(report: dict[str, Any]) -> Table:
    rows: list[tuple[str, ...]] = [
        (
            f"{backend} on {dataset}",
            row["statistic"],
            "integers (primary)" if row["form"] == "integer" else "floats (published)",
            f"{row['n']:,} ({row['correct']:,} right)",
            figure(row["auroc"], 4),
            _difference(row),
            figure(row["p_value"]),
            figure(row["p_holm"]),
            row["undefined"] or "",
        )
        for dataset, backend, own in cells(report, "auroc_comparisons")
        for row in own
    ]
    columns: tuple[str, ...] = (
        "system",
        "statistic",
        "form",
        "rows below 1.00",
        "AUROC",
        "confidence minus it [95 %]",
        "p",
    )
    columns += ("p, Holm (addition)", "undefined because")
    caption = f"Discrimination outside confidence 1.00 (paired bootstrap, {drawn_from(report, 'calibration')})"
    return Table(caption, columns, tuple(rows), prose_last=True)


def _difference(row: Row) -> str:
    if row["difference"] is None:
        return ABSENT
    if row["ci95_low"] is None or row["ci95_high"] is None:
        return signed(row["difference"], 4)
    return f"{signed(row['difference'], 4)} [{signed(row['ci95_low'], 4)}, {signed(row['ci95_high'], 4)}]"
