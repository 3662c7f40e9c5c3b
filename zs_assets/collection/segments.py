"""Names of a journal's segments on the lake, and which of them stand.

A segment `000007-000009.jsonl` holds the numbers 7 to 9, that is the lines that three segments held before they were
merged. A segment that lies within a larger one is passed over: it is what a merge had yet to delete when it stopped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

_NAME = re.compile(r"(\d{6,})-(\d{6,})\.jsonl")
FAN = 64
"""So many segments of like size become one: a journal of n uploads has fewer than 64 objects per power of 64."""
MERGED_BYTES = 64 * 2**20
"""No merged object is larger, so that each stays one put and can be read whole."""
LEFT_ALONE = 8
"""A journal of so few objects is not merged when it ends."""


class MissingSegments(Exception):
    """Numbers that no segment holds: the listing is of a moment within a merge, or objects were deleted."""


@dataclass(frozen=True, order=True)
class Span:
    """First and last number of a segment."""

    first: int
    last: int

    @property
    def name(self) -> str:
        return f"{self.first:06d}-{self.last:06d}.jsonl"

    def __len__(self) -> int:
        return self.last - self.first + 1


def spans_of(names: Iterable[str]) -> list[Span]:
    """Every segment among the names, in order; other names are passed over."""
    return sorted(Span(int(found[1]), int(found[2])) for name in names if (found := _NAME.fullmatch(name)))


def standing(spans: Iterable[Span]) -> list[Span]:
    """The segments to read: those that lie within no other one, from number 1 on without a gap.

    Raises MissingSegments.
    """
    kept: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.first, -span.last)):
        after = kept[-1].last if kept else 0
        if span.last <= after:
            continue
        if span.first != after + 1:
            raise MissingSegments(f"{after + 1} to {span.first - 1}" if span.first > after + 1 else span.name)
        kept.append(span)
    return kept


def to_merge(spans: Sequence[Span], sizes: Mapping[Span, int]) -> list[Span]:
    """The newest segments of like size, once there are FAN of them; none otherwise.

    `spans` are the standing ones in order, `sizes` their bytes.
    """
    run: list[Span] = []
    for span in reversed(spans):
        if run and _tier(span) != _tier(run[0]):
            break
        run.insert(0, span)
    return run if len(run) >= FAN and sum(sizes[span] for span in run) <= MERGED_BYTES else []


def to_merge_at_the_end(spans: Sequence[Span], sizes: Mapping[Span, int]) -> list[list[Span]]:
    """Groups that leave a finished journal as few objects as MERGED_BYTES allows."""
    if len(spans) <= LEFT_ALONE:
        return []
    groups: list[list[Span]] = [[]]
    total = 0
    for span in spans:
        if groups[-1] and total + sizes[span] > MERGED_BYTES:
            groups.append([])
            total = 0
        groups[-1].append(span)
        total += sizes[span]
    return [group for group in groups if len(group) > 1]


def merged(spans: Sequence[Span]) -> Span:
    return Span(spans[0].first, spans[-1].last)


def _tier(span: Span) -> int:
    tier, width = 0, FAN
    while len(span) >= width:
        tier, width = tier + 1, width * FAN
    return tier
