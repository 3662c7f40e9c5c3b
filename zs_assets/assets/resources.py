"""What a run is given: places, the lake, and how collection should go on."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import dagster as dg

from zs_assets.backends.systems import SystemSpec
from zs_assets.collection import Progress
from zs_assets.storage.lake import Lake
from zs_assets.storage.places import Places


class Workspace(dg.ConfigurableResource):
    """Folders of this installation: ZS_HOME and ZS_LAKE."""

    home: str
    lake_root: str
    rehearsal: bool = False

    @classmethod
    def from_environment(cls) -> Workspace:
        places = Places.from_environment()
        return cls(home=str(places.home), lake_root=places.lake, rehearsal=places.rehearsal)

    @property
    def places(self) -> Places:
        return Places(Path(self.home), self.lake_root, self.rehearsal)

    @cached_property
    def lake(self) -> Lake:
        return Lake(self.lake_root, rehearsal=self.rehearsal)


class ProgressSink:
    """Where the progress of a running partition is shown; this one shows it nowhere (the log has it anyway)."""

    def show(self, dataset: str, backend: str, progress: Progress) -> None:
        return None


class ProviderPools:
    """Through which Dagster pools a system's provider may be asked; this one knows of no study but the running one."""

    def asking(self, system: SystemSpec) -> set[str]:
        return set()


class CollectionOptions(dg.Config):
    """Run configuration of a predictions partition."""

    retry_errors: bool = False  # ask again what ended in error; the attempts are recorded as further ones
    max_usd: float | None = None  # tightens the study's budget, which holds for all partitions and earlier runs
