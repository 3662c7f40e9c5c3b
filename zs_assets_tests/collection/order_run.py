"""A choice-order collection from the Jev stand-in, as a library call and as a process that can be killed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from zs_assets.backends.systemone import SystemOneBackend
from zs_assets.collection import Collected, collect
from zs_assets.protocol.plan import asking_sequence
from zs_assets_tests.collection.jev_run import KEY, header, jev
from zs_assets_tests.collection.order_plan import EMOTIONS, PLAN, planned


def collect_orders(journal: Path, url: str, samples: int, *, concurrency: int = 4, **options) -> Collected:
    """42 presentations per sample, asked in shuffled sequence."""
    os.environ["TYPESAFE_BASE_URL"], os.environ["TYPESAFE_API_KEY"] = url, KEY
    backend = SystemOneBackend(jev(concurrency=concurrency), EMOTIONS)
    presentations = planned(samples)
    asking = asking_sequence(presentations, PLAN)
    return collect(backend, presentations, journal, header(), asking=asking, **{"attempt_budget": 4, **options})


if __name__ == "__main__":  # python -m zs_assets_tests.collection.order_run JOURNAL URL SAMPLES
    collect_orders(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
