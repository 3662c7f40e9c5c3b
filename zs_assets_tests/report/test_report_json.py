"""report.json: its schema, its safety, and that every figure is the one that came in."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from pydantic import ValidationError

from zs_assets.report import build_report
from zs_assets.report.build import MAX_CURVE_POINTS
from zs_assets.report.schema import Report, schema_markdown, schema_rows
from zs_assets.storage.schemas import DATASET_MEANS, METRICS, PAIRED_DIFFERENCES, RANKINGS
from zs_assets_tests.report.report_inputs import BACKENDS, LABELS, report_inputs, study


def paths(value: object, prefix: str = "") -> set[str]:
    """Every path of a JSON value, written as the documentation writes it."""
    if isinstance(value, list):
        return set().union(*(paths(item, f"{prefix}[]") for item in value)) if value else set()
    if not isinstance(value, dict):
        return set()
    found = set()
    for key, item in value.items():
        path = f"{prefix}.{key}" if prefix else key
        found |= {path} | paths(item, path)
    return found


def test_a_report_survives_json_without_nan():
    inputs = report_inputs()
    assert any(np.isnan(bins.accuracy).any() for bins in inputs.calibration.values())
    report = build_report(inputs)
    assert json.loads(json.dumps(report, allow_nan=False)) == report


def test_every_field_of_a_report_is_documented():
    documented = {path for path, _ in schema_rows()}
    free = (
        "study.scoring.",
        "study.plan.",
        "study.analyses.",
        "systems[].identity.",
        "datasets[].excluded.",
        "versions.",
    )
    written = {path for path in paths(build_report(report_inputs())) if not path.startswith(free)}
    assert written <= documented
    assert all(meaning for _, meaning in schema_rows())
    assert "| `verdicts[].status` | by the protocol's scheme, target_stratified |" in schema_markdown()


def test_an_undocumented_field_or_an_infinite_figure_is_refused():
    report = build_report(report_inputs())
    with pytest.raises(ValidationError):
        Report.model_validate(report | {"surprise": 1})
    report["backend_means"][0]["value"] = float("inf")
    with pytest.raises(ValidationError):
        Report.model_validate(report)


def test_tables_keep_the_figures_of_the_inputs():
    inputs = report_inputs()
    report = build_report(inputs)
    assert report["metrics"] == inputs.metrics.to_pylist()
    assert report["paired_differences"] == inputs.paired_differences.to_pylist()
    macro_f1 = [row["macro_f1"] for row in report["metrics"] if row["backend"] == "jev"]
    (mean,) = [m for m in report["backend_means"] if (m["backend"], m["metric"]) == ("jev", "macro_f1")]
    assert mean["value"] == pytest.approx(sum(macro_f1) / 3)
    assert len(report["curves"]["reliability"]) == len(LABELS) * len(BACKENDS)


def test_long_curves_are_thinned_with_both_ends_kept():
    values = np.random.default_rng(3).gamma(4, 60, 5000)
    inputs = report_inputs()
    report = build_report(replace(inputs, latencies_ms=inputs.latencies_ms | {("topics", "jev"): values}))
    (curve,) = [c for c in report["curves"]["latency"] if (c["dataset"], c["backend"]) == ("topics", "jev")]
    assert len(curve["milliseconds"]) == MAX_CURVE_POINTS
    assert (curve["milliseconds"][0], curve["milliseconds"][-1]) == (values.min(), values.max())
    assert (curve["n"], curve["thinned"], curve["share"][-1]) == (5000, True, 1.0)


def test_a_study_without_any_result_still_makes_a_report():
    nothing = report_inputs(
        study=study(analyses={}),
        metrics=METRICS.empty_table(),
        paired_differences=PAIRED_DIFFERENCES.empty_table(),
        dataset_means=DATASET_MEANS.empty_table(),
        rankings=pa.Table.from_pylist([], schema=RANKINGS),
        latencies_ms={},
        calibration={},
        risk_coverage={},
        verdicts=(),
        datasets=(),
    )
    assert build_report(nothing)["verdicts"] == []
