"""Laya in process, by the real package and a checkpoint of random weights: nothing between its answer and our row."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from zs_assets.backends.registry import build_backend
from zs_assets.backends.systems import SystemSpec
from zs_assets.protocol.names import Outcome
from zs_assets_tests.backends.asking import ask_all, presentation, question, shipped, sockets_blocked
from zs_assets_tests.backends.tiny_laya import build_tiny_laya

laya = pytest.importorskip("laya")
pytest.importorskip("torch")

LABELS = question(
    {"rain": "The text is about rain.", "bread": None, "trade": "It is about trade."}, "What is it about?"
)
TEXTS = ("It rained all day.", "Bread rises in the oven.", "Ships carry goods abroad.")
LONG = "It rained all day. " * 100
ORDER = (2, 0, 1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    corpus = [*TEXTS, LONG, LABELS.instructions, *(option.sentence for option in LABELS.options)] * 5
    return build_tiny_laya(tmp_path_factory.mktemp("laya"), corpus)


def local(folder: Path) -> SystemSpec:
    return shipped("laya_local", settings={"folder": str(folder), "threads": 1})


def test_our_row_is_what_the_package_itself_answers_in_every_digit(folder: Path):
    with sockets_blocked():
        answered = ask_all(build_backend(local(folder), LABELS), [presentation(LABELS, text, ORDER) for text in TEXTS])
    agent = laya.load(str(folder), device="cpu")
    criteria = {LABELS.ids[index]: LABELS.options[index].description for index in ORDER}
    asked = {"label": {"type": "choice", "instructions": LABELS.instructions, "criteria": criteria}}
    for text, (reply, reading) in zip(TEXTS, answered, strict=True):
        theirs = agent.system_one({"text": text}, asked)
        assert reading.outcome is Outcome.OK, reading.problem
        assert reading.probabilities == tuple(theirs["answers"]["label"]["probabilities"][name] for name in LABELS.ids)
        assert (reading.choice, reading.confidence) == tuple(
            theirs["answers"]["label"][key] for key in ("choice", "confidence")
        )
        assert reading.input_tokens == theirs["usage"]["input_tokens"] and reading.truncated is False
        assert json.loads(reply.body)["usage"] == theirs["usage"]
    assert len({reading.probabilities for _, reading in answered}) == len(TEXTS), "the text is read"


def test_a_text_the_package_cut_says_so(folder: Path):
    ((_, reading),) = ask_all(build_backend(local(folder), LABELS), [presentation(LABELS, LONG)])
    assert (reading.outcome, reading.truncated) == (Outcome.OK, True)


def test_the_record_pins_the_weights_and_the_package(folder: Path):
    backend = build_backend(local(folder), LABELS)
    ask_all(backend, [])
    known = backend.identity()
    assert known["version_laya"] == laya.__version__ and len(known["weights_sha256"]) == 64
    assert known["model"].endswith(known["weights_sha256"])
