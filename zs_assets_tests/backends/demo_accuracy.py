"""Accuracy of a backend on the shipped demo data, asked as a study would, with the network shut."""

from __future__ import annotations

from zs_assets.backends.registry import build_backend
from zs_assets.backends.systems import SystemSpec
from zs_assets.protocol.names import Outcome
from zs_assets.protocol.question import Presentation
from zs_assets.protocol.study import DatasetSpec
from zs_assets.sources import load_dataset
from zs_assets_tests.backends.asking import ask_all, sockets_blocked


def accuracy_on_demo(spec: SystemSpec, name: str) -> float:
    data = load_dataset(DatasetSpec(name=name, source="demo"), study_question="", study_folder=None)
    declared = tuple(range(len(data.question)))
    asked = [Presentation(example, declared, 0, 0) for example in data.examples]
    with sockets_blocked():
        answers = ask_all(build_backend(spec, data.question), asked)
    assert all(reading.outcome is Outcome.OK for _, reading in answers)
    right = sum(
        max(declared, key=reading.probabilities.__getitem__) == one.example.target_index
        for one, (_, reading) in zip(asked, answers, strict=True)
    )
    return right / len(asked)
