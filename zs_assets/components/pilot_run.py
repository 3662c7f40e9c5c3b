"""A pilot before paying: a seeded few of the sample, asked for real, to see that the mechanics hold.

Ten or twenty examples measure no accuracy, so none is shown: outcomes, tokens, cache, cost, latency and model are. The
replies stay in the journal, and the run of the whole study goes on from them.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from zs_assets.assets.cells import cell_backend, cell_budget, journal_header
from zs_assets.assets.gated_reading import read_manifest
from zs_assets.assets.graph import StudyGraph
from zs_assets.assets.resources import Workspace
from zs_assets.collection import Progress, collect
from zs_assets.protocol.errors import BackendUnavailable, CollectionStopped, JournalError, StorageError, StudyError
from zs_assets.protocol.question import Presentation


@dataclass(frozen=True)
class PilotStop:
    """A dataset x backend that was not asked to the end, and the sentence why; its replies so far are kept."""

    dataset: str
    backend: str
    reason: str


@dataclass(frozen=True)
class PilotRow:
    """The mechanics of one dataset x backend. Costs are USD; None: unknown, never zero."""

    dataset: str
    backend: str
    asked: int
    planned: int
    outcomes: dict[str, int]
    models: list[str]
    cost_usd: float | None
    whole_study_usd: float | None  # the pilot's cost per presentation times all planned ones
    input_tokens: int | None
    cache_hit_share: float | None
    output_tokens: int | None
    latency_p50_ms: float | None


def drawn(presentations: Sequence[Presentation], size: int, seed: int) -> list[Presentation]:
    """The pilot's part of the plan, in plan order.

    Drawn from the whole plan before what is done is removed, so it depends on the seed alone (automation study,
    "Procédure de rodage"); every presentation of a drawn example is in it.
    """
    ids = list(dict.fromkeys(presentation.example.example_id for presentation in presentations))
    if not 1 <= size <= len(ids):
        raise StudyError(f"The pilot asks for {size} examples of a sample of {len(ids)}: choose from 1 to {len(ids)}.")
    chosen = set(random.Random(seed).sample(ids, size))
    return [presentation for presentation in presentations if presentation.example.example_id in chosen]


def run_pilot(
    workspace: Workspace,
    graph: StudyGraph,
    cells: Sequence[tuple[str, str]],
    size: int,
    seed: int,
    *,
    max_usd: float | None = None,
    progress: Callable[[str, str, Progress], None] | None = None,
) -> Iterator[PilotRow | PilotStop]:
    """Asks the drawn presentations of every (dataset, backend); what the journal holds is not asked again.

    A backend that stops (wrong key, budget, quota) stops nobody else.
    """
    stopped: set[str] = set()
    for dataset, backend in cells:
        if backend in stopped:
            continue
        planned = read_manifest(workspace.lake, graph, dataset)
        part = drawn(planned.presentations, size, seed)
        chosen = {presentation.id for presentation in part}
        system = cell_backend(workspace.places, graph, dataset, backend, planned.question)
        budget = cell_budget(workspace, graph, dataset, backend, max_usd)

        def show(now: Progress, dataset: str = dataset, backend: str = backend) -> None:
            if progress is not None:
                progress(dataset, backend, now)

        try:
            collected = collect(
                system,
                part,
                workspace.places.journal(graph.name, dataset, backend),
                journal_header(graph, planned, dataset, backend, system),
                asking=[presentation for presentation in planned.asking() if presentation.id in chosen],
                attempt_budget=graph.spec.attempt_budget,
                max_usd=budget.max_usd,
                elsewhere_usd=budget.elsewhere_usd,
                on_progress=show,
            )
        except (CollectionStopped, BackendUnavailable, JournalError, StorageError) as stop:
            stopped.add(backend)
            yield PilotStop(dataset, backend, str(stop))
            continue
        yield _summary(dataset, backend, collected.predictions, len(planned.presentations))


def _summary(dataset: str, backend: str, predictions: pa.Table, planned: int) -> PilotRow:
    asked = predictions.num_rows
    cost = _total(predictions, "cost_usd")
    hits, misses = _total(predictions, "cache_hit_tokens"), _total(predictions, "cache_miss_tokens")
    latencies = [value for value in predictions["latency_ms"].to_pylist() if value is not None]
    return PilotRow(
        dataset=dataset,
        backend=backend,
        asked=asked,
        planned=planned,
        outcomes=dict(Counter(predictions["outcome"].to_pylist())),
        models=sorted(set(predictions["model_resolved"].to_pylist()) - {None}),
        cost_usd=cost,
        whole_study_usd=None if cost is None or not asked else cost / asked * planned,
        input_tokens=_count(predictions, "input_tokens"),
        cache_hit_share=hits / (hits + misses) if hits is not None and misses is not None and hits + misses else None,
        output_tokens=_count(predictions, "output_tokens"),
        latency_p50_ms=float(np.median(latencies)) if latencies else None,
    )


def _total(table: pa.Table, column: str) -> float | None:
    """The sum; None as soon as one row's value is unknown, so that a null never disappears into it."""
    values = table[column].to_pylist()
    return None if None in values else float(sum(values))


def _count(table: pa.Table, column: str) -> int | None:
    total = _total(table, column)
    return None if total is None else int(total)
