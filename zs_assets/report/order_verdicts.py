"""Sentences about choice order: what moves and what was not seen to, what noise explains, what versions changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from zs_assets.protocol.question import ALL_GROUPS
from zs_assets.report.inputs import ReportInputs
from zs_assets.report.order_wording import (
    beside,
    exact_interval,
    group_said,
    is_numerical_noise,
    missing_group,
    ordered_groups,
    percent,
    points,
    share_interval,
    signed_interval,
    with_percent,
)
from zs_assets.report.publication_answer import partitions_run
from zs_assets.report.wording import listed, plural, signed
from zs_assets.storage.order_schemas import STRICT_COMPLETE

SIGNIFICANT = 0.05
"""A permutation p above this is no order effect beyond repeat noise."""

FEW_TEXTS = 30
"""Below this many distinct texts nothing is said to hold still: 0 of 29 leaves up to 12 % of texts open."""

MEANING = (
    "Stability is not accuracy: a scorer that gives every text the same scores would be perfectly stable and know "
    "nothing."
)
NO_RANKING = (
    "No ranking is claimed: that one of two systems is steadier is shown only where the paired interval of a named "
    "pair excludes zero."
)

Row = dict[str, Any]
Analyses = Mapping[str, list[Row]]


def order_verdicts(inputs: ReportInputs, analyses: Analyses) -> list[Row]:
    """Verdicts of every dataset with coverage rows, on the strict-complete samples of the study's main group."""
    verdicts = []
    for dataset in (facts.name for facts in inputs.study.datasets):
        verdicts += _of_dataset(inputs, dataset, analyses)
    return verdicts


def _of_dataset(inputs: ReportInputs, dataset: str, analyses: Analyses) -> list[Row]:
    coverage = [row for row in analyses["order_coverage"] if row["dataset"] == dataset]
    every = [row for row in analyses["order_sensitivity"] if row["dataset"] == dataset]
    verified = any(row["dataset"] == dataset for row in analyses["repeat_verification"])
    if not every and (verified or not coverage):
        return []
    titles = {name: inputs.systems[name].title for name in inputs.study.backends}
    asked = inputs.study.analyses.order_sensitivity
    main_group = asked.main_group if asked else None
    group = ordered_groups(every or coverage, main_group)[0]
    elsewhere = missing_group(every or coverage, main_group)
    rows = [
        row for row in every if row["rule"] == STRICT_COMPLETE and row["sample_group"] == group and row["samples"] > 0
    ]
    if not rows:
        return [_verdict(dataset, "empty", f"{_emptied(coverage, group, titles)} {elsewhere}".rstrip())]
    found = [_verdict(dataset, "stability", f"{_stability(dataset, rows, group, titles)} {elsewhere}".rstrip())]
    noisy = _within_noise(rows, titles)
    found += [_verdict(dataset, "noise", noisy)] if noisy else []
    differences = [row for row in analyses["order_differences"] if _is_main_difference(row, dataset, group)]
    pairs = [(a, b) for a, b in asked.pairs] if asked else []
    found += [_pair(inputs, dataset, a, b, differences, rows[0]["threshold_points"]) for a, b in pairs]
    return [*found, _verdict(dataset, "meaning", f"{MEANING} {NO_RANKING}" if len(rows) > 1 else MEANING)]


def _verdict(dataset: str, kind: str, sentence: str, status: str = "described") -> Row:
    return {"dataset": dataset, "kind": kind, "status": status, "sentence": sentence}


def _stability(dataset: str, rows: list[Row], group: str, titles: dict[str, str]) -> str:
    ranked = by_stability(rows, "large_share")
    still = [row for row in ranked if holds_still(row)]
    moving = [row for row in ranked if not holds_still(row)]
    first = ranked[0]
    shared = f" that all {len(rows)} systems share" if len(rows) > 1 else ""
    which = "" if group == ALL_GROUPS else f", {group_said(group)}"
    samples = plural(first["samples"], "strict-complete sample")
    said = [f"On {samples} of {dataset}{which} ({plural(first['texts'], 'text')}){shared}, "]
    if still:
        said.append(_still(still, titles))
    if moving:
        least, most = ends(moving, "large_share")
        if not still and len(least) < len(moving):
            said.append(f"{_moves(least, titles, 'least')}; ")
        said.append(("; " if still else "") + _moves(most, titles, "most" if len(rows) > len(most) else ""))
    return "".join(said) + "."


def by_stability(rows: list[Row], figure: str) -> list[Row]:
    """Lowest figure first; equal ones by median, then largest range; without the figure last."""
    return sorted(rows, key=lambda row: (row[figure] is None, row[figure], row["median_range"], row["max_range"]))


def ends(rows: Sequence[Row], figure: str) -> tuple[list[Row], list[Row]]:
    """Every row with the lowest value and every row with the highest: of equal ones none is singled out."""
    values = [row[figure] for row in rows]
    return tuple([row for row in rows if row[figure] == end] for end in (min(values), max(values)))  # type: ignore[return-value]


def holds_still(row: Row) -> bool:
    """No sample reaches the threshold and none changes its winner."""
    return row["large_ranges"] == 0 and row["winner_changes"] == 0


