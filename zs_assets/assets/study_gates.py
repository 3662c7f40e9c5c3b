"""Gates over a whole study: one model per backend on every dataset, and the published manifest where there is one."""

from __future__ import annotations

from dataclasses import dataclass

from zs_assets.assets.dataset_assets import published_manifest_verdict, study_manifest
from zs_assets.assets.gated_reading import load_gated
from zs_assets.assets.graph import StudyGraph
from zs_assets.assets.resources import Workspace
from zs_assets.gates import Verdict, one_model_across_datasets
from zs_assets.protocol.errors import GateRefused
from zs_assets.protocol.hashing import sha256_bytes
from zs_assets.protocol.names import Gate


@dataclass(frozen=True)
class StudyVerdict:
    """A verdict on one backend over all datasets, or on the study (backend None)."""

    backend: str | None
    verdict: Verdict


def study_verdicts(workspace: Workspace, graph: StudyGraph) -> list[StudyVerdict]:
    """Asked by the report and by publication, over the partitions that pass their own gates now."""
    verdicts = [
        StudyVerdict(backend, one_model_across_datasets(backend, models))
        for backend in graph.spec.backends
        if (models := _models(workspace, graph, backend))
    ]
    manifest, absent = study_manifest(workspace, graph)
    passed, sentence = published_manifest_verdict(graph, sha256_bytes(manifest), absent)
    return [*verdicts, StudyVerdict(None, Verdict(Gate.MANIFEST_PUBLISHED, passed, True, sentence))]


def _models(workspace: Workspace, graph: StudyGraph, backend: str) -> dict[str, str | None]:
    """The model that answered on each dataset whose partition passes its gates."""
    models: dict[str, str | None] = {}
    for dataset in graph.spec.datasets:
        try:
            table = load_gated(workspace.lake, graph, dataset.name, backend).predictions
        except GateRefused:
            continue
        answered = set(table["model_resolved"].to_pylist()) - {None}
        models[dataset.name] = min(answered) if answered else None
    return models
