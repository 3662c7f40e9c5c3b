"""Whatever ends a run early, what was received stays in the journal and nobody works on alone."""

from __future__ import annotations

import signal

import pytest

from zs_assets.backends.base import CallFault, RawReply, Remedy
from zs_assets.collection import journal as journal_module
from zs_assets.collection import journalled_replies
from zs_assets.collection.journal import Journal
from zs_assets.protocol.errors import CollectionStopped, JournalError
from zs_assets_tests.collection.jev_run import header
from zs_assets_tests.collection.scripted import GOOD, Scripted, collect_scripted

FOURTH = "d:3/o0r0"


class RunTerminated(BaseException):
    """As an orchestrator's interrupt: no Exception, so that steps do not catch it."""


def fourth(error: BaseException):
    return lambda name, before: error if name == FOURTH else None


@pytest.fixture
def interrupts():
    """Control C raises, also where the tests were started in the background and inherited that it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interrupts")
def test_control_c_keeps_every_reply_and_builds_no_table(tmp_path):
    def press_control_c(name: str, before: int) -> None:
        if name == FOURTH:
            signal.raise_signal(signal.SIGINT)

    path = tmp_path / "j.jsonl"
    with pytest.raises(KeyboardInterrupt):
        collect_scripted(path, Scripted(press_control_c), count=50)
    held = journalled_replies(path)
    assert 3 <= held < 50
    backend = Scripted()
    collected = collect_scripted(path, backend, count=50)
    assert len(backend.asked) == 50 - held
    assert collected.resumed == held
    assert collected.in_flight_at_stop >= 1


def test_an_interrupt_in_one_worker_stops_the_others(tmp_path):
    backend = Scripted(fourth(RunTerminated()))
    with pytest.raises(RunTerminated):
        collect_scripted(tmp_path / "j.jsonl", backend, count=50)
    assert len(backend.asked) <= 6
    assert journalled_replies(tmp_path / "j.jsonl") >= 3


def test_a_stop_lets_calls_in_flight_finish_and_keeps_their_replies(tmp_path):
    backend = Scripted(fourth(CallFault("http_401", Remedy.STOP, "who are you", status=401)))
    with pytest.raises(CollectionStopped, match="who are you"):
        collect_scripted(tmp_path / "j.jsonl", backend, count=50)
    assert journalled_replies(tmp_path / "j.jsonl") == len(backend.asked) - 1


def test_a_stop_does_not_wait_for_a_retry_that_is_far_away(tmp_path):
    spec = Scripted().spec
    patient = spec.model_copy(update={"limits": spec.limits.model_copy(update={"max_wait_s": 600.0})})

    def script(name: str, before: int) -> BaseException | None:
        if name == "d:0/o0r0":
            return CallFault("http_429", Remedy.RETRY, status=429, retry_after_s=600.0)
        return CallFault("http_401", Remedy.STOP, status=401) if name == FOURTH else None

    with pytest.raises(CollectionStopped):
        collect_scripted(tmp_path / "j.jsonl", Scripted(script, patient))


def test_a_reply_is_kept_even_if_reading_it_fails(tmp_path):
    class Unreadable(Scripted):
        def read(self, reply, presentation):
            raise RuntimeError("against its contract")

    path = tmp_path / "j.jsonl"
    with pytest.raises(RuntimeError, match="against its contract"):
        collect_scripted(path, Unreadable())
    held = journalled_replies(path)
    assert held >= 1
    mended = Scripted()
    collected = collect_scripted(path, mended)
    assert len(mended.asked) == 6 - held
    assert set(collected.predictions["cost_usd"].to_pylist()) == {0.1}


def test_a_disk_that_fails_on_fsync_stops_collection_with_one_sentence(tmp_path, monkeypatch):
    def failing(fd: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(journal_module.os, "fsync", failing)
    with pytest.raises(JournalError, match=r"Cannot write the journal .*Input/output error"):
        collect_scripted(tmp_path / "j.jsonl", Scripted())


def test_a_journal_opens_and_closes_many_times_without_hanging(tmp_path):
    """Closing while the syncing thread wakes up used to lose the request to end."""
    for number in range(200):
        with Journal(tmp_path / f"{number}.jsonl", header()) as journal:
            journal.asked("d:0/o0r0", 1, 1)
            journal.reply("d:0/o0r0", 1, RawReply("{}"), 1.0)
    assert journalled_replies(tmp_path / "199.jsonl") == 1


def test_a_line_broken_in_the_middle_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "j.jsonl"
    collect_scripted(path, Scripted())
    lines = path.read_bytes().splitlines(keepends=True)
    lines[3] = b"\x00" * 20 + b"\n"
    path.write_bytes(b"".join(lines))
    for read in (lambda: collect_scripted(path, Scripted()), lambda: journalled_replies(path)):
        with pytest.raises(JournalError, match=f"broken at byte {sum(map(len, lines[:3]))}"):
            read()
    assert path.read_bytes() == b"".join(lines)


def test_the_reading_of_a_kept_reply_is_the_one_of_an_uninterrupted_run(tmp_path):
    whole = collect_scripted(tmp_path / "whole.jsonl", Scripted())
    with pytest.raises(RunTerminated):
        collect_scripted(tmp_path / "parts.jsonl", Scripted(fourth(RunTerminated())))
    parts = collect_scripted(tmp_path / "parts.jsonl", Scripted(reading=GOOD))
    same = ["presentation_id", "outcome", "probabilities", "predicted_index", "cost_usd", "raw", "model_resolved"]
    assert parts.predictions.select(same).equals(whole.predictions.select(same))
