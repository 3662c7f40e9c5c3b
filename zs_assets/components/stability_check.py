"""One system's own stability in minutes: a part of the study's plan of rotations, asked for real.

The replies go into the study's own journal, in the study's own sequence, and the run of the whole study goes on from
them. Nothing is written to the lake: a part of the orders finds smaller ranges than all of them, so its figures are a
lower bound of the study's and no result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from zs_assets.assets.cells import cell_backend, cell_budget, journal_header, names_labels_only
from zs_assets.assets.graph import StudyGraph
from zs_assets.assets.order_scores_reading import order_scores_of
from zs_assets.assets.resources import Workspace
from zs_assets.collection import Progress, collect
from zs_assets.components.stability_part import AskedPart, StabilityPart, StabilityPlan, plan_stability
from zs_assets.gates.predictions import one_model
from zs_assets.protocol.analyses import OrderSensitivityAnalysis
from zs_assets.protocol.errors import BackendUnavailable, CollectionStopped, JournalError, StorageError, StudyError
from zs_assets.protocol.names import Outcome
from zs_assets.protocol.plan import option_orders, repeats_per_order
from zs_assets.stats import (
    OrderScores,
    clopper_pearson_interval,
    order_effect,
    repeat_controls,
    sample_sensitivity,
    summarise_ranges,
)


@dataclass(frozen=True)
class StabilityStop:
    """A dataset x backend without figures, and the sentence why; its replies so far are kept."""

    dataset: str
    backend: str
    reason: str


@dataclass(frozen=True)
class StabilityRow:
    """One dataset x backend. Ranges and differences are percentage points; costs USD, None where unknown.

    `large` counts the complete samples whose range reaches the threshold, `large_texts` the distinct texts, each by its
    first complete sample: copies of a text are no further evidence. `large_low` and `large_high` are the exact bounds
    (Clopper-Pearson, 95 %) of the texts' share. Figures of repeats are None where each order was asked once. `group` is
    the sample group that was asked about; None: the whole manifest.
    """

    dataset: str
    backend: str
    group: str | None
    samples: int
    complete: int
    texts: int
    orders: int
    planned_orders: int
    repeats: int
    planned_repeats: int
    median_range: float
    p95_range: float
    max_range: float
    threshold_points: int
    large: int
    large_texts: int
    large_low: float
    large_high: float
    winner_changes: int
    tied: int
    different_order: float
    same_order: float | None
    excess: float | None
    noise_median_range: float | None
    asked: int
    cost_usd: float | None
    whole_study_usd: float | None


def stability_run(
    workspace: Workspace,
    graph: StudyGraph,
    cells: Sequence[tuple[str, str]],
    part: StabilityPart,
    *,
    max_usd: float | None = None,
    progress: Callable[[str, str, Progress], None] | None = None,
    about_to_ask: Callable[[StabilityPlan], None] | None = None,
) -> Iterator[StabilityRow | StabilityStop]:
    """Asks the part of the plan of every (dataset, backend) and says how far the scores moved.

    Datasets of one order are passed over; `about_to_ask` hears of them and of the parts before the first call. What the
    journal holds is not asked again; a backend that stops (wrong key, budget, quota) stops nobody else.

    Raises StudyError before the first call where no dataset is shown in rotations, or the part is none of the plan.
    """
    plan = plan_stability(workspace, graph, [dataset for dataset, _ in cells], part)
    if about_to_ask is not None:
        about_to_ask(plan)
    stopped: set[str] = set()
    for dataset, backend in cells:
        asked = plan.parts.get(dataset)
        if backend in stopped or asked is None:
            continue

        def show(now: Progress, dataset: str = dataset, backend: str = backend) -> None:
            if progress is not None:
                progress(dataset, backend, now)

        try:
            predictions = _ask(workspace, graph, dataset, backend, asked, max_usd, show)
        except (CollectionStopped, BackendUnavailable, JournalError, StorageError) as stop:
            stopped.add(backend)
            yield StabilityStop(dataset, backend, str(stop))
            continue
        except StudyError as problem:
            yield StabilityStop(dataset, backend, str(problem))
            continue
        yield _figures(graph, dataset, backend, asked, predictions)


def _ask(
    workspace: Workspace,
    graph: StudyGraph,
    dataset: str,
    backend: str,
    asked: AskedPart,
    max_usd: float | None,
    show: Callable[[Progress], None],
) -> pa.Table:
    system = cell_backend(workspace.places, graph, dataset, backend, asked.planned.question)
    if names_labels_only(system):
        raise StudyError(_without_scores(backend))
    budget = cell_budget(workspace, graph, dataset, backend, max_usd)
    return collect(
        system,
        asked.presentations(),
        workspace.places.journal(graph.name, dataset, backend),
        journal_header(graph, asked.planned, dataset, backend, system),
        attempt_budget=graph.spec.attempt_budget,
        max_usd=budget.max_usd,
        elsewhere_usd=budget.elsewhere_usd,
        on_progress=show,
    ).predictions


def _without_scores(backend: str) -> str:
    return (
        f"Backend '{backend}' names labels and gives no scores, so nothing of it moves: choose one that gives scores."
    )


def _figures(
    graph: StudyGraph, dataset: str, backend: str, asked: AskedPart, predictions: pa.Table
) -> StabilityRow | StabilityStop:
    models = one_model(predictions)
    if models.stops:
        return StabilityStop(dataset, backend, f"{models.sentence}: how far one system moves cannot be told from them.")
    scores = _scores_of(asked, predictions, graph.systems[backend].decimals)
    complete = scores.of(scores.score_complete)
    if not len(complete):
        return StabilityStop(dataset, backend, _why_none(backend, scores, predictions))
    analysis = graph.spec.analyses.order_sensitivity or OrderSensitivityAnalysis()
    found = sample_sensitivity(complete)
    ranges = summarise_ranges(found.range_points)
    assert ranges is not None  # there are samples
    large = found.reaches(analysis.threshold_points)
    hashes = np.asarray([example.text_sha256 for example in asked.examples])[scores.score_complete]
    _, firsts = np.unique(hashes, return_index=True)
    large_texts = int(large[firsts].sum())
    share = clopper_pearson_interval(large_texts, len(firsts))
    controls = repeat_controls(complete)
    rng = np.random.default_rng(analysis.seed)
    effect = order_effect(complete, permutations=analysis.permutations, rng=rng) if complete.n_repeats > 1 else None
    cost = None if predictions["cost_usd"].null_count else float(pc.sum(predictions["cost_usd"]).as_py())
    planned = asked.planned
    return StabilityRow(
        dataset=dataset,
        backend=backend,
        group=asked.group,
        samples=len(asked.examples),
        complete=len(complete),
        texts=len(firsts),
        orders=len(asked.orders),
        planned_orders=len(option_orders(len(planned.question), planned.plan)),
        repeats=asked.repeats,
        planned_repeats=repeats_per_order(len(planned.question), planned.plan),
        median_range=ranges.median,
        p95_range=ranges.p95,
        max_range=ranges.maximum,
        threshold_points=analysis.threshold_points,
        large=int(large.sum()),
        large_texts=large_texts,
        large_low=float(share.low),
        large_high=float(share.high),
        winner_changes=int(found.winner_change.sum()),
        tied=int(found.tied.sum()),
        different_order=float(controls.different_order.mean()),
        same_order=None if controls.same_order is None else float(controls.same_order.mean()),
        excess=None if controls.excess is None else float(controls.excess.mean()),
        noise_median_range=None if effect is None or effect.noise is None else effect.noise.median_range.mean,
        asked=predictions.num_rows,
        cost_usd=cost,
        whole_study_usd=None if cost is None else cost / predictions.num_rows * len(planned.presentations),
    )


def _scores_of(asked: AskedPart, predictions: pa.Table, decimals: int | None) -> OrderScores:
    """The replies of the part alone: samples x chosen orders x first repeats."""
    planned = asked.planned
    orders = np.asarray(option_orders(len(planned.question), planned.plan), dtype=np.int64)
    every = order_scores_of(
        predictions,
        n_options=len(planned.question),
        n_orders=len(orders),
        n_repeats=asked.repeats,
        example_ids=[example.example_id for example in asked.examples],
        option_ids=planned.question.ids,
        orders=orders,
        decimals=decimals,
    )
    chosen = list(asked.orders)
    return OrderScores(every.scores[:, chosen], every.chosen[:, chosen], orders[chosen], decimals)


def _why_none(backend: str, scores: OrderScores, predictions: pa.Table) -> str:
    outcomes = predictions["outcome"].to_pylist()
    if scores.scored.any():
        return (
            f"No sample has all its replies with scores ({int(scores.scored.sum())} of {scores.scored.size} have): "
            "raise --limit, or see with `zs-assets run` why replies fail."
        )
    if Outcome.OK.value in outcomes:
        return _without_scores(backend)
    counted = ", ".join(f"{outcomes.count(name)} {name}" for name in dict.fromkeys(outcomes))
    problem = next((said for said in predictions["problem"].to_pylist() if said), "no reason given")
    return f"No reply of '{backend}' holds scores ({counted}; first: {problem}): nothing can be said of its stability."
