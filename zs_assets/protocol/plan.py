"""The plan: which presentations a manifest and a study's `plan` lead to, in the order they are asked."""

from __future__ import annotations

from collections.abc import Sequence

from zs_assets.protocol.question import Example, Presentation, Question
from zs_assets.protocol.study import Plan


def presentations(examples: Sequence[Example], question: Question, plan: Plan) -> list[Presentation]:
    """Every planned presentation, deterministic: by repeat, then by example in manifest order."""
    declared = tuple(range(len(question)))
    return [
        Presentation(example, declared, order_index=0, repeat=repeat)
        for repeat in range(plan.repeats)
        for example in examples
    ]
