"""A journal on a remote lake: what another worker finds, two workers at once, and a store that fails in the middle."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from zs_assets.backends.base import CallFault, RawReply, Remedy
from zs_assets.backends.systems import Limits, SystemSpec
from zs_assets.collection import Progress, journalled_replies, journalled_usd, remote_journal, uploads
from zs_assets.collection.journal import Journal
from zs_assets.collection.segment_objects import read_segments
from zs_assets.collection.segments import LEFT_ALONE, spans_of
from zs_assets.collection.writer import Writer
from zs_assets.protocol.errors import CollectionStopped, JournalError
from zs_assets.storage.object_store import delete_objects, move_objects, object_names, store_path
from zs_assets_tests.collection.jev_run import header
from zs_assets_tests.collection.remote_copies import held, place
from zs_assets_tests.collection.scripted import SPEC, Scripted, collect_scripted

COUNT = 12
FREE = SPEC.model_copy(update={"deployment": "local"})
pytestmark = pytest.mark.usefixtures("short_waits")
ELSEWHERE = Writer(host="gpu-7", pid=4242, run_id="run-9", machine="another boot")


class Stops(Scripted):
    """Is interrupted at its n-th call, as by a wrong key."""

    def __init__(self, at: int, spec: SystemSpec = SPEC):
        super().__init__(spec=spec)
        self._at = at

    async def ask(self, presentation) -> RawReply:
        if len(self.asked) + 1 == self._at:
            raise KeyboardInterrupt
        return await super().ask(presentation)


def test_the_lake_holds_the_very_bytes_of_the_local_copy(tmp_path: Path, lake: str):
    seen: list[Progress] = []
    collected = collect_scripted(place(tmp_path, lake), Scripted(), COUNT, on_progress=seen.append)
    assert held(lake) == (tmp_path / "one" / "journal.jsonl").read_bytes()
    assert seen[-1].done == COUNT
    assert set(collected.predictions["outcome"].to_pylist()) == {"ok"}
    assert len(object_names(store_path(lake))) <= LEFT_ALONE + 2, "merged when it ended"


def test_another_worker_asks_only_what_the_first_one_had_not(tmp_path: Path, lake: str):
    with pytest.raises(KeyboardInterrupt):
        collect_scripted(place(tmp_path, lake), Stops(5), COUNT)
    received = journalled_replies(place(tmp_path, lake, "two"))
    assert received >= 3
    second = Scripted()
    collected = collect_scripted(place(tmp_path, lake, "two"), second, COUNT)
    assert collected.resumed == received
    assert len(second.asked) == COUNT - received
    assert collected.predictions.num_rows == COUNT
    assert journalled_replies(place(tmp_path, lake, "three")) == COUNT
    assert journalled_usd(place(tmp_path, lake, "three")) == pytest.approx(journalled_usd(place(tmp_path, lake)))


def test_what_one_machine_has_alone_is_uploaded_by_its_next_run(tmp_path: Path, lake: str):
    collect_scripted(place(tmp_path, lake), Scripted(), COUNT)
    folder = store_path(lake)
    spans = spans_of(object_names(folder))
    delete_objects([folder / span.name for span in spans if span.last > 1])  # the last uploads never arrived
    assert b'"reply"' not in held(lake)
    assert journalled_replies(place(tmp_path, lake)) == COUNT, "both copies count"
    again = Scripted()
    collect_scripted(place(tmp_path, lake), again, COUNT)
    assert again.asked == []
    assert journalled_replies(place(tmp_path, lake, "two")) == COUNT


def test_a_journal_from_before_the_lake_was_remote_is_uploaded(tmp_path: Path, lake: str):
    local = place(tmp_path, lake)
    collect_scripted(local.local, Scripted(), COUNT)
    again = Scripted()
    collect_scripted(local, again, COUNT)
    assert again.asked == []
    assert journalled_replies(place(tmp_path, lake, "two")) == COUNT


def test_a_disk_that_comes_back_brings_its_replies_without_replacing_any(tmp_path: Path, lake: str):
    first = place(tmp_path, lake)
    with pytest.raises(KeyboardInterrupt):
        collect_scripted(first, Stops(8), COUNT)
    folder = store_path(lake)
    delete_objects([folder / span.name for span in spans_of(object_names(folder)) if span.last > 1])
    alone = journalled_replies(first.local)
    collect_scripted(place(tmp_path, lake, "two"), Scripted(), COUNT)
    spent = journalled_usd(place(tmp_path, lake, "two"))
    back = Scripted()
    collected = collect_scripted(first, back, COUNT)
    assert back.asked == []
    assert collected.predictions.num_rows == COUNT
    assert collected.predictions["outcome"].to_pylist() == ["ok"] * COUNT
    replies = [row for row in collected.attempts.to_pylist() if row["result"] == "reply"]
    assert len(replies) == COUNT + alone, "what was billed twice is told twice"
    assert journalled_usd(place(tmp_path, lake, "two")) > spent
    assert held(lake) == first.local.read_bytes()


def test_a_second_worker_is_told_who_collects(tmp_path: Path, lake: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(remote_journal, "BEAT_S", 0.1)
    monkeypatch.setattr(Writer, "here", classmethod(lambda cls, run_id="": ELSEWHERE))
    asked = Scripted()
    with (
        Journal(place(tmp_path, lake), header()),  # idle: it shows that it lives by empty segments
        pytest.raises(JournalError, match=r"Another worker is collecting.*process 4242 on gpu-7, run run-9"),
    ):
        collect_scripted(place(tmp_path, lake, "two"), asked, COUNT)
    assert asked.asked == []


def test_a_worker_of_another_machine_that_went_silent_is_followed(tmp_path: Path, lake: str, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(Writer, "here", classmethod(lambda cls, run_id="": ELSEWHERE))
        patch.setattr(uploads.Uploads, "finish", lambda self, size: None)  # as after a kill
        with pytest.raises(KeyboardInterrupt):
            collect_scripted(place(tmp_path, lake), Stops(5), COUNT)
    collected = collect_scripted(place(tmp_path, lake, "two"), Scripted(), COUNT)
    assert collected.predictions.num_rows == COUNT


@pytest.mark.parametrize("spec", [SPEC, FREE], ids=["billed", "free"])
def test_a_worker_thought_dead_stops_at_its_next_upload_and_says_who_went_on(tmp_path: Path, lake: str, spec):
    other = place(tmp_path, lake, "two")

    class Slept(Scripted):
        async def ask(self, presentation) -> RawReply:
            if len(self.asked) == 4:
                # Meanwhile the partition is collected to its end elsewhere, and its segments are merged.
                await asyncio.to_thread(collect_scripted, other, Scripted(spec=spec), COUNT, run_id="r-2")
            await asyncio.sleep(0.02)
            return await super().ask(presentation)

    slept = Slept(spec=spec)
    first = place(tmp_path, lake)
    with pytest.raises(JournalError, match=r"Another worker has taken over .*process \d+ on .*run r-2.*this one stops"):
        collect_scripted(first, slept, COUNT)
    if spec is SPEC:
        assert len(slept.asked) <= 4 + SPEC.limits.concurrency, "no paid call begins unknown to the lake"
    assert journalled_replies(place(tmp_path, lake, "three")) == COUNT
    # What it received and could not upload is brought by its next run here.
    back = Scripted(spec=spec)
    collected = collect_scripted(first, back, COUNT)
    assert back.asked == []
    assert len([row for row in collected.attempts.to_pylist() if row["result"] == "reply"]) >= COUNT + 1


def test_a_paid_call_begins_only_when_the_lake_knows_of_it(tmp_path: Path, lake: str):
    class Looks(Scripted):
        async def ask(self, presentation) -> RawReply:
            assert f'"k":"asked","id":"{presentation.id}"'.encode() in held(lake)
            return await super().ask(presentation)

    collect_scripted(place(tmp_path, lake), Looks(), COUNT)


def test_a_free_system_does_not_wait_for_the_store(tmp_path: Path, lake: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(uploads, "UPLOAD_EVERY_S", 3_600.0)
    backend = Scripted(spec=FREE)
    collect_scripted(place(tmp_path, lake), backend, COUNT)
    assert len(backend.asked) == COUNT
    spans = [segment.span for segment in read_segments(store_path(lake))]
    assert len(spans) <= 3, "claim, the whole, the end"


def test_a_call_that_was_announced_and_not_sent_is_taken_back(tmp_path: Path, lake: str, monkeypatch):
    """A wrong key stops the run while other calls wait for their announcement."""

    async def slow(self: Journal) -> None:
        await announced(self)
        # The first call of all is through at once; those that wait behind it see the stop.
        await asyncio.sleep(0.0 if first.pop() else 0.1)

    announced, first = Journal.announced, [False, False, True]
    monkeypatch.setattr(Journal, "announced", slow)
    wrong_key = CallFault("http_401", Remedy.STOP, "who are you", status=401)
    spec = SPEC.model_copy(update={"limits": Limits(concurrency=3, max_wait_s=0.01)})
    with pytest.raises(CollectionStopped, match="http_401"):
        collect_scripted(place(tmp_path, lake), Scripted(lambda name, before: wrong_key, spec), COUNT)
    monkeypatch.undo()
    collected = collect_scripted(place(tmp_path, lake, "two"), Scripted(), COUNT, attempt_budget=1)
    assert collected.in_flight_at_stop == 0
    assert collected.predictions["outcome"].to_pylist() == ["ok"] * COUNT, "neither spent the only attempt"
    rows = [row for row in collected.attempts.to_pylist() if row["result"] == "not_sent"]
    assert [(row["status"], row["cost_usd"]) for row in rows] == [(0, None)] * 2
    assert journalled_usd(place(tmp_path, lake, "two")) == pytest.approx(COUNT * 0.1)


@pytest.fixture
def closed(lake: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The store refuses every put once so many were made: [puts left]."""
    left = [10_000]
    filesystem = store_path(lake).fs
    put = filesystem.pipe_file

    def pipe_file(self, path, data, mode="overwrite"):
        left[0] -= 1
        if left[0] < 0:
            raise PermissionError("AccessDenied")
        return put(path, data, mode=mode)

    monkeypatch.setattr(type(filesystem), "pipe_file", pipe_file)
    yield left


