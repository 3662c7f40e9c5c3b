"""The plan: which orders a question's options are shown in, how often, and in which sequence it is all asked."""

from __future__ import annotations

import random
from collections.abc import Sequence

from zs_assets.protocol.errors import StudyError
from zs_assets.protocol.question import Example, Presentation, Question
from zs_assets.protocol.study import Plan, Rotations


def option_orders(n_options: int, plan: Plan) -> list[tuple[int, ...]]:
    """The different orders of the plan; `order[i]` is the declared index of the option shown i-th.

    Rotations: K rotations of a seeded random order, then K of its reverse, so that each option stands twice in every
    position (choice-order study, "Study design"). For K = 2 the four coincide in pairs: two different orders.

    Raises StudyError for rotations of fewer than two options.
    """
    if not isinstance(plan.orders, Rotations):
        return [tuple(range(n_options))]
    if n_options < 2:
        raise StudyError("One option has one order only: rotations need a question with at least two options.")
    base = list(range(n_options))
    random.Random(plan.orders.seed).shuffle(base)
    rotations = [tuple(line[start:] + line[:start]) for line in (base, base[::-1]) for start in range(n_options)]
    return list(dict.fromkeys(rotations))


def repeats_per_order(n_options: int, plan: Plan) -> int:
    """How often each different order is asked: orders that coincide are repeats of one."""
    if not isinstance(plan.orders, Rotations):
        return plan.repeats
    return plan.repeats * (2 * n_options // len(option_orders(n_options, plan)))


def presentations(examples: Sequence[Example], question: Question, plan: Plan) -> list[Presentation]:
    """Every planned presentation: by repeat, then by example in manifest order, then by order.

    Tables are kept in this sequence; `asking_sequence` is the one in which calls are made.
    """
    orders = option_orders(len(question), plan)
    return [
        Presentation(example, order, index, repeat)
        for repeat in range(repeats_per_order(len(question), plan))
        for example in examples
        for index, order in enumerate(orders)
    ]


def asking_sequence(planned: Sequence[Presentation], plan: Plan) -> list[Presentation]:
    """The presentations as they are asked: shuffled by the plan's seed, else as planned."""
    sequence = list(planned)
    if plan.shuffle_seed is not None:
        random.Random(plan.shuffle_seed).shuffle(sequence)
    return sequence
