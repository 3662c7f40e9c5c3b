"""report.json, documented: pydantic models that every report is checked against before it is written.

`schema_markdown()` prints the table of fields; `Report.model_json_schema()` is the same for machines. Rows of
`metrics`, `paired_differences`, `dataset_means` and `rankings` have the columns of the Arrow schemas of those names,
and so has every table of `analyses`.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import pyarrow as pa
from pydantic import BaseModel, Field

from zs_assets.report.schema_curves import CurvesPart
from zs_assets.report.schema_part import Part
from zs_assets.storage import schemas
from zs_assets.storage.order_schemas import FOLLOW_UP_COUNTS, FOLLOW_UP_COUNTS_TABLE, ORDER_TABLES
from zs_assets.storage.selective_schemas import CASCADE_TABLES, CELL_TABLES, DECISION_LOG_TABLES

SCHEMA_VERSION = 1

Row = dict[str, Any]
VerdictStatus = Literal["supported", "not_supported", "not_publishable"]


class StudyPart(Part):
    """The study as it was asked."""

    name: str = Field(description="the study's name")
    title: str = Field(description="the study's title, or its name")
    question: str = Field(description="the question every system was asked")
    description: str = Field(description="what the study is about")
    datasets: list[str] = Field(description="dataset partitions, in the study's order")
    backends: list[str] = Field(description="backend partitions, in the study's order")
    pairs: list[list[str]] = Field(description="[a, b]: differences are a minus b")
    cascades: list[list[str]] = Field(description="[primary, fallback]")
    resamples: int | None = Field(description="bootstrap resamples; null without paired analysis")
    seed: int | None = Field(description="seed of the bootstrap; null without paired analysis")
    scoring: dict[str, Any] = Field(description="renormalise, prediction, confidence, error_budget")
    analyses: dict[str, Any] = Field(
        description="settings of every analysis (pairs, resamples, seed, targets, risk limits); null where not asked"
    )
    plan: dict[str, Any] = Field(description="option orders and repeats")
    limitations: list[str] = Field(description="what the study cannot show")


class OtherInterval(Part):
    """The same difference by the plain bootstrap."""

    difference: float = Field(description="a minus b")
    ci95_low: float = Field(description="2.5 % quantile")
    ci95_high: float = Field(description="97.5 % quantile")
    supported: bool = Field(description="the interval excludes zero")
    weak: str | None = Field(description="why the interval should not be leaned on")


class VerdictPart(Part):
    """One pair and one question. Figures are null where the status is not_publishable."""

    backend_a: str = Field(description="minuend")
    backend_b: str = Field(description="subtrahend")
    metric: str = Field(description="macro_f1, accuracy, brier or nll: equal-weight mean over datasets")
    status: VerdictStatus = Field(description="by the protocol's scheme, target_stratified")
    sentence: str = Field(description="the verdict in words, complete in itself")
    caveats: str = Field(description="the end of the sentence: our interval beside the protocol's, what is weak")
    better: str | None = Field(description="the backend a supported difference favours")
    difference: float | None = Field(description="a minus b")
    ci95_low: float | None = Field(description="2.5 % quantile, target_stratified")
    ci95_high: float | None = Field(description="97.5 % quantile, target_stratified")
    n: int | None = Field(description="items valid for both, over all datasets of the mean")
    datasets: list[str] = Field(description="datasets in the mean")
    weak: str | None = Field(description="why the protocol's interval should not be leaned on")
    plain: OtherInterval | None = Field(description="our interval beside the protocol's")
    schemes_agree: bool | None = Field(description="both schemes lead to the same status and better backend")
    reasons: list[str] = Field(description="why it is not publishable; empty otherwise")


class CascadeVerdictPart(Part):
    """One cascade on one dataset."""

    dataset: str = Field(description="dataset partition")
    primary: str = Field(description="answers where its confidence is at least the threshold")
    fallback: str = Field(description="answers the other rows")
    status: Literal["route", "route_unconfirmed", "do_not_route", "not_publishable"] = Field(
        description="by the protocol, in sample; unconfirmed: the gain on rows left out includes zero"
    )
    sentence: str = Field(description="the verdict in words, complete in itself")
    caveats: str = Field(description="the end of the sentence: cost, gain on rows left out, ceiling, targets")
    reasons: list[str] = Field(description="why it is not publishable; empty otherwise")


class OrderVerdictPart(Part):
    """One sentence about the choice-order analysis of a dataset."""

    dataset: str = Field(description="dataset partition")
    kind: Literal["stability", "noise", "pair", "empty", "meaning"] = Field(
        description="most and least stable; within repeat noise; two versions; no shared sample; what it does not say"
    )
    status: Literal["described", "supported", "not_supported", "not_publishable"] = Field(
        description="described: a finding without a test; else whether the interval of a pair excludes zero"
    )
    sentence: str = Field(description="the finding in words, complete in itself")


class PublicationPart(Part):
    """May this be published?"""

    possible: bool = Field(description="every gate of every partition that was run passes")
    sentence: str = Field(description="why, and what to do next")


class RemarkPart(Part):
    """A sentence that is no verdict of a pair."""

    kind: Literal["ranking", "control", "calibration", "decision_log", "left_out"] = Field(
        description="what it is about"
    )
    sentence: str = Field(description="the remark in words")


class DatasetPart(Part):
    """One dataset: its source, its size at every step, its hashes."""

    name: str = Field(description="dataset partition")
    task: str = Field(description="kind of task")
    source_examples: int = Field(description="examples of the source, excluded ones included")
    excluded: dict[str, int] = Field(description="reason -> examples no study could use")
    sampled: int = Field(description="examples in the manifest")
    labels: int = Field(description="declared options")
    source_pin: str = Field(description="revision or hash of the source")
    protocol_hash: str = Field(description="sha256 of what was fixed before inference")
    prompt_hash: str = Field(description="sha256 of instructions and criteria")
    private: bool = Field(description="true: no texts and no per-example rows are published")
    options: list[str] = Field(default=[], description="ids of the declared options, in declared order")


class SystemPart(Part):
    """One system under test."""

    name: str = Field(description="backend partition")
    title: str = Field(description="the system's name for people")
    deployment: Literal["hosted", "local"] = Field(description="latencies of the two are different modes")
    control: bool = Field(description="true: the uniform control")
    model: str | None = Field(description="model requested")
    revision: str | None = Field(description="pinned revision")
    decimals: int | None = Field(description="decimals its probabilities are rounded to")
    pin: str = Field(description="how the record pins it")
    pinned: str = Field(description="yes: every reply says what answered; launch: its operator did; no: nothing does")
    model_rule: str | None = Field(description="how the model a reply names relates to the one asked for")
    confidence_formula: str = Field(description="how it computes its own confidence field")
    order_behaviour: str = Field(description="published sensitivity to the order of options")
    verified: str = Field(description="by what its codec was verified")
    terms: str = Field(description="what to check before publishing")
    identity: dict[str, list[str]] = Field(description="recorded facts (hardware, versions): distinct values")


class BackendMean(Part):
    """Equal-weight mean of one system's figures over the datasets that have them."""

    backend: str = Field(description="backend partition")
    metric: str = Field(description="metric averaged")
    value: float | None = Field(description="the mean; null without any dataset")
    datasets: int = Field(description="datasets it covers")


