"""The page's tables as rows of text, made from report.json."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from zs_assets.protocol.names import Outcome
from zs_assets.report.wording import ABSENT, count, figure, interval, milliseconds, plural, short_metric_word, signed
from zs_assets.stats import Scheme

PROTOCOL, OURS, BOTH = "protocol", "ours", "both"
"""Whose figure a row is: the published protocol's, ours beside it, or the same by both."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Table:
    """A table of the page; the first cell of a row is its header."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    prose_last: bool = False  # the last column holds sentences


def metric_tables(report: dict[str, Any]) -> list[Table]:
    """One table per dataset: a row per figure, a column per system."""
    lines = _figures(report)
    tables = []
    for dataset in report["study"]["datasets"]:
        rows = {row["backend"]: row for row in report["metrics"] if row["dataset"] == dataset}
        if not rows:
            continue
        backends = [backend for backend in report["study"]["backends"] if backend in rows]
        body = tuple((name, whose, *(cell(rows[b]) for b in backends)) for name, whose, cell in lines)
        tables.append(Table(dataset, ("figure", "whose", *backends), body))
    return tables


def _figures(report: dict[str, Any]) -> list[tuple[str, str, Callable[[Row], str]]]:
    """Every line of a metric table: its name, whose figure it is, and how its cell is written."""
    scoring = report["study"]["scoring"]
    used, other = ("renormalised", "raw") if scoring["renormalise"] else ("raw", "renormalised")
    budget = float(Fraction(scoring["error_budget"]))
    examples = {facts["name"]: facts["sampled"] for facts in report["datasets"]}

    def shown(name: str, digits: int = 3) -> Callable[[Row], str]:
        return lambda row: figure(row[name], digits)

    return [
        ("planned", BOTH, lambda row: _planned(row, examples.get(row["dataset"]))),
        ("valid", BOTH, lambda row: count(row["valid"])),
        ("failures", BOTH, _failures),
        ("accuracy", BOTH, shown("accuracy")),
        ("macro-F1, declared labels", BOTH, shown("macro_f1")),
        (f"Brier score, {used} vectors", PROTOCOL, shown("brier")),
        (f"Brier score, {other} vectors", OURS, shown(f"brier_{other}")),
        (f"NLL, floor 1e-12, {used}", PROTOCOL, shown("nll")),
        (f"NLL, floor 0.005, {used}", OURS, shown("nll_half_step")),
        (f"NLL, floor 1e-12, {other}", OURS, shown(f"nll_{other}")),
        (f"NLL, floor 0.005, {other}", OURS, shown(f"nll_half_step_{other}")),
        ("true label at probability 0", BOTH, _zero_count),
        ("mean confidence", BOTH, shown("mean_confidence")),
        ("ECE, 10 bins, float edges (linspace)", PROTOCOL, shown("ece_linspace")),
        ("ECE, 10 bins, exact edges", OURS, shown("ece")),
        ("ECE, every level a bin (grid only)", OURS, shown("ece_by_level")),
        (f"coverage at {budget:.3g} error", BOTH, _coverage),
        ("threshold that selects it", BOTH, shown("threshold", 4)),
        ("latency p50, ms", BOTH, lambda row: milliseconds(row["latency_p50_ms"])),
        ("latency p95, ms", BOTH, lambda row: milliseconds(row["latency_p95_ms"])),
        ("mode of the latency", BOTH, lambda row: row["deployment"]),
        ("tokens in / out", BOTH, _tokens),
        ("calls made", BOTH, lambda row: count(row["attempts"])),
        ("cost, USD", BOTH, _cost),
        ("model that answered", BOTH, lambda row: row["model_resolved"] or ABSENT),
    ]


def _planned(row: Row, examples: int | None) -> str:
    """Presentations, and of how many examples where one is asked more than once."""
    if examples is None or row["n"] == examples:
        return count(row["n"])
    return f"{count(row['n'])} presentations of {plural(examples, 'example')}"


def _failures(row: Row) -> str:
    if not row["applicable"]:
        return "not applicable"
    kinds = [f"{row[f'{o.value}_count']} {o.value}" for o in Outcome if o not in (Outcome.OK, Outcome.NOT_APPLICABLE)]
    counted = [kind for kind in kinds if not kind.startswith("0 ")]
    return f"{row['failures']}" + (f" ({', '.join(counted)})" if counted else "")


def _zero_count(row: Row) -> str:
    return ABSENT if row["p_gold_zero_count"] is None else f"{row['p_gold_zero_count']} of {row['valid']}"


def _coverage(row: Row) -> str:
    if row["coverage"] is None:
        return ABSENT
    if not row["accepted"]:
        return f"{figure(row['coverage'])} (no level qualifies)"
    return f"{figure(row['coverage'])} ({row['accepted']} accepted, {plural(row['errors'], 'error')})"


def _tokens(row: Row) -> str:
    if row["input_tokens"] is None and row["output_tokens"] is None:
        return ABSENT
    return f"{count(row['input_tokens'])} / {count(row['output_tokens'])}"


def _cost(row: Row) -> str:
    if row["deployment"] == "local" and not row["cost_usd"]:
        return "local, not priced"
    unknown = row["cost_unknown_count"]
    if row["cost_usd"] is None:
        return "unknown"
    return f"{row['cost_usd']:.6f}" + (f" + {plural(unknown, 'call')} unknown" if unknown else "")


def measured_systems(report: dict[str, Any]) -> str:
    """How many systems the report has results or gates of: 14 systems, or 3 of 14 systems measured."""
    backends = report["study"]["backends"]
    asked = {row["backend"] for row in (*report["metrics"], *report["gates"]) if row["dataset"]}
    measured = sum(backend in asked for backend in backends)
    total = plural(len(backends), "system")
    return total if measured == len(backends) else f"{measured} of {total} measured"


def means_table(report: dict[str, Any]) -> Table:
    """Equal-weight means over datasets, one row per system."""
    means = report["backend_means"]
    metrics = list(dict.fromkeys(mean["metric"] for mean in means))
    planned = len(report["study"]["datasets"])
    by_key = {(mean["backend"], mean["metric"]): mean for mean in means}
    rows = tuple(
        (backend, *(_mean_cell(by_key[backend, metric], planned) for metric in metrics))
        for backend in report["study"]["backends"]
        if any(by_key[backend, metric]["datasets"] for metric in metrics)
    )
    return Table("Equal-weight means over datasets", ("system", *(short_metric_word(m) for m in metrics)), rows)


def _mean_cell(mean: Row, planned: int) -> str:
    partial = f" ({mean['datasets']} of {planned} datasets)" if 0 < mean["datasets"] < planned else ""
    return figure(mean["value"]) + partial


def difference_tables(report: dict[str, Any]) -> list[Table]:
    """One table per pair: the protocol's interval and ours, side by side."""
    tables = []
    for a, b in report["study"]["pairs"]:
        cells: dict[tuple[str, str], dict[str, Row]] = {}
        for row in [*report["paired_differences"], *report["dataset_means"]]:
            if (row["backend_a"], row["backend_b"]) == (a, b):
                where = row.get("dataset") or f"mean of {len(row['datasets'])}"
                cells.setdefault((where, row["metric"]), {})[row["scheme"]] = row
        if cells:
            rows = tuple(
                (where, short_metric_word(metric), *_both(schemes)) for (where, metric), schemes in cells.items()
            )
            columns = ("dataset", "metric", "n", "difference", "protocol: stratified", "ours: plain", "weak because")
            tables.append(Table(f"{a} minus {b}", columns, rows))
    return tables


