"""The tables of the choice-order section as rows of text: one function per table, one view at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from zs_assets.report.order_asking import large_share_left
from zs_assets.report.order_wording import (
    beside,
    bracketed,
    exact_interval,
    is_numerical_noise,
    percent,
    points,
    share_interval,
    signed_interval,
)
from zs_assets.report.tables import Table
from zs_assets.report.wording import ABSENT, count, plural, signed

Row = dict[str, Any]
Titles = dict[str, str]

FIGURE_WORDS = {"large_share": "share of large ranges", "winner_change_share": "share of winner changes"}


def sensitivity_table(rows: Sequence[Row], titles: Titles) -> Table:
    """Ranges and winner changes, a row per system."""
    threshold = f"{rows[0]['threshold_points']:g}" if rows else "threshold"
    columns = (
        *("system", f"range ≥ {threshold} points, %", "texts weigh alike, %", "median range, points"),
        *("95th percentile", "maximum", "untied winner changes, %", "samples with a tie, %"),
    )
    return Table("Score ranges and winner changes", columns, tuple(_sensitivity(row, titles) for row in rows))


def _sensitivity(row: Row, titles: Titles) -> tuple[str, ...]:
    exact = exact_interval(row)
    return (
        titles[row["backend"]],
        large_share(row) + (f", exact {exact}" if exact else ""),
        beside(percent(row["large_share_by_text"]), share_interval(row, "large_share_by_text")),
        beside(points(row["median_range"]), bracketed(row["median_range_low"], row["median_range_high"])),
        points(row["p95_range"]),
        points(row["max_range"]),
        beside(percent(row["winner_change_share"]), share_interval(row, "winner_change_share")),
        percent(row["tied_share"]),
    )


def large_share(row: Row) -> str:
    return beside(percent(row["large_share"]), share_interval(row, "large_share"))


def controls_table(rows: Sequence[Row], titles: Titles) -> Table:
    """Differences between repeats of one order and between orders, and what noise alone would show."""
    columns = (
        *("system", "same order, points", "different order, points", "excess, points", "repeat winner changes"),
        *("samples with one", "order p", "samples with p ≤ .05, %", "median range by noise alone"),
        "range share by noise alone, %",
    )
    return Table("Repeat controls", columns, tuple(_controls(row, titles) for row in rows))


def _controls(row: Row, titles: Titles) -> tuple[str, ...]:
    groups = row["repeat_groups"]
    return (
        titles[row["backend"]],
        points(row["same_order"], 3),
        points(row["different_order"], 3),
        beside(points(row["excess"], 3), bracketed(row["excess_low"], row["excess_high"], 3)),
        f"{count(row['repeat_winner_changes'])} of {groups:,} order groups" if groups else ABSENT,
        f"{count(row['repeat_change_samples'])} of {row['samples']:,}" if groups else ABSENT,
        _order_p(row),
        percent(row["order_sample_share"]),
        beside(
            points(row["noise_median_range"]), bracketed(row["noise_median_range_low"], row["noise_median_range_high"])
        ),
        beside(percent(row["noise_large_share"]), share_interval(row, "noise_large_share")),
    )


def _order_p(row: Row) -> str:
    """p asks whether the orders differ at all, so that the last digits of an arithmetic may give .005."""
    if row["order_p_value"] is None:
        return ABSENT
    p = f"{row['order_p_value']:.3f}"
    if row["max_range"] == 0:
        return f"{p} (no difference)"
    return f"{p} (numerical noise)" if is_numerical_noise(row) else p


def coverage_table(rows: Sequence[Row], titles: Titles) -> Table:
    """How complete every system is, before any intersection."""
    columns = (
        *("system", "scored replies", "label mismatches", "score sets", "label check"),
        *("transport faults", "recovered", "compared"),
    )
    body = tuple(
        (
            titles[row["backend"]],
            f"{count(row['scored'])} of {count(row['planned'])}",
            count(row["label_mismatches"]),
            f"{count(row['score_complete'])} of {count(row['samples'])}",
            f"{count(row['strict_complete'])} of {count(row['samples'])}",
            count(row["faults"]),
            count(row["recovered"]),
            "yes" if row["compared"] else f"no: {row['why_not'] or 'not asked for'}",
        )
        for row in rows
    )
    return Table("Score coverage", columns, body)


def exclusions_table(rows: Sequence[Row], titles: Titles) -> Table:
    body = tuple(
        (titles[row["backend"]], row["reason"].replace("_", " "), count(row["replies"]), count(row["samples"]))
        for row in rows
    )
    return Table("Why samples are not complete", ("system", "reason", "replies", "samples"), body)


def differences_table(rows: Sequence[Row], titles: Titles) -> Table:
    """Pairs on the same samples: a minus b."""
    body = tuple(
        (
            f"{titles[row['backend_a']]} minus {titles[row['backend_b']]}",
            beside(
                ABSENT if row["difference"] is None else signed(row["difference"], 2),
                signed_interval(row["difference_low"], row["difference_high"]),
            ),
            FIGURE_WORDS.get(row["figure"]) or str(row["figure"]),
            f"{row['weighting']}s weigh alike",
            count(row["samples"]),
        )
        for row in rows
    )
    return Table("Differences on the same samples", ("pair", "points [95 %]", "figure", "weighting", "samples"), body)


def positions_table(rows: Sequence[Row], titles: Titles) -> Table:
    """Mean score of whatever stands at a position, a row per system."""
    positions = sorted({row["position"] for row in rows})
    found = {(row["backend"], row["position"]): mean_score(row) for row in rows}
    even = {row["backend"]: points(row["even"]) for row in rows}
    body = tuple(
        (titles[backend], *(found.get((backend, position), ABSENT) for position in positions), without_preference)
        for backend, without_preference in even.items()
    )
    columns = ("system", *(f"position {position + 1}" for position in positions), "without preference")
    return Table("Mean score by position, points", columns, body)


def mean_score(row: Row) -> str:
    return beside(points(row["mean_score"]), bracketed(row["mean_score_low"], row["mean_score_high"]))


AVERAGING_COLUMNS = (
    *("rotations", "median range", "95th percentile", "large ranges, % [95 %]", "winner depends on the start, %"),
    *("tied, %", "agrees with all orders, %", "accuracy, %", "gain over one order, points [95 %]", "cost, USD"),
    "calls",
)


def averaging_table(rows: Sequence[Row], titles: Titles) -> Table:
    """Every system and number of rotations in one table."""
    body = tuple((titles[row["backend"]], *averaging_cells(row)) for row in rows)
    return Table("Averaging over rotations", ("system", *AVERAGING_COLUMNS), body)


def averaging_cells(row: Row) -> tuple[str, ...]:
    return (
        count(row["rotations"]),
        points(row["median_range"]),
        points(row["p95_range"]),
        large_share_left(row),
        percent(row["winner_change_share"]),
        percent(row["tied_share"]),
        percent(row["agreement"]),
        percent(row["accuracy"]),
        _gain(row),
        ABSENT if row["cost_usd"] is None else f"{row['cost_usd']:.2g}",
        points(row["calls"], 1),
    )


def _gain(row: Row) -> str:
    gain = row["accuracy_gain"]
    low, high = (row[f"accuracy_gain_{end}"] for end in ("low", "high"))
    interval = "" if low is None or high is None else signed_interval(100 * low, 100 * high)
    return ABSENT if gain is None else beside(signed(100 * gain, 2), interval)


def averaging_point(row: Row) -> Row:
    """What the curves of a system draw at one number of rotations: points and percent; the interval that is printed."""
    kind = "large_share" if row["large_share_exact_high"] is None else "large_share_exact"
    ends = {end: row[f"{kind}_{end}"] for end in ("low", "high")}
    shares = {"large": row["large_share"], "accuracy": row["accuracy"], **ends}
    return {
        **{name: None if share is None else 100 * share for name, share in shares.items()},
        **{"rotations": row["rotations"], "range": row["median_range"], "cost": row["cost_usd"]},
    }


def gain_words(rows: Sequence[Row]) -> str:
    """The gain of all rotations over one order with its interval; empty without gold labels."""
    last = max(rows, key=lambda row: row["rotations"], default=None)
    if last is None or last["accuracy_gain"] is None or last["rotations"] == 1:
        return ""
    return f"Gain of {last['rotations']} rotations over one order, points [95 %]: {_gain(last)}."


MERGED_BIN = 10
"""Points of a bin in the table: the stored bins of one point would make a hundred columns."""


def ranges_table(rows: Sequence[Row], titles: Titles) -> Table:
    """Samples by their range in bins of ten points, a row per system; the lower end belongs to the bin."""
    merged: dict[str, Counter[int]] = {}
    for row in rows:
        # A range of 100 points has a place in the last bin.
        start = min(int(row["low"] // MERGED_BIN) * MERGED_BIN, 100 - MERGED_BIN)
        merged.setdefault(row["backend"], Counter())[start] += row["samples"]
    last = max((start for counted in merged.values() for start in counted), default=0)
    starts = range(0, last + MERGED_BIN, MERGED_BIN)
    body = tuple((titles[b], *(count(counted[start]) for start in starts)) for b, counted in merged.items())
    columns = ("system", *(f"{start} to {start + MERGED_BIN}" for start in starts))
    return Table("Samples by score range, points", columns, body)


def verification_table(rows: Sequence[Row], titles: Titles) -> Table:
    """Identical requests asked many times: how far the replies differ."""
    columns = (
        *("system", "scored", "different vectors", "different labels", "different winners"),
        *("largest range, points", "model that answered", "sentence"),
    )
    body = tuple(
        (
            titles[row["backend"]],
            f"{count(row['scored'])} of {count(row['planned'])}",
            *(count(row[name]) for name in ("distinct_vectors", "distinct_labels", "distinct_winners")),
            points(row["largest_range"]),
            row["model_resolved"] or ABSENT,
            row["text"] or "not public",
        )
        for row in rows
    )
    return Table("Identical requests, asked many times", columns, body, prose_last=True)


def follow_up_table(rows: Sequence[Row], titles: Titles) -> Table:
    """Whether asking the affected requests again restores complete samples; no figure above changes."""
    columns = ("system", "affected", "recovered", "further replies", "complete samples before / after", "cost, USD")
    body = tuple(
        (
            titles[row["backend"]],
            *(count(row[name]) for name in ("affected", "recovered", "tries")),
            f"{count(row['complete_before'])} / {count(row['complete_after'])} of {count(row['samples'])}",
            ABSENT if row["cost_usd"] is None else f"{row['cost_usd']:.2g}",
        )
        for row in rows
    )
    return Table("Asked again up to three times, apart from every figure", columns, body)


def sample_words(rows: Sequence[Row]) -> str:
    """How many samples and texts a view stands on."""
    if not rows:
        return "no sample is complete for every compared system"
    first = rows[0]
    design = "orders unknown"
    if first["orders"]:
        design = f"{plural(first['orders'], 'order')} x {plural(first['repeats'], 'repeat')}"
    return f"{plural(first['samples'], 'shared sample')}, {plural(first['texts'], 'distinct text')}, {design}"
