"""The 500 published rows of the automation study as arrays, where real data is at hand."""

from __future__ import annotations

import json
from functools import lru_cache

import numpy as np

from zs_assets.stats import Answers
from zs_assets_tests.sources.real_data import TEST_DATA


@lru_cache(maxsize=1)
def automation_answers() -> Answers:
    """The system's answers with its own confidence field, vectors raw, as the study scores them."""
    folder = TEST_DATA / "automation"
    labels = sorted(json.loads((folder / "banking77.labels.json").read_text())["labels"])
    lines = (folder / "jev_banking77_500.compact.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    index = {label: i for i, label in enumerate(labels)}
    vectors = np.zeros((len(rows), len(labels)))
    for vector, row in zip(vectors, rows, strict=True):
        for label, probability in row["p"].items():
            vector[index[label]] = probability
    return Answers(
        np.array([index[row["gold"]] for row in rows]),
        np.array([index[row["pred"]] for row in rows]),
        np.ones(len(rows), bool),
        len(labels),
        probabilities=vectors,
        confidence=np.array([row["c"] for row in rows], dtype=np.float64),
        decimals=2,
        latency_ms=np.array([row["ms"] for row in rows], dtype=np.float64),
    )
