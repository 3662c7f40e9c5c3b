"""A journal's copy on a remote lake: sealed segments under running numbers, each created on condition that it is new.

The condition is what keeps two workers apart. Whoever opens a journal creates the next number; a worker that was
thought dead meets that object with its next upload and stops. A worker that meets an object of its own, whose answer
was lost on the way, goes on from it: each opening has a token, which every object of its carries.

The claim is never deleted, not even when its lines were merged into a larger segment, or a worker that slept through
the merge would find its number free again.

Whether the last writer still lives is told by what it does, not by clocks, which differ between machines: it uploads
something every few seconds, if only an empty segment.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from uuid import uuid4

from upath import UPath

from zs_assets.collection.segment_objects import Segment, read_segment, read_segments, segment_bytes
from zs_assets.collection.segments import Span, merged, spans_of, to_merge, to_merge_at_the_end
from zs_assets.collection.writer import Writer
from zs_assets.protocol.errors import JournalError
from zs_assets.storage.object_store import create_once, delete_objects, object_names
from zs_assets.storage.store_failures import shown

BEAT_S = 5.0
"""A writer with nothing to upload for so long uploads an empty segment."""
LEASE_S = 16.0
"""A writer that uploaded nothing for so long, three beats and a slow put, is taken for dead."""
LOOK_EVERY_S = 1.0


class RemoteJournal:
    """The one writer of a journal on the lake. `fetch` first, then `claim`, then any number of `put`."""

    def __init__(self, folder: UPath, writer: Writer):
        self.folder = folder
        self.writer = writer
        self.journal = uuid4().hex
        self._spans: list[Span] = []
        self._sizes: dict[Span, int] = {}
        self._claims: set[Span] = set()
        self._merging: list[Span] = []  # segments whose merge has begun
        self.size = 0  # bytes of the journal's lines that are known to be on the lake
        self._last_put = time.monotonic()

    def fetch(self) -> bytes:
        """The lines the lake holds.

        Raises JournalError while another worker is writing them, StorageError if the lake cannot be read.
        """
        segments = read_segments(self.folder)
        if segments:
            self._refuse_a_living_writer(segments[-1])
            self.journal = segments[-1].journal
        self._spans = [segment.span for segment in segments]
        self._sizes = {segment.span: len(segment.lines) for segment in segments}
        self._claims = {segment.span for segment in segments if segment.claim}
        self.size = sum(self._sizes.values())
        return b"".join(segment.lines for segment in segments)

    def _refuse_a_living_writer(self, last: Segment) -> None:
        if last.ends or last.writer.is_known_dead():
            return
        deadline = time.monotonic() + LEASE_S
        while time.monotonic() < deadline:
            time.sleep(LOOK_EVERY_S)
            if max((span.last for span in spans_of(object_names(self.folder))), default=0) != last.span.last:
                raise JournalError(
                    f"Another worker is collecting into {shown(self.folder)} ({last.writer}): wait for it to end, then "
                    "run again."
                )

    def claim(self, lines: bytes) -> None:
        """Takes the journal over with its next number, which also carries what the lake lacks. Raises as `put`."""
        self.put(lines, claim=True)

    def put(self, lines: bytes, *, claim: bool = False, ends: bool = False) -> None:
        """Whole lines as one segment; after a put whose answer was lost, what did not arrive with it as another one.

        `size` tells what is on the lake, also after a failure.

        Raises JournalError, naming the other worker, if one has taken the journal over; StorageError.
        """
        while True:
            number = self._spans[-1].last + 1 if self._spans else 1
            span = Span(number, number)
            if create_once(self.folder / span.name, self._object(span, lines, self.size, claim=claim, ends=ends)):
                self._holds(span, len(lines), claim)
                return
            found = self._own(span)
            if not lines.startswith(found.lines):
                raise self._other_lines(span)
            self._holds(span, len(found.lines), found.claim)
            lines = lines[len(found.lines) :]
            if not lines and (found.ends or not ends):
                return
            claim = False

    def _own(self, span: Span) -> Segment:
        """The segment that is there already, if this writer sent it and its answer was lost; JournalError otherwise."""
        found = read_segment(self.folder, span)
        if found is not None and found.writer.token == self.writer.token:
            return found
        raise self._taken_over(found)

    def _taken_over(self, found: Segment | None) -> JournalError:
        return JournalError(
            f"Another worker has taken over {shown(self.folder)} ({found.writer if found else 'unknown'}): this one "
            "stops; what it received and had not uploaded is in its local journal, and is uploaded when this partition "
            "is run here again."
        )

    def _other_lines(self, span: Span) -> JournalError:
        return JournalError(
            f"{shown(self.folder / span.name)} holds other lines than this worker sent: restore it from the bucket's "
            "versions, then run again here; what was received is in the local journal."
        )

    def _holds(self, span: Span, size: int, claim: bool) -> None:
        self._spans.append(span)
        self._sizes[span] = size
        self.size += size
        if claim:
            self._claims.add(span)
        self._last_put = time.monotonic()

    def seconds_to_beat(self) -> float:
        """Until an empty segment is due; never negative."""
        return max(0.0, self._last_put + BEAT_S - time.monotonic())

    def merge(self, lines_of: Callable[[int, int], bytes], *, at_the_end: bool = False) -> None:
        """Replaces many small segments by larger ones; killed in between, it leaves segments that readers pass over.

        A merge that the store's silence cut off is finished first: one of more segments would leave its object beside
        the new one for good. `lines_of(offset, size)` gives bytes of the journal, read from the local copy.

        Raises JournalError, StorageError.
        """
        if self._merging:
            self._replace(self._merging, lines_of, ends=False)
        groups = to_merge_at_the_end(self._spans, self._sizes) if at_the_end else [to_merge(self._spans, self._sizes)]
        for group in filter(None, groups):
            self._replace(group, lines_of, ends=at_the_end and group[-1] == self._spans[-1])

    def _replace(self, group: list[Span], lines_of: Callable[[int, int], bytes], *, ends: bool) -> None:
        self._merging = group
        place = self._spans.index(group[0])
        offset = sum(self._sizes[span] for span in self._spans[:place])
        size = sum(self._sizes[span] for span in group)
        whole, lines = merged(group), lines_of(offset, size)
        data = self._object(whole, lines, offset, claim=False, ends=ends)
        if not create_once(self.folder / whole.name, data):
            found = read_segment(self.folder, whole)
            # Another's merge of the same numbers holds the same lines: which of the two stands does not matter.
            if found is None:
                raise self._taken_over(found)
            if found.lines != lines:
                raise self._other_lines(whole)
        delete_objects([self.folder / span.name for span in group if span not in self._claims])
        self._spans[place : place + len(group)] = [whole]
        self._sizes[whole] = size
        self._merging = []

    def _object(self, span: Span, lines: bytes, offset: int, *, claim: bool, ends: bool) -> bytes:
        return segment_bytes(Segment(span, self.journal, self.writer, ends, claim, lines, offset))
