"""What is there for every dataset and backend of a study, in words."""

from __future__ import annotations

from typing import Any

from zs_assets.assets.cells import cell_problem
from zs_assets.assets.gated_reading import load_gated
from zs_assets.assets.graph import StudyGraph
from zs_assets.assets.resources import Workspace
from zs_assets.collection import journalled_replies
from zs_assets.protocol.errors import GateRefused


def partition_status(workspace: Workspace, graph: StudyGraph) -> list[dict[str, Any]]:
    """One entry per partition: passed, refused (with the gate and reason), or not run (with what is missing)."""
    rows = []
    for dataset in graph.spec.datasets:
        for backend in graph.spec.backends:
            state, why = "passed", ""
            try:
                load_gated(workspace.lake, graph, dataset.name, backend)
            except GateRefused as refusal:
                never = workspace.lake.read_verdicts(graph.name, dataset.name, backend) is None
                state = "not run" if never else "refused"
                problem = cell_problem(workspace.places, graph, dataset.name, backend)
                why = (problem or "") if never else str(refusal)
            journal = workspace.places.journal(graph.name, dataset.name, backend)
            rows.append(
                {
                    "dataset": dataset.name,
                    "backend": backend,
                    "state": state,
                    "journalled": journalled_replies(journal),
                    "why": why,
                }
            )
    return rows
