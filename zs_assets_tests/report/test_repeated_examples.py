"""Datasets whose examples are asked more than once: told as presentations, and in no mean over datasets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from zs_assets.protocol.study import Plan
from zs_assets.report import build_report, render_page
from zs_assets.report.tables import means_table, metric_tables
from zs_assets_tests.report.report_inputs import report_inputs, study


def report(*repeated: str) -> dict[str, Any]:
    """The report of a study that asks these of its datasets twenty times over."""
    inputs = report_inputs()
    rows = inputs.metrics.to_pylist()[0]["n"]
    spec = study()
    twenty = Plan(orders="fixed", repeats=20)
    datasets = tuple(
        dataset.model_copy(update={"plan": twenty}) if dataset.name in repeated else dataset
        for dataset in spec.datasets
    )
    facts = tuple(replace(one, sampled=rows // 20 if one.name in repeated else rows) for one in inputs.datasets)
    changed = spec.model_copy(update={"datasets": datasets})
    return build_report(replace(inputs, study=changed, datasets=facts))


def names() -> list[str]:
    return [dataset.name for dataset in study().datasets]


def test_a_mean_over_datasets_leaves_out_the_repeated_ones():
    first, *others = names()
    found = report(first)
    accuracies = [row["accuracy"] for row in found["metrics"] if row["backend"] == "jev" and row["dataset"] in others]
    (mean,) = [m for m in found["backend_means"] if (m["backend"], m["metric"]) == ("jev", "accuracy")]
    assert (mean["value"], mean["datasets"]) == (sum(accuracies) / len(others), len(others))


def test_without_a_dataset_to_average_there_is_no_table_of_means():
    found = report(*names())
    assert means_table(found).rows == ()
    assert "Equal-weight means over datasets" not in render_page(found)


def test_presentations_are_not_called_examples():
    first, second, *_ = names()
    planned = {table.caption: table.rows[0][2] for table in metric_tables(report(first))}
    rows = next(row["n"] for row in report()["metrics"])
    assert planned[first] == f"{rows:,} presentations of {rows // 20} examples"
    assert planned[second] == f"{rows:,}"
