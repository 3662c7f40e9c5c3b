"""A run that somebody saved, as the answers of one dataset x backend: checked against the sample, then kept."""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from zs_assets.assets.cells import imported_spec, journal_header, recorded_spec
from zs_assets.assets.gated_reading import PlannedPartition, ask_gates, read_manifest
from zs_assets.assets.graph import StudyGraph
from zs_assets.assets.resources import Workspace
from zs_assets.backends.local import sha256_file
from zs_assets.backends.recorded import RecordedBackend
from zs_assets.backends.recording import RecordedRow
from zs_assets.collection import collect, journalled_replies
from zs_assets.protocol.errors import StudyError
from zs_assets.protocol.names import Outcome
from zs_assets.storage.places import IMPORT_FORMATS
from zs_assets.storage.shared_imports import share_imported_run

SHOWN = 5
LABEL_ONLY = ("chat_tools", "anthropic", "gemini")
"""Interfaces that give no probabilities."""


@dataclass(frozen=True)
class ImportedRun:
    """What was taken over."""

    rows: int
    sha256: str
    path: Path


def import_run(
    workspace: Workspace,
    graph: StudyGraph,
    dataset: str,
    backend: str,
    file: Path,
    kind: str,
    *,
    model: str | None = None,
) -> ImportedRun:
    """Puts the file where the pipeline reads it instead of calling the system; the manifest must be frozen already.

    Parameters
    ----------
    kind : one of IMPORT_FORMATS
    model : the model that answered, where it is not the one the backend's entry names

    Raises
    ------
    StudyError
        If the file answers other examples, texts or gold labels than the sample, was answered by another model, fails a
        gate, or the cell has replies already. Nothing is taken over then.
    BackendUnavailable
        If the file cannot be read, holds two prompts or another one than the study's, or one example twice.
    """
    if kind not in IMPORT_FORMATS:
        raise StudyError(f"There is no format '{kind}': use one of {', '.join(IMPORT_FORMATS)}.")
    planned = read_manifest(workspace.lake, graph, dataset)
    recorded = RecordedBackend(recorded_spec(graph.systems[backend], file, kind), planned.question)
    recorded.sum_tolerance = graph.spec.gates.sum_tolerance
    recording = recorded.load()
    where = f"{file} and the sample of {dataset}"
    rows = list(recording.rows.values())
    _refuse_other_examples(where, planned, rows, list(recording.foreign.items()))
    _refuse_other_content(where, planned, rows)
    target = workspace.places.imported_run(graph.name, dataset, backend, kind)
    digest = sha256_file(file)
    _refuse_a_second_source(workspace, graph, dataset, backend, target, digest)
    _refuse_the_run_of_another_backend(workspace, graph, dataset, backend, kind, digest)
    predictions = _trial_predictions(graph, planned, dataset, backend, recorded)
    _refuse_another_model(graph, backend, predictions, model)
    for verdict in ask_gates(graph, planned, predictions):
        if verdict.stops:
            raise StudyError(f"{file} fails gate {verdict.gate.value}: {verdict.sentence}; correct the file.")
    target.parent.mkdir(parents=True, exist_ok=True)
    # Copied beside and moved: a torn copy would stand in for the system.
    partial = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
    shutil.copyfile(file, partial)
    os.replace(partial, target)
    share_imported_run(workspace.places, graph.name, dataset, backend, kind)
    return ImportedRun(len(rows), digest, target)


def _trial_predictions(
    graph: StudyGraph, planned: PlannedPartition, dataset: str, backend: str, recorded: RecordedBackend
) -> pa.Table:
    """The predictions the file leads to, by the same collection, in a journal that is thrown away."""
    header = journal_header(graph, planned, dataset, backend, recorded)
    with tempfile.TemporaryDirectory() as folder:
        return collect(
            recorded, planned.presentations, Path(folder) / "journal.jsonl", header, attempt_budget=1
        ).predictions


