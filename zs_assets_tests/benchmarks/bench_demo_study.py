"""The demo study and its Dagster part alone: `python -m zs_assets_tests.benchmarks.bench_demo_study`.

The same work is done twice: as Dagster runs on a persistent instance, and as plain calls of the same functions (read,
draw, collect, gates, scores, paired differences). The difference is what Dagster, the tables and the page cost.
"""

from __future__ import annotations

import os
import tempfile
import time
from fractions import Fraction
from pathlib import Path

from zs_assets.assets.answers import answers_of
from zs_assets.assets.gated_reading import GatedPartition, ask_gates, planned_partition
from zs_assets.assets.graph import StudyGraph
from zs_assets.assets.resources import Workspace
from zs_assets.backends.registry import build_backend
from zs_assets.collection import JournalHeader, collect
from zs_assets.components.catalogue import find_study
from zs_assets.components.instance import dagster_instance
from zs_assets.components.partition_loop import PartitionLoop
from zs_assets.protocol.names import AssetName
from zs_assets.stats import Scheme, evaluate, paired_differences, published_stream


def plain_seconds(graph: StudyGraph, folder: Path) -> float:
    """Everything but sources and outputs, without Dagster; the models are loaded already."""
    lake = Workspace.from_environment().lake
    started = time.perf_counter()
    for dataset in graph.spec.datasets:
        manifest = lake.read(graph.name, AssetName.MANIFEST, dataset=dataset.name)
        planned = planned_partition(graph, dataset.name, manifest)
        answers = {}
        for name, system in graph.systems.items():
            backend = build_backend(system, planned.question)
            header = JournalHeader(
                graph.name, dataset.name, name, planned.prompt_hash, "", "", backend.model_requested, ""
            )
            journal = folder / dataset.name / f"{name}.jsonl"
            collected = collect(backend, planned.presentations, journal, header, attempt_budget=4)
            verdicts = ask_gates(graph, planned, collected.predictions)
            partition = GatedPartition(collected.predictions, planned, verdicts)
            answers[name] = answers_of(partition, system, graph.spec.scoring)
            evaluate(answers[name], budget=Fraction(graph.spec.scoring.error_budget))
        ids = [presentation.id for presentation in planned.presentations]
        for a, b in graph.spec.pairs:
            for scheme in Scheme:
                paired_differences(
                    answers[a], answers[b], example_ids=ids, scheme=scheme, resamples=2000, rng=published_stream(1)
                ).intervals()
    return time.perf_counter() - started


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["ZS_HOME"] = str(Path(folder) / "home")
        os.environ.pop("DAGSTER_HOME", None)
        graph = find_study("demo")
        started = time.perf_counter()
        with dagster_instance() as instance:
            failed = PartitionLoop(graph, instance).run().failed
        whole = time.perf_counter() - started
        assert failed == [], failed
        plain = plain_seconds(graph, Path(folder) / "plain")
    print(f"demo study {whole:.1f} s; the same work without Dagster, tables and page {plain:.1f} s")
    print(f"Dagster part with tables and page {whole - plain:.1f} s, ratio {whole / plain:.1f}")


if __name__ == "__main__":
    main()
