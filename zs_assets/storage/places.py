"""Folders and files by name. The environment is read here and nowhere else (ZS_HOME, ZS_LAKE, ZS_REHEARSAL)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

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
        """A rehearsal has a home of its own inside the real one, and a local lake wherever the real one is."""
        home = Path(os.environ.get("ZS_HOME") or "data").absolute()
        if os.environ.get(REHEARSAL):
            home = home / "rehearsal"
            return cls(home=home, lake=str(home / "lake"), rehearsal=True)
        return cls(home=home, lake=os.environ.get("ZS_LAKE") or str(home / "lake"))

    @property
    def warehouse(self) -> Path:
        return self.home / "warehouse.duckdb"

    @property
    def dagster_home(self) -> Path:
        return self.home / "dagster"

    def journal(self, study: str, dataset: str, backend: str) -> Path:
        """One append-only journal per partition; local even where the lake is not."""
        return self.home / "journal" / study / f"dataset={dataset}" / f"backend={backend}" / "journal.jsonl"

    def follow_up_journal(self, study: str, dataset: str, backend: str, number: int) -> Path:
        """The journal of one round of a partition's follow-up, in the partition's own folder: reset moves both."""
        return self.journal(study, dataset, backend).with_name(f"follow_up_{number}.jsonl")

    def follow_up_journals(self, study: str, dataset: str, backend: str) -> list[Path]:
        """Those of every round that was begun."""
        return sorted(self.journal(study, dataset, backend).parent.glob("follow_up_*.jsonl"))

    def imported_run(self, study: str, dataset: str, backend: str, kind: str) -> Path:
        """Where a saved run stands in for calling a system; `kind` is one of IMPORT_FORMATS."""
        return self.imports(study) / f"dataset={dataset}" / f"backend={backend}" / f"{kind}{IMPORT_FORMATS[kind]}"

    def imports(self, study: str) -> Path:
        return self.home / "imports" / study
