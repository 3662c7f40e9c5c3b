"""The rate of a provider is divided by the number of runs that its pool lets ask at once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster._core.test_utils import instance_for_test

from zs_assets.assets import predictions_assets
from zs_assets.assets.graph import StudyGraph
from zs_assets.assets.provider_share import provider_share
from zs_assets.assets.resources import ProviderPools
from zs_assets.backends.systems import SystemSpec, known_systems
from zs_assets.components.catalogue import load_study
from zs_assets.components.dead_runs import process_tags
from zs_assets.components.partition_loop import PartitionLoop
from zs_assets.components.resources import PoolsOfTheStudies
from zs_assets.protocol.errors import CollectionStopped
from zs_assets_tests.small_study import write_small_study

POOL = "provider_far"
ALONE = ProviderPools()


class Shared(ProviderPools):
    """As where two more studies ask the provider, one of them with local backends too."""

    def asking(self, system: SystemSpec) -> set[str]:
        return {system.pool, "local_cpu", "provider_another"}


def study(folder: Path, name: str, **deployments: str) -> StudyGraph:
    """A study of systems of one provider."""
    systems = {
        backend: {
            "interface": "systemone",
            "title": backend,
            "deployment": deployment,
            "provider": "far",
            "base_url": "http://127.0.0.1:9",
        }
        for backend, deployment in deployments.items()
    }
    path = write_small_study(folder / name, name=name, backends=list(systems), systems=systems, analyses={})
    return load_study(path)


@pytest.fixture
def far(tmp_path: Path) -> StudyGraph:
    return study(tmp_path, "distant", far="hosted")


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


def test_the_instances_default_limit_is_the_share(limited, far):
    assert provider_share(limited(3), {}, ALONE, far, "far") == 3


def test_a_limit_set_for_the_pool_counts_before_the_default(limited, far):
    instance = limited(1)
    instance.event_log_storage.set_concurrency_slots(POOL, 4)
    assert provider_share(instance, {}, ALONE, far, "far") == 4


def test_a_run_that_collects_hears_of_a_raised_limit(limited, far, tmp_path, monkeypatch):
    """The collecting step hands on the question, not its answer of the beginning."""
    instance = limited(1)
    heard = []

    def collect(*_: Any, share: Any, log: Any, **__: Any) -> None:
        heard.append(share())
        instance.event_log_storage.set_concurrency_slots(POOL, 2)
        heard.append(share())
        raise CollectionStopped("enough was heard")

    monkeypatch.setenv("ZS_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(predictions_assets, "collect", collect)
    loop = PartitionLoop(far, instance)
    loop.prepare(["first"])
    loop.run(["far"], ["first"])
    assert heard == [1, 2]


def test_a_run_let_in_by_a_limit_that_was_lowered_at_once_counts(limited, far):
    """Raised to 2 and back between two readings of the first run: two collect all the same."""
    instance = limited(1)
    storage = instance.event_log_storage
    storage.set_concurrency_slots(POOL, 2)
    for name in ("first", "second"):
        assert storage.claim_concurrency_slot(POOL, name, "collect").is_claimed
    storage.set_concurrency_slots(POOL, 1)
    assert provider_share(instance, {}, ALONE, far, "far") == 2
    storage.free_concurrency_slots_for_run("second")
    assert provider_share(instance, {}, ALONE, far, "far") == 1


def test_studies_that_ask_one_provider_through_other_pools_count_too(limited, far):
    """A pool is of a step: the runs of the provider's pool and those of a study with local backends run at once."""
    instance = limited(2)
    instance.event_log_storage.set_concurrency_slots("local_cpu", 3)
    assert provider_share(instance, {}, Shared(), far, "far") == 2 + 3 + 2


def test_other_pools_without_a_limit_ask_nobody(limited, far):
    instance = limited(None)
    instance.event_log_storage.set_concurrency_slots(POOL, 2)
    assert provider_share(instance, {}, Shared(), far, "far") == 2


def test_the_pools_of_a_provider_are_those_of_the_studies_that_ask_it(tmp_path, monkeypatch):
    known = study(tmp_path, "distant", far="hosted").systems["far"]
    study(tmp_path, "both", far="hosted", near="local")
    study(tmp_path, "near_only", near="local")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "defs.yaml").write_text("type: zs_assets.Study\nattributes: {name: broken}\n")
    monkeypatch.setenv("ZS_STUDIES", str(tmp_path))
    assert PoolsOfTheStudies().asking(known) == {POOL, "local_cpu"}
    unasked = known.model_copy(update={"provider": "nobody"})
    assert PoolsOfTheStudies().asking(unasked) == set()


def test_a_hosted_system_does_not_start_where_any_number_of_runs_could(limited, far):
    with pytest.raises(CollectionStopped, match=r"pool provider_far has no limit .* set provider_far 1"):
        provider_share(limited(None), {}, ALONE, far, "far")


def test_the_command_lines_own_loop_needs_no_pool(limited, far):
    assert provider_share(limited(None), process_tags(), ALONE, far, "far") == 1


def test_a_local_system_has_no_provider_to_share(limited, tmp_path):
    assert provider_share(limited(5), {}, Shared(), study(tmp_path, "near_only", near="local"), "near") == 1


def test_an_instance_in_memory_is_of_one_process(instance: dg.DagsterInstance, far):
    assert provider_share(instance, {}, ALONE, far, "far") == 1


def test_every_hosted_system_shares_a_pool_of_its_provider():
    for spec in known_systems().values():
        assert spec.pool == ("local_cpu" if spec.is_free else f"provider_{spec.provider or spec.name}")
