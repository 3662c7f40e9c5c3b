"""The only way to read predictions: gates are asked again on load, and a changed or foreign partition is refused."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from zs_assets.assets.graph import StudyGraph
from zs_assets.gates import Expected, Verdict, predictions_verdicts
from zs_assets.protocol.errors import GateRefused
from zs_assets.protocol.names import AssetName
from zs_assets.protocol.plan import asking_sequence, presentations
from zs_assets.protocol.question import Example, Presentation, Question
from zs_assets.protocol.study import Plan
from zs_assets.storage.examples import examples_of, question_from_json
from zs_assets.storage.lake import Lake, metadata_of

REHEARSED = "rehearsal"
"""Key-value entry of a predictions file: "true" where stand-ins answered."""


@dataclass(frozen=True)
class PlannedPartition:
    """What one dataset's frozen manifest plans, and the hashes that name it."""

    examples: list[Example]
    question: Question
    plan: Plan
    presentations: list[Presentation]  # in the sequence of the tables
    manifest_hash: str
    prompt_hash: str
    protocol_hash: str
    metadata: dict[str, str]

    def asking(self) -> list[Presentation]:
        """The presentations in the sequence in which calls are made."""
        return asking_sequence(self.presentations, self.plan)


@dataclass(frozen=True)
class GatedPartition:
    """A partition whose blocking gates passed at this very reading."""

    predictions: pa.Table
    planned: PlannedPartition
    verdicts: tuple[Verdict, ...]

    @property
    def code_sha256(self) -> str | None:
        """The code that made it; None in a table of before it was recorded. Another code than ours is no error."""
        return metadata_of(self.predictions).get("code_sha256")


def planned_partition(graph: StudyGraph, dataset: str, manifest: pa.Table) -> PlannedPartition:
    """What the dataset's manifest and plan (its own, or the study's) ask for."""
    plan = graph.spec.plan_of(graph.spec.dataset(dataset))
    metadata = metadata_of(manifest)
    question = question_from_json(metadata["question"])
    examples = examples_of(manifest)
    return PlannedPartition(
        examples=examples,
        question=question,
        plan=plan,
        presentations=presentations(examples, question, plan),
        manifest_hash=metadata["manifest_hash"],
        prompt_hash=metadata["prompt_hash"],
        protocol_hash=metadata["protocol_hash"],
        metadata=metadata,
    )


def ask_gates(graph: StudyGraph, planned: PlannedPartition, predictions: pa.Table) -> tuple[Verdict, ...]:
    limits = graph.spec.gates
    expected = Expected(
        option_ids=planned.question.ids,
        presentations=[(p.id, p.example.text_sha256) for p in planned.presentations],
        prompt_hash=planned.prompt_hash,
        sum_tolerance=limits.sum_tolerance,
        max_invalid_rate=limits.max_invalid_rate,
        warn_failure_rate=limits.warn_failure_rate,
    )
    return predictions_verdicts(predictions, expected)


def read_manifest(lake: Lake, graph: StudyGraph, dataset: str) -> PlannedPartition:
    return planned_partition(graph, dataset, lake.read(graph.name, AssetName.MANIFEST, dataset=dataset))


def load_gated(lake: Lake, graph: StudyGraph, dataset: str, backend: str) -> GatedPartition:
    """Predictions of one partition; raises GateRefused naming partition, gate and reason.

    Refused are: a partition never materialised, one whose last run failed a gate, one whose bytes are not those
    written, one of another protocol or backend spec, and one that fails a blocking gate now.
    """
    where = f"{graph.name} {dataset} x {backend}"
    last = lake.read_verdicts(graph.name, dataset, backend)
    if last is None:
        raise GateRefused(f"{where} has no predictions: run `zs-assets run {graph.name} --backend {backend}`.")
    for verdict in last["verdicts"]:
        if verdict["blocking"] and not verdict["passed"]:
            raise GateRefused(f"{where} failed gate {verdict['gate']}: {verdict['sentence']}.")
    planned = read_manifest(lake, graph, dataset)
    changed = changed_after_freezing(graph, dataset, planned)
    if changed is not None:
        raise GateRefused(changed)
    predictions = lake.read(graph.name, AssetName.PREDICTIONS, dataset=dataset, backend=backend)
    stored = metadata_of(predictions)
    if stored.get(REHEARSED) == "true" and not lake.rehearsal:
        raise GateRefused(f"{where} comes from a rehearsal: nothing of it is a result, so run it for real.")
    for name, expected in partition_identity(graph, planned, dataset, backend).items():
        if stored.get(name) != expected:
            raise GateRefused(
                f"{where} was made for another {name} ({stored.get(name)}, now {expected}): "
                f"materialise it again, or `zs-assets reset {graph.name} --archive` where the journal is an old one."
            )
    verdicts = ask_gates(graph, planned, predictions)
    for verdict in verdicts:
        if verdict.stops:
            raise GateRefused(f"{where} fails gate {verdict.gate.value}: {verdict.sentence}.")
    return GatedPartition(predictions, planned, verdicts)


def changed_after_freezing(graph: StudyGraph, dataset: str, planned: PlannedPartition) -> str | None:
    """The sentence that the study no longer asks what the frozen manifest was made for; None where it does.

    An order is stored as its number in the plan, so after a change of the plan's seed every prediction still fits the
    manifest, and each of its scores would be laid on another option's position.
    """
    now = graph.spec.protocol_hash(graph.spec.dataset(dataset), planned.question, planned.manifest_hash)
    if now == planned.protocol_hash:
        return None
    return (
        f"The plan, source or question of {graph.name} {dataset} changed after its manifest was frozen "
        f"({planned.protocol_hash[:12]}, now {now[:12]}): change it back, or move the old outputs aside with "
        f"`zs-assets reset {graph.name} --archive`."
    )


def partition_identity(graph: StudyGraph, planned: PlannedPartition, dataset: str, backend: str) -> dict[str, str]:
    """Key-value metadata that says what a predictions file is; a file copied elsewhere keeps its own."""
    return {
        "study": graph.name,
        "dataset": dataset,
        "backend": backend,
        "protocol_hash": planned.protocol_hash,
        "prompt_hash": planned.prompt_hash,
        "manifest_hash": planned.manifest_hash,
        "spec_hash": graph.systems[backend].spec_hash(),
    }