def _still(still: list[Row], titles: dict[str, str]) -> str:
    first = still[0]
    names = listed([titles[row["backend"]] for row in still], shown=len(still))
    threshold = f"{first['threshold_points']:g} points"
    largest = points(max(row["max_range"] for row in still))
    if first["texts"] < FEW_TEXTS:
        seen = f"no range of {threshold} and no winner change was seen of {names} in {plural(first['texts'], 'text')}"
        high = percent(first["large_share_exact_high"])
        return f"{seen} (largest range {largest} points); up to {high} % of texts may have a large one (exact 95 %)"
    verb = "holds" if len(still) == 1 else "hold"
    said = f"{names} {verb} still: no range reaches {threshold} and no winner changes (largest range {largest} points"
    return f"{said}; share {percent(first['large_share'])} %, exact 95 % interval {exact_interval(first)})"


def _moves(rows: list[Row], titles: dict[str, str], end: str) -> str:
    """Who moves by how much; rows of one share, whose intervals may differ."""
    names = listed([titles[row["backend"]] for row in rows], shown=len(rows))
    verb = "moves" if len(rows) == 1 else "move"
    share = with_percent(rows[0]["large_share"])
    intervals = list(dict.fromkeys(share_interval(row, "large_share") for row in rows))
    share = beside(share, listed(intervals, shown=len(intervals)))
    exact = exact_interval(rows[0])
    said = f"{names} {verb}{f' {end}:' if end else ''} by at least {rows[0]['threshold_points']:g} points in {share}"
    return f"{said} of samples" + (" each" if len(rows) > 1 else "") + (f" (exact {exact})" if exact else "")


def _within_noise(rows: list[Row], titles: dict[str, str]) -> str:
    noisy = [row for row in rows if not is_numerical_noise(row) and is_within_noise(row)]
    if not noisy:
        return ""
    named = listed([f"{titles[row['backend']]} ({_noise(row)})" for row in noisy], shown=len(noisy))
    return f"Not beyond its own repeat noise is the order effect of {named}."


def is_within_noise(row: Row) -> bool:
    """The permutation test finds no effect, or repeat noise alone would show as many large ranges.

    A system whose repeats are all equal has no noise: with few samples its p may stay high all the same.
    """
    if row["same_order"] == 0:
        return False
    high = row["noise_large_share_high"]
    untested = row["order_p_value"] is None
    tested = not untested and row["order_p_value"] > SIGNIFICANT
    return tested or (high is not None and 0 < row["large_share"] <= high)


def _noise(row: Row) -> str:
    parts = [] if row["order_p_value"] is None else [f"p = {row['order_p_value']:.3f}"]
    if row["noise_large_share"] is not None:
        alone = beside(with_percent(row["noise_large_share"]), share_interval(row, "noise_large_share"))
        parts.append(f"{with_percent(row['large_share'])} large ranges, {alone} from noise alone")
    return "; ".join(parts)


def _is_main_difference(row: Row, dataset: str, group: str) -> bool:
    return (row["dataset"], row["rule"], row["sample_group"], row["figure"], row["weighting"]) == (
        *(dataset, STRICT_COMPLETE, group),
        *("large_share", "sample"),
    )


def _pair(inputs: ReportInputs, dataset: str, a: str, b: str, rows: list[Row], threshold: float) -> Row:
    names = f"From {inputs.systems[b].title} to {inputs.systems[a].title}"
    row = next((row for row in rows if (row["backend_a"], row["backend_b"]) == (a, b)), None)
    if row is None or row["difference_low"] is None:
        measured = {backend for name, backend in partitions_run(inputs) if name == dataset}
        gone = {gap.backend for gap in inputs.missing if gap.dataset == dataset} - measured
        never = [inputs.systems[name].title for name in (a, b) if name in gone]
        if never:
            verb = "was" if len(never) == 1 else "were"
            return _verdict(dataset, "pair", f"{names}: {listed(never)} {verb} not measured on {dataset}.")
        why = f"{names}: no figure, because one of the two is not compared or may not be read on {dataset}."
        return _verdict(dataset, "pair", why, "not_publishable")
    change = beside(signed(row["difference"], 2), signed_interval(row["difference_low"], row["difference_high"]))
    said = f"{names}, the share of samples that move by at least {threshold:g} points changes by {change} points"
    if row["difference_low"] <= 0 <= row["difference_high"]:
        return _verdict(dataset, "pair", f"{said}: not supported, the interval includes zero.", "not_supported")
    return _verdict(dataset, "pair", f"{said}: supported, the interval excludes zero.", "supported")


def _emptied(coverage: list[Row], group: str, titles: dict[str, str]) -> str:
    own = [row for row in coverage if row["sample_group"] == group and row["compared"]]
    if not own:
        return f"No order figures: no system is compared. {_reasons(coverage, titles)}".rstrip()
    fewest = min(row["strict_complete"] for row in own)
    # Each system that completes nothing empties the comparison by itself; else the fewest are the first to look at.
    least = [row for row in own if row["strict_complete"] == fewest]
    which = "" if group == ALL_GROUPS else f" of {group_said(group)}"
    systems = f"all {len(own)} compared systems" if len(own) > 1 else "the one compared system"
    named = listed([titles[row["backend"]] for row in least], shown=len(least))
    verb = "completes" if len(least) == 1 else "complete"
    of = f"of {least[0]['samples']:,}"
    why = f"no sample is common to all; {named} {verb} the fewest, {fewest:,} {of}"
    if fewest == 0:
        why = f"{named} {verb} none {of}"
    nothing = f"No sample{which} is strict-complete for {systems}: {why}."
    if len(least) == len(own):
        return nothing
    return f"{nothing} Leave {named} out of the study's backends to compare the others."


def _reasons(coverage: list[Row], titles: dict[str, str]) -> str:
    why = {row["backend"]: row["why_not"] for row in coverage if row["why_not"]}
    return " ".join(f"{titles[backend]}: {reason.removesuffix('.')}." for backend, reason in why.items())
