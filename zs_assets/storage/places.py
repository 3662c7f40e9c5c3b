"""Folders and files by name. The environment is read here and nowhere else (ZS_HOME, ZS_LAKE, ZS_REHEARSAL)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from upath import UPath

from zs_assets.storage.journal_place import JournalPath, JournalPlace
from zs_assets.storage.lake_address import lake_address
from zs_assets.storage.object_store import is_remote, object_names, store_path

IMPORT_FORMATS = {"janus": ".jsonl", "jev_benchmarks": ".jsonl", "semif": ".jsonl", "native": ".parquet"}
"""Format of a saved run -> ending of its file."""

REHEARSAL = "ZS_REHEARSAL"
"""Set while stand-ins answer for the systems; nothing made then can be published."""


@dataclass(frozen=True)
class Places:
    """`home` holds outputs; `lake` is a folder or any fsspec URL."""

    home: Path
    lake: str
    rehearsal: bool = False

    @classmethod
    def from_environment(cls) -> Places:
        """A rehearsal has a home of its own inside the real one, and a local lake wherever the real one is.

        Raises StorageError where ZS_LAKE is no folder and no URL of a store.
        """
        home = Path(os.path.expanduser(os.environ.get("ZS_HOME", "").strip() or "data")).absolute()
        if os.environ.get(REHEARSAL):
            home = home / "rehearsal"
            return cls(home=home, lake=str(home / "lake"), rehearsal=True)
        return cls(home=home, lake=lake_address(os.environ.get("ZS_LAKE", "")) or str(home / "lake"))

    @property
    def warehouse(self) -> Path:
        return self.home / "warehouse.duckdb"

    @property
    def dagster_home(self) -> Path:
        return self.home / "dagster"

    def journal(self, study: str, dataset: str, backend: str) -> JournalPath:
        """One append-only journal per partition: a file, or with a remote lake its working copy and its segments."""
        return self._journal(study, dataset, backend, "journal")

    def follow_up_journal(self, study: str, dataset: str, backend: str, number: int) -> JournalPath:
        """The journal of one round of a partition's follow-up, in the partition's own folder: reset moves both."""
        return self._journal(study, dataset, backend, f"follow_up_{number}")

    def follow_up_journals(self, study: str, dataset: str, backend: str) -> list[JournalPath]:
        """Those of every round that was begun, on this machine or on the lake. Raises StorageError."""
        names = {path.stem for path in self._journals(study, dataset, backend).glob("follow_up_*.jsonl")}
        if is_remote(self.lake):
            folder = store_path(self._remote_journals(study, dataset, backend))
            names |= {name for name in object_names(folder) if name.startswith("follow_up_")}
        return [self._journal(study, dataset, backend, name) for name in sorted(names)]

    def _journal(self, study: str, dataset: str, backend: str, name: str) -> JournalPath:
        local = self._journals(study, dataset, backend) / f"{name}.jsonl"
        if not is_remote(self.lake):
            return local
        return JournalPlace(local, f"{self._remote_journals(study, dataset, backend)}/{name}")

    def _journals(self, study: str, dataset: str, backend: str) -> Path:
        return self.home / "journal" / study / f"dataset={dataset}" / f"backend={backend}"

    def _remote_journals(self, study: str, dataset: str, backend: str) -> str:
        return f"{self.lake.rstrip('/')}/{study}/journal/dataset={dataset}/backend={backend}"

    def imported_run(self, study: str, dataset: str, backend: str, kind: str) -> Path:
        """Where a saved run stands in for calling a system; `kind` is one of IMPORT_FORMATS."""
        return self.imports(study) / f"dataset={dataset}" / f"backend={backend}" / f"{kind}{IMPORT_FORMATS[kind]}"

    def imports(self, study: str) -> Path:
        return self.home / "imports" / study

    def shared_run(self, study: str, dataset: str, backend: str, kind: str) -> UPath | None:
        """Where workers elsewhere find an imported run: on the lake, where that is remote."""
        if not is_remote(self.lake):
            return None
        folder = f"{self.lake.rstrip('/')}/{study}/imports/dataset={dataset}/backend={backend}"
        return store_path(f"{folder}/{kind}{IMPORT_FORMATS[kind]}")
