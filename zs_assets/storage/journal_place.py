"""Where a journal is: a file of this machine, and the lake's folder of segments where the lake is remote."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import cast

from upath import UPath

from zs_assets.storage.object_store import store_path


@dataclass(frozen=True)
class JournalPlace:
    """`local` is the writer's working copy; `remote` is the URL of the folder its segments are uploaded to."""

    local: Path
    remote: str

    @property
    def folder(self) -> UPath:
        return store_path(self.remote)

    @property
    def mark(self) -> Path:
        """Beside the local copy: the journal on the lake it is a copy of. A reset begins another one."""
        return self.local.with_name(f"{self.local.name}.lake")

    def marked(self) -> str | None:
        """None for a local copy that was never uploaded."""
        try:
            return self.mark.read_text()
        except FileNotFoundError:
            return None

    def set_aside(self) -> Path:
        """Where a local copy goes whose journal was reset elsewhere: nothing paid for is deleted."""
        return cast(Path, self.local.with_name(f"{self.local.name}.before-reset-{(self.marked() or 'unknown')[:8]}"))


JournalPath = Path | JournalPlace
"""A journal that is local only is its path."""
