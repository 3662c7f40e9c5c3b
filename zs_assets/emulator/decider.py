"""What a stand-in decides: a real small model where it is installed, else logits from a hash; seeded either way.

The model is asked with the options sorted by id, so that it has no order of its own; what the order sent does to an
answer is the profile's position bias alone.
"""

from __future__ import annotations

import hashlib
import math
import random
from collections import OrderedDict
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from zs_assets.emulator.profile import Profile
from zs_assets.protocol.question import Option

_MODEL = "sparrow-nano-general-v1.1"
_FLOOR = 1e-9  # of a probability before its logarithm
_VECTORS_KEPT = 4096  # a plan asks each text many times over: 14 orders, 3 repeats, all systems


class EmbeddedModel:
    """One model for all stand-ins of a process; the same question is decided once."""

    def __init__(self) -> None:
        self._model: Any = None
        if find_spec("sparrow_decider"):
            from sparrow_decider import Decider as Sparrow

            self._model = Sparrow.load(_MODEL)
        self._known: OrderedDict[bytes, tuple[float, ...]] = OrderedDict()

    def log_probabilities(self, text: str, instructions: str, options: Mapping[str, str]) -> dict[str, float]:
        """Natural logarithm of each option's probability; the order of `options` does not matter."""
        ids = sorted(options)
        parts = [text, instructions, *(part for name in ids for part in (name, options[name]))]
        digest = _digest(*parts)
        vector = self._known.get(digest)
        if vector is None:
            vector = self._known[digest] = self._decided(text, instructions, {name: options[name] for name in ids})
        self._known.move_to_end(digest)
        if len(self._known) > _VECTORS_KEPT:
            self._known.popitem(last=False)
        return dict(zip(ids, vector, strict=True))

    def _decided(self, text: str, instructions: str, options: Mapping[str, str]) -> tuple[float, ...]:
        if self._model is None:
            return tuple(3 * _unit(text, name, said) for name, said in options.items())
        # The model reads names like descriptions: a placeholder's name would only mislead it.
        described = [Option(name, said or None) for name, said in options.items()]
        read = {
            (o.sentence if o.is_placeholder else o.id): ("" if o.is_placeholder else o.description or "")
            for o in described
        }
        criteria = read if len(read) == len(options) else options
        asked = {"type": "choice", "instructions": instructions, "criteria": dict(criteria)}
        vector = self._model.probs(text, asked)[3]
        return tuple(math.log(max(float(p), _FLOOR)) for p in vector)


class Decider:
    """Unrounded probabilities for one question; the same request gives the same answer unless repeats may vary."""

    def __init__(self, profile: Profile, seed: int, model: EmbeddedModel | None = None):
        self._profile = profile
        self._seed = seed
        self._model = model or EmbeddedModel()

    def decide(self, text: str, instructions: str, options: Mapping[str, str], repeat: int = 0) -> dict[str, float]:
        """Probability by option id, in the order sent, shape (K,), sum 1.

        softmax of sharpness * log p + own noise of the system + position bias: the option sent first gains the whole
        bias, the last nothing. `repeat` counts earlier replies to the same request; it matters where repeats vary.
        """
        if len(options) == 1:
            return dict.fromkeys(options, 1.0)
        model = self._model.log_probabilities(text, instructions, options)
        own = self.random("quality", self._profile.name, text)
        noise = {name: own.gauss(0, self._profile.quality_noise) for name in sorted(options)}
        step = self._profile.position_bias / (len(options) - 1)
        logits = {
            name: self._profile.sharpness * model[name] + noise[name] + step * (len(options) - 1 - position)
            for position, name in enumerate(options)
        }
        exact = _softmax(logits)
        return self._noisy(exact, text, repeat) if self._profile.repeat_noise and repeat else exact

    def random(self, *parts: str) -> random.Random:
        """A generator that depends on the seed and the given parts alone."""
        return random.Random("\x1f".join((str(self._seed), *parts)).encode("utf-8", "replace"))

    def _noisy(self, exact: dict[str, float], text: str, repeat: int) -> dict[str, float]:
        noise = self.random(text, *exact, str(repeat))
        moved = {option: max(0.0, p + noise.gauss(0, self._profile.repeat_noise)) for option, p in exact.items()}
        total = sum(moved.values()) or 1.0
        return {option: p / total for option, p in moved.items()}


def _softmax(logits: Mapping[str, float]) -> dict[str, float]:
    """Summed in order of the ids: an order-blind system's digits must not depend on the order of addition."""
    top = max(logits.values())
    weights = {name: math.exp(logit - top) for name, logit in logits.items()}
    total = sum(weights[name] for name in sorted(weights))
    return {name: weight / total for name, weight in weights.items()}


def _digest(*parts: str) -> bytes:
    return hashlib.sha256("\x1f".join(parts).encode("utf-8", "replace")).digest()


def _unit(*parts: str) -> float:
    return int.from_bytes(_digest(*parts)[:8], "big") / 2**64
