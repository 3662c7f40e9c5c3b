"""Seeded draws, made before any inference. Results keep the source's order.

Every draw uses Python's `random.Random(seed)`, whose `shuffle` and `sample` give the same numbers on every
supported Python, so a seed in a study names one sample for good.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from zs_assets.protocol.errors import SourceError
from zs_assets.protocol.question import Example
from zs_assets.protocol.study import Sample


def draw(examples: Sequence[Example], sample: Sample, n_labels: int) -> tuple[Example, ...]:
    """The sample of `examples`, in source order.

    Parameters
    ----------
    examples
        Every valid example of a dataset.
    sample
        Kind, size and seed. `balanced` is the pilot's draw; `uniform` is `sorted(Random(seed).sample(range(n), size))`;
        `stratified` gives every label its share of the size by largest remainder.
    n_labels
        Number of declared options; gold labels lie in `range(n_labels)`.
    """
    if sample.size is None:
        return tuple(examples)
    if sample.size > len(examples):
        raise SourceError(
            f"The sample asks for {sample.size} examples, the dataset has {len(examples)} valid ones: "
            f"lower the size to {len(examples)} or use `kind: all`."
        )
    generator = random.Random(sample.seed)
    if sample.kind == "uniform":
        positions = generator.sample(range(len(examples)), sample.size)
    elif sample.kind == "balanced":
        positions = _balanced(_positions_by_label(examples, sample, n_labels), sample.size, generator)
    else:
        positions = _stratified(_positions_by_label(examples, sample, n_labels), sample.size, generator)
    return tuple(examples[position] for position in sorted(positions))


def _positions_by_label(examples: Sequence[Example], sample: Sample, n_labels: int) -> dict[int, list[int]]:
    """Label -> positions of its examples; labels in order of first appearance."""
    by_label: dict[int, list[int]] = {}
    for position, example in enumerate(examples):
        if example.target_index is None:
            raise SourceError(
                f"A {sample.kind} sample needs gold labels and example '{example.example_id}' has none: "
                "name the label column or use a uniform sample."
            )
        if not 0 <= example.target_index < n_labels:
            raise SourceError(
                f"Example '{example.example_id}' has label number {example.target_index}, but the dataset declares "
                f"{n_labels}, numbered from 0: declare the label or correct the example."
            )
        by_label.setdefault(example.target_index, []).append(position)
    return by_label


def _balanced(by_label: dict[int, list[int]], size: int, generator: random.Random) -> list[int]:
    """The pilot's draw, step by step: another order of shuffles or turns gives another sample.

    One generator shuffles the labels' positions in order of first appearance; then the labels take turns in
    numerical order, each giving the last of its list, until the size is reached. A label that has run out is passed
    over, so labels differ by at most one wherever they have enough examples.
    """
    for positions in by_label.values():
        generator.shuffle(positions)
    drawn: list[int] = []
    while len(drawn) < size:
        for label in sorted(by_label):
            if by_label[label] and len(drawn) < size:
                drawn.append(by_label[label].pop())
    return drawn


def _stratified(by_label: dict[int, list[int]], size: int, generator: random.Random) -> list[int]:
    """Every label's share of the size by largest remainder (Hare), in integers; ties go to the lower label.

    Labels are shuffled in numerical order by one generator, and each gives the first of its list. A quota never
    exceeds a label's examples, because the size never exceeds their total.
    """
    total = sum(len(positions) for positions in by_label.values())
    quotas = {label: divmod(size * len(by_label[label]), total) for label in sorted(by_label)}
    left_over = size - sum(whole for whole, _ in quotas.values())
    favoured = set(sorted(quotas, key=lambda label: (-quotas[label][1], label))[:left_over])
    drawn: list[int] = []
    for label, (whole, _) in quotas.items():
        generator.shuffle(by_label[label])
        drawn += by_label[label][: whole + (label in favoured)]
    return drawn
