"""Gated predictions of one system -> what the choice-order statistics read: scores, outcomes and faults by sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from zs_assets.assets.answers import is_applicable
from zs_assets.assets.gated_reading import GatedPartition, PlannedPartition
from zs_assets.assets.order_scores_reading import order_scores_of, reply_positions
from zs_assets.backends.systems import SystemSpec
from zs_assets.protocol.names import Outcome
from zs_assets.protocol.plan import option_orders, repeats_per_order
from zs_assets.protocol.question import ALL_GROUPS
from zs_assets.protocol.study import Plan
from zs_assets.stats import OrderScores

ANSWERED = "reply"
"""Result of an attempt that brought a reply, in the attempts table."""


@dataclass(frozen=True, eq=False)
class PlannedSamples:
    """The samples that every system of a dataset was asked about.

    Attributes
    ----------
    texts : int64 (n,)
        Cluster of each sample: byte-identical texts are one.
    groups : dict of str to bool (n,)
        `all`, and every group that the manifest names.
    gold : int64 (n,) or None
    orders : int64 (O, K)
    """

    planned: PlannedPartition
    texts: np.ndarray
    groups: dict[str, np.ndarray]
    gold: np.ndarray | None
    orders: np.ndarray
    repeats: int

    def __len__(self) -> int:
        return len(self.texts)


@dataclass(frozen=True, eq=False)
class OrderCell:
    """One system's part of the study of a dataset.

    Attributes
    ----------
    why_not : str or None
        Why the system is not compared; None: it is.
    outcomes : object (n, O, R)
        Outcome of every planned reply.
    faults, recovered : int64 (n,)
        Calls without a reply, and replies that came after one, by sample.
    cost_usd : float or None
        Mean cost of a scored reply; None where one is unknown.
    """

    backend: str
    scores: OrderScores
    outcomes: np.ndarray
    faults: np.ndarray
    recovered: np.ndarray
    cost_usd: float | None
    model: str | None
    why_not: str | None


def planned_samples(planned: PlannedPartition, plan: Plan) -> PlannedSamples:
    """Orders, text clusters, sample groups and gold of a dataset's manifest."""
    examples = planned.examples
    _, texts = np.unique([example.text_sha256 for example in examples], return_inverse=True)
    named = dict.fromkeys(example.group for example in examples if example.group is not None)
    groups = {ALL_GROUPS: np.ones(len(examples), dtype=bool)}
    for name in named:
        groups[name] = np.asarray([example.group == name for example in examples])
    labelled = all(example.target_index is not None for example in examples)
    options = len(planned.question)
    return PlannedSamples(
        planned=planned,
        texts=texts.astype(np.int64),
        groups=groups,
        gold=np.asarray([example.target_index for example in examples], dtype=np.int64) if labelled else None,
        orders=np.asarray(option_orders(options, plan), dtype=np.int64),
        repeats=repeats_per_order(options, plan),
    )


def order_cell(
    samples: PlannedSamples, backend: str, system: SystemSpec, partition: GatedPartition, attempts: pa.Table
) -> OrderCell:
    """The arrays of one gated partition; a system that gives no scores is there, with the reason why not compared."""
    table = partition.predictions
    ids = [example.example_id for example in samples.planned.examples]
    shape = (len(samples), len(samples.orders), samples.repeats)
    scores = order_scores_of(
        table,
        n_options=samples.orders.shape[1],
        n_orders=shape[1],
        n_repeats=shape[2],
        example_ids=ids,
        option_ids=samples.planned.question.ids,
        orders=samples.orders,
        decimals=system.decimals,
    )
    outcomes = np.empty(shape, dtype=object)
    outcomes.reshape(-1)[reply_positions(table, ids, shape[1], shape[2])] = table["outcome"].to_numpy()
    faults, recovered = _faults(table, attempts, ids)
    return OrderCell(
        backend=backend,
        scores=scores,
        outcomes=outcomes,
        faults=faults,
        recovered=recovered,
        cost_usd=_mean_cost(table),
        model=next(iter(pc.unique(table["model_resolved"].drop_null()).to_pylist()), None),
        why_not=_why_not(table, scores),
    )


def _why_not(predictions: pa.Table, scores: OrderScores) -> str | None:
    if not is_applicable(predictions):
        return "its cap on options rules the question out"
    if not scores.scored.any():
        answered = bool(pc.any(pc.equal(predictions["outcome"], Outcome.OK.value)).as_py())
        return "it gives labels without scores" if answered else "none of its replies holds scores"
    return None


def _faults(predictions: pa.Table, attempts: pa.Table, ids: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Calls without a reply, and presentations that were answered after one, by sample."""
    unanswered = attempts.filter(pc.not_equal(attempts["result"], ANSWERED))
    number = {name: position for position, name in enumerate(ids)}
    faults = np.zeros(len(ids), dtype=np.int64)
    recovered = np.zeros(len(ids), dtype=np.int64)
    # A presentation's id is its example's, a slash, and its order and repeat.
    troubled = [name.rsplit("/", 1)[0] for name in unanswered["presentation_id"].to_pylist()]
    np.add.at(faults, [number[name] for name in troubled], 1)
    late = predictions.filter(
        pc.and_(
            pc.is_in(predictions["presentation_id"], unanswered["presentation_id"]),
            pc.is_valid(predictions["raw"]),
        )
    )
    np.add.at(recovered, [number[name] for name in late["example_id"].to_pylist()], 1)
    return faults, recovered


def _mean_cost(predictions: pa.Table) -> float | None:
    costs = predictions.filter(pc.equal(predictions["outcome"], Outcome.OK.value))["cost_usd"]
    return None if not len(costs) or costs.null_count else float(pc.mean(costs).as_py())
