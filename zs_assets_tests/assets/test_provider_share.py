"""The rate of a provider is divided by the number of runs that its pool lets ask at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import dagster as dg
import pytest
from dagster._core.test_utils import instance_for_test

from zs_assets.assets.provider_share import provider_share
from zs_assets.backends.systems import SystemSpec, known_systems
from zs_assets.components.dead_runs import process_tags
from zs_assets.protocol.errors import CollectionStopped

POOL = "provider_far"


def system(deployment: str) -> SystemSpec:
    spec = {"name": "far", "interface": "systemone", "title": "Far", "deployment": deployment, "provider": "far"}
    return SystemSpec.model_validate(spec)


@pytest.fixture
def limited() -> Iterator[Any]:
    """Makes instances of a default pool limit; None: without one."""
    opened = []

    def open_instance(default: int | None) -> dg.DagsterInstance:
        overrides = {} if default is None else {"concurrency": {"pools": {"default_limit": default}}}
        manager = instance_for_test(overrides=overrides)
        opened.append(manager)
        return manager.__enter__()

    yield open_instance
    for manager in opened:
        manager.__exit__(None, None, None)


def test_the_instances_default_limit_is_the_share(limited):
    assert provider_share(limited(3), {}, POOL, system("hosted")) == 3


def test_a_limit_set_for_the_pool_counts_before_the_default(limited):
    instance = limited(1)
    instance.event_log_storage.set_concurrency_slots(POOL, 4)
    assert provider_share(instance, {}, POOL, system("hosted")) == 4
    assert provider_share(instance, {}, "provider_other", system("hosted")) == 1


def test_a_hosted_system_does_not_start_where_any_number_of_runs_could(limited):
    with pytest.raises(CollectionStopped, match=r"pool provider_far has no limit .* set provider_far 1"):
        provider_share(limited(None), {}, POOL, system("hosted"))


def test_the_command_lines_own_loop_needs_no_pool(limited):
    assert provider_share(limited(None), process_tags(), POOL, system("hosted")) == 1


def test_a_local_system_has_no_provider_to_share(limited):
    assert provider_share(limited(5), {}, "local_cpu", system("local")) == 1


def test_an_instance_in_memory_is_of_one_process(instance: dg.DagsterInstance):
    assert provider_share(instance, {}, POOL, system("hosted")) == 1


def test_every_hosted_system_shares_a_pool_of_its_provider():
    for spec in known_systems().values():
        assert spec.pool == ("local_cpu" if spec.is_free else f"provider_{spec.provider or spec.name}")
