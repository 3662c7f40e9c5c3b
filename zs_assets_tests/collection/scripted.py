"""A backend that does what a script says, presentation by presentation and call by call."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from zs_assets.backends.base import Backend, RawReply, Reading
from zs_assets.backends.prices import Price
from zs_assets.backends.systems import Limits, SystemSpec
from zs_assets.collection import Collected, collect
from zs_assets.protocol.names import Outcome
from zs_assets.protocol.question import Presentation
from zs_assets_tests.collection.jev_run import QUESTION, header, presentations

PRICE = Price(input_per_million_usd=1_000.0, output_per_million_usd=0.0, since="2026-01-01")  # 1 USD = 1,000 tokens
SPEC = SystemSpec(
    name="scripted",
    interface="scripted",
    title="Scripted",
    deployment="hosted",
    price=PRICE,
    limits=Limits(concurrency=2, max_wait_s=0.01),
)
GOOD = Reading(Outcome.OK, (0.5, 0.3, 0.2), choice="rain", model="scripted-1", input_tokens=100, output_tokens=9)

Script = Callable[[str, int], BaseException | None]
"""(presentation id, how many calls it had before) -> what to raise, or None for a reply."""


class Scripted(Backend):
    """Counts its calls in `asked` (order) and `calls` (per presentation)."""

    def __init__(self, script: Script = lambda name, before: None, spec: SystemSpec = SPEC, reading: Reading = GOOD):
        super().__init__(spec, QUESTION)
        self._script = script
        self.reading = reading
        self.asked: list[str] = []
        self.calls: Counter[str] = Counter()

    async def ask(self, presentation: Presentation) -> RawReply:
        before = self.calls[presentation.id]
        self.asked.append(presentation.id)
        self.calls[presentation.id] += 1
        await asyncio.sleep(0)
        error = self._script(presentation.id, before)
        if error is not None:
            raise error
        return RawReply(json.dumps({"id": presentation.id}))

    def read(self, reply: RawReply, presentation: Presentation) -> Reading:
        return self.reading


def collect_scripted(path: Path, backend: Backend, count: int = 6, **options) -> Collected:
    return collect(backend, presentations(count), path, header(), **{"attempt_budget": 3, **options})