@pytest.mark.parametrize("spec", [SPEC, FREE], ids=["billed", "free"])
def test_a_bucket_that_turns_read_only_is_one_sentence_and_nothing_is_lost(
    tmp_path: Path, lake: str, closed: list[int], spec
):
    closed[0] = 4 if spec is SPEC else 1
    first = place(tmp_path, lake)
    backend = Scripted(spec=spec)
    with pytest.raises(JournalError) as said:
        collect_scripted(first, backend, 200 if spec is FREE else COUNT)
    sentence = str(said.value)
    assert lake in sentence and "permission denied" in sentence and "run again here" in sentence
    received = len(backend.asked)
    assert journalled_replies(first.local) == received, "every reply is on the disk"
    closed[0] = 10_000
    again = Scripted(spec=spec)
    collected = collect_scripted(first, again, 200 if spec is FREE else COUNT)
    assert collected.resumed == received
    assert not set(again.asked) & set(backend.asked)


def test_a_lake_that_cannot_be_written_costs_no_call(tmp_path: Path, lake: str, closed: list[int]):
    closed[0] = 0
    backend = Scripted()
    with pytest.raises(JournalError, match=r"Cannot write memory://.*permission denied.*Nothing was asked"):
        collect_scripted(place(tmp_path, lake), backend, COUNT)
    assert backend.asked == []


