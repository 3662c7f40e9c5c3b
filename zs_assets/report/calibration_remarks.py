"""Sentences on how far a stated confidence can be trusted: its gap, what is certified, and the other statistics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from zs_assets.report.inputs import ReportInputs
from zs_assets.report.wording import exact_share, figure, listed, share, signed_points

Row = dict[str, Any]
LEVEL = 0.05
"""Significance level of the corrected comparisons."""


def calibration_remarks(inputs: ReportInputs, analyses: Mapping[str, list[Row]]) -> list[Row]:
    """Three sentences per dataset x backend with a confidence, where there is something to say."""
    found: list[str] = []
    for dataset in inputs.study.datasets:
        for backend in inputs.study.backends:
            own = {
                name: [row for row in rows if (row["dataset"], row.get("backend")) == (dataset.name, backend)]
                for name, rows in analyses.items()
            }
            found += _sentences(f"{backend} on {dataset.name}", own)
    return [{"kind": "calibration", "sentence": sentence} for sentence in found]


def _sentences(who: str, own: Mapping[str, list[Row]]) -> Iterator[str]:
    figures = {(row["figure"], row["method"]): row for row in own["calibration"]}
    gap, right = figures.get(("confidence_gap", "protocol")), figures.get(("accuracy", "protocol"))
    if gap is not None and right is not None:
        yield (
            f"{who} states {share(right['value'] + gap['value'])} on average and is right in {share(right['value'])}: "
            f"a gap of {signed_points(gap['value'])} points [{signed_points(gap['ci95_low'])}, "
            f"{signed_points(gap['ci95_high'])}]."
        )
    if own["certified_thresholds"]:
        yield _certified(who, own["certified_thresholds"])
    compared = [row for row in own["auroc_comparisons"] if row["difference"] is not None]
    form = "integer" if any(row["form"] == "integer" for row in compared) else "float"
    of_form = [row for row in compared if row["form"] == form and row["p_holm"] is not None]
    if of_form:
        yield _discrimination(who, of_form)


def _certified(who: str, rows: list[Row]) -> str:
    strictest = max(rows, key=lambda row: float(exact_share(row["confidence_level"]).removesuffix(" %")))
    said = [
        f"errors of at most {exact_share(row['risk_limit'])}: "
        + (
            "no threshold"
            if row["threshold"] is None
            else f"from {row['threshold']:.2f}, coverage {share(row['coverage'])}"
        )
        for row in rows
        if row["confidence_level"] == strictest["confidence_level"]
    ]
    return (
        f"{who}, certified with {exact_share(strictest['confidence_level'])} confidence by exact tests (addition): "
        f"{'; '.join(said)}."
    )


def _discrimination(who: str, rows: list[Row]) -> str:
    corrected = [row for row in rows if row["p_holm"] <= LEVEL]
    plain = [row for row in rows if row["p_value"] <= LEVEL]
    names = listed([row["statistic"] for row in corrected])
    if corrected:
        said = f"the confidence and {names} differ after Holm's correction"
    elif plain:
        said = (
            f"{listed([row['statistic'] for row in plain])} seemed to differ (p below .05), "
            f"but not after Holm's correction (smallest p {figure(min(row['p_holm'] for row in rows))})"
        )
    else:
        said = "no other statistic of the vector separates right from wrong better or worse"
    return f"{who}, outside confidence 1.00: {said}."
