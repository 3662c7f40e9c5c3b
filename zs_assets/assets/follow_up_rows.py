"""Which presentations a follow-up asks again, how it asks them, and what that makes of their samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from zs_assets.assets.cells import cell_backend, cell_budget, cell_is_imported, journal_header, names_labels_only
from zs_assets.assets.frozen_plan import require_frozen_plan
from zs_assets.assets.gated_reading import GatedPartition
from zs_assets.assets.graph import StudyGraph
from zs_assets.assets.resources import Workspace
from zs_assets.backends.base import Backend
from zs_assets.collection import Collected, Progress, Share, collect
from zs_assets.protocol.errors import StudyError
from zs_assets.protocol.names import Outcome
from zs_assets.protocol.question import Question
from zs_assets.stats.order_scores import NO_LABEL, OrderScores
from zs_assets.storage.order_schemas import FOLLOW_UP, LABEL_MISMATCH, NO_SCORES

OTHER_MODEL = "other_model"
"""What an alias that moved since the predictions answers restores no sample of theirs."""
FURTHER_TRIES = 3
"""Of each affected presentation, as published; it stops at the first valid result."""


@dataclass(frozen=True)
class CompleteSamples:
    """Samples of which every presentation has scores and passes the label check."""

    samples: int
    before: int
    after: int  # recovered presentations counted in


def affected_presentations(system: Backend, partition: GatedPartition) -> dict[str, str]:
    """Presentation id -> reason, of what a follow-up of this system would ask again.

    None of a label-only system: it never gives scores, so that no further reply could complete a sample. Third-party
    interfaces are told by their answers: label-only is who answered and gave no vector at all.
    """
    predictions = partition.predictions
    answered = Outcome.OK.value in predictions["outcome"].to_pylist()
    without_vector = predictions["probabilities"].null_count == predictions.num_rows
    if names_labels_only(system) or (answered and without_vector):
        return {}
    return incomplete_presentations(predictions, partition.planned.question)


def incomplete_presentations(predictions: pa.Table, question: Question) -> dict[str, str]:
    """Presentation id -> why it keeps its sample from being complete: an outcome, no_scores or label_mismatch."""
    ids = predictions["presentation_id"].to_pylist()
    outcomes = predictions["outcome"].to_pylist()
    scored = np.asarray(predictions["probabilities"].is_valid(), dtype=bool)
    fits = _label_fits(predictions.filter(pa.array(scored)), question)
    # Where the row stands among the scored ones.
    at = np.cumsum(scored) - 1
    found = {}
    for row, (name, outcome) in enumerate(zip(ids, outcomes, strict=True)):
        if outcome == Outcome.NOT_APPLICABLE.value:
            continue
        if outcome != Outcome.OK.value:
            found[name] = outcome
        elif not scored[row]:
            found[name] = NO_SCORES
        elif not fits[at[row]]:
            found[name] = LABEL_MISMATCH
    return found


def _label_fits(scored: pa.Table, question: Question) -> np.ndarray:
    """bool (n,) by the one definition of the label check, that of the statistics."""
    n, k = scored.num_rows, len(question)
    scores = np.asarray(scored["probabilities"].to_pylist(), dtype=np.float64).reshape(n, 1, 1, k)
    chosen = [question.index_of.get(choice, NO_LABEL) for choice in scored["choice"].to_pylist()]
    replies = OrderScores(scores, np.asarray(chosen, dtype=np.int64).reshape(n, 1, 1), np.arange(k)[None, :])
    return replies.label_fits[:, 0, 0]


def ask_again(
    workspace: Workspace,
    graph: StudyGraph,
    dataset: str,
    backend: str,
    partition: GatedPartition,
    *,
    max_usd: float | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    share: Share = 1,
    log: Callable[[str], None] | None = None,
    run_id: str = "",
) -> pa.Table:
    """One row per affected presentation; each round asks what no round before it recovered.

    `share` divides the provider's limits among the runs that its pool admits at once, and `log` is told of it, both as
    for `collect`. A round is a collection with a journal of its own, so that what it received is never asked nor paid
    again.

    Raises CollectionStopped, JournalError and BackendUnavailable as `collect` does; the journals keep every reply.
    StudyError where the answers were imported (the file would say the same again), or the plan changed since.
    """
    if cell_is_imported(workspace, graph, dataset, backend):
        raise StudyError(
            f"The answers of {graph.name} {dataset} x {backend} were imported: a file cannot be asked again. Leave "
            "this backend out of the follow-up."
        )
    planned = partition.planned
    require_frozen_plan(graph, dataset, planned)
    system = cell_backend(workspace.places, graph, dataset, backend, planned.question)
    reasons = affected_presentations(system, partition)
    rows = {name: _new_row(dataset, backend, name, reason) for name, reason in reasons.items()}
    for presentation in planned.presentations:
        if presentation.id in rows:
            rows[presentation.id]["example_id"] = presentation.example.example_id
    models = pc.unique(partition.predictions["model_resolved"].drop_null())
    for number in range(1, FURTHER_TRIES + 1):
        again = [p for p in planned.asking() if p.id in rows and not rows[p.id]["recovered"]]
        if not again:
            break
        budget = cell_budget(workspace, graph, dataset, backend, max_usd, follow_up_round=number)
        collected = collect(
            system,
            again,
            workspace.places.follow_up_journal(graph.name, dataset, backend, number),
            journal_header(graph, planned, dataset, backend, system),
            attempt_budget=graph.spec.attempt_budget,
            max_usd=budget.max_usd,
            elsewhere_usd=budget.elsewhere_usd,
            on_progress=on_progress,
            share=share,
            log=log,
            run_id=run_id,
        )
        _note_round(rows, collected, planned.question, models, system.spec.is_free)
    return pa.Table.from_pylist(list(rows.values()), schema=FOLLOW_UP)


def _new_row(dataset: str, backend: str, name: str, reason: str) -> dict[str, Any]:
    said = {"presentation_id": name, "reason": reason, "outcome": reason}
    return {"dataset": dataset, "backend": backend, "tries": 0, "recovered": False, "cost_usd": 0.0, **said}


def _note_round(
    rows: dict[str, dict[str, Any]], collected: Collected, question: Question, models: pa.Array, is_free: bool
) -> None:
    still = _of_other_models(collected.predictions, models) | incomplete_presentations(collected.predictions, question)
    costs = _costs(collected.attempts, is_free)
    for name in collected.predictions["presentation_id"].to_pylist():
        row, usd = rows[name], costs.get(name, 0.0)
        row["tries"] += 1
        row["outcome"] = still.get(name, Outcome.OK.value)
        row["recovered"] = name not in still
        row["cost_usd"] = None if usd is None or row["cost_usd"] is None else row["cost_usd"] + usd


def _of_other_models(replies: pa.Table, models: pa.Array) -> dict[str, str]:
    """Presentation id -> other_model, of replies by none of the models behind the predictions, where one is known."""
    if not len(models):
        return {}
    named = replies.filter(pc.is_valid(replies["model_resolved"]))
    other = named.filter(pc.invert(pc.is_in(named["model_resolved"], value_set=models)))
    return dict.fromkeys(other["presentation_id"].to_pylist(), OTHER_MODEL)


def _costs(attempts: pa.Table, is_free: bool) -> Mapping[str, float | None]:
    """USD of each presentation's calls; None once one call's cost is unknown.

    A call that the system refused with a status billed no answer; one that met no answer at all may have been billed.
    """
    costs: dict[str, float | None] = {}
    for row in attempts.select(["presentation_id", "result", "status", "cost_usd"]).to_pylist():
        usd = row["cost_usd"]
        if is_free or (row["result"] != "reply" and row["status"] is not None):
            usd = 0.0
        before = costs.get(row["presentation_id"], 0.0)
        costs[row["presentation_id"]] = None if usd is None or before is None else before + usd
    return costs


def complete_samples(partition: GatedPartition, follow_up: pa.Table) -> CompleteSamples:
    """Strict-complete samples before the follow-up, and after it when recovered presentations count."""
    missing = set(incomplete_presentations(partition.predictions, partition.planned.question))
    recovered = {row["presentation_id"] for row in follow_up.to_pylist() if row["recovered"]}
    example_of = dict(
        zip(*(partition.predictions[name].to_pylist() for name in ("presentation_id", "example_id")), strict=True)
    )
    samples = set(example_of.values())
    if Outcome.NOT_APPLICABLE.value in partition.predictions["outcome"].to_pylist():
        return CompleteSamples(len(samples), 0, 0)
    before, after = ({example_of[name] for name in names} for names in (missing, missing - recovered))
    return CompleteSamples(len(samples), len(samples) - len(before), len(samples) - len(after))
