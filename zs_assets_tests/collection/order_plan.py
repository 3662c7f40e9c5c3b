"""The plan of the choice-order study over invented texts: seven options, 14 orders, 3 repeats, shuffled."""

from __future__ import annotations

from zs_assets.protocol.hashing import sha256_text
from zs_assets.protocol.plan import presentations
from zs_assets.protocol.question import Example, Option, Presentation, Question
from zs_assets.protocol.study import Plan, Rotations

NAMES = ("frustration", "disapproval", "sadness", "confusion", "anxiety", "trust", "positive")
EMOTIONS = Question(
    "Which feeling does the text show?", tuple(Option(name, f"The text shows {name}.") for name in NAMES)
)
PLAN = Plan(orders=Rotations(seed=11), repeats=3, shuffle_seed=12)


def examples(count: int) -> list[Example]:
    texts = [f"Invented remark number {index} about an assistant's answer." for index in range(count)]
    return [Example(f"d:{index}", text, sha256_text(text), None) for index, text in enumerate(texts)]


def planned(samples: int) -> list[Presentation]:
    """42 presentations per sample."""
    return presentations(examples(samples), EMOTIONS, PLAN)
