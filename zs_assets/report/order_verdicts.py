"""Sentences about choice order: who holds still and who moves, what noise explains, and what versions changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zs_assets.report.inputs import ReportInputs
from zs_assets.report.order_wording import (
    beside,
    exact_interval,
    group_words,
    ordered_groups,
    percent,
    points,
    share_interval,
    signed_interval,
    with_percent,
)
from zs_assets.report.wording import listed, plural, signed
from zs_assets.storage.order_schemas import STRICT_COMPLETE

SIGNIFICANT = 0.05
"""A permutation p above this is no order effect beyond repeat noise."""

MEANING = (
    "Stability is not accuracy: a scorer that gives every text the same scores would be perfectly stable and know "
    "nothing."
)

Row = dict[str, Any]
Analyses = Mapping[str, list[Row]]


def order_verdicts(inputs: ReportInputs, analyses: Analyses) -> list[Row]:
    """Verdicts of every dataset with coverage rows, on the strict-complete samples of its first group."""
    titles = {name: inputs.systems[name].title for name in inputs.study.backends}
    asked = inputs.study.analyses.order_sensitivity
    pairs = [(a, b) for a, b in asked.pairs] if asked else []
    verdicts = []
    for dataset in (facts.name for facts in inputs.study.datasets):
        verdicts += _of_dataset(dataset, analyses, titles, pairs)
    return verdicts


def _of_dataset(dataset: str, analyses: Analyses, titles: dict[str, str], pairs: list[tuple[str, str]]) -> list[Row]:
    coverage = [row for row in analyses["order_coverage"] if row["dataset"] == dataset]
    every = [row for row in analyses["order_sensitivity"] if row["dataset"] == dataset]
    verified = any(row["dataset"] == dataset for row in analyses["repeat_verification"])
    if not every and (verified or not coverage):
        return []
    group = ordered_groups(every or coverage)[0]
    rows = [
        row for row in every if row["rule"] == STRICT_COMPLETE and row["sample_group"] == group and row["samples"] > 0
    ]
    if not rows:
        return [_verdict(dataset, "empty", _emptied(coverage, group, titles))]
    found = [_verdict(dataset, "stability", _stability(dataset, rows, group, titles))]
    noisy = _within_noise(rows, titles)
    found += [_verdict(dataset, "noise", noisy)] if noisy else []
    differences = [row for row in analyses["order_differences"] if _is_main_difference(row, dataset, group)]
    found += [_pair(dataset, a, b, differences, titles, rows[0]["threshold_points"]) for a, b in pairs]
    return [*found, _verdict(dataset, "meaning", MEANING)]


def _verdict(dataset: str, kind: str, sentence: str, status: str = "described") -> Row:
    return {"dataset": dataset, "kind": kind, "status": status, "sentence": sentence}


def _stability(dataset: str, rows: list[Row], group: str, titles: dict[str, str]) -> str:
    ranked = by_stability(rows, "large_share")
    still = [row for row in ranked if holds_still(row)]
    first, last = ranked[0], ranked[-1]
    threshold = f"{first['threshold_points']:g} points"
    shared = f"that all {len(rows)} systems share" if len(rows) > 1 else "of one system"
    which = "" if group == "all" else f"{group_words(group)} "
    samples = f"{first['samples']:,} strict-complete {which}samples of {dataset} ({plural(first['texts'], 'text')})"
    said = f"On {samples} {shared}, "
    if still:
        names = listed([titles[row["backend"]] for row in still], shown=len(still))
        verb = "holds" if len(still) == 1 else "hold"
        largest = max(row["max_range"] for row in still)
        said += f"{names} {verb} still: no range reaches {threshold} and no winner changes"
        said += f" (largest range {points(largest)} points{_exact(still[0])})"
    else:
        said += f"{titles[first['backend']]} moves least: {_moves(first, threshold)}"
    if last is first or last in still:
        return f"{said}."
    return f"{said}; {titles[last['backend']]} moves most: {_moves(last, threshold)}."


def by_stability(rows: list[Row], figure: str) -> list[Row]:
    """Most stable first by the figure; equal ones by median, then largest range; without the figure last."""
    return sorted(rows, key=lambda row: (row[figure] is None, row[figure], row["median_range"], row["max_range"]))


def holds_still(row: Row) -> bool:
    """No sample reaches the threshold and none changes its winner."""
    return row["large_ranges"] == 0 and row["winner_changes"] == 0


def _exact(row: Row) -> str:
    exact = exact_interval(row)
    return f"; share {percent(row['large_share'])} %, exact 95 % interval {exact}" if exact else ""


def _moves(row: Row, threshold: str) -> str:
    share = beside(with_percent(row["large_share"]), share_interval(row, "large_share"))
    exact = exact_interval(row)
    return f"by at least {threshold} in {share} of samples" + (f" (exact {exact})" if exact else "")


def _within_noise(rows: list[Row], titles: dict[str, str]) -> str:
    noisy = [row for row in rows if row["max_range"] > 0 and is_within_noise(row)]
    if not noisy:
        return ""
    named = listed([f"{titles[row['backend']]} ({_noise(row)})" for row in noisy], shown=len(noisy))
    return f"Not beyond its own repeat noise is the order effect of {named}."


def is_within_noise(row: Row) -> bool:
    """The permutation test finds no effect, or repeat noise alone would show as many large ranges."""
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


def _pair(dataset: str, a: str, b: str, rows: list[Row], titles: dict[str, str], threshold: float) -> Row:
    names = f"From {titles[b]} to {titles[a]}"
    row = next((row for row in rows if (row["backend_a"], row["backend_b"]) == (a, b)), None)
    if row is None or row["difference_low"] is None:
        why = f"{names}: no figure, because one of the two is not compared or may not be read on {dataset}."
        return _verdict(dataset, "pair", why, "not_publishable")
    change = beside(signed(row["difference"], 2), signed_interval(row["difference_low"], row["difference_high"]))
    said = f"{names}, the share of samples that move by at least {threshold:g} points changes by {change} points"
    if row["difference_low"] <= 0 <= row["difference_high"]:
        return _verdict(dataset, "pair", f"{said}: not supported, the interval includes zero.", "not_supported")
    return _verdict(dataset, "pair", f"{said}: supported, the interval excludes zero.", "supported")


def _emptied(coverage: list[Row], group: str, titles: dict[str, str]) -> str:
    own = [row for row in coverage if row["sample_group"] == group and row["compared"]]
    which = "" if group == "all" else f"{group_words(group)} "
    if not own:
        return f"No order figures: no system is compared. {_reasons(coverage, titles)}".rstrip()
    least = min(own, key=lambda row: row["strict_complete"])
    nothing = f"No {which}sample is strict-complete for all {len(own)} compared systems"
    title = titles[least["backend"]]
    if least["strict_complete"] == 0:
        why = f"{title} completes none of {least['samples']:,}"
    else:
        why = f"no sample is common to all; {title} completes the fewest, {least['strict_complete']:,} "
        why += f"of {least['samples']:,}"
    return f"{nothing}: {why}. Leave {title} out of the study's backends to compare the others."


def _reasons(coverage: list[Row], titles: dict[str, str]) -> str:
    why = {row["backend"]: row["why_not"] for row in coverage if row["why_not"]}
    return " ".join(f"{titles[backend]}: {reason.removesuffix('.')}." for backend, reason in why.items())