class GatePart(Part):
    """One gate's answer about one partition."""

    dataset: str = Field(description="dataset partition; empty: all")
    backend: str = Field(description="backend partition; empty: all")
    gate: str = Field(description="name of the gate")
    passed: bool = Field(description="its answer")
    blocking: bool = Field(description="true: a failure keeps the partition out of every figure")
    sentence: str = Field(description="what it found")


class MissingPart(Part):
    """A partition without readable results."""

    dataset: str = Field(description="dataset partition")
    backend: str = Field(description="backend partition")
    reason: str = Field(description="why")


class Report(Part):
    """report.json"""

    schema_version: Literal[1] = Field(description="of this schema")
    generated_at: str = Field(description="UTC, suffix Z")
    rehearsal: bool = Field(description="true: hosted systems were local stand-ins; nothing is publishable")
    publication: PublicationPart = Field(description="whether the study could be published as it stands")
    study: StudyPart = Field(description="what was asked")
    verdicts: list[VerdictPart] = Field(description="one per pair and question")
    cascade_verdicts: list[CascadeVerdictPart] = Field(description="one per cascade and dataset")
    order_verdicts: list[OrderVerdictPart] = Field(description="choice-order findings, dataset by dataset")
    remarks: list[RemarkPart] = Field(description="rankings that reverse, the control, what was left out")
    datasets: list[DatasetPart] = Field(description="one per dataset with a manifest")
    systems: list[SystemPart] = Field(description="one per backend")
    metrics: list[Row] = Field(description="columns of METRICS; readable partitions only")
    backend_means: list[BackendMean] = Field(description="one per backend and metric")
    paired_differences: list[Row] = Field(description="columns of PAIRED_DIFFERENCES; readable partitions only")
    dataset_means: list[Row] = Field(description="columns of DATASET_MEANS; readable partitions only")
    rankings: list[Row] = Field(description="columns of RANKINGS; readable partitions only")
    analyses: dict[str, list[Row]] = Field(
        description="tables of the analyses by name, columns of the schemas of those names; readable partitions only; "
        "`order_scores` is cut to the first sentences of a dataset"
    )
    curves: CurvesPart = Field(description="points of the charts")
    gates: list[GatePart] = Field(description="every gate asked")
    missing: list[MissingPart] = Field(description="partitions without readable results")
    manifest_sha256: str = Field(description="sha256 of the study's manifest")
    versions: dict[str, str] = Field(description="package -> version")


