"""How often a system is right at each confidence it reports: by observed level, and in five fixed tiers.

A confidence on a coarse grid is a set of levels, not a line: nothing is interpolated between them and none
is split. The level 1.00, the atom, holds about half of the rows of a saturated system and is one row.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from zs_assets.stats.calibration import confidence_levels
from zs_assets.stats.intervals import clopper_pearson_interval, wilson_interval
from zs_assets.stats.scored_rows import require_confidence, right_answers
from zs_assets.stats.vectors import Booleans, Confidence, Floats, Integers

SMALL_LEVEL = 10
"""A level with fewer rows than this is marked: its share says little, its interval says how little."""

TIER_FLOORS = (Fraction(1), Fraction(95, 100), Fraction(90, 100), Fraction(70, 100), Fraction(0))
"""Lowest confidence of each tier, from the highest tier down; a tier ends below the floor above it."""

TIER_NAMES = ("1.00", "[0.95, 1.00)", "[0.90, 0.95)", "[0.70, 0.90)", "below 0.70")
"""How the tiers are printed, in the order of `TIER_FLOORS`."""


@dataclass(frozen=True, eq=False)
class LevelTable:
    """One row per observed level, from the highest down.

    Attributes
    ----------
    level : float64 (L,)
    count, correct : int64 (L,)
        Rows at the level, right answers among them.
    accuracy : float64 (L,)
    wilson_low, wilson_high, exact_low, exact_high : float64 (L,)
        95 % intervals of the accuracy: Wilson, and Clopper-Pearson as the exact one.
    small : bool (L,)
        Fewer than `SMALL_LEVEL` rows.
    """

    level: Floats
    count: Integers
    correct: Integers
    accuracy: Floats
    wilson_low: Floats
    wilson_high: Floats
    exact_low: Floats
    exact_high: Floats
    small: Booleans


@dataclass(frozen=True, eq=False)
class TierTable:
    """One row per tier of `TIER_NAMES`, empty ones included.

    Attributes
    ----------
    count, correct : int64 (5,)
    accuracy, mean_confidence : float64 (5,)
        NaN in a tier without rows.
    """

    count: Integers
    correct: Integers
    accuracy: Floats
    mean_confidence: Floats


def level_table(confidence: Confidence, correct: Booleans) -> LevelTable:
    """Accuracy and its intervals at every observed confidence.

    Parameters
    ----------
    confidence : Confidence of n rows
    correct : bool (n,)

    Returns
    -------
    LevelTable; no row for no data.

    Raises
    ------
    ValueError
        Confidence outside [0, 1], NaN, or flags of another length.
    """
    require_confidence(confidence)
    flags = right_answers(correct, len(confidence.values))
    ascending = confidence_levels(confidence, flags)
    count, right = ascending.count[::-1], ascending.correct[::-1]
    wilson, exact = wilson_interval(right, count), clopper_pearson_interval(right, count)
    return LevelTable(
        ascending.level[::-1],
        count,
        right,
        right / count,
        wilson.low,
        wilson.high,
        exact.low,
        exact.high,
        count < SMALL_LEVEL,
    )


def tier_of(confidence: Confidence) -> Integers:
    """Tier of each row: 0 for 1.00 down to 4 for below 0.70.

    On a grid the floors are compared as fractions of integers. A plain float is compared with the double
    nearest to the floor, so the float that prints as 0.95 belongs to the tier that starts there.

    Parameters
    ----------
    confidence : Confidence of n rows

    Returns
    -------
    int64 (n,), index into `TIER_NAMES`

    Raises
    ------
    ValueError
        Confidence outside [0, 1], or NaN.
    """
    require_confidence(confidence)
    tier = np.zeros(len(confidence.values), dtype=np.int64)
    for floor in TIER_FLOORS[:-1]:
        tier += _below(confidence, floor)
    return tier


def tier_table(confidence: Confidence, correct: Booleans) -> TierTable:
    """Accuracy and mean confidence in each tier.

    Parameters
    ----------
    confidence : Confidence of n rows
    correct : bool (n,)

    Raises
    ------
    ValueError
        Confidence outside [0, 1], NaN, or flags of another length.
    """
    flags = right_answers(correct, len(confidence.values))
    tier, n_tiers = tier_of(confidence), len(TIER_NAMES)
    count = np.bincount(tier, minlength=n_tiers)
    right = np.bincount(tier[flags], minlength=n_tiers)
    stated = np.bincount(tier, weights=confidence.levels, minlength=n_tiers)
    accuracy, mean = (
        np.divide(total, count, out=np.full(n_tiers, np.nan), where=count > 0) for total in (right, stated)
    )
    return TierTable(count, right, accuracy, mean)


def _below(confidence: Confidence, floor: Fraction) -> Booleans:
    if confidence.numerator is not None and confidence.denominator is not None:
        return confidence.numerator * floor.denominator < confidence.denominator * floor.numerator
    return confidence.values < float(floor)
