"""One dataset x backend as something to ask: the live system, or the run that was imported for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from zs_assets.assets.gated_reading import PlannedPartition
from zs_assets.assets.graph import StudyGraph
from zs_assets.assets.resources import Workspace
from zs_assets.backends.base import Backend
from zs_assets.backends.recorded import RecordedBackend
from zs_assets.backends.registry import build_backend, check_ready
from zs_assets.backends.systems import Limits, SystemSpec
from zs_assets.collection import JournalHeader, journalled_usd
from zs_assets.protocol.question import Question
from zs_assets.storage.journal_place import JournalPath
from zs_assets.storage.places import Places
from zs_assets.storage.shared_imports import find_imported_run


def cell_backend(places: Places, graph: StudyGraph, dataset: str, backend: str, question: Question) -> Backend:
    """The backend that answers in this cell, with the study's tolerance."""
    system = graph.systems[backend]
    imported = imported_spec(places, graph, dataset, backend)
    built = RecordedBackend(imported, question) if imported else build_backend(system, question, folder=graph.folder)
    built.sum_tolerance = graph.spec.gates.sum_tolerance
    return built


def cell_problem(places: Places, graph: StudyGraph, dataset: str, backend: str) -> str | None:
    """What keeps the cell from starting (key, extra, file); None where nothing does."""
    if imported_spec(places, graph, dataset, backend) is not None:
        return None
    return check_ready(graph.systems[backend], folder=graph.folder)


def imported_spec(places: Places, graph: StudyGraph, dataset: str, backend: str) -> SystemSpec | None:
    """The system's entry, answering from the run that was imported for this cell; None where none was."""
    found = find_imported_run(places, graph.name, dataset, backend)
    return None if found is None else recorded_spec(graph.systems[backend], *found)


def recorded_spec(system: SystemSpec, path: Path, kind: str) -> SystemSpec:
    """The system answering from a file: name, price and grid stay, and a file has no provider whose limits to keep."""
    settings = {"path": str(path), "format": kind}
    return system.model_copy(update={"interface": "recorded", "settings": settings, "limits": Limits()})


def journal_header(
    graph: StudyGraph, planned: PlannedPartition, dataset: str, backend: str, asked: Backend
) -> JournalHeader:
    """What the cell's journal is for."""
    return JournalHeader(
        study=graph.name,
        dataset=dataset,
        backend=backend,
        prompt_hash=planned.prompt_hash,
        protocol_hash=planned.protocol_hash,
        manifest_hash=planned.manifest_hash,
        model_requested=asked.model_requested,
        spec_hash=graph.systems[backend].spec_hash(),
    )


@dataclass(frozen=True)
class CellBudget:
    """What a cell may still cost: the limit, and what all else of the study spent of it."""

    max_usd: float | None
    elsewhere_usd: float


def cell_budget(
    workspace: Workspace,
    graph: StudyGraph,
    dataset: str,
    backend: str,
    max_usd: float | None,
    *,
    follow_up_round: int | None = None,
) -> CellBudget:
    """A budget holds for the whole study, earlier runs and follow-ups included; `max_usd` tightens the study's own.

    The journal that is about to be written (the cell's own, or that of a round of its follow-up) is left out: the
    collector counts it itself. What an imported run cost was paid by whoever made it: it is neither limited nor
    counted.
    """
    limits = [usd for usd in (graph.spec.max_usd, max_usd) if usd is not None]
    if not limits or cell_is_imported(workspace, graph, dataset, backend):
        return CellBudget(None, 0.0)
    places, cell = workspace.places, (graph.name, dataset, backend)
    written = places.journal(*cell) if follow_up_round is None else places.follow_up_journal(*cell, follow_up_round)
    return CellBudget(
        min(limits), sum(journalled_usd(path) for path in _paid_journals(workspace, graph) if path != written)
    )


def _paid_journals(workspace: Workspace, graph: StudyGraph) -> Iterator[JournalPath]:
    """Every journal whose calls this study paid for."""
    places = workspace.places
    for dataset in graph.spec.datasets:
        for backend, system in graph.systems.items():
            if system.is_free:
                continue
            if not cell_is_imported(workspace, graph, dataset.name, backend):
                yield places.journal(graph.name, dataset.name, backend)
            # A follow-up always asks the live system, whatever was imported since.
            yield from places.follow_up_journals(graph.name, dataset.name, backend)


def cell_is_imported(workspace: Workspace, graph: StudyGraph, dataset: str, backend: str) -> bool:
    return imported_spec(workspace.places, graph, dataset, backend) is not None


def names_labels_only(system: Backend) -> bool:
    """True for an interface that never gives scores, known before any call."""
    from zs_assets.backends.label_only import LabelOnlyBackend

    return isinstance(system, LabelOnlyBackend)
