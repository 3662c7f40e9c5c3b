"""One sentence per dataset and cascade: route, do not route, or not publishable, because ...

The protocol decides on the rows that chose the threshold; what that hides (the gain on rows that did not choose it)
stands in the caveats of the same sentence.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zs_assets.report.inputs import Partition, ReportInputs
from zs_assets.report.verdicts import REHEARSAL
from zs_assets.report.wording import exact_share, listed, points, share, signed_points, usd

Row = dict[str, Any]

ROUTE_WORDS = {
    "route": "Route",
    "route_unconfirmed": "Route by the protocol, not confirmed",
    "do_not_route": "Do not route",
    "not_publishable": "Not publishable",
}


def cascade_verdicts(
    inputs: ReportInputs,
    analyses: Mapping[str, list[Row]],
    unreadable: Mapping[Partition, str],
    metrics: Mapping[Partition, Row],
) -> list[Row]:
    """Every cascade of the study on every dataset, in the study's order."""
    return [
        _verdict(inputs, analyses, unreadable, metrics, dataset.name, primary, fallback)
        for primary, fallback in inputs.study.cascades
        for dataset in inputs.study.datasets
    ]


def _verdict(
    inputs: ReportInputs,
    analyses: Mapping[str, list[Row]],
    unreadable: Mapping[Partition, str],
    metrics: Mapping[Partition, Row],
    dataset: str,
    primary: str,
    fallback: str,
) -> Row:
    named = {"dataset": dataset, "primary": primary, "fallback": fallback}
    reasons = [REHEARSAL] if inputs.rehearsal else []
    reasons += [unreadable[dataset, name] for name in (primary, fallback) if (dataset, name) in unreadable]
    row = next((row for row in analyses["cascades"] if named.items() <= row.items()), None)
    if row is None and not reasons:
        reasons = [_why_no_table(metrics, dataset, (primary, fallback))]
    if reasons or row is None:
        sentence = f"Not publishable: {primary} then {fallback} on {dataset}, because {'; '.join(reasons)}."
        return {**named, "status": "not_publishable", "sentence": sentence, "caveats": "", "reasons": reasons}
    status = _status(row)
    reason = row["verdict"].split(": ", 1)[1]
    finding = f"{ROUTE_WORDS[status]}: {primary} then {fallback} on {dataset}: {reason}"
    targets = [target for target in analyses["cascade_targets"] if named.items() <= target.items()]
    caveats = f" {_money(row)} {_gain(row)}{_confirmed(row)} {_ceiling(row)}{_targets(targets)}"
    return {**named, "status": status, "sentence": finding + caveats, "caveats": caveats, "reasons": []}


def _status(row: Row) -> str:
    """The protocol's verdict; a route that its own rows alone speak for is told apart."""
    if not row["route"]:
        return "do_not_route"
    return "route" if row["gain_ci95_low"] is not None and row["gain_ci95_low"] > 0 else "route_unconfirmed"


def _why_no_table(metrics: Mapping[Partition, Row], dataset: str, backends: tuple[str, str]) -> str:
    for backend in backends:
        row = metrics.get((dataset, backend))
        if row is not None and not row["applicable"]:
            return f"{backend} does not apply to {dataset} (option cap)"
        if row is not None and row["accuracy"] is None:
            return f"{dataset} has no gold labels to score a cascade by: a decision_log shows agreement without them"
    return "the cascade has no table of these predictions: run the study again and see which step failed"


def _money(row: Row) -> str:
    escalated = f"at threshold {row['best_threshold']:.4g}, {row['best_escalated']} of {row['n']} rows are escalated"
    if row["best_cost_usd"] is None:
        return f"The protocol's best point: {escalated}; its cost is unknown, since part of it is."
    if row["best_cost_usd"] == 0:
        return f"The protocol's best point: {escalated}; neither system bills its calls."
    saving = (
        "" if row["best_saving"] is None else f" ({signed_points(-row['best_saving'])} % against the fallback alone)"
    )
    return f"The protocol's best point: {escalated}, for {usd(row['best_cost_usd'])}{saving}."


def _gain(row: Row) -> str:
    low, high = row["gain_ci95_low"], row["gain_ci95_high"]
    if low is None or high is None:
        return "There are too few rows to leave any out: nothing is known of the gain on others."
    beyond = "beyond zero" if low > 0 or high < 0 else "which includes zero: not shown on rows that had no say"
    return (
        f"That choice was scored on the rows that made it; on rows left out, the gain over the better single system is "
        f"{signed_points(row['gain_out_of_bag'])} points [{points(low)}, {points(high)}], {beyond} (addition)."
    )


def _confirmed(row: Row) -> str:
    if row["test_rows"] is None:
        return ""
    return (
        f" Confirmatory run: chosen on {row['validation_rows']} rows, scored on {row['test_rows']} others, the "
        f"cascade gets {share(row['confirmed_accuracy'])} [{share(row['confirmed_low'])}, "
        f"{share(row['confirmed_high'])}] right, {signed_points(row['confirmed_difference'])} points against the "
        f"{row['confirmed_single']} alone (exact McNemar p {row['confirmed_p']:.3g})."
    )


def _ceiling(row: Row) -> str:
    return (
        f"No routing between the two passes {share(row['oracle_correct'] / row['n'])}: both are wrong on "
        f"{row['neither']} rows."
    )


def _targets(targets: list[Row]) -> str:
    missed = [exact_share(target["target"]) for target in targets if not target["attainable"]]
    beyond = [exact_share(target["target"]) for target in targets if target["oracle_misses"]]
    reached = [
        exact_share(target["target"]) + (f" ({usd(target['cost_usd'])})" if target["cost_usd"] != 0 else "")
        for target in targets
        if target["attainable"]
    ]
    said = ""
    if reached:
        said += f" Targets reached: {listed(reached)}."
    if missed:
        above = f"; not even the ceiling reaches {listed(beyond)}" if beyond else ""
        said += f" Targets of the study, unattainable: {listed(missed)}{above}."
    return said
