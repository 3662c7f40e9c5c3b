"""A journal's first line: what its replies were asked for."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from zs_assets.protocol.errors import JournalError

_IDENTITY = (
    "study",
    "dataset",
    "backend",
    "prompt_hash",
    "manifest_hash",
    "protocol_hash",
    "model_requested",
    "spec_hash",
)


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

    def refuse_another(self, path: Path | str, first_line: bytes) -> None:
        """Raises JournalError, naming both values, where a journal's first line is of another protocol."""
        try:
            line = json.loads(first_line)
        except ValueError:
            line = None
        if not isinstance(line, dict) or line.get("k") != "header":
            raise JournalError(f"{path} does not begin with a header: it is no journal; move it aside.")
        for name in _IDENTITY:
            expected, found = getattr(self, name), line.get(name)
            if found != expected:
                raise JournalError(
                    f"{path} was written for another {name}: it holds {found}, this run has {expected}. Move the "
                    f"old outputs aside with `zs-assets reset {self.study} --archive`, or give the changed "
                    "study a new name."
                )
