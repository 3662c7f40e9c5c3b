"""A study of two tiny datasets, written to a folder as a user would; and a backend that answers as it is told."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from zs_assets.backends.base import Backend, RawReply, Reading
from zs_assets.backends.systems import SystemSpec
from zs_assets.backends.vectors import read_vector
from zs_assets.protocol.names import Outcome
from zs_assets.protocol.question import Presentation, Question

LABELS = {"rain": "The text is about rain or wet weather.", "bread": "The text is about baking or bread."}
TEXTS = [(f"It will rain on day {i}.", "rain") for i in range(6)] + [
    (f"Bake loaf number {i}.", "bread") for i in range(6)
]


def study_yaml(name: str = "small", **changes: Any) -> dict[str, Any]:
    def dataset(dataset_name: str) -> dict[str, Any]:
        source = {"kind": "file", "path": f"{dataset_name}.csv", "labels": dict(LABELS)}
        return {"name": dataset_name, "source": source}

    attributes: dict[str, Any] = {
        "name": name,
        "question": "What is the text about?",
        "datasets": [dataset("first"), dataset("second")],
        "backends": ["uniform", "sparrow"],
        "analyses": {"paired_differences": {"pairs": [["sparrow", "uniform"]], "resamples": 200, "seed": 7}},
    }
    return {"type": "zs_assets.Study", "attributes": attributes | changes}


def write_small_study(folder: Path, **changes: Any) -> Path:
    """Writes defs.yaml and the two csv files; returns the path of defs.yaml."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("first", "second"):
        with open(folder / f"{name}.csv", "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["text", "label"])
            writer.writerows((f"{name}: {text}", label) for text, label in TEXTS)
    path = folder / "defs.yaml"
    path.write_text(yaml.safe_dump(study_yaml(**changes), sort_keys=False, allow_unicode=True), encoding="utf-8")
    return path


class ScriptedBackend(Backend):
    """Answers each presentation with the vector a function gives; counts its calls."""

    def __init__(self, spec: SystemSpec, question: Question, vector: Callable[[Presentation], Mapping[str, float]]):
        super().__init__(spec, question)
        self._vector = vector
        self.asked: list[str] = []

    async def ask(self, presentation: Presentation) -> RawReply:
        self.asked.append(presentation.id)
        return RawReply(json.dumps(self._vector(presentation)))

    def read(self, reply: RawReply, presentation: Presentation) -> Reading:
        vector, problem = read_vector(json.loads(reply.body), self.question, 0.02)
        outcome = Outcome.OK if problem is None else Outcome.INVALID
        return Reading(outcome, vector if problem is None else None, model="scripted-1", problem=problem)
