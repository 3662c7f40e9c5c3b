"""What is to be made of a study's partitions, and the two ways to make it: in this process, or as runs of an engine.

`PartitionLoop` decides what is needed; a carrier only carries it out. So both ways keep, make and withhold the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

import dagster as dg

from zs_assets.components.dead_runs import process_tags
from zs_assets.components.run_failure import RunFailure, run_failure
from zs_assets.protocol.code_identity import CODE_TAG, code_identity

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


class State(str, Enum):
    MADE = "made"
    KEPT = "kept"  # already there, and passes its gates
    FAILED = "failed"
    WITHHELD = "withheld"  # something upstream is missing or failed


@dataclass(frozen=True)
class StepResult:
    """One partition of one step, and what became of it."""

    step: str
    partition: str
    state: State
    reason: str = ""
    stops_backend: bool = False  # a wrong key, a quota, a budget: another dataset would meet it again


@dataclass(frozen=True)
class PartitionTask:
    """One partition of one step that is needed.

    Attributes
    ----------
    step, where : as the result names them.
    job : the study's job that makes the same assets, as other launchers call it.
    keys : the assets to make, in one run.
    partition : its key; None for what is not partitioned.
    cell : (dataset, backend) where a system is asked.
    options : configuration of ops, by op.
    """

    step: str
    where: str
    job: str
    keys: tuple[dg.AssetKey, ...]
    partition: str | None = None
    cell: tuple[str, str] | None = None
    options: dict[str, Any] = field(default_factory=dict)

    def failed(self, failure: RunFailure) -> StepResult:
        return StepResult(self.step, self.where, State.FAILED, failure.sentence, failure.stops_backend)

    def made(self) -> StepResult:
        return StepResult(self.step, self.where, State.MADE)


@dataclass(frozen=True)
class TaskOutcome:
    """A task that was carried out; `unavailable` says what its carrier lacked to ask the system at all."""

    task: PartitionTask
    result: StepResult
    unavailable: str | None = None


class Carrier(Protocol):
    """Carries tasks out, in any sequence; those of one call do not depend on each other."""

    asks_here: bool
    """Whether systems are asked with the keys, extras and hardware of this process."""

    def carry_out(self, tasks: Iterable[PartitionTask]) -> Iterator[TaskOutcome]:
        """One outcome per task, as each comes to its end. `tasks` may be drawn one by one."""


class InThisProcess:
    """One run after the other, here: models load once, and a partition costs a fraction of a second."""

    asks_here = True

    def __init__(self, instance: dg.DagsterInstance, assets: list[Any], resources: dict[str, Any]):
        self._instance = instance
        self._assets = assets
        self._resources = resources

    def carry_out(self, tasks: Iterable[PartitionTask]) -> Iterator[TaskOutcome]:
        for task in tasks:
            result = dg.materialize(
                self._assets,
                selection=list(task.keys),
                partition_key=task.partition,
                instance=self._instance,
                resources=self._resources,
                run_config={**QUIET, "ops": task.options},
                tags={**process_tags(), CODE_TAG: code_identity().code_sha256},
                raise_on_error=False,
            )
            yield TaskOutcome(task, task.made() if result.success else task.failed(run_failure(result.all_events)))
