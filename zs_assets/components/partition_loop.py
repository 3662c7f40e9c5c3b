"""Makes what is missing of a study: decides, wave by wave, which partitions are needed, and has them made.

By default in this process, on the instance that the UI shows: a backfill from the UI starts a process per partition and
waits for a daemon; in one process models load once and a partition costs a fraction of a second. Each partition is
still a Dagster run of its own, so one that fails stops nothing but what depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import dagster as dg

from zs_assets.assets.analysis_inputs import ReadableAnalyses, analysis_tables
from zs_assets.assets.cells import cell_problem
from zs_assets.assets.gated_reading import load_gated
from zs_assets.assets.graph import StudyGraph
from zs_assets.assets.resources import ProgressSink, Workspace
from zs_assets.components.dead_runs import end_dead_runs
from zs_assets.components.partition_tasks import QUIET, Carrier, InThisProcess, PartitionTask, State, StepResult
from zs_assets.components.resources import study_resources
from zs_assets.components.run_failure import failure_reason
from zs_assets.components.study import measured_assets, study_definitions
from zs_assets.protocol.errors import GateRefused, StudyError
from zs_assets.protocol.names import PAIR_SEPARATOR, AssetName
from zs_assets.storage.lake import metadata_of

__all__ = ["QUIET", "LoopResult", "PartitionLoop", "State", "StepResult", "failure_reason"]


@dataclass
class LoopResult:
    steps: list[StepResult] = field(default_factory=list)
    unavailable: dict[str, str] = field(default_factory=dict)  # backend -> the sentence that says what is missing

    @property
    def failed(self) -> list[StepResult]:
        return [step for step in self.steps if step.state is State.FAILED]


class PartitionLoop:
    """One study, and whoever carries its partitions out: this process (None), or an engine.

    `report` hears of every finished partition, `about_to_ask` once, before the first call, of every (dataset, backend)
    that can start.
    """

    def __init__(
        self,
        graph: StudyGraph,
        instance: dg.DagsterInstance,
        *,
        progress: ProgressSink | None = None,
        report: Callable[[StepResult], None] | None = None,
        about_to_ask: Callable[[Sequence[tuple[str, str]]], None] | None = None,
        resources: dict[str, Any] | None = None,
        carrier: Carrier | None = None,
    ):
        self.graph = graph
        self.instance = instance
        end_dead_runs(instance)  # a killed command's run would hold its place in the pool for ever
        self.workspace = Workspace.from_environment()
        self.lake = self.workspace.lake
        self.resources = resources or study_resources(progress)
        self.assets: list[Any] = list(study_definitions(graph).assets or [])
        self.result = LoopResult()
        self._carrier = carrier or InThisProcess(instance, self.assets, self.resources)
        self._report = report or (lambda step: None)
        self._about_to_ask = about_to_ask or (lambda cells: None)

    def run(
        self,
        backends: Sequence[str] = (),
        datasets: Sequence[str] = (),
        *,
        force: bool = False,
        retry_errors: bool = False,
        max_usd: float | None = None,
    ) -> LoopResult:
        """Makes what is missing for these backends and datasets (default: all), then the summary and the report."""
        backends, datasets = self.known(backends, datasets)
        self.observe()
        prepared = self.prepare(datasets)
        options = {"retry_errors": retry_errors, "max_usd": max_usd}
        ready = {backend: self.ready(backend, prepared, datasets) for backend in backends}
        self._about_to_ask([(dataset, backend) for backend in backends for dataset in ready[backend]])
        changed = self._measure(ready, force or retry_errors, options)
        self._carry_out(self._needed_pairs(prepared, changed))
        self._carry_out(self._needed_analyses(prepared))
        self.summarise()
        return self.result

    def summarise(self) -> None:
        """Manifest file, means, rankings, warehouse and report over everything that passes its gates now."""
        names = [AssetName.RANKINGS.value, AssetName.WAREHOUSE.value, AssetName.REPORT.value, "manifest_file"]
        if self.graph.spec.pairs:
            names.append(AssetName.DATASET_MEANS.value)
        keys = tuple(dg.AssetKey([self.graph.name, name]) for name in names)
        self._carry_out([PartitionTask("summary", self.graph.name, "summarise", keys)])

    def publish(self) -> StepResult:
        key = self.graph.key(AssetName.PUBLICATION)
        (step,) = self._carry_out([PartitionTask("publication", self.graph.name, "publish", (key,))])
        return step

    def known(self, backends: Sequence[str], datasets: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
        """The backends and datasets asked for, in the study's order; none means all. StudyError on an unknown one."""
        spec = self.graph.spec
        return (
            _known(backends, spec.backends, "backend"),
            _known(datasets, tuple(dataset.name for dataset in spec.datasets), "dataset"),
        )

    def prepare(self, datasets: Sequence[str]) -> list[str]:
        """Examples and manifests of these datasets; returns those that are there afterwards."""
        before = len(self.result.steps)
        self._carry_out(self._needed_manifests(datasets))
        there = {step.partition for step in self.result.steps[before:] if step.state is not State.FAILED}
        return [dataset for dataset in datasets if dataset in there]

    def ready(self, backend: str, prepared: Sequence[str], asked: Sequence[str]) -> list[str]:
        """The prepared datasets on which the backend can start; where it cannot, the sentence why is kept.

        An engine's workers have their own keys and extras, so there each run says itself what it lacks.
        """
        if not self._carrier.asks_here:
            return list(prepared)
        problems = {
            dataset: cell_problem(self.workspace.places, self.graph, dataset, backend) for dataset in prepared or asked
        }
        for problem in problems.values():
            if problem is not None:
                self.result.unavailable[backend] = problem
        return [dataset for dataset in prepared if problems[dataset] is None]

    def observe(self) -> None:
        """Records the data versions of sources and backend specs: what the UI's staleness follows."""
        for name in (AssetName.DATASET_SPEC, AssetName.BACKEND_SPEC):
            key = self.graph.key(name)
            source = [asset for asset in self.assets if isinstance(asset, dg.SourceAsset) and asset.key == key]
            # One job each: their partitions differ.
            job = dg.define_asset_job("observe", selection=dg.AssetSelection.all(include_sources=True))
            dg.Definitions(assets=source, jobs=[job]).resolve_job_def("observe").execute_in_process(
                instance=self.instance, run_config=QUIET, raise_on_error=False
            )

    def _needed_manifests(self, datasets: Sequence[str]) -> Iterator[PartitionTask]:
        """Examples and manifest, unless the frozen manifest already is of this very dataset entry and source."""
        keys = (self.graph.key(AssetName.EXAMPLES), self.graph.key(AssetName.MANIFEST))
        for dataset in datasets:
            if self._is_prepared(dataset):
                self._note(StepResult("manifest", dataset, State.KEPT))
            else:
                yield PartitionTask("manifest", dataset, "prepare", keys, dataset)

    def _is_prepared(self, dataset: str) -> bool:
        if not self.lake.has(self.graph.name, AssetName.MANIFEST, dataset=dataset):
            return False
        try:
            stored = metadata_of(self.lake.read(self.graph.name, AssetName.MANIFEST, dataset=dataset))
        except GateRefused:  # changed on disk: made anew
            return False
        return stored.get("dataset_version") == self.graph.dataset_version(self.graph.spec.dataset(dataset))

    def _measure(
        self, ready: dict[str, list[str]], force: bool, options: dict[str, Any]
    ) -> set[tuple[str | None, str | None]]:
        """Asks what is needed; returns every (dataset, backend) that was made."""
        stopped: set[str] = set()  # the same key would be refused on every other dataset
        changed = set()
        for outcome in self._carrier.carry_out(self._needed_cells(ready, force, options, stopped)):
            dataset, backend = outcome.task.cell or (None, None)
            if outcome.unavailable is not None and backend is not None:
                self.result.unavailable[backend] = outcome.unavailable
                stopped.add(backend)
                continue
            self._note(outcome.result)
            if outcome.result.state is State.MADE:
                changed.add((dataset, backend))
            if outcome.result.stops_backend and backend is not None:
                stopped.add(backend)
        return changed

    def _needed_cells(
        self, ready: dict[str, list[str]], force: bool, options: dict[str, Any], stopped: set[str]
    ) -> Iterator[PartitionTask]:
        keys = tuple(self.graph.key(name) for name in measured_assets(self.graph))
        config = {f"{self.graph.name}__collect": {"config": options}}
        for backend, datasets in ready.items():
            for dataset in datasets:
                if backend in stopped:
                    break
                where = f"{dataset} x {backend}"
                if not force and self._is_measured(dataset, backend):
                    self._note(StepResult("predictions", where, State.KEPT))
                    continue
                cell = self.graph.cell(dataset, backend)
                yield PartitionTask("predictions", where, "measure", keys, cell, (dataset, backend), config)

    def _is_measured(self, dataset: str, backend: str) -> bool:
        try:
            load_gated(self.lake, self.graph, dataset, backend)
            self.lake.read(self.graph.name, AssetName.METRICS, dataset=dataset, backend=backend)
        except GateRefused:
            return False
        return True

    def _needed_pairs(
        self, datasets: Sequence[str], changed: set[tuple[str | None, str | None]]
    ) -> Iterator[PartitionTask]:
        keys = (self.graph.key(AssetName.PAIRED_DIFFERENCES),)
        for dataset in datasets:
            for pair in self.graph.spec.pair_names:
                both = pair.split(PAIR_SEPARATOR)
                where = f"{dataset} x {pair}"
                there = self.lake.has(self.graph.name, AssetName.PAIRED_DIFFERENCES, dataset=dataset, pair=pair)
                if there and not any((dataset, backend) in changed for backend in both):
                    continue
                try:
                    for backend in both:
                        load_gated(self.lake, self.graph, dataset, backend)
                except GateRefused as refusal:
                    self._note(StepResult("paired_differences", where, State.WITHHELD, str(refusal)))
                    continue
                partition = self.graph.pair_cell(dataset, pair)
                yield PartitionTask("paired_differences", where, "analyse_paired_differences", keys, partition)

    def _needed_analyses(self, datasets: Sequence[str]) -> Iterator[PartitionTask]:
        """Every analysis partition whose predictions pass their gates, unless it is already of these predictions."""
        readable = ReadableAnalyses(self.lake, self.graph)
        for analysis, tables in analysis_tables(self.graph).items():
            keys = tuple(self.graph.key(asset) for asset in tables)
            for partition in readable.partitions(analysis):
                if partition.dataset not in datasets:
                    continue
                if not all(readable.is_current(asset, partition) for asset in tables):
                    yield PartitionTask(analysis, str(partition), f"analyse_{analysis}", keys, partition.key)

    def _carry_out(self, tasks: Iterable[PartitionTask]) -> list[StepResult]:
        return [self._note(outcome.result) for outcome in self._carrier.carry_out(tasks)]

    def _note(self, step: StepResult) -> StepResult:
        self.result.steps.append(step)
        self._report(step)
        return step


def _known(asked: Sequence[str], known: Sequence[str], kind: str) -> Sequence[str]:
    for name in asked:
        if name not in known:
            raise StudyError(f"This study has no {kind} '{name}': use one of {', '.join(known)}.")
    return [name for name in known if name in asked] if asked else known
