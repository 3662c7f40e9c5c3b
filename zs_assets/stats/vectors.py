"""Probability vectors and the confidence read from them: sums, maxima, and exact values on a decimal grid.

Nothing here knows what is right or wrong; scores of vectors live in `proper_scores`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

# Systems that round to two decimals send 0.21000000000000002 now and then: float noise, about 1e-16.
# A value further from its grid point than this was not rounded by the system.
GRID_NOISE = 1e-9


@dataclass(frozen=True, eq=False)
class Confidence:
    """The confidence of each row, with its exact value where the system rounds.

    Attributes
    ----------
    values : float64 (n,)
        The confidence as floats, exactly as the study's rule computes it.
    numerator, denominator : int64 (n,) or None
        The same confidence as a fraction of integer grid units; None when the system is not on a grid.
    """

    values: Floats
    numerator: Integers | None = None
    denominator: Integers | None = None

    @property
    def on_grid(self) -> bool:
        """Whether every row has an exact fraction."""
        return self.numerator is not None

    @property
    def levels(self) -> Floats:
        """One float per row, equal between two rows exactly when their confidences are equal.

        The quotient of two small integers is rounded correctly, so equal fractions give equal floats. The
        float rule does not: 0.94 divided by two sums that differ in the last bit makes two levels of one.
        """
        if self.numerator is None or self.denominator is None:
            return self.values
        return self.numerator / self.denominator


def first_maximum(probabilities: Floats) -> Integers:
    """Index of the maximum of each row; the first one when several are equal.

    Parameters
    ----------
    probabilities : float64 (n, K)

    Returns
    -------
    int64 (n,)
    """
    return np.argmax(probabilities, axis=1).astype(np.int64)


def row_sums(probabilities: Floats) -> Floats:
    """Correctly rounded sum of each row, so the order of the options cannot change its last bit.

    Parameters
    ----------
    probabilities : float64 (n, K)

    Returns
    -------
    float64 (n,)
    """
    return np.array([math.fsum(row) for row in probabilities.tolist()], dtype=np.float64)


def renormalise(probabilities: Floats) -> Floats:
    """Each row divided by its sum.

    Parameters
    ----------
    probabilities : float64 (n, K)
        Rows with a positive sum.

    Returns
    -------
    float64 (n, K)
    """
    sums = row_sums(probabilities)
    if np.any(~(sums > 0)):
        raise ValueError("Cannot renormalise: every row needs a positive, finite sum.")
    return probabilities / sums[:, None]


def grid_units(values: Floats, decimals: int) -> Integers | None:
    """Values as integers of 10**-decimals (hundredths for 2), or None when one of them is off that grid.

    Parameters
    ----------
    values : float64, any shape
    decimals : int

    Returns
    -------
    int64 of the same shape, or None
    """
    scaled = values * 10.0**decimals
    units = np.rint(scaled)
    if np.any(np.abs(scaled - units) > GRID_NOISE * 10.0**decimals):
        return None
    return units.astype(np.int64)


def top_probability(probabilities: Floats, *, renormalised: bool, decimals: int | None) -> Confidence:
    """The largest probability of each row, as float and, on a grid, as the fraction h / S.

    Parameters
    ----------
    probabilities : float64 (n, K)
        Raw vectors.
    renormalised : bool
        Divide by the row's sum first. On a grid S is then the integer sum of the row, else 10**decimals.
    decimals : int or None
        Decimals the system rounds to; None when it does not round.

    Returns
    -------
    Confidence of n rows
    """
    values = (renormalise(probabilities) if renormalised else probabilities).max(axis=1)
    units = None if decimals is None else grid_units(probabilities, decimals)
    if decimals is None or units is None:
        return Confidence(values)
    whole = np.full(len(units), 10**decimals, dtype=np.int64)
    return Confidence(values, units.max(axis=1), units.sum(axis=1) if renormalised else whole)


def reported_confidence(values: Floats, *, decimals: int | None) -> Confidence:
    """A confidence field the system itself reported.

    Parameters
    ----------
    values : float64 (n,)
    decimals : int or None
        Decimals the system rounds to; None when it does not round.

    Returns
    -------
    Confidence of n rows
    """
    units = None if decimals is None else grid_units(values, decimals)
    if decimals is None or units is None:
        return Confidence(values)
    return Confidence(values, units, np.full(len(units), 10**decimals, dtype=np.int64))
