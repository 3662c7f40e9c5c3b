"""What asking more orders buys: the mean of r rotations as one decision, for r = 1 .. K.

The rotations that are averaged follow each other, so the r answers behind a decision put r different options at each
position. After all K rotations every option stood once in every position: a preference for positions is gone, and
what remains is what reading the list forwards or backwards changes.

Decisions that start next to each other share replies: r - 1 of their r. Their spread therefore shrinks faster than
that of decisions with replies of their own, and at r = K only two averages are left, forwards and backwards. Read the
spread as that of this plan, never as the spread of r orders drawn afresh.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from zs_assets.stats.order_scores import GrowingSums, OrderScores, correctly_rounded_sums
from zs_assets.stats.order_sensitivity import SampleSensitivity, summarise_ranges
from zs_assets.stats.vectors import Booleans, Floats, Integers

_BLOCK_CELLS = 1 << 21  # scores gathered at a time, 16 MB


@dataclass(frozen=True, eq=False)
class AveragedRotations:
    """Decisions from the mean over `rotations` orders; one for each rotation to start at, in each direction.

    Repeats are averaged first. A decision is the first maximum in declared order.

    Attributes
    ----------
    rotations : int
        r, the orders behind one decision.
    calls : int
        Replies behind one decision: r times the repeats of each order.
    median_range, p95_range : float
        Points; type 7 over samples of the largest difference of one option's mean between the decisions.
    large : bool (n,)
        Samples whose range reaches the threshold, exactly on the grid.
    winner_change_share : float
        Samples without a tie whose winner depends on start or direction; the denominator includes tied ones.
    tied_share : float
        Samples with a tied highest mean in some decision.
    agreement : float
        Decisions equal to the decision from all orders together. A tie is decided on both sides alike.
    sample_accuracy : float64 (n,) or None
        Share of each sample's decisions that are right; None without gold labels.
    """

    rotations: int
    calls: int
    median_range: float
    p95_range: float
    large: Booleans
    winner_change_share: float
    tied_share: float
    agreement: float
    sample_accuracy: Floats | None

    @property
    def large_share(self) -> float:
        return float(self.large.mean())

    @property
    def accuracy(self) -> float | None:
        """Mean of `sample_accuracy`: the chance that one such decision is right, wherever it starts."""
        return None if self.sample_accuracy is None else float(self.sample_accuracy.mean())


def averaging(scores: OrderScores, gold: Integers | None, threshold_points: float) -> list[AveragedRotations]:
    """How stable and how right decisions become when r rotations are averaged.

    Sums of r answers are compared, integers on the grid and rounded once elsewhere, so a tie or a range at the
    threshold is one (see `SampleSensitivity.reaches`). With r = K all starts make the same decision.

    Parameters
    ----------
    scores : OrderScores of n >= 1 score-complete samples
        The orders, in any sequence, are all rotations of one or more orders: of a base order and its reverse in the
        plans of this package, 2K decisions for each sample; with K = 2 these coincide and make two.
    gold : int64 (n,) or None
        Declared index of the right option.
    threshold_points : float
        A range is large from here on.

    Returns
    -------
    list of K AveragedRotations, r = 1 first

    Raises
    ------
    ValueError
        Orders that are not all rotations, gold labels that do not fit, no sample, or a reply without scores.
    """
    if len(scores) == 0:
        raise ValueError("There is no sample whose orders could be averaged.")
    if gold is not None and gold.shape != (len(scores),):
        raise ValueError(f"gold {gold.shape} is not one label for each of {len(scores)} samples.")
    cycles = rotation_cycles(scores.orders)
    everything = _sums(scores, scores.order_sums[:, None]).argmax(axis=2)
    return [
        _averaged(scores, r, decisions, everything, gold, threshold_points)
        for r, decisions in enumerate(_decisions(scores, cycles), start=1)
    ]


def rotation_cycles(orders: Integers) -> Integers:
    """Which orders are rotations of one another, each next to the one that is one step further.

    Parameters
    ----------
    orders : int (O, K)

    Returns
    -------
    int64 (O / K, K)
        Indices of orders; a row is one direction.

    Raises
    ------
    ValueError
        Some rotation of one of the orders is missing, or is there twice.
    """
    n_options = orders.shape[1]
    first_at = np.argmin(orders, axis=1)  # where option 0 stands: one place further left with every step
    by_cycle: defaultdict[tuple[int, ...], dict[int, int]] = defaultdict(dict)
    for index, (order, start) in enumerate(zip(orders, first_at, strict=True)):
        by_cycle[tuple(np.roll(order, -start).tolist())][int(-start % n_options)] = index
    if len(by_cycle) * n_options != len(orders) or any(len(cycle) != n_options for cycle in by_cycle.values()):
        raise ValueError(
            f"These {len(orders)} orders are not all rotations of some order of {n_options} options, once each: "
            "averaging needs a plan of rotations."
        )
    return np.array([[cycle[step] for step in range(n_options)] for cycle in by_cycle.values()], dtype=np.int64)


def _windows(cycles: Integers, r: int) -> Integers:
    """(O, r): r consecutive rotations from each start of each cycle, going round its end."""
    n_options = cycles.shape[1]
    steps = (np.arange(n_options)[:, None] + np.arange(r)) % n_options
    return cycles[:, steps].reshape(-1, r)


class _Decisions(NamedTuple):
    """Of r consecutive rotations from each start: widest difference (n,), tied somewhere (n,), first winners (n, O)."""

    widest: np.ndarray
    tied: Booleans
    winner: NDArray[np.int32]


def _averaged(
    scores: OrderScores,
    r: int,
    decisions: _Decisions,
    everything: Integers,
    gold: Integers | None,
    threshold_points: float,
) -> AveragedRotations:
    widest, tied, winner = decisions
    sensitivity = SampleSensitivity(
        range_points=widest * 100 / (r * scores.n_repeats * scores.units_per_score),
        tied=tied,
        winner_change=~tied & (winner != winner[:, :1]).any(axis=1),
        widest=widest,
        repeats=r * scores.n_repeats,
        units_per_score=None if scores.grid is None else scores.units_per_score,
    )
    ranges = summarise_ranges(sensitivity.range_points)
    assert ranges is not None  # there is a sample
    return AveragedRotations(
        rotations=r,
        calls=r * scores.n_repeats,
        median_range=ranges.median,
        p95_range=ranges.p95,
        large=sensitivity.reaches(threshold_points),
        winner_change_share=float(sensitivity.winner_change.mean()),
        tied_share=float(tied.mean()),
        agreement=float((winner == everything).mean()),
        sample_accuracy=None if gold is None else (winner == gold[:, None]).mean(axis=1),
    )


def _decisions(scores: OrderScores, cycles: Integers) -> list[_Decisions]:
    """One entry per r = 1 .. K."""
    step = max(1, _BLOCK_CELLS // (cycles.size * scores.n_options))
    blocks = [
        [_decided(sums) for sums in _window_sums(scores.order_sums[start : start + step], cycles)]
        for start in range(0, len(scores), step)
    ]
    return [
        _Decisions(*(np.concatenate(parts) for parts in zip(*of_r, strict=True))) for of_r in zip(*blocks, strict=True)
    ]


def _decided(sums: np.ndarray) -> _Decisions:
    at_top = sums == sums.max(axis=2, keepdims=True)
    return _Decisions(
        widest=(sums.max(axis=1) - sums.min(axis=1)).max(axis=1),
        tied=(at_top.sum(axis=2) > 1).any(axis=1),
        winner=at_top.argmax(axis=2).astype(np.int32),
    )


def _window_sums(answers: np.ndarray, cycles: Integers) -> Iterator[np.ndarray]:
    """(m, O, K) for r = 1 .. K: sums of the answers to r consecutive rotations from each start.

    Each grows from the one before by one rotation, so K options take K^3 steps and not K^4: with 300 options that is
    a second for a sample in place of minutes.
    """
    if answers.dtype.kind == "i":
        total = np.zeros_like(answers)
        for r in range(1, cycles.shape[1] + 1):
            total = total + answers[:, _windows(cycles, r)[:, -1]]
            yield total
        return
    growing = GrowingSums(answers.shape)
    for r in range(1, cycles.shape[1] + 1):
        windows = _windows(cycles, r)
        growing.add(answers[:, windows[:, -1]])
        sums = growing.rounded()
        if growing.lost.any():
            sample, window, option = np.nonzero(growing.lost)
            terms = answers[sample[:, None], windows[window], option[:, None]]
            sums[growing.lost] = [math.fsum(own) for own in terms.tolist()]
        yield sums


def _sums(scores: OrderScores, answers: np.ndarray) -> np.ndarray:
    """(m, W, r, K) -> (m, W, K): sums of r answers that depend on the answers only, not on their sequence."""
    if scores.grid is not None:
        return answers.sum(axis=2)
    return correctly_rounded_sums(np.moveaxis(answers, 2, 0))
