"""Proper scores of probability vectors: Brier score and negative log likelihood, row by row."""

from __future__ import annotations

import numpy as np

from zs_assets.stats.vectors import Floats, Integers

PILOT_FLOOR = 1e-12
"""Floor the pilot published with: one row with p_gold = 0 adds 27.631 to the sum."""

HALF_STEP_FLOOR = 0.005
"""Half the step of a 0.01 grid: what a printed 0.00 can hide. A row with p_gold = 0 adds 5.298."""


def brier_rows(probabilities: Floats, gold: Integers) -> Floats:
    """Multiclass Brier score of each row: the squared distance to the one-hot vector, in [0, 2].

    scikit-learn halves the binary case; here two classes are scored like any other number.

    Parameters
    ----------
    probabilities : float64 (n, K)
    gold : int64 (n,)

    Returns
    -------
    float64 (n,)
    """
    distance = probabilities.copy()
    distance[np.arange(len(gold)), gold] -= 1.0
    return np.einsum("ij,ij->i", distance, distance)


def gold_probability(probabilities: Floats, gold: Integers) -> Floats:
    """Probability given to the right label, float64 (n,).

    Parameters
    ----------
    probabilities : float64 (n, K)
    gold : int64 (n,)
    """
    return probabilities[np.arange(len(gold)), gold]


def nll_rows(probabilities: Floats, gold: Integers, floor: float) -> Floats:
    """Negative log likelihood of each row, with p_gold raised to `floor`.

    Where p_gold can be 0 the mean is mostly this floor, so it is always printed with it.

    Parameters
    ----------
    probabilities : float64 (n, K)
    gold : int64 (n,)
    floor : float
        `PILOT_FLOOR` or `HALF_STEP_FLOOR`.

    Returns
    -------
    float64 (n,)
    """
    # abs: the logarithm of 1 would otherwise come out as -0.0.
    return np.abs(np.log(np.clip(gold_probability(probabilities, gold), floor, 1.0)))
