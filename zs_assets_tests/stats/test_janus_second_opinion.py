"""A second opinion: `janus measure --replay` (PyPI janus-decide) reads the same rows and has to say the same.

Where its definitions differ, and what is compared instead:
- It rounds every confidence to hundredths; here only a confidence declared on that grid is. Rows below are.
- Without a route it shows, among the most accurate routed points, the one that escalates most; ours is the
  cheapest. Their accuracies are compared, not their thresholds.
- Two equally accurate single systems: it takes the cheaper one, we the primary. The verdict does not depend
  on it.
- It cannot read a row without a confidence, and has no p95.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
import pytest

from zs_assets.stats import (
    CascadeRows,
    best_point,
    best_routed_point,
    cascade_references,
    cascade_sweep,
    route_verdict,
)
from zs_assets_tests.stats.cascade_rows import random_rows, rows_from_counts


def installed() -> bool:
    try:
        version("janus-decide")
    except PackageNotFoundError:
        return False
    return True


pytestmark = pytest.mark.skipif(not installed(), reason="janus-decide is not installed")

LABELS = ["right", "wrong"]
INSTRUCTIONS = "Which label applies?"
START = "import sys; from janus.cli import main; sys.exit(main(sys.argv[1:]))"
POINT = re.compile(r"^\s+(\w+)\s+(-|\d\.\d\d)\s+([\d.]+)%\s+([\d.]+)%\s+(unknown|[\d.]+)\s+(\d+)ms", re.MULTILINE)


@dataclass(frozen=True)
class Opinion:
    """What its report prints: (threshold, coverage, accuracy, cost, p50 in ms) per point, and its verdict."""

    points: dict[str, tuple[float, float, float | None, int]]
    verdict: str
    threshold: str
    accuracy: float
    ceiling: float


def second_opinion(rows: CascadeRows, folder: Path) -> Opinion:
    write_runs(rows, folder)
    command = [sys.executable, "-c", START, "--color", "never", "measure", "--replay"]
    command += ["--dataset", str(folder / "examples.jsonl"), "--labels", str(folder / "labels.json")]
    command += ["--primary", "typesafe:p", "--fallback", "deepseek:f", "--raw-dir", str(folder)]
    run = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=120)
    assert run.returncode == 0, run.stderr
    points = {}
    for rule, threshold, coverage, accuracy, cost, p50 in POINT.findall(run.stdout):
        paid = None if cost == "unknown" else float(cost)
        points[rule if threshold == "-" else threshold] = (float(coverage), float(accuracy), paid, int(p50))
    verdict = run.stdout[run.stdout.index("VERDICT: ") :]
    found = dict(re.findall(r"^\s+([\w ]+?)\s*:\s+\$?([\d.]+)", verdict, re.MULTILINE))
    return Opinion(
        points=points,
        verdict=verdict.splitlines()[0],
        threshold=found.get("threshold") or found.get("best routed", ""),
        accuracy=float(found["accuracy"]),
        ceiling=float(found["ceiling"]),
    )


def write_runs(rows: CascadeRows, folder: Path) -> None:
    """The files it replays, with no column more than it needs."""
    labels = {name: "" for name in LABELS}
    constant = json.dumps({"instructions": INSTRUCTIONS, "criteria": labels}, separators=(",", ":"))
    prompt_hash = hashlib.sha256(constant.encode()).hexdigest()
    (folder / "labels.json").write_text(json.dumps({"instructions": INSTRUCTIONS, "labels": labels}))
    examples = [{"id": i, "text": f"text {i}", "gold_label": "right"} for i in range(len(rows))]
    write_lines(folder / "examples.jsonl", examples)
    for name, model in (("primary", "p-1"), ("fallback", "f-1")):
        right, cost = getattr(rows, f"{name}_correct"), getattr(rows, f"{name}_cost")
        latency = getattr(rows, f"{name}_latency_ms")
        lines = [
            {
                "id": i,
                "gold_label": "right",
                "model_id": model,
                "prediction": LABELS[0] if right[i] else LABELS[1],
                "confidence": float(rows.level[i]) if name == "primary" else None,
                "latency_ms": float(latency[i]),
                "cost_usd": None if np.isnan(cost[i]) else float(cost[i]),
                "prompt_hash": prompt_hash,
            }
            for i in range(len(rows))
        ]
        write_lines(folder / f"{name}.jsonl", lines)


def write_lines(path: Path, records: list[dict]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")


def few_levels() -> CascadeRows:
    """Ties everywhere: three levels, equal costs."""
    rows = random_rows(11, 150)
    return replace(rows, level=np.round(rows.level * 2) / 2 * 0.9, fallback_cost=np.full(150, 0.01))


def better_fallback() -> CascadeRows:
    rows = random_rows(12, 150)
    return replace(rows, fallback_correct=rows.primary_correct | (np.arange(150) % 3 == 0))


def worse_fallback() -> CascadeRows:
    rows = random_rows(13, 150)
    return replace(rows, fallback_correct=rows.primary_correct & (np.arange(150) % 3 != 0))


def equal_to_the_better_single() -> CascadeRows:
    """Counts of the study's WOS run, with a routed point exactly as good as the primary."""
    rows = rows_from_counts(both=230, primary_only=34, fallback_only=16, neither=220, level_of_primary_only=0.4)
    return replace(rows, level=np.where(rows.level == 0.6, 0.3, rows.level))


