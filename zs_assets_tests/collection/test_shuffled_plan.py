"""The choice-order plan, collected: asked in shuffled sequence, stored in plan sequence, resumed where it stopped."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from zs_assets.backends.base import CallFault, Remedy
from zs_assets.collection import Collected, collect
from zs_assets.collection.journal import journal_lines
from zs_assets.emulator.server import LocalServer
from zs_assets.protocol.plan import asking_sequence
from zs_assets.protocol.question import Presentation
from zs_assets_tests.collection.jev_run import KEY, header
from zs_assets_tests.collection.order_plan import EMOTIONS, PLAN, planned
from zs_assets_tests.collection.order_run import collect_orders
from zs_assets_tests.collection.scripted import GOOD, SPEC, Script, Scripted

SAMPLES = 2
PLANNED = planned(SAMPLES)
ASKING = asking_sequence(PLANNED, PLAN)
ALONE = SPEC.model_copy(update={"limits": SPEC.limits.model_copy(update={"concurrency": 1})})
SEVEN = replace(GOOD, probabilities=(0.4, 0.3, 0.1, 0.1, 0.05, 0.03, 0.02), choice="frustration")


class Seven(Scripted):
    """Answers the seven-option question of the order study."""

    def __init__(self, script: Script = lambda name, before: None, reading=SEVEN):
        super().__init__(script, ALONE, reading)
        self.question = EMOTIONS


def collect_seven(path: Path, backend: Scripted, **options) -> Collected:
    return collect(backend, PLANNED, path, header(), asking=ASKING, **{"attempt_budget": 4, **options})


def ids(presentations: list[Presentation]) -> list[str]:
    return [presentation.id for presentation in presentations]


def test_calls_are_made_in_the_shuffled_sequence_and_stored_in_the_planned_one(tmp_path):
    backend = Seven()
    collected = collect_seven(tmp_path / "j.jsonl", backend)
    assert backend.asked == ids(ASKING) != ids(PLANNED)
    assert collected.predictions["presentation_id"].to_pylist() == ids(PLANNED)
    assert collected.predictions["repeat"].to_pylist() == sorted(collected.predictions["repeat"].to_pylist())
    assert collected.attempts["presentation_id"].to_pylist() == ids(ASKING), "attempts are in the sequence of asking"
    orders = {tuple(order) for order in collected.predictions["option_order"].to_pylist()}
    assert len(orders) == 14


def test_temporary_errors_are_recovered_within_four_attempts(tmp_path):
    failing = {name: 1 + index % 3 for index, name in enumerate(ids(ASKING)[::5])}  # one, two or three faults each

    def script(name: str, before: int) -> CallFault | None:
        temporary = CallFault("http_503", Remedy.RETRY, status=503, retry_after_s=0.001)
        return temporary if before < failing.get(name, 0) else None

    collected = collect_seven(tmp_path / "j.jsonl", Seven(script))
    attempts = dict(
        zip(
            collected.predictions["presentation_id"].to_pylist(),
            collected.predictions["attempts"].to_pylist(),
            strict=True,
        )
    )
    assert set(collected.predictions["outcome"].to_pylist()) == {"ok"}
    assert attempts == {name: 1 + failing.get(name, 0) for name in ids(PLANNED)}
    results = Counter(collected.attempts["result"].to_pylist())
    assert results == {"reply": len(PLANNED), "http_503": sum(failing.values())}, "the error records are kept"


def test_a_label_below_the_maximum_is_ok_and_never_asked_again(tmp_path):
    mismatch = replace(SEVEN, choice="sadness")  # 0.1, the maximum is 0.4
    backend = Seven(reading=mismatch)
    collected = collect_seven(tmp_path / "j.jsonl", backend)
    assert set(backend.calls.values()) == {1}
    assert set(collected.predictions["outcome"].to_pylist()) == {"ok"}
    assert set(collected.predictions["choice"].to_pylist()) == {"sadness"}
    again = Seven(reading=mismatch)
    assert collect_seven(tmp_path / "j.jsonl", again, retry_errors=True).predictions.equals(collected.predictions)
    assert again.asked == []


def test_a_stopped_run_goes_on_in_the_same_sequence(tmp_path):
    def interrupted(name: str, before: int) -> BaseException | None:
        return KeyboardInterrupt() if name == ASKING[30].id else None

    first, second = Seven(interrupted), Seven()
    with pytest.raises(KeyboardInterrupt):
        collect_seven(tmp_path / "j.jsonl", first)
    collected = collect_seven(tmp_path / "j.jsonl", second)
    assert first.asked == ids(ASKING)[:31]
    assert second.asked == ids(ASKING)[30:], "the call in flight at the stop is the first that is asked again"
    assert (collected.resumed, collected.in_flight_at_stop) == (30, 1)


def test_a_kill_in_the_middle_resumes_in_the_same_sequence_and_asks_nothing_twice(tmp_path):
    journal = tmp_path / "j.jsonl"
    with LocalServer("jev", seed=5, key=KEY) as server:
        command = [sys.executable, "-m", "zs_assets_tests.collection.order_run", str(journal), server.url, "10"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None and (not journal.exists() or journal.stat().st_size < 40_000):
            time.sleep(0.0005)
        process.kill()
        assert process.wait() == -9, "the process finished before it was killed"
        before = [(line["k"], line["id"]) for _, line in journal_lines(journal)]
        collected = collect_orders(journal, server.url, 10)
    replied = [name for kind, name in before if kind == "reply"]
    after = [(line["k"], line["id"]) for _, line in journal_lines(journal)][len(before) :]
    sequence = ids(asking_sequence(planned(10), PLAN))
    asked = [name for kind, name in after if kind == "asked"]
    assert 0 < len(replied) < len(sequence)
    assert asked == [name for name in sequence if name not in replied]
    assert [name for kind, name in before if kind == "asked"] == sequence[: len(before) - len(replied)]
    assert Counter(name for kind, name in [*before, *after] if kind == "reply") == Counter(sequence)
    assert collected.predictions["presentation_id"].to_pylist() == ids(planned(10))
