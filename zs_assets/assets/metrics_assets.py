"""predictions -> metrics, one row per dataset x backend."""

from dataclasses import asdict
from fractions import Fraction
from typing import Any

import dagster as dg
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from zs_assets.assets.answers import answers_of, has_gold, is_applicable
from zs_assets.assets.gated_reading import GatedPartition, load_gated
from zs_assets.assets.graph import IO_MANAGER, StudyGraph
from zs_assets.assets.resources import Workspace
from zs_assets.assets.tables import definition_metadata
from zs_assets.protocol.names import AssetName, Outcome
from zs_assets.protocol.question import Question
from zs_assets.stats import evaluate
from zs_assets.storage.lake import with_metadata
from zs_assets.storage.schemas import METRICS

EACH_EXAMPLE_IS_EVIDENCE = (
    *("ece", "ece_linspace", "ece_by_level", "confidence_level_count"),
    *("coverage", "risk", "threshold", "accepted", "errors"),
)
"""Figures that take every row for an example of its own; null where examples are asked more than once."""


def metrics_asset(graph: StudyGraph) -> dg.AssetsDefinition:
    @dg.asset(
        key=graph.key(AssetName.METRICS),
        partitions_def=graph.cells,
        deps=[graph.key(AssetName.PREDICTIONS), graph.key(AssetName.ATTEMPTS)],
        io_manager_key=IO_MANAGER,
        group_name=graph.name,
        kinds={"parquet", "numpy"},
        code_version="2",  # 2: no calibration or coverage where an example is asked more than once
        description="One row per dataset x backend: accuracy, macro-F1, Brier, NLL, ECE, coverage, latency, cost.",
        metadata=definition_metadata(METRICS),
    )
    def metrics(context: dg.AssetExecutionContext, workspace: Workspace) -> dg.Output[pa.Table]:
        cell = context.partition_key.keys_by_dimension  # type: ignore[attr-defined]
        dataset, backend = cell["dataset"], cell["backend"]
        partition = load_gated(workspace.lake, graph, dataset, backend)
        attempts = workspace.lake.read(graph.name, AssetName.ATTEMPTS, dataset=dataset, backend=backend)
        row = metrics_row(graph, dataset, backend, partition, attempts) | {"rehearsal": workspace.rehearsal}
        table = with_metadata(
            pa.Table.from_pylist([row], schema=METRICS), protocol_hash=partition.planned.protocol_hash
        )
        shown = ("accuracy", "macro_f1", "brier", "nll", "ece", "coverage", "latency_p50_ms")
        return dg.Output(table, metadata={name: row[name] for name in shown if row.get(name) is not None})

    return metrics


def _choices_below_maximum(predictions: pa.Table, question: Question) -> int:
    """The label check: a system's own choice against its vector; a tie passes, and a mismatch refuses nothing."""
    chosen = pc.index_in(predictions["choice"], value_set=pa.array(question.ids))
    has_vector = pc.and_(pc.equal(predictions["outcome"], Outcome.OK.value), predictions["probabilities"].is_valid())
    named = pc.and_(has_vector, chosen.is_valid())
    vectors = pc.list_flatten(predictions["probabilities"].filter(named)).to_numpy().reshape(-1, len(question))
    score = vectors[np.arange(len(vectors)), chosen.filter(named).to_numpy()]
    return int(np.count_nonzero(score < vectors.max(axis=1)))


def metrics_row(
    graph: StudyGraph, dataset: str, backend: str, partition: GatedPartition, attempts: pa.Table
) -> dict[str, Any]:
    """One row of the metrics table; all metrics null where the system does not apply or nothing is labelled.

    Of a dataset whose examples are asked more than once there is no calibration and no coverage: copies of an example
    are no further evidence. Accuracy, macro-F1 and proper scores are means over the presentations.
    """
    table = partition.predictions
    system = graph.systems[backend]
    counted = {each["values"]: each["counts"] for each in table["outcome"].value_counts().to_pylist()}
    outcomes = {outcome: counted.get(outcome.value, 0) for outcome in Outcome}
    models = sorted(set(pc.unique(table["model_resolved"]).to_pylist()) - {None})
    row: dict[str, Any] = dict.fromkeys(METRICS.names)
    row |= {
        "dataset": dataset,
        "backend": backend,
        "title": system.title,
        "deployment": system.deployment,
        "model_resolved": models[0] if models else None,
        "applicable": is_applicable(table),
        "n": table.num_rows,
        **{f"{outcome.value}_count": count for outcome, count in outcomes.items()},
        "valid": outcomes[Outcome.OK],
        "failures": table.num_rows - outcomes[Outcome.OK] - outcomes[Outcome.NOT_APPLICABLE],
        "choice_below_maximum_count": _choices_below_maximum(table, partition.planned.question),
        "attempts": attempts.num_rows,
        # A null never disappears into a sum: how many costs are unknown is said beside the sum of the known.
        "cost_usd": pc.sum(attempts["cost_usd"]).as_py(),
        "cost_unknown_count": attempts["cost_usd"].null_count,
        "input_tokens": pc.sum(attempts["input_tokens"]).as_py(),
        "output_tokens": pc.sum(attempts["output_tokens"]).as_py(),
    }
    if row["applicable"] and has_gold(table):
        scores = asdict(
            evaluate(
                answers_of(partition, system, graph.spec.scoring), budget=Fraction(graph.spec.scoring.error_budget)
            )
        )
        row |= {name: scores[name] for name in scores if name in METRICS.names}
        if not graph.spec.plan_of(graph.spec.dataset(dataset)).asks_once:
            row |= dict.fromkeys(EACH_EXAMPLE_IS_EVIDENCE)
    return row
