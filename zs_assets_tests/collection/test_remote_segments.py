"""Segments of a journal: which of them stand, when they are merged, and two copies that parted."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zs_assets.collection.journal_merge import calls_of, lacking, line_bytes, whole_lines
from zs_assets.collection.segments import (
    FAN,
    LEFT_ALONE,
    MERGED_BYTES,
    MissingSegments,
    Span,
    merged,
    spans_of,
    standing,
    to_merge,
    to_merge_at_the_end,
)

HEADER = line_bytes({"k": "header", "study": "s"})
# What a worker does next: begin a call of presentation a, b or c, or end the oldest one in flight.
ACTIONS = st.lists(st.sampled_from(["a", "b", "c", "reply", "fault"]), max_size=12)


def end(kind: str, name: str, number: int, body: str) -> dict[str, object]:
    """A reply or a fault; it has the entries of both."""
    reply = {"ms": 1.0, "s": 200, "r": None, "body": body}
    return {"k": kind, "id": name, "n": number, "kind": "x", "remedy": "retry", "status": None, **reply}


def worked(start: bytes, actions: list[str], worker: str) -> bytes:
    """The journal after a worker went on from it; calls in flight before are not this worker's to end."""
    begun = Counter(line["id"] for line in calls_of(start) if line["k"] == "asked")
    data, in_flight = start, []
    for step, action in enumerate(actions):
        if action in ("reply", "fault"):
            if in_flight:
                name, number = in_flight.pop(0)
                data += line_bytes(end(action, name, number, f"{worker}{step}"))
            continue
        begun[action] += 1
        in_flight.append((action, begun[action]))
        data += line_bytes({"k": "asked", "id": action, "n": begun[action], "t": f"{worker}{step}", "f": 1})
    return data


def bodies(data: bytes) -> Counter[str]:
    return Counter(line["body"] for line in calls_of(data) if line["k"] != "asked")


def is_consistent(data: bytes) -> bool:
    """Every end follows its own beginning, and no call begins or ends twice."""
    begun, ended = set(), set()
    for line in calls_of(data):
        call = (line["id"], line["n"])
        if line["k"] == "asked":
            if call in begun:
                return False
            begun.add(call)
        elif call not in begun or call in ended:
            return False
        else:
            ended.add(call)
    return True


@given(both=ACTIONS, here=ACTIONS, there=ACTIONS, cut=st.integers(0, 40))
def test_two_copies_that_parted_hold_together_every_call_of_both_once(both, here, there, cut: int):
    local = worked(worked(HEADER, both, "x"), here, "l")
    # The lake has a beginning of what the first worker wrote, at a line, and what another one went on with.
    lines = local.splitlines(keepends=True)
    lake = worked(b"".join(lines[: max(1, min(cut, len(lines)))]), there, "o")
    whole = lake + lacking(lake, local)
    assert whole.startswith(lake), "nothing on the lake is changed"
    assert is_consistent(whole)
    assert bodies(whole) == bodies(lake) | bodies(local)
    asked = Counter((line["id"], line["t"]) for line in calls_of(whole) if line["k"] == "asked")
    expected = {(x["id"], x["t"]) for data in (lake, local) for x in calls_of(data) if x["k"] == "asked"}
    assert asked == Counter(expected)
    # Killed between the upload and the rewriting of the local copy: the same merge again adds nothing.
    assert lacking(whole, local) == b""


def test_a_reply_only_the_local_copy_has_ends_the_call_that_both_know():
    start = worked(HEADER, ["a"], "x")
    local = start + line_bytes(end("reply", "a", 1, "paid"))
    lake = worked(start, ["a", "reply"], "o")
    appended = list(calls_of(lacking(lake, local)))
    assert [(line["k"], line["id"], line["n"], line["body"]) for line in appended] == [("reply", "a", 1, "paid")]


def test_a_call_whose_number_another_worker_used_gets_a_further_one():
    local = worked(HEADER, ["a", "reply"], "l")
    lake = worked(HEADER, ["a", "a", "reply"], "o")
    appended = list(calls_of(lacking(lake, local)))
    assert [(line["k"], line["n"]) for line in appended] == [("asked", 3), ("reply", 3)]


