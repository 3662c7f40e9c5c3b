"""Who writes a journal, as other workers are told."""

from __future__ import annotations

import os
import socket
import uuid
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Writer:
    """One opening of one journal. `machine` tells two machines, or two containers, of one host name apart."""

    host: str
    pid: int
    run_id: str = ""
    machine: str = ""
    token: str = field(default_factory=lambda: uuid.uuid4().hex)

    @classmethod
    def here(cls, run_id: str = "") -> Writer:
        return cls(socket.gethostname(), os.getpid(), run_id, _machine())

    @classmethod
    def from_json(cls, entry: dict[str, Any]) -> Writer:
        return cls(**entry)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        run = f", run {self.run_id}" if self.run_id else ""
        return f"process {self.pid} on {self.host}{run}"

    def is_known_dead(self) -> bool:
        """True if it was a process of this very machine that is gone, or of this process; False: it may live."""
        if not self.machine or self.machine != _machine():
            return False
        if self.pid == os.getpid():
            return True  # this process holds the local journal's lock now: its earlier opening is over
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except OSError:
            return False
        return False


def _machine() -> str:
    """Process numbers mean something only within one boot of one kernel and one namespace of processes."""
    parts = []
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
        parts.append(os.readlink("/proc/self/ns/pid"))
    return " ".join(parts) if len(parts) == 2 else ""
