"""What `run` does with --sample and --seed: a pilot before paying."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from zs_assets.cli.app import err, out, print_json

if TYPE_CHECKING:
    from zs_assets.components.pilot_run import PilotRow


def pilot(
    study: str,
    backends: Sequence[str],
    datasets: Sequence[str],
    size: int,
    seed: int,
    max_usd: float | None,
    as_json: bool,
) -> None:
    """Asks a seeded few of every sample and shows the mechanics; the replies count for the whole run."""
    from zs_assets.cli.terminal import ProgressBars, say_troubles, step_line
    from zs_assets.components.catalogue import find_study
    from zs_assets.components.instance import dagster_instance
    from zs_assets.components.partition_loop import PartitionLoop
    from zs_assets.components.pilot_run import PilotRow, PilotStop, run_pilot

    graph = find_study(study)
    with ProgressBars(err, quiet=as_json) as bars, dagster_instance() as instance:
        loop = PartitionLoop(graph, instance, report=lambda step: bars.say(step_line(step)))
        asked_backends, asked_datasets = loop.known(backends, datasets)
        prepared = loop.prepare(asked_datasets)
        cells = [(d, b) for b in asked_backends for d in loop.ready(b, prepared, asked_datasets)]
        found = list(run_pilot(loop.workspace, graph, cells, size, seed, max_usd=max_usd, progress=bars.sink.show))
    rows = [row for row in found if isinstance(row, PilotRow)]
    stops = [stop for stop in found if isinstance(stop, PilotStop)]
    say_troubles(err, loop.result.unavailable, stops)
    if as_json:
        stopped = [vars(stop) for stop in stops]
        print_json({"pilot": [vars(row) for row in rows], "stopped": stopped, "not_run": loop.result.unavailable})
    else:
        _print_pilot(rows)
    if loop.result.failed or stops:
        raise typer.Exit(1)
    if loop.result.unavailable and (backends or not rows):
        raise typer.Exit(3)


def _print_pilot(rows: Sequence[PilotRow]) -> None:
    for row in rows:
        outcomes = ", ".join(f"{number} {outcome}" for outcome, number in row.outcomes.items())
        whole = "" if row.whole_study_usd is None else f", of the whole sample about {row.whole_study_usd:.4f} USD"
        said = [
            f"{row.dataset} x {row.backend}: {row.asked} of {row.planned} asked: {outcomes}",
            f"model {', '.join(row.models) or 'not named'}",
            "cost unknown" if row.cost_usd is None else f"cost {row.cost_usd:.4f} USD{whole}",
        ]
        if row.cache_hit_share is not None:
            said.append(f"{row.cache_hit_share:.1%} of the input from the provider's cache")
        if row.latency_p50_ms is not None:
            said.append(f"median latency {row.latency_p50_ms:.0f} ms")
        out.print("; ".join(said) + ".", soft_wrap=True, highlight=False, markup=False)
    if not rows:
        err.print("Nothing was asked: no backend can run here.")
        return
    out.print("A pilot shows that the mechanics hold; so few examples measure no accuracy, so none is shown.")
