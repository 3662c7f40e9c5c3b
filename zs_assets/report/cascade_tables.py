"""Tables of the cascades: points and their cost, targets, what the gain is worth, and how the systems agree."""

from __future__ import annotations

from typing import Any

from zs_assets.report.charts.selective_rows import cascade_cells, drawn_from
from zs_assets.report.tables import Table
from zs_assets.report.wording import (
    ABSENT,
    count,
    exact_share,
    figure,
    milliseconds,
    points,
    share,
    signed,
    signed_points,
)

SHOWN_ERRORS = 10
"""Most frequent shared errors printed; all of them are in report.json."""

ERROR_KINDS = {
    "shared_primary": "rows both miss, by the primary's label",
    "shared_fallback": "rows both miss, by the fallback's label",
    "same": "rows both miss with one label",
    "primary": "all errors of the primary, for reference",
}

Row = dict[str, Any]


def _name(dataset: str, primary: str, fallback: str) -> str:
    return f"{primary} then {fallback} on {dataset}"


def _four(value: float | None) -> str:
    return ABSENT if value is None else f"{value:.4g}"


def points_table(report: dict[str, Any]) -> Table:
    """The best threshold and the reference rows, with what they cost."""
    rows: list[tuple[str, ...]] = []
    for dataset, primary, fallback, own in cascade_cells(report, "cascade_sweep"):
        kept = [row for row in own if row["best"]] + [row for row in own if row["kind"] != "threshold"]
        rows += [(_name(dataset, primary, fallback), *_point_cells(row)) for row in kept]
    columns: tuple[str, ...] = (
        "cascade",
        "point",
        "threshold",
        "kept",
        "escalated",
        "correct",
        "accuracy",
        "cost, USD",
    )
    columns += ("unknown amounts", "saving against the fallback", "latency p50, ms", "latency p95, ms")
    return Table("Best point of each cascade, and each system alone", columns, tuple(rows))


def _point_cells(row: Row) -> tuple[str, ...]:
    words = {
        "threshold": "best",
        "primary": "primary alone",
        "fallback": "fallback alone",
        "oracle": "oracle (ceiling)",
    }
    return (
        words[row["kind"]],
        _four(row["threshold"]),
        count(row["kept"]),
        count(row["escalated"]),
        count(row["correct"]),
        share(row["accuracy"]),
        "unknown" if row["cost_usd"] is None else f"{row['cost_usd']:.6f}",
        count(row["cost_unknown"]),
        ABSENT if row["saving"] is None else share(row["saving"]).replace("-", "−"),
        milliseconds(row["latency_p50_ms"]),
        milliseconds(row["latency_p95_ms"]),
    )


def targets_table(report: dict[str, Any]) -> Table:
    rows: list[tuple[str, ...]] = [
        (
            _name(dataset, primary, fallback),
            exact_share(row["target"]),
            _reached(row),
            _four(row["threshold"]),
            share(row["accuracy"]),
            ABSENT if not row["attainable"] else "unknown" if row["cost_usd"] is None else f"{row['cost_usd']:.6f}",
            share(row["best_accuracy"]),
        )
        for dataset, primary, fallback, own in cascade_cells(report, "cascade_targets")
        for row in own
    ]
    columns: tuple[str, ...] = (
        "cascade",
        "target",
        "reached by",
        "threshold",
        "accuracy",
        "cost, USD",
        "highest accuracy of anything",
    )
    return Table("Accuracy targets fixed before the runs; none is revised", columns, tuple(rows))


def _reached(row: Row) -> str:
    if not row["attainable"]:
        return "unattainable: above the oracle too" if row["oracle_misses"] else "unattainable"
    return {"threshold": "a threshold"}.get(row["reached_by"], f"the {row['reached_by']} alone")


def gain_table(report: dict[str, Any]) -> Table:
    """What is left of the gain on rows that had no say, and why the p value beside it is too small."""
    rows: list[tuple[str, ...]] = [
        (
            _name(dataset, primary, fallback),
            row["better_single"],
            ABSENT if row["gain_in_sample"] is None else f"{signed(row['gain_in_sample'], 0)} of {row['n']:,}",
            _gain(row),
            share(row["routed_share"]),
            f"{row['only_cascade']} / {row['only_single']}",
            ABSENT if row["mcnemar_p"] is None else f"{row['mcnemar_p']:.2g}",
        )
        for dataset, primary, fallback, own in cascade_cells(report, "cascades")
        for row in own
    ]
    columns: tuple[str, ...] = ("cascade", "better single system", "gain in sample, rows")
    columns += ("gain on rows left out, points [95 %] (addition)", "resamples that route")
    columns += ("only cascade / only single right", "McNemar p: optimistic (addition)")
    return Table(
        f"Gain over the better single system (out of bag, {drawn_from(report, 'cascades')})", columns, tuple(rows)
    )


