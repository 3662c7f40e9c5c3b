"""What of a local journal is on the lake, and when the rest goes there.

Measured against S3, a put takes some 30 to 50 ms and costs a request. So lines wait up to a second for each other; a
call that may be billed must not begin before the lake knows of it, and its line is uploaded as soon as the put before
it is through, together with all that came meanwhile.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from contextlib import suppress

from zs_assets.collection.journal_merge import common_lines, lacking, refuse_foreign_lines, whole_lines
from zs_assets.collection.remote_journal import RemoteJournal
from zs_assets.collection.writer import Writer
from zs_assets.protocol.errors import JournalError, StorageError
from zs_assets.storage.journal_place import JournalPlace
from zs_assets.storage.store_failures import StoreUnreachable, shown

UPLOAD_EVERY_S = 1.0
UPLOAD_BYTES = 2**20
"""So much does not wait for the second to pass."""
PATIENCE_S = 60.0
"""A store that does not answer for so long stops the collection; calls to paid systems wait meanwhile."""
_Waiter = tuple[int, asyncio.AbstractEventLoop, "asyncio.Future[None]"]


class Uploads:
    """Belongs to one open journal. Upload is called by one thread at a time; `reached` by the event loop."""

    def __init__(self, place: JournalPlace, run_id: str, wake: threading.Event):
        self._place = place
        self._wake = wake  # of the syncing thread
        self._remote = RemoteJournal(place.folder, Writer.here(run_id))
        self._fd = -1
        self.failure: JournalError | None = None
        self._waiting: list[_Waiter] = []
        self._lock = threading.Lock()  # of what waits
        self._last = 0.0
        self._silent_since: float | None = None

    @property
    def uploaded(self) -> int:
        """Bytes of the local file that the lake holds."""
        return self._remote.size

    @property
    def address(self) -> str:
        return shown(self._place.remote)

    def fetch(self, fd: int) -> tuple[bytes, bytes, bool]:
        """Lines of the lake, whole lines of the local copy, and whether a torn line was cut off that.

        Raises JournalError while another worker collects, StorageError if the lake cannot be read.
        """
        self._fd = fd
        lake = self._remote.fetch()
        held = os.pread(fd, os.fstat(fd).st_size, 0)
        if self._place.marked() not in (None, self._remote.journal):
            self._place.set_aside().write_bytes(held)  # of before a reset
            os.ftruncate(fd, 0)
            held = b""
        local = whole_lines(held)
        return lake, local, local != held

    def take_over(self, lake: bytes, local: bytes, first_line: bytes) -> None:
        """Claims the journal; then both copies hold the same. `first_line` begins a journal that is new.

        The lake first: killed in between, the local copy still holds what only it had. Raises as RemoteJournal.put,
        and JournalError for a line that is none of a journal, before anything is claimed.
        """
        try:
            extra = lacking(lake, local) if lake or local else first_line
        except ValueError:
            refuse_foreign_lines(self.address, lake)
            refuse_foreign_lines(self._place.local, local)
            raise
        self._claim(extra)
        self._place.mark.write_text(self._remote.journal)
        whole = lake + extra
        kept = len(local) if whole.startswith(local) else common_lines(whole, local)
        os.ftruncate(self._fd, kept)
        _write(self._fd, whole[kept:])
        os.fsync(self._fd)

    def _claim(self, lines: bytes) -> None:
        """Tries again for as long as a put does: the next opening would wait for this one's claim to fall silent."""
        begun = time.monotonic()
        while True:
            self._last = time.monotonic()
            try:
                self._remote.claim(lines)
                return
            except StoreUnreachable:
                if time.monotonic() - begun > PATIENCE_S:
                    raise
                time.sleep(UPLOAD_EVERY_S)

    def seconds_to_next(self, size: int) -> float:
        """How long the syncing thread may sleep with nothing new to do; `size` is the journal's, in bytes."""
        if size > self.uploaded or self.failure is not None:
            return max(0.0, self._last + UPLOAD_EVERY_S - time.monotonic())
        return self._remote.seconds_to_beat()

    def upload_if_due(self, size: int) -> None:
        """Uploads what waited long enough, is much, or keeps a call waiting; else shows that this writer lives."""
        if self.failure is not None:
            return
        waiting = size - self.uploaded
        if not waiting:
            due = not self._remote.seconds_to_beat()
        else:
            late = time.monotonic() - self._last >= UPLOAD_EVERY_S
            due = late or waiting >= UPLOAD_BYTES or bool(self._waiting)
        if due:
            self._put(size)

    def upload_all(self, size: int) -> None:
        """Everything is on the lake when this returns. Raises JournalError with the way out."""
        while self.failure is None and self.uploaded < size:
            if not self._put(size):
                time.sleep(UPLOAD_EVERY_S)
        self.raise_if_failed()

    def finish(self, size: int) -> None:
        """Everything is on the lake, marked as ended, in few objects. Raises as `upload_all`."""
        while self.failure is None and not self._put(size, ends=True):
            time.sleep(UPLOAD_EVERY_S)
        self.raise_if_failed()

    def raise_if_failed(self) -> None:
        if self.failure is not None:
            raise self.failure

    async def reached(self, size: int) -> None:
        """Returns when the lake holds the first `size` bytes; raises what keeps it from that."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        with self._lock:
            self.raise_if_failed()
            if self.uploaded >= size:
                return
            self._waiting.append((size, loop, future))
        self._wake.set()
        await future

    def _put(self, size: int, *, ends: bool = False) -> bool:
        """One segment; False if the store did not answer. Any other failure is kept for whoever asks next."""
        self._last = time.monotonic()
        before = self.uploaded
        try:
            self._remote.put(os.pread(self._fd, size - before, before), ends=ends)
            self._release()
            self._remote.merge(lambda offset, length: os.pread(self._fd, length, offset), at_the_end=ends)
        except StoreUnreachable as error:
            if self.uploaded > before:  # it answered: what an earlier put had sent was found there
                self._silent_since = None
                self._release()
            self._silent_since = self._silent_since or time.monotonic()
            if time.monotonic() - self._silent_since > PATIENCE_S:
                self.fail(self._in_our_words(error))
            return False
        except StorageError as error:
            self.fail(self._in_our_words(error))
            return False
        except JournalError as error:
            self.fail(error)
            return False
        self._silent_since = None
        return True

    def _in_our_words(self, error: StorageError) -> JournalError:
        return JournalError(
            f"{error} What was received and is not in {self.address} yet is kept in {self._place.local}: "
            "run again here, which uploads it and asks only what is missing."
        )

    def fail(self, error: JournalError) -> None:
        """Nothing more is uploaded; whoever waits is told."""
        self.failure = error
        self._release()

    def _release(self) -> None:
        """Answers every call that waited for this upload; all of them after a failure."""
        with self._lock:
            done = [entry for entry in self._waiting if self.failure is not None or entry[0] <= self.uploaded]
            self._waiting = [entry for entry in self._waiting if entry not in done]
        for _, loop, future in done:
            with suppress(RuntimeError):  # its loop was closed by an interrupt
                loop.call_soon_threadsafe(_answer, future, self.failure)


def _answer(future: asyncio.Future[None], failure: JournalError | None) -> None:
    if future.done():
        return
    if failure is None:
        future.set_result(None)
    else:
        future.set_exception(failure)


def _write(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]
