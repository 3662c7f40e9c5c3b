"""May this study be published as it stands? One sentence at the top of the page, asked of the gates."""

from __future__ import annotations

from typing import Any

from zs_assets.report.inputs import Partition, ReportInputs
from zs_assets.report.verdicts import REHEARSAL
from zs_assets.report.wording import listed, plural


def publication_answer(inputs: ReportInputs) -> dict[str, Any]:
    """What publication itself would say: it refuses a failed gate, and leaves out what was never run.

    A published page says what passed; a command for its author would be noise to everybody else.
    """
    name = inputs.study.name
    failed = [verdict for verdict in inputs.verdicts if verdict.stops]
    run = partitions_run(inputs)
    stale = [gap for gap in inputs.missing if (gap.dataset, gap.backend) in run]
    never = [gap for gap in inputs.missing if (gap.dataset, gap.backend) not in run]
    if inputs.rehearsal:
        return _answer(False, f"Not publishable: {REHEARSAL}.")
    if failed:
        where = [f"{v.dataset or 'all datasets'} x {v.backend or 'all backends'} ({v.gate})" for v in failed]
        return _answer(False, f"Not publishable: {listed(where)} failed a gate.")
    if stale:
        where = [f"{gap.dataset} x {gap.backend}" for gap in stale]
        return _answer(False, f"Not publishable: {listed(where)} must be run again.")
    if not run:
        return _answer(False, f"Nothing to publish yet: run `zs-assets run {name}`.")
    state = "Published" if inputs.public else "Publishable"
    passes = f"every gate of the {len(run):,} partitions that were run passes"
    if len(run) == 1:
        passes = "every gate of the one partition that was run passes"
    said = f"{state}: {passes}"
    if never:
        said += f"; {plural(len(never), 'partition')} never run {'is' if len(never) == 1 else 'are'} left out"
    if inputs.public:
        return _answer(True, f"{said}.")
    asked = {backend for _, backend in run}
    hosted = [spec.title for backend, spec in inputs.systems.items() if backend in asked and not spec.is_free]
    first = f" Read the terms of {listed(hosted)} first, then run" if hosted else " Run"
    return _answer(True, f"{said}.{first} `zs-assets publish {name}`.")


def partitions_run(inputs: ReportInputs) -> set[Partition]:
    """Partitions that some gate was asked about: only what was run has predictions to ask about."""
    return {(verdict.dataset, verdict.backend) for verdict in inputs.verdicts if verdict.dataset and verdict.backend}


def missing_partitions(inputs: ReportInputs) -> list[dict[str, str]]:
    """Partitions without results, and why; a published page tells nobody which command to run."""
    run = partitions_run(inputs)
    found = []
    for gap in inputs.missing:
        never = (gap.dataset, gap.backend) not in run
        reason = f"{gap.dataset} x {gap.backend} was not run" if inputs.public and never else gap.reason
        found.append({"dataset": gap.dataset, "backend": gap.backend, "reason": reason})
    return found


def _answer(possible: bool, sentence: str) -> dict[str, Any]:
    return {"possible": possible, "sentence": sentence}
