"""Inputs of a choice-order study whose tables are written by hand: small counts that add up.

`feelings` is public, has two sample groups, and is asked in six orders of three options; `letters` is private and has
one group; `smoke` was asked one order many times. `still` never moves, `tiny` moves by millionths, `new` and `old` are
versions, `noisy` moves as much as its repeats do.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from zs_assets.backends.systems import SystemSpec
from zs_assets.protocol.study import StudySpec
from zs_assets.report import DatasetFacts, ReportInputs, build_report
from zs_assets.stats import clopper_pearson_interval
from zs_assets.storage.order_schemas import ORDER_TABLES
from zs_assets_tests.report.selective_inputs import selective_inputs

BACKENDS = ("still", "tiny", "new", "old", "noisy")
TITLES = {"still": "Still", "tiny": "Tiny", "new": "Mover 2.0", "old": "Mover 1.0", "noisy": "Noisy"}
OPTIONS = ("joy", "anger", "doubt")
ORDERS = ((0, 1, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0), (1, 0, 2), (0, 2, 1))
GROUPS = {"random": (80, 70), "added_coverage": (20, 20), "all": (100, 88)}
"""Shared strict-complete samples and distinct texts; four more samples are score-complete."""
SENTENCES = 30

Row = dict[str, Any]


def order_study(**changes: Any) -> StudySpec:
    attributes: dict[str, Any] = {
        "name": "ordered",
        "title": "Synthetic choice order",
        "question": "Which feeling?",
        "datasets": [{"name": name, "source": "demo", "task": "feeling"} for name in ("feelings", "letters", "smoke")],
        "backends": list(BACKENDS),
        "plan": {"orders": {"kind": "rotations", "seed": 77}, "repeats": 3, "shuffle_seed": 78},
        "analyses": {
            "order_sensitivity": {"pairs": [["new", "old"]], "main_group": "random", "resamples": 2000, "seed": 79}
        },
    }
    return StudySpec.model_validate(attributes | changes)


def order_systems(titles: dict[str, str] | None = None) -> dict[str, SystemSpec]:
    return {
        name: SystemSpec(
            name=name, interface="systemone", title=title, deployment="hosted", model=f"{name}-1", decimals=2
        )
        for name, title in (titles or TITLES).items()
    }


def sensitivity_row(shared: Row, samples: int, texts: int, share: float, median: float, **changes: Any) -> Row:
    """A row with figures around a share of large ranges and a median; closed forms where counts allow."""
    large = round(share * samples)
    row: Row = {**shared, "samples": samples, "texts": texts, "options": 3, "orders": 6, "repeats": 3}
    row |= {"median_range": median, "p95_range": 2 * median, "max_range": 3 * median, "threshold_points": 10.0}
    row |= {"median_range_low": median * 0.9, "median_range_high": median * 1.1}
    row |= {"large_ranges": large, "large_share": large / samples, "large_share_by_text": large / samples}
    for name in ("large_share", "large_share_by_text"):
        row |= {f"{name}_low": max(0.0, share - 0.05), f"{name}_high": min(1.0, share + 0.05)}
    if large in (0, samples):
        row |= {"large_share_low": share, "large_share_high": share}
        exact = clopper_pearson_interval(texts if large else 0, texts)
        row |= {"large_share_exact_low": float(exact.low), "large_share_exact_high": float(exact.high)}
    changed = large // 4
    row |= {"winner_changes": changed, "tied_samples": 2, "winner_change_share": changed / samples}
    row |= {"tied_share": 2 / samples, "winner_change_share_low": 0.0, "winner_change_share_high": 0.3}
    row |= {"same_order": median / 20, "different_order": median / 4, "excess": median / 5}
    row |= {"excess_low": median / 6, "excess_high": median / 4, "repeat_groups": 6 * samples}
    row |= {"repeat_winner_changes": large, "repeat_change_samples": changed, "order_p_value": 1 / 201}
    row |= {"order_sample_share": share, "noise_median_range": median / 10, "noise_median_range_low": median / 12}
    row |= {"noise_median_range_high": median / 8, "noise_large_share": share / 10}
    row |= {"noise_large_share_low": share / 20, "noise_large_share_high": share / 5}
    return row | changes


FIGURES = {"still": (0.0, 0.0), "tiny": (0.0, 2.98e-6), "new": (0.55, 12.0), "old": (0.5, 38 / 3), "noisy": (0.2, 6.0)}
"""Share of large ranges and median range on the random group."""


def _sensitivity(dataset: str, group: str, rule: str) -> list[Row]:
    samples, texts = GROUPS[group]
    added = 4 if rule == "score_complete" else 0
    more = {"random": 0.0, "added_coverage": 0.25, "all": 0.05}[group]
    rows = []
    for backend, (share, median) in FIGURES.items():
        shared = {"dataset": dataset, "rule": rule, "sample_group": group, "backend": backend}
        moved = share + more if share else 0.0
        row = sensitivity_row(shared, samples + added, texts + added, moved, median * (1 + more))
        if backend == "noisy":
            row |= {"order_p_value": 0.42, "noise_large_share": 0.21, "noise_large_share_low": 0.15}
            row |= {"noise_large_share_high": 0.3}
        rows.append(row)
    return rows


def _by_system(dataset: str, group: str, rule: str) -> dict[str, list[Row]]:
    """Bins, positions and averaging of every system; bins add up to the samples."""
    samples = GROUPS[group][0] + (4 if rule == "score_complete" else 0)
    tables: dict[str, list[Row]] = {"order_ranges": [], "order_positions": [], "order_averaging": []}
    for backend, (share, median) in FIGURES.items():
        shared = {"dataset": dataset, "rule": rule, "sample_group": group, "backend": backend}
        large = round(share * samples)
        for low, number in ((3.0, samples - large), (10.0, large - large // 3), (27.0, large // 3)):
            if number:
                tables["order_ranges"].append({**shared, "low": low, "high": low + 1, "samples": number})
        for position, shift in enumerate((median / 4, 0.0, -median / 4)):
            mean = 100 / 3 + shift
            tables["order_positions"].append(
                {**shared, "position": position, "mean_score": mean, "even": 100 / 3}
                | {"mean_score_low": mean - 0.5, "mean_score_high": mean + 0.5}
            )
        for rotations in (1, 2, 3):
            row = {**shared, "rotations": rotations, "samples": samples, "median_range": median * (3 - rotations) / 2}
            row |= {"p95_range": median * (3 - rotations), "large_share": share * (3 - rotations) / 2}
            row |= _left(row["large_share"], samples)
            row |= {"winner_change_share": share / rotations, "agreement": 1 - share / 10 / rotations}
            row |= {"accuracy": 0.7 + rotations / 100, "accuracy_gain": (rotations - 1) / 100}
            row |= {"accuracy_gain_low": -0.01, "accuracy_gain_high": 0.03}
            row |= {"cost_usd": 0.0001 * rotations if backend != "tiny" else None, "calls": float(rotations)}
            tables["order_averaging"].append(row)
    return tables


def _left(share: float, texts: int) -> Row:
    """Intervals of what averaging leaves: five points to each side, exact where nothing is left."""
    exact = clopper_pearson_interval(0, texts) if share == 0 else None
    return {
        "large_share_low": max(0.0, share - 0.05),
        "large_share_high": share + 0.05 if share else 0.0,
        "large_share_exact_low": float(exact.low) if exact else None,
        "large_share_exact_high": float(exact.high) if exact else None,
    }


def _differences(dataset: str, group: str, rule: str) -> list[Row]:
    samples, texts = GROUPS[group]
    shared = {"dataset": dataset, "rule": rule, "sample_group": group, "backend_a": "new", "backend_b": "old"}
    shared |= {"samples": samples, "texts": texts, "difference_low": -0.81, "difference_high": 3.52}
    return [
        {**shared, "figure": figure, "weighting": weighting, "difference": 1.39}
        for figure in ("large_share", "winner_change_share")
        for weighting in ("sample", "text")
    ]


def _coverage(dataset: str, group: str) -> tuple[list[Row], list[Row]]:
    planned, excluded = [], []
    samples = GROUPS[group][0] + 10
    for backend in BACKENDS:
        lost = 3 if backend == "noisy" else 0
        shared = {"dataset": dataset, "sample_group": group, "backend": backend}
        row = {**shared, "samples": samples, "planned": 18 * samples, "scored": 18 * samples - lost}
        row |= {"label_mismatches": 9 if backend == "new" else 0, "score_complete": samples - lost}
        row |= {"strict_complete": samples - (7 if backend == "new" else lost), "faults": 19 if backend == "new" else 0}
        planned.append(row | {"recovered": row["faults"], "compared": True})
        if lost:
            excluded.append({**shared, "reason": "refusal", "replies": 3, "samples": lost})
        if backend == "new":
            excluded.append({**shared, "reason": "label_mismatch", "replies": 9, "samples": 7})
    return planned, excluded


def score_rows(dataset: str = "feelings", sentences: int = SENTENCES) -> list[Row]:
    """Scores by order: sentence k gives its first option .5 + k / 100 when that is sent first, .4 + k / 100 else."""
    rows = []
    for number in range(sentences):
        for backend in BACKENDS[:3]:
            for order, sent in enumerate(ORDERS):
                first = 0.5 + number / 100 if sent[0] == 0 and backend == "new" else 0.4 + number / 100
                scores = None if backend == "tiny" and order == 2 else [first, 0.9 - first, 2.98e-8]
                rows.append(
                    {"dataset": dataset, "backend": backend, "example_id": f"id{number:03}", "order_index": order}
                    | {"text": f"Sentence number {number}.", "option_order": list(sent), "scores": scores}
                    | {"repeats": 3}
                )
    return rows


def verification_rows(dataset: str = "smoke") -> list[Row]:
    return [
        {"dataset": dataset, "backend": backend, "example_id": "s1", "text": "An invented sentence."}
        | {"model_resolved": f"{backend}-1", "planned": 20, "scored": 20, "distinct_vectors": 4}
        | {"distinct_labels": 1, "distinct_winners": 1, "largest_range": 8.0 if backend == "new" else 5.0}
        for backend in ("new", "old")
    ]


def order_rows() -> dict[str, list[Row]]:
    """Every table of the analysis."""
    rows: dict[str, list[Row]] = {asset.value: [] for asset in ORDER_TABLES}
    for dataset, groups in {"feelings": tuple(GROUPS), "letters": ("all",)}.items():
        for group in groups:
            planned, excluded = _coverage(dataset, group)
            rows["order_coverage"] += planned
            rows["order_exclusions"] += excluded
            for rule in ("strict_complete", "score_complete"):
                rows["order_sensitivity"] += _sensitivity(dataset, group, rule)
                rows["order_differences"] += _differences(dataset, group, rule)
                for name, own in _by_system(dataset, group, rule).items():
                    rows[name] += own
    return rows | {"order_scores": score_rows(), "repeat_verification": verification_rows()}


def order_inputs(rows: dict[str, list[Row]] | None = None, **changes: Any) -> ReportInputs:
    tables = order_rows() if rows is None else rows
    fields: dict[str, Any] = {
        "study": order_study(),
        "systems": order_systems(),
        "datasets": tuple(
            DatasetFacts(name, "feeling", 110, {}, sampled, 3, f"sha256 {name}", "a" * 64, "b" * 64, name == "letters")
            for name, sampled in (("feelings", 110), ("letters", 110), ("smoke", 1))
        ),
        "analyses": {
            asset.value: pa.Table.from_pylist(tables.get(asset.value, []), schema=schema)
            for asset, schema in ORDER_TABLES.items()
        },
    }
    return selective_inputs({}, **(fields | changes))


def order_report(rows: dict[str, list[Row]] | None = None, **changes: Any) -> Row:
    """The report, with the ids of the options."""
    report = build_report(order_inputs(rows, **changes))
    for dataset in report["datasets"]:
        dataset["options"] = list(OPTIONS)
    return report
