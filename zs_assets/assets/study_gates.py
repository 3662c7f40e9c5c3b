"""Gates over a whole study: one model per backend, one prompt per dataset, and the published manifest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from zs_assets.assets.analysis_inputs import analysis_tables
from zs_assets.assets.dataset_assets import published_manifest_verdict, study_manifest
from zs_assets.assets.gated_reading import load_gated
from zs_assets.assets.graph import StudyGraph
from zs_assets.assets.resources import Workspace
from zs_assets.gates import Verdict, one_code, one_model_across_datasets, one_prompt_across_backends
from zs_assets.protocol.errors import GateRefused
from zs_assets.protocol.hashing import sha256_bytes
from zs_assets.protocol.names import AssetName, Gate
from zs_assets.protocol.study import pair_name
from zs_assets.storage.lake import Lake


@dataclass(frozen=True)
class StudyVerdict:
    """A verdict on one backend over all datasets, on one dataset over all backends, or on the study (both None)."""

    dataset: str | None
    backend: str | None
    verdict: Verdict


def study_verdicts(workspace: Workspace, graph: StudyGraph) -> list[StudyVerdict]:
    """Asked by the report and by publication, over the partitions that pass their own gates now."""
    verdicts = [
        StudyVerdict(None, backend, one_model_across_datasets(backend, models))
        for backend in graph.spec.backends
        if (models := _models(workspace, graph, backend))
    ]
    verdicts += [
        StudyVerdict(dataset.name, None, one_prompt_across_backends(dataset.name, prompts))
        for dataset in graph.spec.datasets
        if (prompts := _prompts(workspace, graph, dataset.name))
    ]
    manifest, absent = study_manifest(workspace, graph)
    passed, sentence = published_manifest_verdict(graph, sha256_bytes(manifest), absent)
    verdicts.append(StudyVerdict(None, None, Verdict(Gate.MANIFEST_PUBLISHED, passed, True, sentence)))
    code = one_code(_codes(workspace.lake, graph))
    # Where all is as usual, the provenance and the verdicts of the partitions say so.
    return verdicts if code.passed else [*verdicts, StudyVerdict(None, None, code)]


def _codes(lake: Lake, graph: StudyGraph) -> dict[str, str]:
    """Name of each table of the study -> the code that made it, where the table says."""
    codes = {}
    for asset, where in _tables(graph):
        code = lake.code_sha256(graph.name, asset, **where)
        if code is not None:
            codes[" of ".join([asset.value, *([" x ".join(where.values())] if where else [])])] = code
    return codes


def _tables(graph: StudyGraph) -> Iterator[tuple[AssetName, dict[str, str]]]:
    """Every table that the report can read, with its partition."""
    pairs = {
        "cascades": [pair_name(pair) for pair in graph.spec.cascades],
        "decision_log": [pair_name(pair) for pair in graph.spec.decision_logs],
    }
    for dataset in ({"dataset": dataset.name} for dataset in graph.spec.datasets):
        cells = [{**dataset, "backend": backend} for backend in graph.spec.backends]
        yield AssetName.MANIFEST, dataset
        yield from ((name, cell) for cell in cells for name in (AssetName.PREDICTIONS, AssetName.METRICS))
        yield from ((AssetName.PAIRED_DIFFERENCES, {**dataset, "pair": pair}) for pair in graph.spec.pair_names)
        for analysis, names in analysis_tables(graph).items():
            places = {"calibration": cells, "order_sensitivity": [dataset]}.get(analysis)
            places = places or [{**dataset, "pair": pair} for pair in pairs[analysis]]
            yield from ((name, place) for place in places for name in names)
    yield from ((name, {}) for name in (AssetName.RANKINGS, AssetName.DATASET_MEANS))


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


def _prompts(workspace: Workspace, graph: StudyGraph, dataset: str) -> dict[str, str]:
    """The prompt each backend's last run of this dataset was made with, whether it passed or not."""
    prompts = {}
    for backend in graph.spec.backends:
        last = workspace.lake.read_verdicts(graph.name, dataset, backend)
        if last is not None:
            prompts[backend] = last["prompt_hash"]
    return prompts
