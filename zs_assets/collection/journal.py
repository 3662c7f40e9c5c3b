"""The journal of one partition: append-only JSONL that survives a kill at any byte.

Line kinds: `header` (first line), `asked` (before each call), `reply` and `fault` (after it). Every line goes to the
operating system at once and to the disk in groups of at most 200 ms; a reply counts as received only after that.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from zs_assets.backends.base import RawReply, Reading, Remedy
from zs_assets.protocol.errors import JournalError
from zs_assets.protocol.names import Outcome

FSYNC_EVERY_S = 0.2
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str).encode
_IDENTITY = ("prompt_hash", "manifest_hash", "protocol_hash", "model_requested", "spec_hash")


@dataclass(frozen=True)
class JournalHeader:
    """What the journal's replies were asked for; replies of another protocol are never mixed in."""

    study: str
    dataset: str
    backend: str
    prompt_hash: str
    protocol_hash: str
    manifest_hash: str
    model_requested: str
    spec_hash: str


@dataclass
class Past:
    """What an existing journal holds, bodies left on disk."""

    replied: set[str] = field(default_factory=set)
    attempts: dict[str, int] = field(default_factory=dict)  # calls begun, per presentation
    open_calls: set[tuple[str, int]] = field(default_factory=set)  # asked without an answer: in flight at a stop
    refused: set[tuple[str, int]] = field(default_factory=set)  # a wrong key ends a run, it spends no attempt
    gave_up: set[str] = field(default_factory=set)  # a request the system rejects
    unanswered: list[str] = field(default_factory=list)  # calls without any answer: they may have been billed
    costs: list[float | None] = field(default_factory=list)  # of the replies; None: unknown
    tokens: int = 0
    not_ok: set[str] = field(default_factory=set)  # replied, but not with outcome ok
    identity: dict[str, str] = field(default_factory=dict)  # of the backend when it was last opened
    torn_line: bool = False


class Journal:
    """Exclusive writer of one journal file. Use as a context manager."""

    def __init__(self, path: Path, header: JournalHeader, on_synced: Callable[[int], None] | None = None):
        self.path = path
        self.header = header
        self.past = Past()
        self._on_synced = on_synced or (lambda replies: None)
        self._written = 0  # replies handed to the operating system
        self._synced = 0
        self._dirty = threading.Event()
        self._pause = threading.Event()  # set only on closing
        self._closing = False
        self._failure: OSError | None = None

    def __enter__(self) -> Journal:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise self._unwritable(error) from None
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._resume()
        except BlockingIOError:
            os.close(self._fd)
            raise JournalError(
                f"Another process is collecting into {self.path}: wait for it to end, then run again."
            ) from None
        except BaseException:
            os.close(self._fd)
            raise
        self._syncer = threading.Thread(target=self._sync_loop, name="journal-fsync", daemon=True)
        self._syncer.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._closing = True
        self._pause.set()
        self._dirty.set()
        self._syncer.join()
        os.close(self._fd)
        if self._failure is not None and exc_info[0] is None:
            raise self._unwritable(self._failure)

    def asked(self, presentation_id: str, attempt: int, in_flight: int) -> str:
        """Notes a call that is about to begin and returns its UTC time; `in_flight` counts this call, too."""
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

    def raise_if_failed(self) -> None:
        """A journal that cannot be written stops collection: a reply that is not kept would be paid twice."""
        if self._failure is not None:
            raise self._unwritable(self._failure)

    def sync(self) -> None:
        """Everything appended is on the disk when this returns."""
        self.raise_if_failed()
        written = self._written
        try:
            os.fsync(self._fd)
        except OSError as error:
            self._failure = error
            raise self._unwritable(error) from None
        if written > self._synced:
            self._synced = written
            self._on_synced(written)

    def _append(self, line: dict[str, Any]) -> None:
        self.raise_if_failed()
        data = (_encode(line) + "\n").encode("utf-8", "surrogatepass")
        try:
            written = os.write(self._fd, data)
            while written < len(data):  # a signal or a full disk may cut a write short
                written += os.write(self._fd, data[written:])
        except OSError as error:
            self._failure = error
            raise self._unwritable(error) from None
        self._dirty.set()

    def _sync_loop(self) -> None:
        while True:
            self._dirty.wait()
            self._dirty.clear()  # before looking at what is asked for, or a request made in between would be lost
            closing = self._closing
            try:
                self.sync()
            except JournalError:  # kept in _failure: the next append, sync or closing raises it
                return
            if closing:
                return
            self._pause.wait(FSYNC_EVERY_S)  # lines of the next 200 ms share one fsync

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
                    line = json.loads(data)
                except ValueError:
                    if keep + len(data) < size:
                        raise broken_journal(self.path, keep) from None
                    self.past.torn_line = True
                    break
                if not header_seen:
                    self._check_header(line)
                    header_seen = True
                else:
                    self._note(line)
                keep += len(data)
        if keep < size:
            os.ftruncate(self._fd, keep)
        if not header_seen:
            self._append({"k": "header", **asdict(self.header)})

    def _check_header(self, line: dict[str, Any]) -> None:
        if line.get("k") != "header":
            raise JournalError(f"{self.path} does not begin with a header: it is no journal; move it aside.")
        for name in _IDENTITY:
            expected, found = getattr(self.header, name), line.get(name)
            if found != expected:
                raise JournalError(
                    f"{self.path} was written for another {name}: it holds {found}, this run has {expected}. Move the "
                    f"old outputs aside with `zs-assets reset {self.header.study} --archive`, or give the changed "
                    "study a new name."
                )

    def _note(self, line: dict[str, Any]) -> None:
        if line["k"] == "identity":
            self.past.identity = line["identity"]
            return
        name, attempt = line["id"], line["n"]
        if line["k"] == "asked":
            self.past.attempts[name] = max(attempt, self.past.attempts.get(name, 0))
            self.past.open_calls.add((name, attempt))
            return
        self.past.open_calls.discard((name, attempt))
        if line["k"] == "reply":
            self.past.replied.add(name)
            self.past.costs.append(line.get("usd"))
            self.past.tokens += line.get("in") or 0
            if line.get("o", Outcome.OK.value) != Outcome.OK.value:
                self.past.not_ok.add(name)
            return
        if line["status"] is None:
            self.past.unanswered.append(name)
        if line["remedy"] == Remedy.GIVE_UP.value:
            self.past.gave_up.add(name)
        elif line["remedy"] == Remedy.STOP.value:
            self.past.refused.add((name, attempt))

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


def broken_journal(path: Path, byte: int) -> JournalError:
    return JournalError(f"{path} is broken at byte {byte}: restore it, or move it aside and ask again.")


def journal_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Complete lines about calls with their byte offset, in order; a torn last line is passed over."""
    offset = 0
    with open(path, "rb") as file:
        for data in file:
            if data.endswith(b"\n"):
                try:
                    line = json.loads(data)
                except ValueError:
                    raise broken_journal(path, offset) from None
                if line["k"] not in ("header", "identity"):
                    yield offset, line
            offset += len(data)
