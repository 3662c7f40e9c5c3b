"""Models of a study's YAML (`type: zs_assets.Study`, `attributes:`). Unknown keys are errors.

Only what is fixed before inference is decided here; how a source is read or a backend is called is not.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from zs_assets.protocol.analyses import Analyses, Seed, Share
from zs_assets.protocol.hashing import sha256_json
from zs_assets.protocol.names import PAIR_SEPARATOR
from zs_assets.protocol.question import Question
from zs_assets.protocol.source_specs import Slug, Source, Strict


class Sample(Strict):
    """How examples are drawn, before any inference.

    balanced: equal numbers per label by round robin; uniform: without regard to labels; stratified: proportional to
    the labels' shares; all: every valid example.
    """

    kind: Literal["balanced", "uniform", "stratified", "all"] = "all"
    size: int | None = Field(default=None, ge=1)
    seed: int = 0

    @model_validator(mode="after")
    def _size_goes_with_a_draw(self) -> Sample:
        if (self.kind == "all") != (self.size is None):
            raise ValueError(f"sample kind '{self.kind}' {'takes no' if self.kind == 'all' else 'needs a'} size")
        return self


SHORT_SOURCES = ("btzsc", "demo", "banking77", "wos")
"""Kinds that may be named alone, `source: btzsc`."""


def _kind_alone_is_valid(schema: dict[str, Any]) -> None:
    """The field's JSON schema, which editors and `dg check yaml` read, allows the short form as well."""
    full = dict(schema)
    schema.clear()
    schema["anyOf"] = [{"enum": list(SHORT_SOURCES), "type": "string"}, full]


class DatasetSpec(Strict):
    """One dataset partition of a study."""

    name: Slug
    source: Source = Field(json_schema_extra=_kind_alone_is_valid)
    sample: Sample = Sample()
    task: str = "classification"
    instructions: str | None = None  # overrides the study's question for this dataset
    private: bool = False  # True: no texts and no per-example rows in a publication; a user's own file starts as true
    # "/": the part of an option's id before it names its parent domain
    parent_separator: str | None = Field(default=None, min_length=1)
    prompt_hash: str | None = None  # refuses any other instructions, options or order
    plan: Plan | None = None  # overrides the study's plan for this dataset

    @model_validator(mode="before")
    @classmethod
    def _source_by_kind_alone(cls, data: Any) -> Any:
        """`source: btzsc` is short for the configuration (or demo set) named like the dataset; others take defaults."""
        if isinstance(data, dict) and isinstance(data.get("source"), str):
            kind, name = data["source"], data.get("name")
            named = {"btzsc": {"config": name}, "demo": {"name": name}}
            if kind in SHORT_SOURCES:
                return {**data, "source": {"kind": kind, **named.get(kind, {})}}
        return data

    @model_validator(mode="before")
    @classmethod
    def _own_texts_are_private_unless_said_otherwise(cls, data: Any) -> Any:
        if isinstance(data, dict) and "private" not in data:
            source = data.get("source")
            kind = source.get("kind") if isinstance(source, dict) else getattr(source, "kind", None)
            return {**data, "private": kind == "file"}
        return data


class Rotations(Strict):
    """For K options: K rotations of one seeded random order and K of its reverse, the same for every example."""

    kind: Literal["rotations"] = "rotations"
    seed: Seed


class Plan(Strict):
    """Which option orders are shown, how often, and in which sequence. `fixed` is the declared order alone."""

    orders: Literal["fixed"] | Rotations = "fixed"
    repeats: int = Field(default=1, ge=1)
    shuffle_seed: Seed | None = None  # of the request sequence; None: as the tables are ordered

    @property
    def asks_once(self) -> bool:
        """One presentation per example: figures that count presentations then count examples."""
        return self.orders == "fixed" and self.repeats == 1

    @property
    def settings(self) -> dict[str, Any]:
        """What is hashed and reported; a setting that is not made is left out."""
        return self.model_dump(mode="json", exclude_none=True)

    @property
    def public_settings(self) -> dict[str, Any]:
        """The settings without any seed: a published bundle names none (choice-order study, "Scope and downloads")."""
        orders = "fixed" if self.orders == "fixed" else {"kind": self.orders.kind}
        return {"orders": orders, "repeats": self.repeats, "shuffled": self.shuffle_seed is not None}


class GateLimits(Strict):
    """Limits the gates compare with."""

    sum_tolerance: float = Field(default=0.02, ge=0)  # |sum of a vector - 1|
    max_invalid_rate: float = Field(default=0.05, ge=0, le=1)
    warn_failure_rate: float = Field(default=0.05, ge=0, le=1)


class Scoring(Strict):
    """Which of the documented conventions is this study's primary one; the other is stored beside it."""

    renormalise: bool = True  # proper scores and confidence on the vector divided by its sum (pilot) or raw
    prediction: Literal["argmax", "choice"] = "argmax"  # first maximum of the vector, or the system's own answer
    confidence: Literal["top_probability", "reported"] = "top_probability"
    error_budget: Share = "1/20"


