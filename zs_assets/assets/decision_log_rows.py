"""Two gated partitions of one dataset -> the rows of the decision log. Gold labels are never looked at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from zs_assets.assets.answers import decisions_of
from zs_assets.assets.gated_reading import GatedPartition
from zs_assets.assets.graph import StudyGraph
from zs_assets.protocol.question import Question
from zs_assets.stats import FAILED, TIER_NAMES, AgreementShare, DecisionLog, decision_log, tier_of
from zs_assets.storage.selective_schemas import DECISION_LOG


def decision_log_table(
    graph: StudyGraph, dataset: str, backends: Sequence[str], partitions: Sequence[GatedPartition]
) -> tuple[pa.Table, str]:
    """One dataset x (backend, reference): the table, and what it shows in one sentence."""
    scoring = graph.spec.scoring
    logged, reference = (
        decisions_of(partition, graph.systems[backend], scoring)
        for partition, backend in zip(partitions, backends, strict=True)
    )
    tier = None
    if logged.confidence is not None:
        tier = np.full(len(logged.predicted), FAILED, dtype=np.int64)
        tier[logged.valid] = tier_of(logged.confidence)
    log = decision_log(logged.predicted, reference.predicted, tier=tier)
    named = {"dataset": dataset, "backend": backends[0], "reference": backends[1]}
    rows = [named | row for row in _rows(log, partitions[0].planned.question)]
    return pa.Table.from_pylist(rows, schema=DECISION_LOG), log.sentence()


def _rows(log: DecisionLog, question: Question) -> Iterator[dict[str, Any]]:
    yield {"stratum": "all", **_share(log.overall)}
    if log.majority_decision is not None:
        decision = question.ids[log.majority_decision]
        yield {"stratum": "majority_baseline", "decision": decision, **_share(log.majority_baseline)}
    for entry in log.by_decision:
        yield {"stratum": "decision", "decision": question.ids[entry.decision], **_share(entry.agreement)}
    for tier in log.tiers:
        name = TIER_NAMES[tier.tier]
        yield {"stratum": "tier", "tier": name, **_share(tier.agreement)}
        for entry in tier.by_decision:
            decision = question.ids[entry.decision]
            yield {"stratum": "tier and decision", "tier": name, "decision": decision, **_share(entry.agreement)}


def _share(share: AgreementShare) -> dict[str, Any]:
    return {"n": share.n, "agree": share.agree, "share": share.share, "ci95_low": share.low, "ci95_high": share.high}