_ROWS = {
    "metrics": schemas.METRICS,
    "paired_differences": schemas.PAIRED_DIFFERENCES,
    "dataset_means": schemas.DATASET_MEANS,
    "rankings": schemas.RANKINGS,
}


ANALYSIS_SCHEMAS = {
    asset.value: schema
    for tables in (CELL_TABLES, CASCADE_TABLES, DECISION_LOG_TABLES, ORDER_TABLES)
    for asset, schema in tables.items()
} | {FOLLOW_UP_COUNTS_TABLE: FOLLOW_UP_COUNTS}


def schema_rows() -> list[tuple[str, str]]:
    """(path, meaning) of every field of report.json; `[]` stands for each element of a list."""
    return list(_model_rows(Report, ""))


def schema_markdown() -> str:
    """The same as a Markdown table."""
    rows = "".join(f"| `{path}` | {meaning} |\n" for path, meaning in schema_rows())
    return f"| field | meaning |\n|---|---|\n{rows}"


def _model_rows(model: type[BaseModel], prefix: str) -> list[tuple[str, str]]:
    rows = []
    for name, field in model.model_fields.items():
        path = prefix + name
        rows.append((path, field.description or ""))
        nested = _nested_model(field.annotation)
        if nested is not None:
            is_list = "list" in str(field.annotation)
            rows += _model_rows(nested, path + ("[]." if is_list else "."))
        elif not prefix and name in _ROWS:
            rows += [(f"{path}[].{column.name}", _meaning(column)) for column in _ROWS[name]]
        elif not prefix and name == "analyses":
            for table, schema in ANALYSIS_SCHEMAS.items():
                rows.append(
                    (f"{path}.{table}", f"rows of {table.replace('_', ' ')}; empty where not asked or not read")
                )
                rows += [(f"{path}.{table}[].{column.name}", _meaning(column)) for column in schema]
    return rows


def _nested_model(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    found = (_nested_model(argument) for argument in get_args(annotation))
    return next((model for model in found if model is not None), None)


def _meaning(column: pa.Field) -> str:
    return (column.metadata or {}).get(b"description", b"").decode()
