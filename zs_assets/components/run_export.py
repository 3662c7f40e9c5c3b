"""A checked partition, and the sample it answers, as the files of the automation study (Janus)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from upath import UPath

from zs_assets.assets.gated_reading import load_gated
from zs_assets.assets.graph import StudyGraph
from zs_assets.assets.resources import Workspace
from zs_assets.protocol.errors import StudyError
from zs_assets.stats.confidence_statistics import confidence_statistics
from zs_assets.storage.janus_export import STATISTICS, dataset_jsonl, labels_json, run_jsonl
from zs_assets.storage.lake import write_bytes


def export_run(workspace: Workspace, graph: StudyGraph, dataset: str, backend: str, folder: Path) -> list[Path]:
    """Writes `<dataset>.jsonl`, `<dataset>.labels.json` and `<backend>_<dataset>.jsonl` into the folder.

    Raises
    ------
    StudyError
        If the study shows an example in several orders or repeats, which the format cannot hold.
    GateRefused
        If the partition does not pass its gates.
    """
    partition = load_gated(workspace.lake, graph, dataset, backend)
    examples, question = partition.planned.examples, partition.planned.question
    if len(partition.planned.presentations) != len(examples):
        raise StudyError(f"Study '{graph.name}' asks every example several times: a Janus run holds one reply each.")
    rows = [row for row in partition.predictions["probabilities"].to_pylist() if row is not None]
    statistics = {}
    if rows:
        computed = confidence_statistics(np.asarray(rows, dtype=float), graph.systems[backend].decimals)
        statistics = {name: getattr(computed, name) for name in STATISTICS}
    files = {
        f"{dataset}.jsonl": dataset_jsonl(examples, question),
        f"{dataset}.labels.json": labels_json(question),
        f"{backend}_{dataset}.jsonl": run_jsonl(partition.predictions, examples, question, statistics),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        write_bytes(UPath(folder / name), data)
    return [folder / name for name in files]
