"""A run that somebody saved, as the answers of one dataset x backend: checked against the sample, then kept."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from zs_assets.assets.cells import imported_spec
from zs_assets.assets.gated_reading import PlannedPartition, read_manifest
from zs_assets.assets.graph import StudyGraph
from zs_assets.assets.resources import Workspace
from zs_assets.backends.local import sha256_file
from zs_assets.backends.recorded import RecordedBackend
from zs_assets.backends.recording import RecordedRow
from zs_assets.collection import journalled_replies
from zs_assets.protocol.errors import StudyError
from zs_assets.storage.places import IMPORT_FORMATS

SHOWN = 5


@dataclass(frozen=True)
class ImportedRun:
    """What was taken over."""

    rows: int
    sha256: str
    path: Path


def import_run(
    workspace: Workspace, graph: StudyGraph, dataset: str, backend: str, file: Path, kind: str
) -> ImportedRun:
    """Puts the file where the pipeline reads it instead of calling the system; the manifest must be frozen already.

    Parameters
    ----------
    kind : one of IMPORT_FORMATS

    Raises
    ------
    StudyError
        If the file answers other examples, texts or gold labels than the sample, or the cell has replies already.
    BackendUnavailable
        If the file cannot be read, holds two prompts or another one than the study's, or one example twice.
    """
    if kind not in IMPORT_FORMATS:
        raise StudyError(f"There is no format '{kind}': use one of {', '.join(IMPORT_FORMATS)}.")
    planned = read_manifest(workspace.lake, graph, dataset)
    spec = graph.systems[backend].model_copy(
        update={"interface": "recorded", "settings": {"path": str(file), "format": kind}}
    )
    recording = RecordedBackend(spec, planned.question).load()
    where = f"{file} and the sample of {dataset}"
    rows = list(recording.rows.values())
    _refuse_other_examples(where, planned, rows, list(recording.foreign.items()))
    _refuse_other_content(where, planned, rows)
    target = workspace.places.imported_run(graph.name, dataset, backend, kind)
    digest = sha256_file(file)
    _refuse_a_second_source(workspace, graph, dataset, backend, target, digest)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, target)
    return ImportedRun(len(rows), digest, target)


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
