"""The part of a study's plan that a stability check asks: which orders, repeats and examples of every dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from zs_assets.assets.gated_reading import PlannedPartition, read_manifest
from zs_assets.assets.graph import StudyGraph
from zs_assets.assets.resources import Workspace
from zs_assets.collection import estimate
from zs_assets.protocol.errors import StudyError
from zs_assets.protocol.plan import option_orders, repeats_per_order
from zs_assets.protocol.question import Example, Presentation
from zs_assets.protocol.study import Rotations


@dataclass(frozen=True)
class StabilityPart:
    """How much of the plan is asked; None: all of it."""

    orders: int | None = None
    repeats: int | None = None
    limit: int | None = None  # the first so many examples of the main group, or of the manifest without one


@dataclass(frozen=True)
class AskedPart:
    """The part of one dataset's plan, counted out. `orders` are indices of the plan's orders.

    `group` is the study's main group where the dataset has it: what is said is then of the population that the study
    speaks of, and not of whatever group the file begins with.
    """

    planned: PlannedPartition
    orders: tuple[int, ...]
    repeats: int
    examples: tuple[Example, ...]
    group: str | None

    def presentations(self) -> list[Presentation]:
        """In the sequence in which the whole study asks them."""
        wanted = {example.example_id for example in self.examples}
        return [
            p
            for p in self.planned.asking()
            if p.order_index in self.orders and p.repeat < self.repeats and p.example.example_id in wanted
        ]


@dataclass(frozen=True)
class StabilityPlan:
    """What is about to be asked: the part of every dataset shown in rotations; `left_out` are shown in one order."""

    parts: dict[str, AskedPart]
    left_out: tuple[str, ...]


def plan_stability(
    workspace: Workspace, graph: StudyGraph, datasets: Sequence[str], part: StabilityPart
) -> StabilityPlan:
    """Counts the part out of every dataset's plan.

    Raises StudyError where no dataset is shown in rotations, or the part is none of the plan.
    """
    parts = {name: _part_of(workspace, graph, name, part) for name in dict.fromkeys(datasets)}
    plan = StabilityPlan(
        {name: asked for name, asked in parts.items() if asked is not None},
        tuple(name for name, asked in parts.items() if asked is None),
    )
    if parts and not plan.parts:
        raise StudyError(
            f"Study '{graph.name}' shows {', '.join(parts)} in one order only: name a dataset whose plan says "
            "`orders: {kind: rotations, ...}`."
        )
    return plan


def planned_rows(graph: StudyGraph, plan: StabilityPlan, cells: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    """Calls, tokens, cost and time of the part, one entry per (dataset, backend) that is asked, as of an estimate."""
    return [
        {
            "dataset": dataset,
            "backend": backend,
            **asdict(estimate(graph.systems[backend], asked.planned.question, asked.presentations())),
        }
        for dataset, backend in cells
        if (asked := plan.parts.get(dataset)) is not None
    ]


def _part_of(workspace: Workspace, graph: StudyGraph, dataset: str, part: StabilityPart) -> AskedPart | None:
    """The part of this dataset's plan; None where it is shown in one order."""
    planned = read_manifest(workspace.lake, graph, dataset)
    if not isinstance(planned.plan.orders, Rotations):
        return None
    options = len(planned.question)
    orders = len(option_orders(options, planned.plan))
    chosen = _within(part.orders, 2, orders, "orders", dataset)
    group, examples = _main_group(graph, planned)
    of_group = "examples" if group is None else f"examples of group {group}"
    return AskedPart(
        planned=planned,
        # Evenly spaced, so that both directions take part in any even number of them.
        orders=tuple(orders * i // chosen for i in range(chosen)),
        repeats=_within(part.repeats, 1, repeats_per_order(options, planned.plan), "repeats", dataset),
        examples=examples[: _within(part.limit, 1, len(examples), of_group, dataset)],
        group=group,
    )


def _main_group(graph: StudyGraph, planned: PlannedPartition) -> tuple[str | None, tuple[Example, ...]]:
    """The study's main group and its examples; all examples where there is none."""
    analysis = graph.spec.analyses.order_sensitivity
    group = None if analysis is None else analysis.main_group
    own = tuple(example for example in planned.examples if group is not None and example.group == group)
    return (group, own) if own else (None, tuple(planned.examples))


def _within(asked: int | None, least: int, planned: int, what: str, dataset: str) -> int:
    if asked is None:
        return planned
    if not least <= asked <= planned:
        raise StudyError(f"{dataset} has {planned} {what} planned, {asked} were asked for: use {least} to {planned}.")
    return asked
