"""The sentences a report opens with: one per pair and question, by the protocol's scheme.

A difference is supported when its target-stratified 95 % interval excludes zero. Where our plain interval says
otherwise, or an interval is known to be weak, the same sentence says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from zs_assets.report.inputs import Partition, ReportInputs
from zs_assets.report.wording import METRIC_WORDS, interval, listed, plural, signed
from zs_assets.stats import Metric, Scheme

QUESTIONS = (Metric.MACRO_F1, Metric.ACCURACY, Metric.BRIER, Metric.NLL)

STATUS_WORDS = {
    "supported": "Supported",
    "not_supported": "Not supported",
    "not_publishable": "Not publishable",
}

REHEARSAL = "this is a rehearsal: hosted systems were answered by a local stand-in"

Row = dict[str, Any]


@dataclass(frozen=True)
class Evidence:
    """What the verdicts are read from: rows of readable partitions only, and why the others are not readable."""

    paired: list[Row]
    means: list[Row]
    metrics: dict[Partition, Row]
    unreadable: dict[Partition, str]


def unreadable_partitions(inputs: ReportInputs) -> dict[Partition, str]:
    """Why each partition shows no figures: a blocking gate failed, or there is nothing to read."""
    reasons: dict[Partition, str] = {}
    for dataset in inputs.study.datasets:
        for backend in inputs.study.backends:
            where = f"{dataset.name} x {backend}"
            failed = [
                verdict
                for verdict in inputs.verdicts
                if verdict.stops and verdict.dataset in (dataset.name, "") and verdict.backend in (backend, "")
            ]
            if failed:
                gates = "; ".join(f"{verdict.gate}: {_clause(verdict.sentence)}" for verdict in failed)
                reasons[dataset.name, backend] = f"{where} failed gate {gates}"
    for gap in inputs.missing:
        where = f"{gap.dataset} x {gap.backend}"
        reasons.setdefault((gap.dataset, gap.backend), f"{where} is missing: {_clause(gap.reason)}")
    return reasons


def pair_verdicts(inputs: ReportInputs, evidence: Evidence) -> list[Row]:
    return [_verdict(inputs, evidence, a, b, metric) for a, b in inputs.study.pairs for metric in QUESTIONS]


def _verdict(inputs: ReportInputs, evidence: Evidence, a: str, b: str, metric: Metric) -> Row:
    means = {
        (row["metric"], row["scheme"]): row for row in evidence.means if (row["backend_a"], row["backend_b"]) == (a, b)
    }
    ours = means.get((metric.value, Scheme.PLAIN.value))
    protocols = means.get((metric.value, Scheme.TARGET_STRATIFIED.value))
    reasons = _reasons(inputs, evidence, a, b, metric, protocols)
    if reasons or protocols is None:
        return _not_publishable(a, b, metric, reasons)
    status = "supported" if protocols["supported"] else "not_supported"
    agree = None if ours is None else _answer(protocols) == _answer(ours)
    finding = (
        f"{STATUS_WORDS[status]}: {_finding(protocols, a, b, metric)}"
        f"{_coverage_of_datasets(inputs, evidence, protocols, a, b)}"
    )
    caveats = f"{_beside(protocols, ours, agree)}{_other_floor(means, protocols, metric)}."
    keys = ("difference", "ci95_low", "ci95_high", "supported", "weak")
    return {
        "backend_a": a,
        "backend_b": b,
        "metric": metric.value,
        "status": status,
        "sentence": finding + caveats,
        "caveats": caveats,
        **{key: protocols[key] for key in ("better", "difference", "ci95_low", "ci95_high", "n", "datasets", "weak")},
        "plain": None if ours is None else {key: ours[key] for key in keys},
        "schemes_agree": agree,
        "reasons": [],
    }


def _reasons(inputs: ReportInputs, evidence: Evidence, a: str, b: str, metric: Metric, mean: Row | None) -> list[str]:
    """Everything that keeps this verdict from being published; empty when nothing does."""
    reasons = [REHEARSAL] if inputs.rehearsal else []
    partitions = [(dataset.name, backend) for backend in (a, b) for dataset in inputs.study.datasets]
    blocked = [evidence.unreadable[partition] for partition in partitions if partition in evidence.unreadable]
    if blocked:
        return reasons + blocked
    compared = {
        row["dataset"]
        for row in evidence.paired
        if (row["backend_a"], row["backend_b"], row["metric"], row["scheme"])
        == (a, b, metric.value, Scheme.TARGET_STRATIFIED.value)
    }
    if not compared:
        return [*reasons, f"no dataset has a {METRIC_WORDS[metric]} of both on the same examples"]
    if mean is None or set(mean["datasets"]) != compared:
        covers = "is not there" if mean is None else f"covers {listed(mean['datasets'])} only"
        reasons.append(f"the stored mean {covers} while {listed(sorted(compared))} can be compared: make it again")
    return reasons


def _not_publishable(a: str, b: str, metric: Metric, reasons: list[str]) -> Row:
    because = "; ".join(reasons[:3]) + (f"; and {plural(len(reasons) - 3, 'more reason')}" if reasons[3:] else "")
    return {
        "backend_a": a,
        "backend_b": b,
        "metric": metric.value,
        "status": "not_publishable",
        "sentence": f"{STATUS_WORDS['not_publishable']}: {METRIC_WORDS[metric]} of {a} against {b}, because {because}.",
        "caveats": "",
        **dict.fromkeys(("better", "difference", "ci95_low", "ci95_high", "n", "weak", "plain", "schemes_agree")),
        "datasets": [],
        "reasons": reasons,
    }


def _finding(row: Row, a: str, b: str, metric: Metric) -> str:
    word, direction = METRIC_WORDS[metric], "higher" if metric.higher_is_better else "lower"
    numbers = (
        f"{a} minus {b} is {signed(row['difference'])} with a 95 % interval of "
        f"{interval(row['ci95_low'], row['ci95_high'])}"
    )
    if row["supported"]:
        worse = b if row["better"] == a else a
        return f"{row['better']} is better than {worse} in {word} ({direction} is better): {numbers}"
    ahead = a if (row["difference"] > 0) == metric.higher_is_better else b
    leans = f"; the estimate leans to {ahead}" if row["difference"] else ""
    shown = f"no difference shown between {a} and {b} in {word}"
    return f"{shown} ({direction} is better): {numbers} that includes zero{leans}"


def _coverage_of_datasets(inputs: ReportInputs, evidence: Evidence, row: Row, a: str, b: str) -> str:
    covered, planned = len(row["datasets"]), len(inputs.study.datasets)
    pairs = plural(row["n"], "example")
    if covered == planned:
        over = f"mean over {covered} datasets" if covered > 1 else f"on {row['datasets'][0]}"
        return f" ({over}, n = {pairs} answered by both)"
    left_out = [dataset.name for dataset in inputs.study.datasets if dataset.name not in row["datasets"]]
    why = [
        f"{name} left out, {listed([x for x in (a, b) if _not_applicable(evidence, name, x)])} does not apply"
        if any(_not_applicable(evidence, name, x) for x in (a, b))
        else f"{name} left out, no example answered by both"
        for name in left_out
    ]
    return f" (mean over {covered} of {planned} datasets: {'; '.join(why)}; n = {pairs} answered by both)"


def _not_applicable(evidence: Evidence, dataset: str, backend: str) -> bool:
    row = evidence.metrics.get((dataset, backend))
    return row is not None and not row["applicable"]


def _beside(protocols: Row, ours: Row | None, agree: bool | None) -> str:
    """Whether our interval agrees, and what is known against either, in the sentence of the verdict."""
    parts = []
    if ours is not None:
        said = interval(ours["ci95_low"], ours["ci95_high"])
        if agree:
            parts.append(f"our plain bootstrap agrees ({said})")
        else:
            finds = f"finds {ours['better']} better" if ours["supported"] else "includes zero"
            parts.append(f"but our plain bootstrap disagrees: its interval of {said} {finds}")
    if protocols["weak"]:
        parts.append(f"the protocol's interval is weak: {_first_reason(protocols['weak'])}")
    if ours is not None and ours["weak"]:
        parts.append(f"our interval is weak: {_first_reason(ours['weak'])}")
    return "".join(f"; {part}" for part in parts)


def _other_floor(means: dict[tuple[str, str], Row], protocols: Row, metric: Metric) -> str:
    """NLL is mostly its floor: say so where the floor decides the answer."""
    other = means.get((Metric.NLL_HALF_STEP.value, Scheme.TARGET_STRATIFIED.value))
    if metric is not Metric.NLL or other is None:
        return ""
    said = interval(other["ci95_low"], other["ci95_high"])
    if _answer(other) == _answer(protocols):
        return f"; the floor of 1e-12 does not decide it (floor 0.005: {said})"
    finds = f"{other['better']} is better" if other["supported"] else "the interval includes zero"
    return f"; but the floor decides it: with 0.005 instead of 1e-12 {finds} ({said})"


def _answer(row: Row) -> tuple[bool, str | None]:
    return row["supported"], row["better"]


def _first_reason(weak: str) -> str:
    first, *more = weak.split("; ")
    return first + (f" (and {plural(len(more), 'further caveat')})" if more else "")


def _clause(sentence: str) -> str:
    return sentence.strip().rstrip(".")


def readable_rows(rows: Iterable[Row], unreadable: dict[Partition, str]) -> list[Row]:
    """Rows of a paired table none of whose partitions is unreadable: figures of refused replies are not shown."""
    return [
        row
        for row in rows
        if not any(
            (dataset, backend) in unreadable
            for dataset in row.get("datasets") or [row.get("dataset")]
            for backend in (row["backend_a"], row["backend_b"])
        )
    ]