@given(st.integers(0, 200))
def test_what_a_kill_cut_off_is_no_line(cut: int):
    data = worked(HEADER, ["a", "reply", "b", "reply"], "l")
    kept = whole_lines(data[:cut])
    assert data.startswith(kept) and (not kept or kept.endswith(b"\n"))
    assert len(data[:cut]) - len(kept) < 1 + max(map(len, data.splitlines(keepends=True)))


def test_a_last_line_that_is_no_json_is_torn():
    assert whole_lines(HEADER + b'{"k":"rep\n') == HEADER
    assert whole_lines(b'{"k"') == b""


@given(st.lists(st.tuples(st.integers(1, 40), st.integers(0, 12)), max_size=12), st.integers(1, 40))
def test_covered_segments_are_passed_over_and_every_number_is_read_once(extra: list[tuple[int, int]], last: int):
    """Whatever merges were cut off, as long as each lies within a larger segment or none."""
    plain = [Span(number, number) for number in range(1, last + 1)]
    whole: list[Span] = []
    for first, length in extra:
        span = Span(first, min(first + length, last))
        # Merged segments of one writer never overlap in part.
        apart = all(s.last < span.first or s.first > span.last or _nested(s, span) for s in whole)
        if first <= last and apart:
            whole.append(span)
    kept = standing(plain + whole)
    numbers = [number for span in kept for number in range(span.first, span.last + 1)]
    assert numbers == list(range(1, last + 1))
    assert not any(_nested(one, other) for one in kept for other in kept if one != other)


def _nested(one: Span, other: Span) -> bool:
    inner, outer = sorted((one, other), key=len)
    return outer.first <= inner.first and inner.last <= outer.last


def test_a_number_that_is_missing_is_said():
    with pytest.raises(MissingSegments, match="2 to 3"):
        standing([Span(1, 1), Span(4, 4)])
    with pytest.raises(MissingSegments, match="1 to 1"):
        standing([Span(2, 2)])


def test_names_are_read_back_and_others_passed_over():
    spans = [Span(1, 256), Span(257, 257), Span(1234567, 1234567)]
    assert Span(1, 256).name == "000001-000256.jsonl"
    assert spans_of([*(span.name for span in spans), "x.jsonl", "000001.jsonl"]) == spans


def test_a_journal_of_many_uploads_stays_few_objects():
    """10,000 uploads of 500 bytes: never more than FAN - 1 of each size, however long it runs."""
    spans: list[Span] = []
    sizes: dict[Span, int] = {}
    most = rewritten = 0
    for number in range(1, 10_001):
        spans.append(Span(number, number))
        sizes[spans[-1]] = 500
        while group := to_merge(spans, sizes):
            whole = merged(group)
            spans[-len(group) :] = [whole]
            sizes[whole] = sum(sizes[span] for span in group)
            rewritten += sizes[whole]
        most = max(most, len(spans))
    assert standing(spans) == spans
    assert most <= 3 * (FAN - 1)
    assert rewritten <= 2 * 10_000 * 500, "every line is written again at most twice"


def test_merging_at_the_end_leaves_one_object_and_a_short_journal_alone():
    spans = [Span(number, number) for number in range(1, LEFT_ALONE + 2)]
    assert to_merge_at_the_end(spans[:-1], dict.fromkeys(spans, 10)) == []
    assert to_merge_at_the_end(spans, dict.fromkeys(spans, 10)) == [spans]
    large = dict.fromkeys(spans, MERGED_BYTES // 3)
    groups = to_merge_at_the_end(spans, large)
    assert [len(group) for group in groups] == [3, 3, 3]


def test_a_line_keeps_what_json_can_hold():
    line = {"k": "reply", "id": "é", "n": 1, "body": "\ud83d lone, \r\n and \u2028"}
    assert json.loads(line_bytes(line).decode("utf-8", "surrogatepass")) == line
    assert line_bytes(line).count(b"\n") == 1
