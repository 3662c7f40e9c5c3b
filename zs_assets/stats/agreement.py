"""Where two systems agree, and where they are wrong together: what no routing between them can repair.

Counts are of rows against gold labels. Without gold labels there is only `decision_log`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from zs_assets.stats.answers import FAILED
from zs_assets.stats.vectors import Booleans, Integers


@dataclass(frozen=True)
class SharedError:
    """One wrong answer both systems gave, and how often.

    Attributes
    ----------
    gold, predicted : int
        Label indices.
    count : int
    """

    gold: int
    predicted: int
    count: int


@dataclass(frozen=True)
class ParentSplit:
    """Wrong answers inside the parent domain of the gold label, and across.

    Attributes
    ----------
    n : int
        Wrong answers that name a label.
    inside, across : int
        They add up to n.
    failed : int
        Rows without an answer: wrong, but in no domain.
    """

    n: int
    inside: int
    across: int
    failed: int

    @property
    def inside_share(self) -> float | None:
        """inside / n; None when no wrong answer names a label."""
        return self.inside / self.n if self.n else None


@dataclass(frozen=True)
class ParentErrors:
    """How far wrong answers go in a label hierarchy.

    Attributes
    ----------
    shared_primary, shared_fallback : ParentSplit
        Answers of each system on the rows both get wrong. A system that failed there is counted apart.
    same : ParentSplit
        The wrong answers both gave alike.
    primary : ParentSplit
        All wrong answers of the primary: what the shared ones are compared with.
    """

    shared_primary: ParentSplit
    shared_fallback: ParentSplit
    same: ParentSplit
    primary: ParentSplit


@dataclass(frozen=True)
class TierDisagreement:
    """Rows of one tier of the primary's confidence where the two answers differ.

    Attributes
    ----------
    tier : int
    n : int
        Rows of the tier.
    disagreements : int
        Rows with different answers; a failure agrees with nothing, not even with another failure.
    primary_wins, fallback_wins, neither : int
        Who is right on them; they add up to `disagreements`.
    """

    tier: int
    n: int
    disagreements: int
    primary_wins: int
    fallback_wins: int
    neither: int


@dataclass(frozen=True)
class Agreement:
    """Two systems on the same rows.

    Attributes
    ----------
    n : int
    both_correct, both_wrong_same, both_wrong_different, primary_only, fallback_only : int
        They add up to n.
    shared_errors : SharedError, most frequent first
        Every distinct (gold, wrong answer) pair both systems gave; ties in the order of label indices.
    parents : ParentErrors or None
        None when the labels have no parents.
    tiers : TierDisagreement by tier
        Empty when no tiers were given.
    """

    n: int
    both_correct: int
    both_wrong_same: int
    both_wrong_different: int
    primary_only: int
    fallback_only: int
    shared_errors: tuple[SharedError, ...]
    parents: ParentErrors | None
    tiers: tuple[TierDisagreement, ...]

    @property
    def both_wrong(self) -> int:
        """Rows lost to every routing between the two."""
        return self.both_wrong_same + self.both_wrong_different

    @property
    def oracle_correct(self) -> int:
        """Rows at least one system gets right."""
        return self.n - self.both_wrong


def agreement(
    primary_predicted: Integers,
    fallback_predicted: Integers,
    gold: Integers,
    *,
    parents: Integers | None = None,
    tier: Integers | None = None,
) -> Agreement:
    """Compare the answers of two systems with the gold labels and with each other.

    Parameters
    ----------
    primary_predicted, fallback_predicted : int64 (n,)
        Label indices; -1 for a failed row, which is wrong. Two failures are not the same wrong answer.
    gold : int64 (n,)
    parents : int64 (K,) or None
        Parent domain of each label.
    tier : int64 (n,) or None
        Tier of the primary's confidence of each row, numbered from 0; -1 for a row in none.

    Raises
    ------
    ValueError
        Lengths differ, or an index names no label.
    """
    primary, fallback, gold = np.asarray(primary_predicted), np.asarray(fallback_predicted), np.asarray(gold)
    _require_indices(primary, fallback, gold, None if parents is None else len(parents))
    primary_right, fallback_right = primary == gold, fallback == gold
    both_wrong = ~primary_right & ~fallback_right
    same = both_wrong & (primary == fallback) & (primary != FAILED)
    return Agreement(
        n=len(gold),
        both_correct=_count(primary_right & fallback_right),
        both_wrong_same=_count(same),
        both_wrong_different=_count(both_wrong & ~same),
        primary_only=_count(primary_right & ~fallback_right),
        fallback_only=_count(~primary_right & fallback_right),
        shared_errors=_shared_errors(gold[same], primary[same]),
        parents=None if parents is None else _parent_errors(primary, fallback, gold, np.asarray(parents)),
        tiers=() if tier is None else _tiers(primary, fallback, gold, np.asarray(tier)),
    )


def _require_indices(primary: Integers, fallback: Integers, gold: Integers, n_labels: int | None) -> None:
    for name, values, lowest in (
        ("primary_predicted", primary, FAILED),
        ("fallback_predicted", fallback, FAILED),
        ("gold", gold, 0),
    ):
        if values.shape != (len(gold),) or (len(gold) > 0 and values.dtype.kind not in "iu"):
            raise ValueError(f"{name} must be {len(gold)} integers, one per row.")
        if np.any(values < lowest) or (n_labels is not None and np.any(values >= n_labels)):
            raise ValueError(f"{name} must be label indices from {lowest} to the number of labels minus 1.")


def _count(rows: Booleans) -> int:
    return int(np.count_nonzero(rows))


def _shared_errors(gold: Integers, predicted: Integers) -> tuple[SharedError, ...]:
    # np.unique sorts the pairs by label index; the stable sort by count keeps that order among ties.
    pairs, counts = np.unique(np.column_stack([gold, predicted]), axis=0, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return tuple(SharedError(int(pairs[i, 0]), int(pairs[i, 1]), int(counts[i])) for i in order)


def _parent_errors(primary: Integers, fallback: Integers, gold: Integers, parents: Integers) -> ParentErrors:
    primary_wrong = primary != gold
    both_wrong = primary_wrong & (fallback != gold)
    same = both_wrong & (primary == fallback) & (primary != FAILED)
    return ParentErrors(
        shared_primary=_split(primary[both_wrong], gold[both_wrong], parents),
        shared_fallback=_split(fallback[both_wrong], gold[both_wrong], parents),
        same=_split(primary[same], gold[same], parents),
        primary=_split(primary[primary_wrong], gold[primary_wrong], parents),
    )


def _split(wrong: Integers, gold: Integers, parents: Integers) -> ParentSplit:
    answered = wrong != FAILED
    inside = _count(parents[wrong[answered]] == parents[gold[answered]])
    n = _count(answered)
    return ParentSplit(n=n, inside=inside, across=n - inside, failed=len(wrong) - n)


def _tiers(primary: Integers, fallback: Integers, gold: Integers, tier: Integers) -> tuple[TierDisagreement, ...]:
    if tier.shape != gold.shape or (len(tier) > 0 and tier.dtype.kind not in "iu") or np.any(tier < -1):
        raise ValueError(f"tier must be {len(gold)} integers from -1, one per row.")
    differ = (primary != fallback) | (primary == FAILED)
    found = []
    for index in range(int(tier.max(initial=-1)) + 1):
        inside = tier == index
        rows = inside & differ
        first, second = _count(rows & (primary == gold)), _count(rows & (fallback == gold))
        n = _count(rows)
        found.append(TierDisagreement(index, _count(inside), n, first, second, n - first - second))
    return tuple(found)
