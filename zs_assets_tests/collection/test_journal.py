"""The journal: torn lines, foreign journals, full disks, and every byte at which a kill may cut it."""

from __future__ import annotations

import errno
import json
import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from zs_assets.backends.base import Backend, RawReply, Reading
from zs_assets.backends.systems import SystemSpec
from zs_assets.collection import Progress, collect, journalled_replies
from zs_assets.collection import journal as journal_module
from zs_assets.collection.journal import Journal
from zs_assets.protocol.errors import BackendUnavailable, JournalError
from zs_assets.protocol.names import Outcome
from zs_assets_tests.collection.jev_run import QUESTION, header, presentations

SPEC = SystemSpec(name="echo", interface="echo", title="Echo", deployment="hosted", option_cap=5)
COUNT = 8


class Echo(Backend):
    """Answers at once and counts what it was asked."""

    def __init__(self, spec: SystemSpec = SPEC):
        super().__init__(spec, QUESTION)
        self.asked: list[str] = []

    async def ask(self, presentation):
        self.asked.append(presentation.id)
        return RawReply(json.dumps({"text": presentation.example.text, "é": "\n"}))

    def read(self, reply, presentation):
        return Reading(Outcome.OK, (0.5, 0.3, 0.2), choice="rain", model="echo-1", input_tokens=10, output_tokens=1)


def collect_echo(path, backend=None, **options):
    return collect(backend or Echo(), presentations(COUNT), path, header(), attempt_budget=2, **options)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.floats(0, 1))
def test_a_journal_cut_at_any_byte_resumes_without_asking_what_it_still_holds(tmp_path_factory, cut: float):
    path = tmp_path_factory.mktemp("cut") / "j.jsonl"
    whole = collect_echo(path)
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * cut)])
    held = [json.loads(line) for line in path.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]
    replied = {line["id"] for line in held if line["k"] == "reply"}
    backend = Echo()
    resumed = collect_echo(path, backend)
    assert sorted(backend.asked) == sorted({p.id for p in presentations(COUNT)} - replied)
    assert resumed.predictions["presentation_id"].to_pylist() == whole.predictions["presentation_id"].to_pylist()
    assert set(resumed.predictions["outcome"].to_pylist()) == {"ok"}
    assert resumed.resumed == len(replied)


def test_a_torn_last_line_is_dropped_and_said(tmp_path):
    path = tmp_path / "j.jsonl"
    collect_echo(path)
    path.write_bytes(path.read_bytes() + b'{"k":"reply","id":"d:0/o0r0","n":9,"bo')
    collected = collect_echo(path)
    assert collected.torn_line
    assert collected.resumed == COUNT
    assert path.read_bytes().endswith(b"\n")


@pytest.mark.parametrize("name", ["prompt_hash", "manifest_hash", "protocol_hash", "model_requested", "spec_hash"])
def test_a_journal_of_another_protocol_is_refused_with_both_values_and_the_way_out(tmp_path, name: str):
    path = tmp_path / "j.jsonl"
    collect_echo(path)
    before = path.read_bytes()
    with pytest.raises(JournalError) as refused:
        collect(Echo(), presentations(COUNT), path, header(**{name: "changed"}), attempt_budget=2)
    assert name in str(refused.value)
    assert getattr(header(), name) in str(refused.value)
    assert "changed" in str(refused.value)
    assert "zs-assets reset s --archive" in str(refused.value)
    assert path.read_bytes() == before


def test_two_processes_may_not_write_one_journal(tmp_path):
    with Journal(tmp_path / "j.jsonl", header()), pytest.raises(JournalError, match="Another process"):
        collect_echo(tmp_path / "j.jsonl")


def test_a_full_disk_is_one_clear_sentence_and_loses_nothing_already_written(tmp_path, monkeypatch):
    path = tmp_path / "j.jsonl"
    room = [2_000]

    def write(fd: int, data: bytes) -> int:
        """Writes what still fits, as a disk does that fills up within a line."""
        if room[0] <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fits = data[: room[0]]
        room[0] -= len(fits)
        return os_write(fd, fits)

    os_write = os.write
    monkeypatch.setattr(journal_module.os, "write", write)
    with pytest.raises(JournalError, match=r"No space left on device.*is kept and not asked again"):
        collect_echo(path)
    monkeypatch.undo()
    held = journalled_replies(path)
    assert held > 0
    backend = Echo()
    collected = collect_echo(path, backend)
    assert collected.torn_line
    assert len(backend.asked) == COUNT - held


def test_an_unwritable_folder_is_one_clear_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(JournalError, match="Cannot write the journal"):
        collect_echo(tmp_path / "file" / "j.jsonl")


def test_a_file_that_is_no_journal_is_left_alone(tmp_path):
    path = tmp_path / "j.jsonl"
    path.write_text('{"k":"asked"}\n')
    with pytest.raises(JournalError, match="does not begin with a header"):
        collect_echo(path)
    assert path.read_text() == '{"k":"asked"}\n'


def test_a_complete_journal_needs_neither_key_nor_model(tmp_path):
    class Shut(Echo):
        async def __aenter__(self):
            raise BackendUnavailable("must not be opened")

    path = tmp_path / "j.jsonl"
    first = collect_echo(path)
    again = collect_echo(path, Shut())
    assert again.predictions.equals(first.predictions)
    assert again.identity == first.identity


def test_more_options_than_the_cap_are_not_applicable_without_a_call(tmp_path):
    backend = Echo(SPEC.model_copy(update={"option_cap": 2}))
    collected = collect_echo(tmp_path / "j.jsonl", backend)
    assert backend.asked == []
    assert set(collected.predictions["outcome"].to_pylist()) == {"not_applicable"}
    assert collected.attempts.num_rows == 0
    assert not (tmp_path / "j.jsonl").exists()


def test_a_cost_nobody_knows_is_null_and_not_zero(tmp_path):
    collected = collect_echo(tmp_path / "j.jsonl")
    assert collected.predictions["cost_usd"].null_count == COUNT


def test_a_budget_without_a_price_is_refused_before_any_call(tmp_path):
    backend = Echo()
    with pytest.raises(BackendUnavailable, match="no known price"):
        collect_echo(tmp_path / "j.jsonl", backend, max_usd=1.0)
    assert backend.asked == []


def test_progress_counts_replies_only_once_they_are_on_the_disk(tmp_path):
    seen: list[Progress] = []
    collect_echo(tmp_path / "j.jsonl", on_progress=seen.append)
    assert seen[-1].done == seen[-1].total == COUNT
    assert seen[-1].cost_usd is None
