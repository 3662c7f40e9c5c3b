"""Sentences beside the verdicts: rankings that reverse by dataset, the control, and what was left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zs_assets.report.inputs import Partition, ReportInputs
from zs_assets.report.verdicts import QUESTIONS
from zs_assets.report.wording import METRIC_WORDS, figure, listed, metric_word, share

CONTROL_INTERFACE = "uniform"

Row = dict[str, Any]


def readable_rankings(rows: list[Row], unreadable: dict[Partition, str]) -> list[Row]:
    """Reversals that still are one without the partitions that may not be read."""
    kept = []
    for row in rows:
        pair = (row["backend_a"], row["backend_b"])
        a_ahead, b_ahead = (
            [d for d in row[side] if not any((d, backend) in unreadable for backend in pair)]
            for side in ("a_ahead", "b_ahead")
        )
        if a_ahead and b_ahead:
            kept.append({**row, "a_ahead": a_ahead, "b_ahead": b_ahead})
    return kept


def ranking_remarks(rankings: list[Row], datasets: int, complete: bool) -> list[Row]:
    """One sentence per pair that changes places, or one that says none does."""
    by_pair: dict[tuple[str, str], list[Row]] = {}
    for row in rankings:
        by_pair.setdefault((row["backend_a"], row["backend_b"]), []).append(row)
    sentences = [
        f"{a} and {b} change places by dataset (point figures): "
        + "; ".join(
            f"in {metric_word(row['metric'])} {a} is ahead on {listed(row['a_ahead'])} "
            f"(by up to {figure(row['a_largest_lead'])}), {b} on {listed(row['b_ahead'])} "
            f"(by up to {figure(row['b_largest_lead'])})"
            for row in rows
        )
        + "."
        for (a, b), rows in by_pair.items()
    ]
    if not sentences and datasets > 1:
        among = "" if complete else " among the partitions that can be read"
        sentences = [f"No ranking of two systems reverses by dataset in any metric that was ranked{among}."]
    return [{"kind": "ranking", "sentence": sentence} for sentence in sentences]


def control_remarks(inputs: ReportInputs, metrics: dict[Partition, Row]) -> list[Row]:
    """Whether each system beats the uniform control on every dataset and question (point figures)."""
    controls = [name for name in inputs.study.backends if inputs.systems[name].interface == CONTROL_INTERFACE]
    remarks = []
    for control in controls:
        for backend in (name for name in inputs.study.backends if name not in controls):
            sentence = _against_control(inputs, metrics, backend, control)
            if sentence:
                remarks.append({"kind": "control", "sentence": sentence})
    return remarks


def _against_control(inputs: ReportInputs, metrics: dict[Partition, Row], backend: str, control: str) -> str | None:
    compared, lost = [], []
    for dataset in inputs.study.datasets:
        own, bar = metrics.get((dataset.name, backend)), metrics.get((dataset.name, control))
        if own is None or bar is None:
            continue
        for metric in QUESTIONS:
            value, reference = own[metric.value], bar[metric.value]
            if value is None or reference is None:
                continue
            compared.append(dataset.name)
            ahead = value > reference if metric.higher_is_better else value < reference
            if not ahead:
                lost.append(f"{METRIC_WORDS[metric]} on {dataset.name} ({figure(value)} against {figure(reference)})")
    if not compared:
        return None
    where = listed(list(dict.fromkeys(compared)))
    if not lost:
        return f"{backend} beats the control {control} in every question on {where} (point figures)."
    return f"{backend} does not beat the control {control} everywhere (point figures): not in {listed(lost, 12)}."


def decision_log_remarks(analyses: Mapping[str, list[Row]]) -> list[Row]:
    """How often a reference decides alike: agreement, and nothing more."""
    remarks = []
    baselines = {
        (row["dataset"], row["backend"], row["reference"]): row
        for row in analyses["decision_log"]
        if row["stratum"] == "majority_baseline"
    }
    for row in analyses["decision_log"]:
        if row["stratum"] != "all" or row["share"] is None:
            continue
        baseline = baselines.get((row["dataset"], row["backend"], row["reference"]))
        always = f"; always deciding {baseline['decision']} would reach {share(baseline['share'])}" if baseline else ""
        sentence = (
            f"On {row['dataset']}, the reference {row['reference']} agrees with {row['agree']} of {row['n']} decisions "
            f"of {row['backend']} ({share(row['share'])}, 95 % interval {share(row['ci95_low'])} to "
            f"{share(row['ci95_high'])}){always}. This is agreement with the chosen reference only."
        )
        remarks.append({"kind": "decision_log", "sentence": sentence})
    return remarks


def left_out_remarks(unreadable: dict[Partition, str], metrics: dict[Partition, Row]) -> list[Row]:
    """Partitions that count in no figure of this report."""
    sentences = []
    if unreadable:
        names = [f"{dataset} x {backend}" for dataset, backend in unreadable]
        sentences.append(f"No figure of this report counts {listed(names, 9)}: the table of gates says why.")
    capped = [f"{dataset} x {backend}" for (dataset, backend), row in metrics.items() if not row["applicable"]]
    if capped:
        sentences.append(f"{listed(capped)} do not apply (option cap, known before any call) and are in no mean.")
    return [{"kind": "left_out", "sentence": sentence} for sentence in sentences]