def test_a_store_that_is_silent_for_a_moment_is_waited_for(tmp_path: Path, lake: str, monkeypatch):
    filesystem = store_path(lake).fs
    put, failures = filesystem.pipe_file, iter([False, False] + [True] * 3)

    def pipe_file(self, path, data, mode="overwrite"):
        if next(failures, False):
            raise ConnectionError("reset by peer")
        return put(path, data, mode=mode)

    monkeypatch.setattr(type(filesystem), "pipe_file", pipe_file)
    backend = Scripted()
    collect_scripted(place(tmp_path, lake), backend, COUNT)
    assert len(backend.asked) == COUNT
    assert journalled_replies(place(tmp_path, lake, "two")) == COUNT


def test_a_store_that_stays_silent_stops_the_collection(tmp_path: Path, lake: str, closed, monkeypatch):
    monkeypatch.setattr(uploads, "PATIENCE_S", 0.2)
    filesystem = store_path(lake).fs
    put, left = filesystem.pipe_file, [5]

    def pipe_file(self, path, data, mode="overwrite"):
        left[0] -= 1
        if left[0] < 0:
            raise ConnectionError("reset by peer")
        return put(path, data, mode=mode)

    monkeypatch.setattr(type(filesystem), "pipe_file", pipe_file)
    with pytest.raises(JournalError, match="the store does not answer"):
        collect_scripted(place(tmp_path, lake), Scripted(), COUNT)


def test_after_a_reset_a_workers_old_copy_is_set_aside(tmp_path: Path, lake: str):
    first = place(tmp_path, lake)
    collect_scripted(first, Scripted(), COUNT)
    move_objects(store_path(lake), store_path(f"{lake}-archive"))
    assert journalled_replies(first) == 0
    anew = Scripted()
    collect_scripted(first, anew, COUNT)
    assert len(anew.asked) == COUNT
    assert journalled_replies(next(first.local.parent.glob("*before-reset*"))) == COUNT


def test_a_journal_of_another_protocol_on_the_lake_is_refused_untouched(tmp_path: Path, lake: str):
    collect_scripted(place(tmp_path, lake), Scripted(), COUNT)
    before = held(lake)
    with (
        pytest.raises(JournalError, match=r"was written for another manifest_hash: it holds m, this run has n"),
        Journal(place(tmp_path, lake, "two"), header(manifest_hash="n")),
    ):
        pass
    assert held(lake) == before
