"""A gated partition as the arrays that statistics take."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from zs_assets.assets.gated_reading import GatedPartition
from zs_assets.backends.systems import SystemSpec
from zs_assets.protocol.names import Outcome
from zs_assets.protocol.study import Scoring
from zs_assets.stats import FAILED, Answers, Confidence


def is_applicable(predictions: pa.Table) -> bool:
    """False where the system's option cap ruled the partition out before any call."""
    return not pc.all(pc.equal(predictions["outcome"], Outcome.NOT_APPLICABLE.value)).as_py()


def has_gold(predictions: pa.Table) -> bool:
    return predictions["target_index"].null_count == 0


@dataclass(frozen=True, eq=False)
class Decisions:
    """What a system decided, without any gold label.

    Attributes
    ----------
    predicted : int64 (n,)
        Option index; FAILED where the outcome is not ok.
    valid : bool (n,)
    confidence : Confidence of the valid rows, or None
    """

    predicted: np.ndarray
    valid: np.ndarray
    confidence: Confidence | None


def answers_of(partition: GatedPartition, system: SystemSpec, scoring: Scoring) -> Answers:
    """Arrays in the order of the predictions; rows that are not ok are failures, wrong everywhere."""
    # Safe casting raises where a gold label is missing, instead of making an option of it.
    gold = partition.predictions["target_index"].to_numpy().astype(np.int64, casting="safe")
    return _answers(partition, system, scoring, gold)


def decisions_of(partition: GatedPartition, system: SystemSpec, scoring: Scoring) -> Decisions:
    """The same without gold labels, whether there are any or not."""
    nothing = np.zeros(partition.predictions.num_rows, dtype=np.int64)
    answers = _answers(partition, system, scoring, nothing)
    return Decisions(answers.predicted, answers.valid, answers.scored_confidence if answers.valid.any() else None)


def _answers(partition: GatedPartition, system: SystemSpec, scoring: Scoring, gold: np.ndarray) -> Answers:
    table = partition.predictions
    question = partition.planned.question
    valid = pc.equal(table["outcome"], Outcome.OK.value).to_numpy()
    predicted = np.full(len(valid), FAILED, dtype=np.int64)
    if scoring.prediction == "choice":
        index = pc.index_in(table["choice"], value_set=pa.array(question.ids))
    else:
        index = table["predicted_index"]
    predicted[valid] = index.fill_null(FAILED).to_numpy()[valid]
    return Answers(
        gold=gold,
        predicted=predicted,
        valid=valid,
        n_classes=len(question),
        probabilities=_vectors(table, valid, len(question)),
        confidence=_floats(table, "confidence", valid) if scoring.confidence == "reported" else None,
        decimals=system.decimals,
        latency_ms=_floats(table, "latency_ms", valid),
        renormalise=scoring.renormalise,
    )


def _vectors(table: pa.Table, valid: np.ndarray, n_options: int) -> np.ndarray | None:
    """(n, K) with NaN on rows without a vector; None for a system that answers with labels only."""
    rows = table["probabilities"].filter(pa.array(valid))
    if rows.null_count:
        return None
    vectors = np.full((len(valid), n_options), np.nan)
    vectors[valid] = pc.list_flatten(rows).to_numpy().reshape(-1, n_options)
    return vectors


def _floats(table: pa.Table, column: str, valid: np.ndarray) -> np.ndarray | None:
    """(n,) with NaN on rows without a value; None where a valid row has none, as in a run recorded without it."""
    if table[column].filter(pa.array(valid)).null_count:
        return None
    return table[column].to_numpy().astype(float)
