"""From probabilities to the answers of the System One wire: confidence first, then rounding, then shuffled keys."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from zs_assets.emulator.decider import Decider
from zs_assets.emulator.profile import ENTROPY, LINEAR, MARGIN, TOP, Profile

CHARACTERS_PER_TOKEN = 3.9
_NOUL_OUTCOMES = {"false": "It does not hold.", "true": "It holds."}


def answer(question: Mapping[str, Any], text: str, decider: Decider, profile: Profile, repeat: int) -> dict[str, Any]:
    """One question's answer object."""
    options = _options(question)
    exact = decider.decide(text, readable(question.get("instructions")), options, repeat)
    if question["type"] == "noul":
        return {"type": "noul", "noul": _rounded(exact["true"], profile.decimals)}
    shown = on_grid(exact, profile.decimals)
    items = list(shown.items())
    if profile.shuffles_keys:
        decider.random(text, *options).shuffle(items)
    if question["type"] == "score":
        levels = list(exact.values())
        return {
            "type": "score",
            "score": _rounded(sum(level * p for level, p in enumerate(levels)), profile.decimals),
            "legend": {str(level): said for level, said in enumerate(question["criteria"])},
            "probabilities": dict(items),
            "confidence": _rounded(score_confidence(levels), profile.decimals),
        }
    # Of options equal on the grid, the one that was ahead before rounding.
    ranked = sorted(shown, key=lambda option: (shown[option], exact[option]), reverse=True)
    mismatched = len(ranked) > 1 and decider.random("label", text, *options).random() < profile.label_mismatch_rate
    return {
        "type": "choice",
        "choice": ranked[1] if mismatched else ranked[0],
        "confidence": _rounded(choice_confidence(list(exact.values()), profile.confidence), profile.decimals),
        "probabilities": dict(items),
    }


def on_grid(exact: Mapping[str, float], decimals: int | None) -> dict[str, float]:
    """Each value rounded by itself, and as few of them moved by a step as leave the sum within a step of 1.

    Sums one step off are routine in real replies; rounding alone would drift by half a step for each option.
    """
    if decimals is None:
        return dict(exact)
    steps = 10**decimals
    counts = {option: round(p * steps) for option, p in exact.items()}
    off = sum(counts.values()) - steps
    direction = -1 if off > 0 else 1
    by_gain = sorted(exact, key=lambda option: direction * (counts[option] - exact[option] * steps))
    movable = [option for option in by_gain if counts[option] + direction >= 0]
    for option in movable[: max(0, abs(off) - 1)]:
        counts[option] += direction
    return {option: count / steps for option, count in counts.items()}


def choice_confidence(probabilities: Sequence[float], formula: str = LINEAR) -> float:
    """(K pmax - 1)/(K - 1), 1 - H/log K, pmax or pmax - second, from unrounded values; 1 for a single option."""
    n = len(probabilities)
    if n == 1:
        return 1.0
    if formula == TOP:
        return max(probabilities)
    if formula == MARGIN:
        second, first = sorted(probabilities)[-2:]
        return first - second
    if formula == ENTROPY:
        return max(0.0, 1 + sum(p * math.log(p) for p in probabilities if p > 0) / math.log(n))
    return max(0.0, (n * max(probabilities) - 1) / (n - 1))


def score_confidence(probabilities: Sequence[float]) -> float:
    """1 - E|level - mode| over its mean for a uniform vector around the middle; 1 for a single level."""
    n = len(probabilities)
    if n == 1:
        return 1.0
    mode = max(range(n), key=lambda level: probabilities[level])
    spread = sum(p * abs(level - mode) for level, p in enumerate(probabilities))
    return max(0.0, 1 - spread / (sum(abs(level - (n - 1) / 2) for level in range(n)) / n))


def usage(text: str, questions: Mapping[str, Mapping[str, Any]]) -> dict[str, int]:
    """Tokens by the formulas measured on the real service; the tokenizer is not public."""
    characters = len(text) + sum(len(json.dumps(question, ensure_ascii=False)) for question in questions.values())
    output = {"noul": 20, "score": 17, "choice": 17}
    return {
        "input_tokens": 280 + round(characters / CHARACTERS_PER_TOKEN) + 20 * (len(questions) - 1),
        "output_tokens": sum(
            output[question["type"]] + (7 * len(question["criteria"]) if question["type"] == "choice" else 0)
            for question in questions.values()
        ),
    }


def readable(value: Any) -> str:
    """Instructions or a description as text: they may be objects or arrays, or absent."""
    return "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _options(question: Mapping[str, Any]) -> dict[str, str]:
    criteria = question.get("criteria")
    if question["type"] == "noul":
        return {name: readable((criteria or {}).get(name)) or said for name, said in _NOUL_OUTCOMES.items()}
    if question["type"] == "score":
        return {str(level): readable(said) for level, said in enumerate(criteria or [])}
    return {name: readable(said) for name, said in (criteria or {}).items()}


def _rounded(value: float, decimals: int | None) -> float:
    return value if decimals is None else round(value, decimals)
