"""Two copies of one journal that each hold lines the other lacks, brought together without losing a paid reply.

It happens where a worker was cut off with replies it had not uploaded, another worker went on from the lake, and the
first one's disk comes back.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from zs_assets.collection.journal_reading import line_of, what_is_wrong
from zs_assets.protocol.errors import JournalError

ABOUT_NO_CALL = ("header", "identity")
encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str).encode


def line_bytes(line: dict[str, Any]) -> bytes:
    """One line of a journal."""
    return (encode(line) + "\n").encode("utf-8", "surrogatepass")


def whole_lines(data: bytes) -> bytes:
    """Without what a kill cut off: a last line that does not end, or is no JSON."""
    whole = data[: data.rfind(b"\n") + 1]
    last = whole[whole.rfind(b"\n", 0, -1) + 1 :]
    try:
        json.loads(last or b"{}")
    except ValueError:
        return whole[: len(whole) - len(last)]
    return whole


def lacking(lake: bytes, local: bytes) -> bytes:
    """The lines to append to the lake's copy, so that it holds every call of both.

    Both are whole lines. A local copy that is a beginning of the lake's lacks nothing there; one that goes on where
    the lake's ends has its own end appended as it is. Otherwise the copies parted: each call that only the local copy
    knows is appended, under a further number where another worker used its number for a call of its own. A call's end
    follows its beginning wherever the beginning lies. What both asked was billed twice, and both say so; the lake's
    reply stands, since the first one in a journal does.
    """
    if local.startswith(lake):
        return local[len(lake) :]
    if lake.startswith(local):
        return b""
    common = common_lines(lake, local)
    numbers = _Numbers(lake, common)
    return b"".join(
        line_bytes({**line, "n": number})
        for line in calls_of(local[common:])
        if (number := numbers.of(line)) is not None
    )


class _Numbers:
    """Under which number each line of the local copy is appended; None: it is there already."""

    def __init__(self, lake: bytes, common: int):
        self._used: dict[str, int] = defaultdict(int)
        self._ended: set[tuple[str, int]] = set()
        self._new: dict[tuple[str, int], int] = {}  # number of the local copy -> number in the lake's
        for line in calls_of(lake):
            self._used[line["id"]] = max(self._used[line["id"]], line["n"])
            if line["k"] != "asked":
                self._ended.add((line["id"], line["n"]))
        self._together = {(line["id"], line["n"]) for line in calls_of(lake[:common])}
        # The same call at the same millisecond: a merge was killed after it had reached the lake.
        self._merged = {(at["id"], at["t"]): at["n"] for at in calls_of(lake[common:]) if at["k"] == "asked"}

    def of(self, line: dict[str, Any]) -> int | None:
        name = line["id"]
        call = (name, line["n"])
        if line["k"] == "asked":
            if (name, line["t"]) in self._merged:
                self._new[call] = self._merged[name, line["t"]]
                return None
            self._used[name] += 1
            self._new[call] = self._used[name]
            return self._new[call]
        number = self._new.get(call, line["n"] if call in self._together else None)
        return None if number is None or (name, number) in self._ended else number


def common_lines(one: bytes, other: bytes) -> int:
    """Bytes of the whole lines with which both begin."""
    size = 0
    for mine, others in zip(one.splitlines(keepends=True), other.splitlines(keepends=True), strict=False):
        if mine != others:
            break
        size += len(mine)
    return size


def calls_of(data: bytes) -> Iterator[dict[str, Any]]:
    """Every line about a call. Raises ValueError for what is no line of a journal."""
    for line in map(line_of, data.splitlines()):
        if line["k"] not in ABOUT_NO_CALL:
            yield line


def refuse_foreign_lines(where: object, data: bytes) -> None:
    """Raises JournalError with the number of the first line that is none of a journal."""
    for number, line in enumerate(data.splitlines(), 1):
        try:
            line_of(line)
        except ValueError as error:
            raise JournalError(
                f"{where} is broken: line {number} {what_is_wrong(error)}. Restore it, or move it aside and ask again."
            ) from None
