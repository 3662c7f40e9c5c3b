"""How many runs may ask one provider at once: each takes its part of the provider's rate.

A run keeps a provider's limits by itself, and knows nothing of the others. The pool of its step says how many there can
be, on whatever machines; a provider that studies ask through several pools can meet the runs of all of them at once.
"""

from __future__ import annotations

from collections.abc import Mapping

import dagster as dg

from zs_assets.assets.graph import StudyGraph
from zs_assets.assets.resources import ProviderPools
from zs_assets.protocol.errors import CollectionStopped
from zs_assets.protocol.names import PROCESS_TAG


def provider_share(
    instance: dg.DagsterInstance,
    run_tags: Mapping[str, str],
    pools: ProviderPools,
    graph: StudyGraph,
    backend: str,
) -> int:
    """By how much the configured rate of the backend's provider is divided in this run; 1 for a local system.

    Parameters
    ----------
    instance
        Whose pools bound the runs.
    run_tags
        Of this run.
    pools
        Knows the other studies of this installation. A pool of theirs without a limit counts for nothing: its runs are
        refused here in their turn.
    graph, backend
        Of this run: the study, whose step has a pool, and the system that is asked.

    Returns
    -------
    int
        As many as the runs that may ask the provider at once, at least 1. It can change while the run collects.

    Raises
    ------
    CollectionStopped
        A hosted system, and the instance has no limit for the pool: nobody could say how many runs share the rate. A
        run of the command line's own loop goes one after the other, so it needs none.
    """
    system, pool = graph.systems[backend], graph.pool
    if system.is_free:
        return 1
    places = pool_places(instance, pool)
    if places is not None:
        others = (pool_places(instance, other) or 0 for other in pools.asking(system) - {pool})
        return max(places, 1) + sum(others)
    if PROCESS_TAG in run_tags or not instance.event_log_storage.supports_global_concurrency_limits:
        return 1
    raise CollectionStopped(
        f"{system.name} was not asked: pool {pool} has no limit on this Dagster instance, so any number of runs could "
        f"spend the provider's rate at once. Set one: `dagster instance concurrency set {pool} 1`, or "
        "`concurrency: {pools: {default_limit: 1}}` in dagster.yaml."
    )


def pool_places(instance: dg.DagsterInstance, pool: str) -> int | None:
    """How many runs the pool lets ask at once, or has let in already; None as for the limit.

    A lowered limit ends no run: whoever raised it and lowered it again may have let one in meanwhile, of which a run
    that reads the limit alone would never hear.
    """
    limit = pool_limit(instance, pool)
    if limit is None:
        return None
    return max(limit, len(instance.event_log_storage.get_concurrency_info(pool).claimed_slots))


def pool_limit(instance: dg.DagsterInstance, pool: str) -> int | None:
    """The limit set for the pool, else the instance's default; None where there is neither, or the storage has none."""
    storage = instance.event_log_storage
    if not storage.supports_global_concurrency_limits:
        return None
    for found in storage.get_pool_limits():
        if found.name == pool and not found.from_default:
            return found.limit
    # A row made from the default keeps the value the default had then, until the pool is next used.
    return instance.global_op_concurrency_default_limit
