"""Runs a study partition by partition in this process, on the instance that the UI shows.

A backfill from the UI starts a process per partition and waits for a daemon; in one process models load once and a
partition costs a fraction of a second. Each partition is still a Dagster run of its own, so one that fails stops
nothing but what depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import dagster as dg

from zs_assets.assets.analysis_inputs import ReadableAnalyses, analysis_tables
from zs_assets.assets.cells import cell_problem
from zs_assets.assets.gated_reading import load_gated
from zs_assets.assets.graph import StudyGraph
from zs_assets.assets.resources import ProgressSink, Workspace
from zs_assets.components.dead_runs import end_dead_runs, process_tags
from zs_assets.components.resources import study_resources
from zs_assets.components.study import measured_assets, study_definitions
from zs_assets.protocol.code_identity import CODE_TAG, code_identity
from zs_assets.protocol.errors import CollectionStopped, GateRefused, StudyError, ZsAssetsError
from zs_assets.protocol.names import PAIR_SEPARATOR, AssetName
from zs_assets.storage.lake import metadata_of

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


@dataclass
class LoopResult:
    steps: list[StepResult] = field(default_factory=list)
    unavailable: dict[str, str] = field(default_factory=dict)  # backend -> the sentence that says what is missing

    @property
    def failed(self) -> list[StepResult]:
        return [step for step in self.steps if step.state is State.FAILED]


class PartitionLoop:
    """One study, one process.

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
    ):
        self.graph = graph
        self.instance = instance
        end_dead_runs(instance)  # a killed command's run would hold its place in the pool for ever
        self.workspace = Workspace.from_environment()
        self.lake = self.workspace.lake
        self.resources = resources or study_resources(progress)
        self.assets: list[Any] = list(study_definitions(graph).assets or [])
        self.result = LoopResult()
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
        changed = set()
        ready = {backend: self.ready(backend, prepared, datasets) for backend in backends}
        self._about_to_ask([(dataset, backend) for backend in backends for dataset in ready[backend]])
        for backend in backends:
            for dataset in ready[backend]:
                step = self._measure(dataset, backend, force or retry_errors, options)
                if step.state is State.MADE:
                    changed.add((dataset, backend))
                if step.stops_backend:
                    break  # the same key would be refused on every other dataset
        self._compare(prepared, changed)
        self._analyse(prepared)
        self.summarise()
        return self.result

    def summarise(self) -> None:
        """Manifest file, means, rankings, warehouse and report over everything that passes its gates now."""
        names = [AssetName.RANKINGS.value, AssetName.WAREHOUSE.value, AssetName.REPORT.value, "manifest_file"]
        if self.graph.spec.pairs:
            names.append(AssetName.DATASET_MEANS.value)
        self._materialize("summary", [dg.AssetKey([self.graph.name, name]) for name in names])

    def publish(self) -> StepResult:
        return self._materialize("publication", [self.graph.key(AssetName.PUBLICATION)])

    def known(self, backends: Sequence[str], datasets: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
        """The backends and datasets asked for, in the study's order; none means all. StudyError on an unknown one."""
        spec = self.graph.spec
        return (
            _known(backends, spec.backends, "backend"),
            _known(datasets, tuple(dataset.name for dataset in spec.datasets), "dataset"),
        )

    def prepare(self, datasets: Sequence[str]) -> list[str]:
        """Examples and manifests of these datasets; returns those that are there afterwards."""
        return [dataset for dataset in datasets if self._prepare(dataset)]

    def ready(self, backend: str, prepared: Sequence[str], asked: Sequence[str]) -> list[str]:
        """The prepared datasets on which the backend can start; where it cannot, the sentence why is kept."""
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

    def _prepare(self, dataset: str) -> bool:
        """Examples and manifest, unless the frozen manifest already is of this very dataset entry and source."""
        spec = self.graph.spec.dataset(dataset)
        if self.lake.has(self.graph.name, AssetName.MANIFEST, dataset=dataset):
            try:
                stored = metadata_of(self.lake.read(self.graph.name, AssetName.MANIFEST, dataset=dataset))
                if stored.get("dataset_version") == self.graph.dataset_version(spec):
                    self._note(StepResult("manifest", dataset, State.KEPT))
                    return True
            except GateRefused:
                pass  # changed on disk: made anew below
        keys = [self.graph.key(AssetName.EXAMPLES), self.graph.key(AssetName.MANIFEST)]
        return self._materialize("manifest", keys, dataset).state is State.MADE

    def _measure(self, dataset: str, backend: str, force: bool, options: dict[str, Any]) -> StepResult:
        where = f"{dataset} x {backend}"
        if not force:
            try:
                load_gated(self.lake, self.graph, dataset, backend)
                self.lake.read(self.graph.name, AssetName.METRICS, dataset=dataset, backend=backend)
                return self._note(StepResult("predictions", where, State.KEPT))
            except GateRefused:
                pass
        keys = [self.graph.key(name) for name in measured_assets(self.graph)]
        config = {"ops": {f"{self.graph.name}__collect": {"config": options}}}
        return self._materialize("predictions", keys, self.graph.cell(dataset, backend), where, config)

    def _compare(self, datasets: Sequence[str], changed: set[tuple[str, str]]) -> None:
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
                key = self.graph.key(AssetName.PAIRED_DIFFERENCES)
                self._materialize("paired_differences", [key], self.graph.pair_cell(dataset, pair), where)

    def _analyse(self, datasets: Sequence[str]) -> None:
        """Every analysis partition whose predictions pass their gates, unless it is already of these predictions."""
        readable = ReadableAnalyses(self.lake, self.graph)
        for analysis, tables in analysis_tables(self.graph).items():
            for partition in readable.partitions(analysis):
                if partition.dataset not in datasets:
                    continue
                if not all(readable.is_current(asset, partition) for asset in tables):
                    keys = [self.graph.key(asset) for asset in tables]
                    self._materialize(analysis, keys, partition.key, str(partition))

    def _materialize(
        self,
        step: str,
        keys: Sequence[dg.AssetKey],
        partition: str | None = None,
        where: str | None = None,
        config: dict[str, Any] | None = None,
    ) -> StepResult:
        result = dg.materialize(
            self.assets,
            selection=list(keys),
            partition_key=partition,
            instance=self.instance,
            resources=self.resources,
            run_config={**QUIET, **(config or {})},
            tags={**process_tags(), CODE_TAG: code_identity().code_sha256},
            raise_on_error=False,
        )
        where = where or partition or self.graph.name
        if result.success:
            return self._note(StepResult(step, where, State.MADE))
        return self._note(StepResult(step, where, State.FAILED, failure_reason(result), _stops_backend(result)))

    def _note(self, step: StepResult) -> StepResult:
        self.result.steps.append(step)
        self._report(step)
        return step


def _known(asked: Sequence[str], known: Sequence[str], kind: str) -> Sequence[str]:
    for name in asked:
        if name not in known:
            raise StudyError(f"This study has no {kind} '{name}': use one of {', '.join(known)}.")
    return [name for name in known if name in asked] if asked else known


def failure_reason(result: dg.ExecuteInProcessResult) -> str:
    """The sentence of the first failed step: a gate's, an error of ours, or the exception's last line."""
    for event in result.all_node_events:
        if not event.is_step_failure:
            continue
        data = event.step_failure_data
        if data.user_failure_data is not None and data.user_failure_data.description:
            return data.user_failure_data.description
        error = _own_or_innermost(data.error)
        if error is not None:
            # Dagster prints a class with its path: `zs_assets.protocol.errors.SourceError: the sentence`.
            return error.message.strip().removeprefix(f"{ZsAssetsError.__module__}.{error.cls_name}: ")
    checks = [check for check in result.get_asset_check_evaluations() if not check.passed]
    if checks:
        return f"gate {checks[0].check_name}: {checks[0].metadata['verdict'].value}"
    return "the run failed without saying why; see it in the Dagster UI"


def _own_or_innermost(error: dg.SerializableErrorInfo | None) -> dg.SerializableErrorInfo | None:
    """The first error of ours in the chain, since its sentence names the fix; else what was raised first."""
    own = {kind.__name__ for kind in (ZsAssetsError, *_kinds_of(ZsAssetsError))}
    while error is not None and error.cls_name not in own and error.cause is not None:
        error = error.cause
    return error


def _kinds_of(kind: type) -> list[type]:
    direct: list[type] = kind.__subclasses__()
    return [found for child in direct for found in (child, *_kinds_of(child))]


def _stops_backend(result: dg.ExecuteInProcessResult) -> bool:
    failures = [event.step_failure_data for event in result.all_node_events if event.is_step_failure]
    found = [_own_or_innermost(failure.error) for failure in failures]
    return any(error is not None and error.cls_name == CollectionStopped.__name__ for error in found)
