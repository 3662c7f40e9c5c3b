"""The JSONL of SemIf's command as a recorded run: joined by option id, checked against the file the command read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from zs_assets.backends.base import CallFault, Reading, Remedy
from zs_assets.backends.registry import build_backend
from zs_assets.protocol.errors import BackendUnavailable
from zs_assets.protocol.names import Outcome
from zs_assets.protocol.question import Presentation
from zs_assets_tests.backends.asking import ask_all, example, question, shipped

ASKED = question({"rain": "It is about rain.", "bread": "It is about bread."}, "What is it about?")
REVISION = "851bf6e806efd8d0a36b00ddf55e13ccb7b8cd0a"


def row(name: str = "e1", **changes: Any) -> dict[str, Any]:
    return {
        "id": name,
        "option_ids": ["bread", "rain"],
        "probabilities": [0.125, 0.875],
        "option_logits": [1.0, 2.9459],
        "input_tokens": 93,
        "forward_seconds": 0.03,
        "total_seconds": 0.05,
        "prompt_sha256": "0" * 64,
        "prompt_version": "direct-options-v1",
        "model": {"source": "Qwen/Qwen3.5-4B", "revision": REVISION, "dtype": "bfloat16"},
        **changes,
    }


def asked_row(name: str = "e1", text: str = "Wet day.", **changes: Any) -> dict[str, Any]:
    options = [{"id": "bread", "description": "It is about bread."}, {"id": "rain", "description": "It is about rain."}]
    return {"id": name, "state": text, "question": "What is it about?", "options": options, **changes}


def write(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(each) + "\n" for each in rows))
    return path


def backend(path: Path, **settings: Any):
    settings = {"path": str(path), "format": "semif", **settings}
    return build_backend(shipped("uniform", name="old_run", interface="recorded", settings=settings), ASKED)


def planned(name: str = "e1", order: tuple[int, ...] = (1, 0), order_index: int = 0, repeat: int = 0) -> Presentation:
    return Presentation(example("Wet day.", name), order, order_index, repeat)


def replay(path: Path, *presentations: Presentation, **settings: Any) -> list[Reading]:
    return [reading for _, reading in ask_all(backend(path, **settings), presentations)]


def test_a_row_is_read_into_the_declared_order_with_what_pins_it(tmp_path):
    path = write(tmp_path / "out.jsonl", row())
    expected = Reading(
        Outcome.OK, (0.875, 0.125), model=f"Qwen/Qwen3.5-4B@{REVISION}", input_tokens=93, latency_ms=50.0
    )
    assert replay(path, planned()) == [expected]


def test_one_file_may_hold_several_orders_and_repeats_by_the_ids_of_presentations(tmp_path):
    forward = row("e1/o1r2", option_ids=["rain", "bread"], probabilities=[0.6, 0.4])
    path = write(tmp_path / "out.jsonl", row("e1/o0r0"), forward)
    readings = replay(path, planned(), planned(order=(0, 1), order_index=1, repeat=2))
    assert [reading.probabilities for reading in readings] == [(0.875, 0.125), (0.6, 0.4)]


def test_the_file_the_command_read_vouches_for_text_and_question(tmp_path):
    path = write(tmp_path / "out.jsonl", row())
    same = write(tmp_path / "in.jsonl", asked_row())
    assert replay(path, planned(), manifest=str(same))[0].outcome is Outcome.OK
    other = write(tmp_path / "other.jsonl", asked_row(text="Dry day."))
    with pytest.raises(CallFault, match="has text") as raised:
        replay(path, planned(), manifest=str(other))
    assert raised.value.remedy is Remedy.STOP
    for changes in ({"question": "Which one?"}, {"options": asked_row()["options"][:1]}):
        foreign = write(tmp_path / "foreign.jsonl", asked_row(**changes))
        with pytest.raises(BackendUnavailable, match="other labels or another prompt"):
            replay(path, planned(), manifest=str(foreign))


def test_without_that_file_the_record_says_that_nothing_vouches_for_the_texts(tmp_path):
    built = backend(write(tmp_path / "out.jsonl", row()))
    ask_all(built, [planned()])
    assert built.identity()["texts_checked_by"].startswith("nothing")
    assert len(built.identity()["recording_sha256"]) == 64


def test_other_options_are_another_prompt_and_a_missing_row_is_an_error(tmp_path):
    with pytest.raises(BackendUnavailable, match="other labels"):
        replay(write(tmp_path / "out.jsonl", row(option_ids=["bread", "cake"])), planned())
    with pytest.raises(CallFault, match="holds no e2/o0r0"):
        replay(write(tmp_path / "out.jsonl", row()), planned("e2"))


@pytest.mark.parametrize("changes", [{"probabilities": [0.5, 0.1]}, {"probabilities": [1.0]}, {"probabilities": None}])
def test_a_broken_vector_is_invalid(tmp_path, changes: dict[str, Any]):
    (reading,) = replay(write(tmp_path / "out.jsonl", row(**changes)), planned())
    assert reading.outcome is Outcome.INVALID and reading.problem and reading.probabilities is None


def test_a_line_of_another_format_is_named(tmp_path):
    with pytest.raises(BackendUnavailable, match=r"out.jsonl line 1 has no option_ids, probabilities, model"):
        replay(write(tmp_path / "out.jsonl", {"id": "e1"}), planned())


def test_rows_of_another_model_are_left_out(tmp_path):
    other = row(model={"source": "other", "revision": "1"}, probabilities=[0.5, 0.5])
    path = write(tmp_path / "out.jsonl", other, row())
    readings = replay(path, planned(), model=f"Qwen/Qwen3.5-4B@{REVISION}")
    assert readings[0].probabilities == (0.875, 0.125)
