"""The journal of one partition: append-only JSONL that survives a kill at any byte.

Line kinds: `header` (first line), `asked` (before each call), `reply` and `fault` (after it). Every line goes to the
operating system at once and to the disk in groups of at most 200 ms; a reply counts as received only after that.

Where the lake is remote, the file is the writer's working copy: its lines go to the lake as sealed segments, and a
reply counts as received only when it is there.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime, timezone
from typing import Any

from zs_assets.backends.base import RawReply, Reading, Remedy
from zs_assets.collection.journal_header import JournalHeader
from zs_assets.collection.journal_merge import line_bytes
from zs_assets.collection.journal_reading import ForeignLine, broken_journal, line_of
from zs_assets.collection.journal_reading import journal_lines as journal_lines
from zs_assets.collection.past import Past
from zs_assets.collection.uploads import Uploads
from zs_assets.protocol.errors import JournalError, StorageError
from zs_assets.storage.journal_place import JournalPath, JournalPlace

FSYNC_EVERY_S = 0.2
LINGER_S = 0.02
"""Calls wait for their line to be uploaded: what comes within so short a time shares one put."""
NOT_SENT = "not_sent"
NO_REQUEST = 0
"""Status of a call that was announced and not made, as browsers number a request that was never sent."""


class Journal:
    """Exclusive writer of one journal file. Use as a context manager."""

    def __init__(
        self,
        path: JournalPath,
        header: JournalHeader,
        on_synced: Callable[[int], None] | None = None,
        *,
        announces: bool = False,
        run_id: str = "",
    ):
        self.path = path.local if isinstance(path, JournalPlace) else path
        self.header = header
        self.past = Past()
        self._on_synced = on_synced or (lambda replies: None)
        self._written = 0  # replies handed to the operating system
        self._synced = 0
        self._size = 0  # bytes of whole lines
        self._dirty = threading.Event()
        self._pause = threading.Event()  # set only on closing
        self._closing = False
        self._failure: OSError | None = None
        self._syncing = threading.Lock()
        self._uploads = Uploads(path, run_id, self._dirty) if isinstance(path, JournalPlace) else None
        self.announces = announces and self._uploads is not None
        """Whether a call must not begin before the lake knows of it."""

    def __enter__(self) -> Journal:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise self._unwritable(error) from None
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if self._uploads is not None:
                self._bring_together(self._uploads)
            self._resume()
        except BlockingIOError:
            os.close(self._fd)
            raise JournalError(
                f"Another process is collecting into {self.path}: wait for it to end, then run again."
            ) from None
        except BaseException:
            os.close(self._fd)
            raise
        self._syncer = threading.Thread(target=self._sync_loop, name="journal-sync", daemon=True)
        self._syncer.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._closing = True
        self._pause.set()
        self._dirty.set()
        self._syncer.join()
        try:
            if self._uploads is not None:
                self._uploads.finish(self._size)
        except JournalError:
            if exc_info[0] is None:
                raise
        finally:
            os.close(self._fd)
        if self._failure is not None and exc_info[0] is None:
            raise self._unwritable(self._failure)

    def asked(self, presentation_id: str, attempt: int, in_flight: int) -> str:
        """Notes a call that is about to begin and returns its UTC time; `in_flight` counts this call, too."""
        if self._uploads is not None:
            self._uploads.raise_if_failed()  # only here: the replies of calls in flight are still kept on the disk
        at = _utc_now()
        self._append({"k": "asked", "id": presentation_id, "n": attempt, "t": at, "f": in_flight})
        return at

    def identity(self, identity: dict[str, str]) -> None:
        """What pins the backend; kept here so that a complete journal needs neither its key nor its model."""
        if identity != self.past.identity:
            self.past.identity = identity
            self._append({"k": "identity", "identity": identity})

    def reply(self, presentation_id: str, attempt: int, reply: RawReply, latency_ms: float, **usage: Any) -> None:
        """`usage`: in, out, hit, miss, think (tokens), usd, tier and o (outcome), as read when it arrived."""
        self._append(
            {
                "k": "reply",
                "id": presentation_id,
                "n": attempt,
                "ms": latency_ms,
                "s": reply.status,
                "r": reply.request_id,
                **usage,
                "body": reply.body,
            }
        )
        self._written += 1  # only now: the syncing thread must not count a line that is not written yet

    def fault(self, presentation_id: str, attempt: int, latency_ms: float, **what: Any) -> None:
        """`what`: kind, remedy, detail, status, wait_ms, request_id."""
        self._append({"k": "fault", "id": presentation_id, "n": attempt, "ms": latency_ms, **what})

    async def announced(self) -> None:
        """Returns when the lake knows of every call noted so far. Raises JournalError if it cannot be told."""
        if self._uploads is not None:
            await self._uploads.reached(self._size)

    def not_sent(self, presentation_id: str, attempt: int) -> None:
        """Takes back a call that was announced: it spends no attempt and was not billed."""
        self.fault(
            presentation_id,
            attempt,
            0.0,
            kind=NOT_SENT,
            remedy=Remedy.STOP.value,
            detail="collection stopped before the call was sent",
            status=NO_REQUEST,
            wait_ms=None,
            request_id=None,
        )

    def raise_if_failed(self) -> None:
        """A journal that cannot be written stops collection: a reply that is not kept would be paid twice."""
        if self._failure is not None:
            raise self._unwritable(self._failure)

    def sync(self) -> None:
        """Everything appended is on the disk, and on the remote lake, when this returns."""
        with self._syncing:
            written, size = self._to_disk()
            if self._uploads is not None:
                self._uploads.upload_all(size)
            self._count(written)

    def _to_disk(self) -> tuple[int, int]:
        """Replies and bytes that are on the disk when this returns."""
        self.raise_if_failed()
        written = self._written
        size = self._size  # after the replies: these bytes hold all of them
        try:
            os.fsync(self._fd)
        except OSError as error:
            self._failure = error
            raise self._unwritable(error) from None
        return written, size

    def _count(self, written: int) -> None:
        if written > self._synced:
            self._synced = written
            self._on_synced(written)

    def _append(self, line: dict[str, Any]) -> None:
        self.raise_if_failed()
        data = line_bytes(line)
        try:
            written = os.write(self._fd, data)
            while written < len(data):  # a signal or a full disk may cut a write short
                written += os.write(self._fd, data[written:])
        except OSError as error:
            self._failure = error
            raise self._unwritable(error) from None
        self._size += len(data)
        self._dirty.set()

    def _sync_loop(self) -> None:
        while True:
            self._dirty.wait(None if self._uploads is None else self._uploads.seconds_to_next(self._size))
            self._dirty.clear()  # before looking at what is asked for, or a request made in between would be lost
            closing = self._closing
            try:
                self._sync_what_is_due()
            except JournalError as error:  # kept in _failure: the next append, sync or closing raises it
                if self._uploads is not None:
                    self._uploads.fail(error)
                return
            if closing:
                return
            # Lines of the next 200 ms share one fsync; lines that calls wait for share a put.
            self._pause.wait(LINGER_S if self.announces else FSYNC_EVERY_S)

    def _sync_what_is_due(self) -> None:
        with self._syncing:
            written, size = self._to_disk()
            if self._uploads is None:
                self._count(written)
                return
            self._uploads.upload_if_due(size)
            if self._uploads.uploaded >= size:
                self._count(written)

    def _bring_together(self, uploads: Uploads) -> None:
        """The lake's copy and the local one, once each is known to be of this very protocol."""
        try:
            lake, local, self.past.torn_line = uploads.fetch(self._fd)
            for where, copy in ((uploads.address, lake), (self.path, local)):
                if copy:
                    self.header.refuse_another(where, copy[: copy.index(b"\n")])
            uploads.take_over(lake, local, line_bytes({"k": "header", **asdict(self.header)}))
        except StorageError as error:
            raise JournalError(f"{error} Nothing was asked; what {self.path} holds is kept.") from None

    def _resume(self) -> None:
        size = os.fstat(self._fd).st_size
        keep = 0
        header_seen = False
        with open(self.path, "rb") as file:
            for data in file:
                if not data.endswith(b"\n"):
                    self.past.torn_line = True
                    break
                try:
                    if header_seen:
                        self.past.note(line_of(data))
                    else:
                        json.loads(data)
                except ValueError as error:
                    if isinstance(error, ForeignLine) or keep + len(data) < size:
                        raise broken_journal(self.path, keep, error) from None
                    self.past.torn_line = True
                    break
                if not header_seen:
                    self.header.refuse_another(self.path, data)
                    header_seen = True
                keep += len(data)
        if keep < size:
            os.ftruncate(self._fd, keep)
        self._size = keep
        if not header_seen:
            self._append({"k": "header", **asdict(self.header)})

    def _unwritable(self, error: OSError) -> JournalError:
        return JournalError(
            f"Cannot write the journal {self.path}: {error.strerror or error}. Free space or fix permissions and run "
            "again; what it already holds is kept and not asked again."
        )


def usage_of(reading: Reading) -> dict[str, Any]:
    """What a reply line keeps of a reading beside the body; counts that were not reported are left out."""
    tokens = {
        "in": reading.input_tokens,
        "out": reading.output_tokens,
        "hit": reading.cache_hit_tokens,
        "miss": reading.cache_miss_tokens,
        "think": reading.reasoning_tokens,
    }
    return {name: count for name, count in tokens.items() if count is not None} | {"o": reading.outcome.value}


def _utc_now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
