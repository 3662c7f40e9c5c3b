"""What a stand-in decides: a real small model where it is installed, else logits from a hash; seeded either way."""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from zs_assets.emulator.profiles import Profile

_MODEL = "sparrow-nano-general-v1.1"


class Decider:
    """Unrounded probabilities for one question; the same request gives the same answer unless the profile has noise."""

    def __init__(self, profile: Profile, seed: int):
        self._profile = profile
        self._seed = seed
        self._model: Any = None
        if find_spec("sparrow_decider"):
            from sparrow_decider import Decider as Sparrow

            self._model = Sparrow.load(_MODEL)

    def decide(self, text: str, instructions: str, options: Mapping[str, str], repeat: int = 0) -> dict[str, float]:
        """Probability by option id, in the order sent, with the profile's sharpness, position bias and noise."""
        if len(options) == 1:
            return dict.fromkeys(options, 1.0)
        weights = {option: p**self._profile.sharpness for option, p in self._base(text, instructions, options).items()}
        total = sum(weights.values())
        bias = self._profile.position_bias
        exact = {
            option: weight / total * (1 - bias) + (bias if position == 0 else 0.0)
            for position, (option, weight) in enumerate(weights.items())
        }
        return self._noisy(exact, text, repeat) if self._profile.repeat_noise and repeat else exact

    def random(self, *parts: str) -> random.Random:
        """A generator that depends on the seed and the request alone."""
        return random.Random("\x1f".join((str(self._seed), *parts)).encode("utf-8", "replace"))

    def _base(self, text: str, instructions: str, options: Mapping[str, str]) -> dict[str, float]:
        if self._model is not None:
            asked = {"type": "choice", "instructions": instructions, "criteria": dict(options)}
            _, names, _, vector = self._model.probs(text, asked)
            return dict(zip(names, (float(value) for value in vector), strict=True))
        weights = {name: math.exp(3 * self._unit(text, name, said)) for name, said in options.items()}
        total = sum(weights.values())
        return {option: weight / total for option, weight in weights.items()}

    def _noisy(self, exact: dict[str, float], text: str, repeat: int) -> dict[str, float]:
        noise = self.random(text, *exact, str(repeat))
        moved = {option: max(0.0, p + noise.gauss(0, self._profile.repeat_noise)) for option, p in exact.items()}
        total = sum(moved.values()) or 1.0
        return {option: p / total for option, p in moved.items()}

    def _unit(self, *parts: str) -> float:
        digest = hashlib.sha256("\x1f".join((str(self._seed), *parts)).encode("utf-8", "replace")).digest()
        return int.from_bytes(digest[:8], "big") / 2**64