def _refuse_another_model(graph: StudyGraph, backend: str, predictions: pa.Table, model: str | None) -> None:
    """A run of one system must not stand as another's result; an alias is resolved by whoever imports."""
    system = graph.systems[backend]
    answered = sorted(set(predictions["model_resolved"].to_pylist()) - {None})
    expected = model or system.model
    if expected is not None and answered != [expected]:
        said = " and ".join(answered) or "a model it does not name"
        raise StudyError(
            f"The run was answered by {said}, backend '{backend}' is {expected}: import it for the backend it belongs "
            f"to, or say `--model {answered[0] if answered else 'ID'}` if that is what answers for '{backend}'."
        )
    ok = predictions.filter(pc.equal(predictions["outcome"], Outcome.OK.value))
    if system.interface not in LABEL_ONLY and ok["probabilities"].null_count:
        raise StudyError(
            f"{ok['probabilities'].null_count} rows of the run hold no probabilities, which backend '{backend}' gives: "
            "import the whole rows (a dense map of every option, and the confidence)."
        )
    if system.interface in LABEL_ONLY and predictions["probabilities"].null_count < predictions.num_rows:
        raise StudyError(
            f"The run holds probabilities, which backend '{backend}' never gives: import it for the backend it belongs "
            "to."
        )


def _refuse_the_run_of_another_backend(
    workspace: Workspace, graph: StudyGraph, dataset: str, backend: str, kind: str, digest: str
) -> None:
    for other in graph.spec.backends:
        path = workspace.places.imported_run(graph.name, dataset, other, kind)
        if other != backend and path.exists() and sha256_file(path) == digest:
            raise StudyError(f"This very file already answers {dataset} as {other}: it cannot answer as {backend} too.")


def _refuse_other_examples(
    where: str, planned: PlannedPartition, rows: Sequence[RecordedRow], foreign: Sequence[tuple[str, str]]
) -> None:
    if foreign:
        example, place = foreign[0]
        raise StudyError(
            f"{where} do not fit: {len(foreign)} rows were recorded with other labels or another prompt, first "
            f"{place} (example {example}): import a run of prompt_hash {planned.prompt_hash}."
        )
    recorded = {row.example_id for row in rows}
    wanted = {example.example_id for example in planned.examples}
    for ids, what in ((wanted - recorded, "are missing from the file"), (recorded - wanted, "are not in the sample")):
        if ids:
            shown = ", ".join(sorted(ids)[:SHOWN]) + (f" and {len(ids) - SHOWN} more" if len(ids) > SHOWN else "")
            raise StudyError(f"{where} do not fit: {len(ids)} examples {what} ({shown}): import a run of this sample.")


def _refuse_other_content(where: str, planned: PlannedPartition, rows: Sequence[RecordedRow]) -> None:
    examples = {example.example_id: example for example in planned.examples}
    for row in rows:
        example = examples[row.example_id]
        if row.text_sha256 is not None and row.text_sha256 != example.text_sha256:
            raise StudyError(f"{where} do not fit: {row.where} has another text than example {row.example_id}.")
        if row.target_index is not None and row.target_index != example.target_index:
            raise StudyError(
                f"{where} do not fit: {row.where} has another gold label than example {row.example_id}, or one that "
                "is none of the options."
            )


def _refuse_a_second_source(
    workspace: Workspace, graph: StudyGraph, dataset: str, backend: str, target: Path, digest: str
) -> None:
    """Replies of two runs are never mixed in one partition; the same file again is no second run."""
    way_out = f"`zs-assets reset {graph.name} --archive` moves the study's outputs aside"
    if imported_spec(workspace.places, graph, dataset, backend) is not None:
        if target.exists() and sha256_file(target) == digest:
            return
        raise StudyError(f"{dataset} x {backend} already has an imported run with other content: {way_out}.")
    replies = journalled_replies(workspace.places.journal(graph.name, dataset, backend))
    if replies:
        raise StudyError(f"{dataset} x {backend} already has {replies} replies that were asked for: {way_out}.")
