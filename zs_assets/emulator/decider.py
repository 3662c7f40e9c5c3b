"""What a stand-in decides: a real small model where it is installed, else logits from a hash; seeded either way."""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from zs_assets.emulator.profiles import Profile


class Decider:
    """Probabilities for one choice question; the same request gives the same answer."""

    def __init__(self, profile: Profile, seed: int):
        self._profile = profile
        self._seed = seed
        self._model: Any = None
        if find_spec("sparrow_decider"):
            from sparrow_decider import Decider as Sparrow

            self._model = Sparrow.load()

    def decide(self, text: str, instructions: str, criteria: Mapping[str, str | None]) -> dict[str, float]:
        """Unrounded probabilities by option id, in the order sent, with the profile's position bias."""
        base = self._base(text, instructions, criteria)
        bias = self._profile.position_bias if len(base) > 1 else 0.0
        return {
            option: value * (1 - bias) + (bias if position == 0 else 0.0)
            for position, (option, value) in enumerate(base.items())
        }

    def _base(self, text: str, instructions: str, criteria: Mapping[str, str | None]) -> dict[str, float]:
        if self._model is not None and len(criteria) > 1:
            asked = {"type": "choice", "instructions": instructions, "criteria": dict(criteria)}
            _, names, _, vector = self._model.probs(text, asked)
            found = dict(zip(names, (float(value) for value in vector), strict=True))
            return {option: found[option] for option in criteria}
        weights = {option: math.exp(3 * self._unit(text, option, str(criteria[option]))) for option in criteria}
        total = sum(weights.values())
        return {option: weight / total for option, weight in weights.items()}

    def random(self, *parts: str) -> random.Random:
        """A generator that depends on the seed and the request alone."""
        return random.Random(f"{self._seed}|" + "|".join(parts))

    def _unit(self, *parts: str) -> float:
        digest = hashlib.sha256("\x1f".join((str(self._seed), *parts)).encode()).digest()
        return int.from_bytes(digest[:8], "big") / 2**64