def _both(schemes: dict[str, Row]) -> tuple[str, ...]:
    protocols, ours = schemes.get(Scheme.TARGET_STRATIFIED.value), schemes.get(Scheme.PLAIN.value)
    some = protocols or ours
    assert some is not None
    weak = [f"{name}: {row['weak']}" for name, row in (("protocol", protocols), ("ours", ours)) if row and row["weak"]]
    return (count(some["n"]), signed(some["difference"]), _range(protocols), _range(ours), "; ".join(weak))


def _range(row: Row | None) -> str:
    if row is None:
        return ABSENT
    said = f"{row['better']} better" if row["supported"] else "includes 0"
    return f"{interval(row['ci95_low'], row['ci95_high'])} · {said}{' · weak' if row['weak'] else ''}"


def gate_tables(report: dict[str, Any]) -> tuple[Table, Table]:
    """What failed, warned or is missing; and what passed, which is long and folded away."""
    troubles = [_gate_row(gate) for gate in report["gates"] if not gate["passed"]]
    gaps = [(f"{gap['dataset']} x {gap['backend']}", "", "missing", gap["reason"]) for gap in report["missing"]]
    passed = tuple(_gate_row(gate) for gate in report["gates"] if gate["passed"])
    columns = ("partition", "gate", "verdict", "what it found")
    return Table("Failed, warning or missing", columns, (*troubles, *gaps)), Table("Passed gates", columns, passed)


def _gate_row(gate: Row) -> tuple[str, ...]:
    verdict = "passed" if gate["passed"] else "failed" if gate["blocking"] else "warning"
    where = f"{gate['dataset'] or 'all'} x {gate['backend'] or 'all'}"
    return (where, gate["gate"], verdict, gate["sentence"])


def datasets_table(report: dict[str, Any]) -> Table:
    rows = tuple(
        (
            facts["name"],
            facts["task"],
            count(facts["labels"]),
            count(facts["sampled"]),
            facts["source_pin"],
            facts["protocol_hash"],
            facts["prompt_hash"],
            "private" if facts["private"] else "public",
        )
        for facts in report["datasets"]
    )
    columns = ("dataset", "task", "labels", "sampled", "source pin", "protocol hash", "prompt hash", "texts")
    return Table("Datasets", columns, rows)


def systems_table(report: dict[str, Any]) -> Table:
    rows = tuple(
        (
            system["name"],
            system["title"],
            system["deployment"],
            system["model"] or ABSENT,
            system["revision"] or ABSENT,
            system["pin"] or ABSENT,
            system["verified"],
            "; ".join(f"{key}: {', '.join(values)}" for key, values in system["identity"].items()) or ABSENT,
        )
        for system in report["systems"]
    )
    columns = ("system", "title", "mode", "model", "revision", "pinned by", "codec verified by", "recorded identity")
    return Table("Systems", columns, rows)
