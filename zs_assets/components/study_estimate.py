"""Calls, tokens, cost and time of a study before anything is spent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from zs_assets.assets.gated_reading import read_manifest
from zs_assets.assets.graph import StudyGraph
from zs_assets.assets.resources import Workspace
from zs_assets.collection import estimate, journalled_replies
from zs_assets.protocol.errors import GateRefused, JournalError
from zs_assets.protocol.plan import presentations
from zs_assets.sources import load_dataset
from zs_assets.sources.sampling import draw
from zs_assets.storage.lake import Lake
from zs_assets.storage.places import Places


def cells_estimate(lake: Lake, graph: StudyGraph, cells: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    """One entry per (dataset, backend), from the frozen manifests; `received` are the replies already journalled."""
    places = Workspace.from_environment().places
    plans = {dataset: read_manifest(lake, graph, dataset) for dataset in dict.fromkeys(dataset for dataset, _ in cells)}
    return [
        {
            "dataset": dataset,
            "backend": backend,
            **asdict(estimate(graph.systems[backend], plans[dataset].question, plans[dataset].presentations)),
            "received": _received(places, graph, dataset, backend),
        }
        for dataset, backend in cells
    ]


def study_estimate(graph: StudyGraph, backends: Sequence[str], datasets: Sequence[str]) -> list[dict[str, Any]]:
    """One entry per dataset x backend, from the frozen manifest where there is one, else from the source."""
    workspace = Workspace.from_environment()
    lake = workspace.lake
    rows = []
    for dataset in graph.spec.datasets:
        if datasets and dataset.name not in datasets:
            continue
        try:
            planned = read_manifest(lake, graph, dataset.name)
            question, plan = planned.question, planned.presentations
        except GateRefused:
            loaded = load_dataset(dataset, study_question=graph.spec.question, study_folder=graph.folder)
            question = loaded.question
            plan = presentations(
                draw(loaded.examples, dataset.sample, len(question)), question, graph.spec.plan_of(dataset)
            )
        for name, system in graph.systems.items():
            if not backends or name in backends:
                row = {"dataset": dataset.name, "backend": name, **asdict(estimate(system, question, plan))}
                rows.append(row | {"received": _received(workspace.places, graph, dataset.name, name)})
    return rows


def _received(places: Places, graph: StudyGraph, dataset: str, backend: str) -> int:
    try:
        return journalled_replies(places.journal(graph.name, dataset, backend))
    except JournalError:  # the run that would read it says what is wrong with it
        return 0