def pair_name(pair: tuple[str, str]) -> str:
    """Partition key of an ordered pair of backends."""
    return PAIR_SEPARATOR.join(pair)


class StudySpec(Strict):
    """A whole study. `backends` are names of systems.yaml, of the study's own `systems`, or of ZS_SYSTEMS files."""

    name: Slug
    title: str | None = None
    question: str
    description: str = ""
    datasets: tuple[DatasetSpec, ...] = Field(min_length=1)
    backends: tuple[Slug, ...] = Field(min_length=1)
    systems: dict[Slug, dict[str, Any]] = Field(default_factory=dict)  # inline entries, as in systems.yaml
    plan: Plan = Plan()
    scoring: Scoring = Scoring()
    gates: GateLimits = GateLimits()
    analyses: Analyses = Analyses()
    attempt_budget: int = Field(default=4, ge=1)  # calls per presentation
    max_usd: float | None = Field(default=None, gt=0)
    manifest_sha256: str | None = None  # the published manifest, where the study reproduces one
    limitations: tuple[str, ...] = ()  # printed in the report

    @model_validator(mode="after")
    def _names_are_unique_and_known(self) -> StudySpec:
        for kind, names in (("dataset", [d.name for d in self.datasets]), ("backend", list(self.backends))):
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                raise ValueError(f"study '{self.name}' names {kind} {', '.join(twice)} twice: keep one")
        for analysis, pairs in self.analyses.named_pairs().items():
            for a, b in pairs:
                for name in (a, b):
                    if name not in self.backends:
                        raise ValueError(
                            f"study '{self.name}' compares '{name}' in {analysis}, which is none of its backends "
                            f"({', '.join(self.backends)}): add it to backends or drop the pair"
                        )
                if a == b:
                    raise ValueError(f"study '{self.name}' compares '{a}' with itself in {analysis}: name two backends")
        return self

    @model_validator(mode="after")
    def _analyses_fit_the_plans(self) -> StudySpec:
        plans = [self.plan_of(dataset) for dataset in self.datasets]
        rotated = [isinstance(plan.orders, Rotations) for plan in plans]
        if self.analyses.order_sensitivity is not None and all(plan.asks_once for plan in plans):
            raise ValueError(
                f"study '{self.name}' asks for order_sensitivity and shows every option order once: give it "
                "plan: {orders: {kind: rotations, seed: 1}, repeats: 3}"
            )
        counted_once = ("paired_differences", "calibration", "cascades", "decision_log")
        named = [name for name in counted_once if getattr(self.analyses, name) is not None]
        if any(rotated) and named:
            raise ValueError(
                f"study '{self.name}' shows each example in many orders, and {named[0]} would count every one of them "
                "as an example of its own: put it in a study of its own with plan: {orders: fixed}"
            )
        return self

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Pairs (a, b) of the paired analyses; differences are a minus b."""
        analysis = self.analyses.paired_differences
        if analysis is None:
            return ()
        if analysis.pairs != "all":
            return tuple((a, b) for a, b in analysis.pairs)
        return tuple((a, b) for i, b in enumerate(self.backends) for a in self.backends[i + 1 :])

    @property
    def pair_names(self) -> tuple[str, ...]:
        return tuple(pair_name(pair) for pair in self.pairs)

    @property
    def cascades(self) -> tuple[tuple[str, str], ...]:
        """Pairs (primary, fallback) of the cascades."""
        return self.analyses.named_pairs()["cascades"]

    @property
    def decision_logs(self) -> tuple[tuple[str, str], ...]:
        """Pairs (backend, reference) compared without gold labels."""
        return self.analyses.named_pairs()["decision_log"]

    def dataset(self, name: str) -> DatasetSpec:
        for dataset in self.datasets:
            if dataset.name == name:
                return dataset
        raise KeyError(name)

    def plan_of(self, dataset: DatasetSpec) -> Plan:
        return dataset.plan or self.plan

    def dataset_spec_hash(self, dataset: DatasetSpec) -> str:
        """What a dataset partition depends on in the YAML: its own entry, the question and the plan."""
        return sha256_json(
            {
                # What is looked up, compared or kept from a publication afterwards changes nothing that is asked.
                "dataset": {
                    **dataset.model_dump(mode="json", exclude={"parent_separator", "prompt_hash", "plan"}),
                    "private": False,
                },
                "question": self.question,
                "plan": self.plan_of(dataset).settings,
                "sum_tolerance": self.gates.sum_tolerance,
            }
        )

    def protocol_hash(self, dataset: DatasetSpec, question: Question, manifest_hash: str) -> str:
        """sha256 over one dataset's source pin, sample, instructions, options, plan and tolerance.

        Backends, limits, prices and analyses are no part of it: they may change without making replies stale.
        """
        return sha256_json(
            {
                "source": dataset.source.model_dump(mode="json"),
                "sample": dataset.sample.model_dump(mode="json"),
                "instructions": question.instructions,
                "options": list(question.criteria.items()),
                "plan": self.plan_of(dataset).settings,
                "sum_tolerance": self.gates.sum_tolerance,
                "manifest": manifest_hash,
            }
        )
