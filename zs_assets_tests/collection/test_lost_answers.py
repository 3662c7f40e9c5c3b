"""A store that writes what it was sent and loses its answer: the writer knows its own object when it meets it."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from zs_assets.collection import journalled_replies, remote_journal, segments, uploads
from zs_assets.collection.remote_journal import RemoteJournal
from zs_assets.collection.segment_objects import read_segments
from zs_assets.collection.segments import spans_of, standing
from zs_assets.collection.writer import Writer
from zs_assets.protocol.errors import JournalError
from zs_assets.storage.object_store import object_names, store_path
from zs_assets.storage.store_failures import StoreUnreachable
from zs_assets_tests.collection.remote_copies import held, place
from zs_assets_tests.collection.scripted import SPEC, Scripted, collect_scripted

pytestmark = pytest.mark.usefixtures("short_waits")
COUNT = 12
FREE = SPEC.model_copy(update={"deployment": "local"})
Loses = Callable[[Callable[[int], bool]], list[str]]


@pytest.fixture
def loses(lake: str, monkeypatch: pytest.MonkeyPatch) -> Loses:
    """`loses(which)`: the store writes its n-th put (from 0) and loses the answer where which(n). Returns the names."""
    filesystem = store_path(lake).fs
    put = filesystem.pipe_file
    names: list[str] = []

    def begin(which: Callable[[int], bool]) -> list[str]:
        def pipe_file(self: Any, path: str, data: bytes, mode: str = "overwrite") -> None:
            names.append(path.rsplit("/", 1)[-1])
            lost = which(len(names) - 1)
            try:
                put(path, data, mode=mode)
            finally:
                if lost:
                    raise ConnectionError("reset by peer")

        monkeypatch.setattr(type(filesystem), "pipe_file", pipe_file)
        return names

    return begin


@pytest.mark.parametrize("spec", [SPEC, FREE], ids=["billed", "free"])
@pytest.mark.parametrize("nth", range(6))
def test_a_writer_goes_on_from_its_own_segment_whose_answer_was_lost(
    tmp_path: Path, lake: str, loses: Loses, nth: int, spec
):
    """The first put is the claim with the header, the last one the end."""
    loses(lambda number: number == nth)
    backend = Scripted(spec=spec)
    collected = collect_scripted(place(tmp_path, lake), backend, COUNT)
    assert len(backend.asked) == COUNT
    assert set(collected.predictions["outcome"].to_pylist()) == {"ok"}
    assert held(lake) == (tmp_path / "one" / "journal.jsonl").read_bytes()
    assert read_segments(store_path(lake))[-1].ends


@pytest.mark.parametrize("seed", range(8))
def test_whatever_answers_are_lost_no_text_is_asked_twice(tmp_path: Path, lake: str, loses, monkeypatch, seed: int):
    """Merges at every third segment, so that their answers are lost as well."""
    for name, value in (("FAN", 3), ("LEFT_ALONE", 2)):
        monkeypatch.setattr(segments, name, value)
    chance = random.Random(seed)
    loses(lambda number: chance.random() < 0.5)
    first = Scripted()
    collect_scripted(place(tmp_path, lake), first, COUNT)
    assert len(first.asked) == COUNT
    assert held(lake) == (tmp_path / "one" / "journal.jsonl").read_bytes()
    second = Scripted()
    collect_scripted(place(tmp_path, lake, "two"), second, COUNT)
    assert second.asked == []
    assert journalled_replies(place(tmp_path, lake, "three")) == COUNT


def test_a_store_that_loses_all_answers_for_a_while_is_waited_for(tmp_path: Path, lake: str, loses: Loses):
    loses(lambda number: 3 <= number < 12)
    backend = Scripted()
    collect_scripted(place(tmp_path, lake), backend, COUNT)
    assert len(backend.asked) == COUNT


def test_a_claim_without_an_answer_is_given_up_with_the_stores_sentence(tmp_path, lake: str, loses, monkeypatch):
    monkeypatch.setattr(uploads, "PATIENCE_S", 0.2)
    loses(lambda number: True)
    backend = Scripted()
    with pytest.raises(JournalError, match=r"the store does not answer.*Nothing was asked"):
        collect_scripted(place(tmp_path, lake), backend, COUNT)
    assert backend.asked == []


@pytest.fixture
def interrupted(lake: str, loses: Loses) -> RemoteJournal:
    """A claimed journal whose first put arrived, while its answer did not."""
    loses(lambda number: number == 1)
    journal = RemoteJournal(store_path(lake), Writer.here())
    journal.fetch()
    journal.claim(b'"header"\n')
    with pytest.raises(StoreUnreachable):
        journal.put(b"1\n")
    return journal


def test_what_arrived_counts_and_the_rest_goes_under_the_next_number(lake: str, interrupted: RemoteJournal):
    assert interrupted.size == len(b'"header"\n')
    interrupted.put(b"1\n2\n")
    assert interrupted.size == len(b'"header"\n1\n2\n')
    assert [segment.lines for segment in read_segments(store_path(lake))] == [b'"header"\n', b"1\n", b"2\n"]


def test_a_merge_whose_answer_was_lost_is_finished_before_another_begins(lake: str, loses: Loses, monkeypatch):
    monkeypatch.setattr(segments, "FAN", 3)
    names = loses(lambda number: number == 3)
    journal = RemoteJournal(store_path(lake), Writer.here())
    journal.fetch()
    whole = b"".join(b"%d\n" % number for number in range(5))
    journal.claim(whole[:2])
    for number in (1, 2):
        journal.put(whole[2 * number : 2 * number + 2])

    def merge() -> None:
        journal.merge(lambda offset, size: whole[offset : offset + size])

    with pytest.raises(StoreUnreachable):
        merge()
    journal.put(whole[6:8])
    merge()
    merged, singles = "000001-000003", [f"{number:06d}-{number:06d}" for number in (1, 2, 3, 4)]
    assert [name.removesuffix(".jsonl") for name in names] == [*singles[:3], merged, singles[3], merged]
    # The claim stays; of the rest nothing lies beside the merged segment.
    kept = spans_of(object_names(store_path(lake)))
    assert [span.name for span in kept] == [f"{name}.jsonl" for name in (singles[0], merged, singles[3])]
    assert len(standing(kept)) == 2 and held(lake) == whole[:8]


def test_a_segment_of_ours_with_other_lines_than_were_sent_is_refused(interrupted: RemoteJournal):
    with pytest.raises(JournalError, match=r"000002-000002.jsonl holds other lines than this worker sent"):
        interrupted.put(b"2\n")


def test_an_object_that_is_gone_when_it_is_looked_at_is_another_workers(lake: str, monkeypatch: pytest.MonkeyPatch):
    """A worker that took over has merged it meanwhile."""
    journal = RemoteJournal(store_path(lake), Writer.here())
    journal.fetch()
    journal.claim(b'"header"\n')
    monkeypatch.setattr(remote_journal, "create_once", lambda path, data: False)
    with pytest.raises(JournalError, match=r"Another worker has taken over .*\(unknown\)"):
        journal.put(b"1\n")
