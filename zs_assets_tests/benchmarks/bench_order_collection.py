"""One system of the choice-order study, whole: `python -m zs_assets_tests.benchmarks.bench_order_collection [SAMPLES]`.

1,000 samples x 14 orders x 3 repeats = 42,000 replies, precomputed by another process: collected through the journal,
compacted, gated, written by repeat, read back and gated again, as the pipeline does it. Seconds are of the wall clock.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from zs_assets.assets.gated_reading import ask_gates, load_gated, partition_identity, read_manifest
from zs_assets.assets.graph import StudyGraph
from zs_assets.assets.metrics_assets import metrics_row
from zs_assets.backends.systemone import SystemOneBackend
from zs_assets.collection import JournalHeader, Progress, collect
from zs_assets.collection.compaction import compact
from zs_assets.collection.journal import Journal
from zs_assets.protocol.hashing import prompt_hash
from zs_assets.protocol.names import AssetName
from zs_assets.protocol.question import Question
from zs_assets.protocol.study import StudySpec
from zs_assets.storage.examples import examples_table, question_json
from zs_assets.storage.lake import Lake, with_metadata, write_table
from zs_assets_tests.benchmarks.bench_collector import resident_mb
from zs_assets_tests.collection.jev_run import KEY, jev
from zs_assets_tests.collection.order_plan import EMOTIONS, PLAN, examples

STUDY, DATASET, BACKEND = "orders", "emotions", "jev"
CONCURRENCY = 32
LOOKS = (10_000, 20_000, 30_000, 42_000)
Result = TypeVar("Result")


def timed(what: str, work: Callable[[], Result]) -> Result:
    started = time.perf_counter()
    result = work()
    print(f"{what}: {time.perf_counter() - started:.2f} s")
    return result


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10


def order_graph() -> StudyGraph:
    source = {"kind": "demo", "name": "emails"}
    spec = StudySpec(
        name=STUDY,
        question=EMOTIONS.instructions,
        datasets=({"name": DATASET, "source": source, "plan": PLAN},),  # type: ignore[arg-type]
        backends=(BACKEND,),
    )
    return StudyGraph(spec, Path())


def write_manifest(lake: Lake, question: Question, samples: int) -> None:
    entries = {
        "question": question_json(question),
        "manifest_hash": "m",
        "prompt_hash": prompt_hash(question),
        "protocol_hash": "p",
    }
    table = with_metadata(examples_table(examples(samples)), **entries)
    write_table(lake.folder(STUDY, AssetName.MANIFEST, dataset=DATASET), table)


class Watch:
    """Memory at the first report past each of LOOKS, and when the last reply was on the disk."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, float]] = []
        self.complete_at: float | None = None

    def __call__(self, progress: Progress) -> None:
        if len(self.seen) < len(LOOKS) and progress.done >= min(LOOKS[len(self.seen)], progress.total):
            self.seen.append((progress.done, resident_mb()))
        if progress.done == progress.total and self.complete_at is None:
            self.complete_at = time.perf_counter()


def megabytes(*paths: Any) -> float:
    return sum(path.stat().st_size for path in paths) / 1e6


def run(url: str, samples: int, home: Path) -> None:
    os.environ["TYPESAFE_BASE_URL"], os.environ["TYPESAFE_API_KEY"] = url, KEY
    graph, lake = order_graph(), Lake(str(home / "lake"))
    write_manifest(lake, EMOTIONS, samples)
    planned = timed("manifest and plan", lambda: read_manifest(lake, graph, DATASET))
    backend = SystemOneBackend(jev(concurrency=CONCURRENCY), EMOTIONS)
    header = JournalHeader(STUDY, DATASET, BACKEND, planned.prompt_hash, "p", "m", backend.model_requested, "x")
    journal = home / "journal.jsonl"
    watch = Watch()
    started = time.perf_counter()
    collected = collect(
        backend,
        planned.presentations,
        journal,
        header,
        asking=planned.asking(),
        attempt_budget=4,
        on_progress=watch,
        progress_every_s=0.2,
    )
    ended = time.perf_counter()
    rows = collected.predictions.num_rows
    complete_at = watch.complete_at or ended
    print(f"{rows:,} replies at {rows / (complete_at - started):.0f}/s, then compaction {ended - complete_at:.2f} s")
    looks = ", ".join(f"{mb:.0f} MB at {n:,}" for n, mb in watch.seen)
    print(f"memory: {looks}, peak with compaction {peak_mb():.0f} MB")

    timed("resume of a complete journal", lambda: _resume(journal, header))
    timed("compaction alone", lambda: compact(journal, backend, planned.presentations, planned.prompt_hash))
    verdicts = timed("gates", lambda: ask_gates(graph, planned, collected.predictions))
    assert not [verdict for verdict in verdicts if verdict.stops]
    identity = partition_identity(graph, planned, DATASET, BACKEND)
    lake.write_verdicts(STUDY, DATASET, BACKEND, {"verdicts": [verdict.as_json() for verdict in verdicts]})
    cell = {"dataset": DATASET, "backend": BACKEND}

    def write(asset: AssetName, table: pa.Table) -> None:
        write_table(lake.folder(STUDY, asset, **cell), with_metadata(table, **identity))

    timed("write predictions", lambda: write(AssetName.PREDICTIONS, collected.predictions))
    timed("write attempts", lambda: write(AssetName.ATTEMPTS, collected.attempts))
    gated = timed("load_gated", lambda: load_gated(lake, graph, DATASET, BACKEND))
    assert gated.predictions.equals(collected.predictions)
    timed("metrics", lambda: metrics_row(graph, DATASET, BACKEND, gated, collected.attempts))
    files = lake.files(STUDY, AssetName.PREDICTIONS, **cell)
    attempts = lake.files(STUDY, AssetName.ATTEMPTS, **cell)
    print(
        f"journal {megabytes(journal):.1f} MB, predictions {megabytes(*files):.2f} MB in {len(files)} files, "
        f"attempts {megabytes(*attempts):.2f} MB; peak of everything {peak_mb():.0f} MB"
    )


def _resume(journal: Path, header: JournalHeader) -> None:
    with Journal(journal, header):
        pass


def main() -> None:
    samples = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    command = [sys.executable, "-m", "zs_assets_tests.benchmarks.precomputed_server", *EMOTIONS.ids]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        url = json.loads(server.stdout.readline())["url"]
        with tempfile.TemporaryDirectory() as folder:
            run(url, samples, Path(folder))
    finally:
        server.kill()


if __name__ == "__main__":
    main()