def _gain(row: Row) -> str:
    if row["gain_out_of_bag"] is None:
        return ABSENT
    low, high = row["gain_ci95_low"], row["gain_ci95_high"]
    ends = "" if low is None or high is None else f" [{points(low)}, {points(high)}]"
    return signed_points(row["gain_out_of_bag"]) + ends


def confirmation_table(report: dict[str, Any]) -> Table:
    """Confirmatory runs, where the study asked for them: chosen on some rows, scored on the others."""
    rows: list[tuple[str, ...]] = [
        (
            _name(dataset, primary, fallback),
            count(row["validation_rows"]),
            "all escalated" if row["confirmed_threshold"] is None else _four(row["confirmed_threshold"]),
            f"{row['confirmed_correct']} of {row['test_rows']}",
            f"{share(row['confirmed_accuracy'])} [{share(row['confirmed_low'])}, {share(row['confirmed_high'])}]",
            f"{row['confirmed_single']}: {row['confirmed_single_correct']} of {row['test_rows']}",
            ABSENT if row["confirmed_difference"] is None else signed_points(row["confirmed_difference"]),
            figure(row["confirmed_p"]),
            "unknown" if row["confirmed_cost_usd"] is None else f"{row['confirmed_cost_usd']:.6f}",
        )
        for dataset, primary, fallback, own in cascade_cells(report, "cascades")
        for row in own
        if row["test_rows"] is not None
    ]
    columns: tuple[str, ...] = (
        "cascade",
        "rows that chose",
        "threshold",
        "right on the test rows",
        "accuracy [exact 95 %]",
    )
    columns += ("single system chosen", "difference, points", "exact McNemar p", "cost, USD")
    return Table("Confirmatory run: threshold chosen on one part, scored on the other", columns, tuple(rows))


def agreement_table(report: dict[str, Any]) -> Table:
    keys = ("n", "both_correct", "primary_only", "fallback_only", "both_wrong_same", "both_wrong_different")
    rows: list[tuple[str, ...]] = [
        (_name(dataset, primary, fallback), *(count(row[key]) for key in (*keys, "distinct_shared_errors")))
        for dataset, primary, fallback, own in cascade_cells(report, "agreements")
        for row in own
    ]
    columns: tuple[str, ...] = (
        "cascade",
        "rows",
        "both right",
        "only primary",
        "only fallback",
        "both wrong, one label",
    )
    columns += ("both wrong, different labels", "distinct shared errors")
    return Table("How the two systems agree", columns, tuple(rows))


def shared_error_tables(report: dict[str, Any]) -> list[Table]:
    """The most frequent errors both systems make with one label, one table per dataset and cascade."""
    tables = []
    for dataset, primary, fallback, own in cascade_cells(report, "shared_errors"):
        ordered = sorted(own, key=lambda row: -row["count"])[:SHOWN_ERRORS]
        with_parents = any(row["same_parent"] is not None for row in ordered)
        body = tuple(
            (row["gold"], row["predicted"], count(row["count"]), *([_domain(row)] if with_parents else []))
            for row in ordered
        )
        rest = f", {len(ordered)} most frequent of {len(own)} distinct pairs" if len(own) > len(ordered) else ""
        caption = f"Errors shared by {primary} and {fallback} on {dataset}{rest}"
        columns = ("gold label", "both say", "rows", *(["parent domain"] if with_parents else []))
        tables.append(Table(caption, columns, body))
    return tables


def _domain(row: Row) -> str:
    return ABSENT if row["same_parent"] is None else "same" if row["same_parent"] else "another"


def domain_table(report: dict[str, Any]) -> Table:
    """Wrong answers inside the gold label's parent domain and across domains, where labels have parents."""
    rows: list[tuple[str, ...]] = [
        (
            _name(dataset, primary, fallback),
            ERROR_KINDS[row["errors"]],
            count(row["n"]),
            _part(row["inside"], row["n"]),
            _part(row["across"], row["n"]),
            count(row["failed"]),
        )
        for dataset, primary, fallback, own in cascade_cells(report, "error_domains")
        for row in own
    ]
    columns: tuple[str, ...] = (
        "cascade",
        "errors",
        "wrong labels",
        "same parent domain",
        "another domain",
        "without an answer",
    )
    return Table("Errors inside and across parent domains", columns, tuple(rows))


def _part(value: int | None, whole: int | None) -> str:
    return count(value) if value is None or not whole else f"{value:,} ({share(value / whole)})"


def disagreement_table(report: dict[str, Any]) -> Table:
    keys = ("n", "disagreements", "primary_wins", "fallback_wins", "neither")
    rows: list[tuple[str, ...]] = [
        (_name(dataset, primary, fallback), row["tier"], *(count(row[key]) for key in keys))
        for dataset, primary, fallback, own in cascade_cells(report, "tier_disagreements")
        for row in own
    ]
    columns: tuple[str, ...] = (
        "cascade",
        "tier of the primary",
        "rows",
        "differ",
        "only primary right",
        "only fallback right",
        "neither",
    )
    return Table("Disagreements by tier", columns, tuple(rows))
