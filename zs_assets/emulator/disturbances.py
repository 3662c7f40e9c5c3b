"""What makes a stand-in as restless as a live service; off unless asked for, so that a rehearsal is fast and exact."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Iterable

from zs_assets.emulator.faults import Rule
from zs_assets.emulator.profile import Profile

NAMES = ("transient_errors", "rate_limit", "latency", "repeat_noise")
_TRANSIENT = ("429", "500", "503", "529")
_SPREAD = 0.4  # of a latency's logarithm: a 95th percentile of about twice the median


class Disturbances:
    """Transient errors by the profile's rate, 429 above its rate limit, its latency, and repeats that vary."""

    def __init__(self, profile: Profile, seed: int, names: Iterable[str]):
        self._on = frozenset(names)
        unknown = sorted(self._on - set(NAMES))
        if unknown:
            raise ValueError(f"There is no disturbance '{unknown[0]}': use {', '.join(NAMES)}.")
        self._profile = profile
        self._seed = seed
        self._asked: Counter[str] = Counter()
        self._next_free = 0.0

    @property
    def repeats_vary(self) -> bool:
        return "repeat_noise" in self._on

    async def met(self, digest: str) -> Rule | None:
        """Waits the latency, and gives the fault that this request meets, if any."""
        if not self._on:
            return None
        if "rate_limit" in self._on and self._over_the_limit(time.monotonic()):
            return Rule("429_retry_after_ms")
        self._asked[digest] += 1
        draw = random.Random(f"{self._seed}\x1f{self._profile.name}\x1f{digest}\x1f{self._asked[digest]}")
        if "latency" in self._on:
            await asyncio.sleep(self._profile.latency_s * draw.lognormvariate(0, _SPREAD))
        if "transient_errors" in self._on and draw.random() < self._profile.transient_rate:
            return Rule(draw.choice(_TRANSIENT))
        return None

    def _over_the_limit(self, now: float) -> bool:
        """At most a second's worth of requests at once, refilled evenly."""
        if self._next_free - now > 1.0:
            return True
        self._next_free = max(self._next_free, now) + 1 / self._profile.requests_per_second
        return False
