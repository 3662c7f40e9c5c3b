"""The spending of one partition: what is known, what must be assumed, what calls in flight may still cost."""

from __future__ import annotations

import math

from zs_assets.backends.systems import SystemSpec
from zs_assets.collection.pricing import call_cost
from zs_assets.protocol.errors import BackendUnavailable, CollectionStopped, StudyError
from zs_assets.protocol.question import Question


class Budget:
    """Keeps `max_usd`, of which `elsewhere_usd` was spent on other partitions already. Without one it only counts.

    A reply that does not say what it cost, and a call that got no answer at all (it may have been billed), are counted
    at their estimate against the limit, and never as known cost.
    """

    def __init__(self, spec: SystemSpec, question: Question, max_usd: float | None, elsewhere_usd: float = 0.0):
        if max_usd is not None and not 0 < max_usd < math.inf:
            raise StudyError(f"max_usd must be a positive number of USD, not {max_usd:g}: correct it.")
        if max_usd is not None and call_cost(spec, question, 1.0) is None:  # no price, or none that has not ended
            raise BackendUnavailable(
                f"Backend '{spec.name}' has no known price, so a budget of {max_usd:g} USD cannot be kept: add its "
                "price to its systems entry, or run without max_usd."
            )
        self._spec = spec
        self._question = question
        self._max_usd = max_usd
        self._elsewhere_usd = elsewhere_usd
        self._known_usd = 0.0
        self._unknown = 0  # replies whose cost nobody knows
        self._assumed_usd = 0.0
        self._in_flight_usd = 0.0

    @property
    def known_usd(self) -> float | None:
        """None once the cost of any reply is unknown."""
        return None if self._unknown else self._known_usd

    def expected(self, tokens: float) -> float:
        return call_cost(self._spec, self._question, tokens) or 0.0

    def begin(self, tokens: float) -> float:
        """Reserves a call's estimate and returns it; refuses a call that could pass the limit."""
        expected = self.expected(tokens)
        spent = self._known_usd + self._assumed_usd + self._elsewhere_usd
        if self._max_usd is not None and spent + self._in_flight_usd + expected > self._max_usd:
            raise CollectionStopped(
                f"The budget of {self._max_usd:g} USD would be passed by the next call of '{self._spec.name}' "
                f"({spent:.6f} USD spent, {self._elsewhere_usd:.6f} of it on other partitions): raise max_usd and run "
                "again; what was received is kept."
            )
        self._in_flight_usd += expected
        return expected

    def end(self, reserved: float) -> None:
        self._in_flight_usd -= reserved

    def replied(self, cost: float | None, expected: float) -> None:
        if self._spec.is_free:
            return  # what a replayed row cost was spent by the run that recorded it
        if cost is None:
            self._unknown += 1
            self._assumed_usd += expected
        else:
            self._known_usd += cost

    def unanswered(self, expected: float) -> None:
        self._assumed_usd += expected