SHAPES = {
    "random": random_rows(10, 150),
    "dear": replace(random_rows(14, 150), fallback_cost=np.linspace(0.01, 0.2, 150)),
    "few levels": few_levels(),
    "fallback better everywhere": better_fallback(),
    "fallback worse everywhere": worse_fallback(),
    "equality": equal_to_the_better_single(),
    "published counts": rows_from_counts(both=367, primary_only=22, fallback_only=27, neither=84),
}


@pytest.mark.parametrize("rows", SHAPES.values(), ids=SHAPES.keys())
def test_sweep_verdict_and_ceiling_are_the_same(rows: CascadeRows, tmp_path: Path) -> None:
    theirs = second_opinion(rows, tmp_path)
    sweep, references, verdict = cascade_sweep(rows), cascade_references(rows), route_verdict(rows)

    assert len(theirs.points) == len(sweep) + 2
    for index in range(len(sweep)):
        point = sweep.point(index)
        same_figures(theirs.points[f"{point.threshold:.2f}"], point, point.coverage)
    same_figures(theirs.points["always_primary"], references.primary, 1.0)
    same_figures(theirs.points["always_fallback"], references.fallback, 0.0)

    assert theirs.ceiling == pytest.approx(100 * references.oracle.accuracy, abs=0.051)
    assert theirs.verdict == ("VERDICT: ROUTE" if verdict.route else "VERDICT: DO NOT ROUTE")
    routed = best_routed_point(sweep)
    assert routed is not None
    assert theirs.accuracy == pytest.approx(100 * routed.accuracy, abs=0.051)
    if verdict.route:
        assert theirs.threshold == f"{best_point(sweep).threshold:.2f}"


def test_the_shapes_hold_both_verdicts() -> None:
    assert {route_verdict(rows).route for rows in SHAPES.values()} == {True, False}


def test_an_unknown_cost_is_unknown_to_both(tmp_path: Path) -> None:
    rows = random_rows(15, 60)
    costs = rows.fallback_cost.copy()
    costs[np.argmax(rows.level)] = np.nan
    rows = replace(rows, fallback_cost=costs)
    theirs, sweep = second_opinion(rows, tmp_path), cascade_sweep(rows)
    ours = {f"{sweep.threshold[i]:.2f}": sweep.point(i).cost is None for i in range(len(sweep))}
    assert {name: theirs.points[name][2] is None for name in ours} == ours
    assert set(ours.values()) == {True, False}


def same_figures(theirs: tuple[float, float, float | None, int], ours, coverage: float) -> None:
    """Equal up to the digits the report prints."""
    printed_coverage, printed_accuracy, printed_cost, printed_p50 = theirs
    assert printed_coverage == pytest.approx(100 * coverage, abs=0.051)
    assert printed_accuracy == pytest.approx(100 * ours.accuracy, abs=0.051)
    assert printed_cost == pytest.approx(ours.cost, abs=0.000051)
    assert printed_p50 == pytest.approx(ours.latency_p50, abs=0.51)
