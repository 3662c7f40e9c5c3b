"""Does another reading of certainty separate right from wrong better than the system's own confidence?

AUROC of each, and the paired bootstrap of the differences, outside the atom: at confidence 1.00 the vector
is the same in nearly every row, so no statistic of it can tell these rows apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from zs_assets.stats.auroc import auroc, resampled_wins
from zs_assets.stats.confidence_statistics import confidence_statistics
from zs_assets.stats.scored_rows import require_confidence, right_answers
from zs_assets.stats.vectors import Booleans, Confidence, Floats, Integers

PERCENTILES = (0.025, 0.975)
"""Bounds of a 95 % percentile interval, read off by linear interpolation (type 7)."""


@dataclass(frozen=True)
class AurocDifference:
    """Confidence against one other statistic.

    Attributes
    ----------
    statistic : str
    auroc : float or None
        Of the other statistic.
    difference, low, high : float or None
        AUROC of the confidence minus this one, and its 95 % percentile interval.
    p_value, p_holm : float or None
        Two-sided bootstrap p, 2 min(#{d <= 0}, #{d >= 0}) / kept resamples, at most 1; and the same
        corrected over the comparisons (Holm 1979). Judge by the second: three comparisons are three chances.
    """

    statistic: str
    auroc: float | None
    difference: float | None
    low: float | None
    high: float | None
    p_value: float | None
    p_holm: float | None


@dataclass(frozen=True)
class AurocComparison:
    """Confidence against other statistics on the same rows.

    Attributes
    ----------
    n, right : int
        Rows compared, right answers among them.
    auroc : float or None
        Of the confidence.
    differences : tuple of AurocDifference
    kept, dropped : int
        Resamples used, and resamples that held only right or only wrong answers.
    undefined : str or None
        Why figures are None; None when all are given.
    """

    n: int
    right: int
    auroc: float | None
    differences: tuple[AurocDifference, ...]
    kept: int
    dropped: int
    undefined: str | None


@dataclass(frozen=True)
class OffAtomComparison:
    """The comparison outside the atom in both forms.

    Attributes
    ----------
    atom : int
        Rows with confidence 1.00, left out.
    integer : AurocComparison or None
        The primary form, where equal values tie exactly; None for a system that is not on a grid.
    floats : AurocComparison
        The published form, whose floats break some ties (104 margins where 78 exist).
    """

    atom: int
    integer: AurocComparison | None
    floats: AurocComparison


def compare_off_atom(
    confidence: Confidence,
    raw_vectors: Floats,
    correct: Booleans,
    *,
    decimals: int | None,
    resamples: int,
    seed: int,
) -> OffAtomComparison:
    """Confidence against margin, entropy and ratio on the rows outside the atom.

    The atom is confidence 1.00 exactly, as the system reports it: not a one-hot vector, which some rows of
    confidence 0.99 have too. Both forms draw the same resamples, from a generator made anew.

    Parameters
    ----------
    confidence : Confidence of n rows
    raw_vectors : float64 (n, K)
    correct : bool (n,)
    decimals : int or None
        Decimals the system rounds to; None when it does not round.
    resamples, seed : int
        10,000 and 1729 in the published study.

    Raises
    ------
    ValueError
        Values outside [0, 1], NaN, or lengths that differ.
    """
    require_confidence(confidence)
    n = len(confidence.values)
    flags = right_answers(correct, n)
    if len(raw_vectors) != n:
        raise ValueError(f"raw_vectors must have {n} rows, one per confidence, got {len(raw_vectors)}.")
    off = confidence.levels < 1
    statistics = confidence_statistics(raw_vectors[off], decimals)
    # Entropy runs the other way, so it is negated here, once, for both forms.
    floats: dict[str, Floats | Integers] = {
        "entropy_norm": -statistics.entropy_norm,
        "margin_top2": statistics.margin_top2,
        "ratio_top2": statistics.ratio_top2,
    }
    forms = [compare_auroc(confidence.values[off], floats, flags[off], resamples=resamples, seed=seed)]
    if (grid := statistics.grid) is not None:
        exact: dict[str, Floats | Integers] = {
            "entropy_norm": -grid.entropy_norm,
            "margin_top2": grid.margin,
            "ratio_top2": grid.ratio,
        }
        forms.append(compare_auroc(confidence.levels[off], exact, flags[off], resamples=resamples, seed=seed))
    return OffAtomComparison(n - int(off.sum()), forms[1] if len(forms) > 1 else None, forms[0])


def compare_auroc(
    confidence: Floats | Integers,
    others: Mapping[str, Floats | Integers],
    correct: Booleans,
    *,
    resamples: int,
    seed: int,
) -> AurocComparison:
    """AUROC of a confidence minus that of other statistics, with paired bootstrap intervals.

    Every statistic sees the same drawn rows, so what varies in all of them alike cancels in the difference.

    Parameters
    ----------
    confidence : (n,)
    others : name to (n,)
        More is more certain in each: entropies negated.
    correct : bool (n,)
    resamples, seed : int

    Raises
    ------
    ValueError
        NaN, lengths that differ, or no resamples.
    """
    flags = right_answers(correct, len(confidence))
    n, right = len(flags), int(flags.sum())
    if right in (0, n):
        nothing = tuple(AurocDifference(name, None, None, None, None, None, None) for name in others)
        return AurocComparison(n, right, None, nothing, 0, 0, _why_undefined(n, right))
    resampled = resampled_wins([confidence, *others.values()], flags, resamples, np.random.default_rng(seed))
    kept = resampled.doubled_pairs > 0
    wins, pairs = resampled.doubled_wins[kept], resampled.doubled_pairs[kept]
    lead = wins[:, :1] - wins[:, 1:]
    own = auroc(confidence, flags)
    areas = [auroc(values, flags) for values in others.values()]
    differences = [
        AurocDifference(name, area, own - area, None, None, None, None)
        for name, area in zip(others, areas, strict=True)
        if own is not None and area is not None  # both classes are there: never None, which mypy cannot know
    ]
    if len(wins) == 0:
        why = f"none of {resamples} resamples held both right and wrong answers"
        return AurocComparison(n, right, own, tuple(differences), 0, resamples, why)
    spread = _with_intervals(differences, lead, lead / pairs[:, None])
    return AurocComparison(n, right, own, spread, len(wins), resamples - len(wins), None)


def holm_adjusted(p_values: Sequence[float]) -> list[float]:
    """p values corrected for their number by Holm's step-down rule, in the order given.

    Parameters
    ----------
    p_values : float (m,)

    Returns
    -------
    list of float
        The k-th smallest times (m - k + 1), at least the one before it and at most 1 (Holm 1979).
    """
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = largest
    return adjusted


def _with_intervals(
    points: Sequence[AurocDifference], lead: Integers, differences: Floats
) -> tuple[AurocDifference, ...]:
    low, high = np.quantile(differences, PERCENTILES, axis=0).tolist()
    p_values = [_bootstrap_p(column) for column in lead.T]
    bounds = zip(points, low, high, p_values, holm_adjusted(p_values), strict=True)
    return tuple(
        replace(point, low=below, high=above, p_value=p, p_holm=p_holm) for point, below, above, p, p_holm in bounds
    )


def _bootstrap_p(lead: Integers) -> float:
    """From pairs won, in integers: a float difference of two equal areas need not be 0."""
    smaller_side = min(int(np.count_nonzero(lead <= 0)), int(np.count_nonzero(lead >= 0)))
    return min(1.0, 2 * smaller_side / len(lead))


def _why_undefined(n: int, right: int) -> str:
    if n == 0:
        return "there are no rows to compare"
    return f"all {n} answers are {'right' if right else 'wrong'}: there is no pair to compare"
