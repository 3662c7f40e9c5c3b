"""Laya in process, by a stand-in of its package: what is asked of it, and what is made of its System One body."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from zs_assets.backends import laya as codec
from zs_assets.backends.base import CallFault
from zs_assets.backends.registry import build_backend, check_ready
from zs_assets.backends.systems import SystemSpec
from zs_assets.protocol.errors import BackendUnavailable, StudyError
from zs_assets.protocol.names import Outcome
from zs_assets_tests.backends.asking import ask_all, presentation, question

LABELS = question({"refund": "wants money back", "delivery": "parcel is missing", "other": None}, "What is it about?")


class Package:
    """`laya.load` and `Agent.system_one` as documented; answers by the position of the option, 0.6 for the first."""

    def __init__(self) -> None:
        self.loaded: list[tuple[str, dict[str, Any]]] = []
        self.asked: list[tuple[Any, Any, dict[str, Any]]] = []
        self.usage: dict[str, Any] = {"input_tokens": 40, "output_tokens": 0, "truncated": False}

    def load(self, model: str, **options: Any) -> SimpleNamespace:
        self.loaded.append((model, options))
        return SimpleNamespace(system_one=self.system_one)

    def system_one(self, state: Any, questions: dict[str, Any], **budget: Any) -> dict[str, Any]:
        self.asked.append((state, questions, budget))
        if "explode" in state["text"]:
            raise ValueError("too long\nfor this model")
        names = list(questions["label"]["criteria"])
        rest = round(0.4 / (len(names) - 1), 4)
        vector = {name: rest if index else 0.6 for index, name in enumerate(names)}
        answer = {"type": "choice", "choice": names[0], "probabilities": vector, "confidence": 0.1362}
        return {"model": "laya-rl-agent", "answers": {"label": answer}, "usage": self.usage}


@pytest.fixture
def package(monkeypatch) -> Package:
    pytest.importorskip("torch", reason="the laya extra is not installed")
    stand_in = Package()
    monkeypatch.setitem(sys.modules, "laya", SimpleNamespace(load=stand_in.load))  # type: ignore[arg-type]
    codec._load_pinned.cache_clear()
    codec._load_folder.cache_clear()
    return stand_in


def spec(**changes: Any) -> SystemSpec:
    entry = {"model": "convaiinnovations/laya", "revision": "55cf4c4e", **changes}
    return SystemSpec(name="laya", interface="laya", title="Laya", deployment="local", **entry)


def test_the_pinned_revision_is_loaded_and_the_vector_is_in_the_declared_order(package):
    backend = build_backend(spec(), LABELS)
    ((_, reading),) = ask_all(backend, [presentation(LABELS, "text", (2, 0, 1))])
    assert package.loaded == [("convaiinnovations/laya", {"device": "cpu", "revision": "55cf4c4e"})]
    assert (reading.outcome, reading.probabilities) == (Outcome.OK, (0.2, 0.2, 0.6))
    assert (reading.choice, reading.confidence, reading.truncated) == ("other", 0.1362, False)
    assert reading.model == "convaiinnovations/laya@55cf4c4e"
    state, questions, budget = package.asked[-1]
    assert (state, budget) == ({"text": "text"}, {})
    assert list(questions["label"]["criteria"].items()) == [
        ("other", None),
        ("refund", "wants money back"),
        ("delivery", "parcel is missing"),
    ]


def test_a_text_that_the_model_cut_says_so(package):
    package.usage = {"truncated": True, "truncated_questions": ["label"]}
    ((_, reading),) = ask_all(build_backend(spec(), LABELS), [presentation(LABELS, "text")])
    assert (reading.outcome, reading.truncated) == (Outcome.OK, True)


def test_placeholders_are_not_shown_to_the_model_and_come_back_as_ids(package):
    labels = question({"label_000": "It is about rain.", "label_001": "It is about bread."})
    ((_, reading),) = ask_all(build_backend(spec(), labels), [presentation(labels, "text", (1, 0))])
    assert dict(package.asked[-1][1]["label"]["criteria"]) == {"It is about bread.": None, "It is about rain.": None}
    assert (reading.choice, reading.probabilities) == ("label_001", (0.4, 0.6))


def test_a_changed_head_budget_is_passed_on_and_recorded(package):
    backend = build_backend(spec(settings={"head_max_len": 2048}), LABELS)
    ask_all(backend, [presentation(LABELS, "text")])
    assert package.asked[-1][2] == {"head_max_len": 2048}
    assert backend.identity()["head_max_len"] == "2048" and backend.identity()["max_len"] == "None"


def test_a_local_folder_is_pinned_by_the_hash_of_its_weights(package, tmp_path: Path):
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    backend = build_backend(spec(settings={"folder": "."}), LABELS, folder=tmp_path)
    ((_, reading),) = ask_all(backend, [presentation(LABELS, "text")])
    assert reading.model == f"convaiinnovations/laya@sha256:{hashlib.sha256(b'weights').hexdigest()}"


def test_a_folder_without_weights_and_an_entry_without_a_revision_are_one_sentence(package, tmp_path: Path):
    with pytest.raises(BackendUnavailable, match=r"holds no \*\.safetensors"):
        ask_all(build_backend(spec(settings={"folder": "."}), LABELS, folder=tmp_path), [])
    with pytest.raises(StudyError, match="names no pinned model"):
        build_backend(spec(revision=None), LABELS)


def test_what_the_package_raises_on_one_text_is_that_texts_outcome(package):
    with pytest.raises(CallFault, match=r"ValueError: too long$"):
        ask_all(build_backend(spec(), LABELS), [presentation(LABELS, "explode")])


def test_a_missing_package_is_one_sentence_with_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "laya", None)
    assert check_ready(spec()) == "Backend 'laya' needs the laya extra: pip install 'zs-assets[laya]'."
