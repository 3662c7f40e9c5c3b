"""Answering only above a confidence: coverage at an error budget, and the risk-coverage points.

The threshold is chosen on the rows that score it, so this coverage describes a sample and promises nothing
about the next one. A failed example is never accepted and stays in the denominator.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from zs_assets.stats.vectors import Booleans, Floats, Integers


@dataclass(frozen=True)
class Coverage:
    """The largest share of examples that can be accepted within an error budget.

    Attributes
    ----------
    coverage : float
        Accepted over planned examples; 0.0 when no threshold stays within the budget.
    risk : float or None
        Errors over accepted; None when nothing is accepted.
    threshold : float or None
        The lowest accepted confidence level; None when nothing is accepted.
    accepted, errors : int
    """

    coverage: float
    risk: float | None
    threshold: float | None
    accepted: int
    errors: int


@dataclass(frozen=True, eq=False)
class RiskCoverage:
    """One row per observed level, from the highest down: what accepting everything at or above it gives."""

    level: Floats
    accepted: Integers
    errors: Integers
    coverage: Floats
    risk: Floats


def risk_coverage(levels: Floats, correct: Booleans, planned: int) -> RiskCoverage:
    """Coverage and risk at every distinct confidence; equal confidences are accepted together.

    Parameters
    ----------
    levels : float64 (n,)
        Confidence of the valid rows, unrounded (`Confidence.levels`).
    correct : bool (n,)
    planned : int
        All planned examples, failed ones included.
    """
    if planned < len(levels):
        raise ValueError(f"planned must count all examples, got {planned} for {len(levels)} rows.")
    ascending, row_level = np.unique(levels, return_inverse=True)
    n_levels = len(ascending)
    accepted = np.cumsum(np.bincount(row_level, minlength=n_levels)[::-1])
    errors = np.cumsum(np.bincount(row_level[~correct], minlength=n_levels)[::-1])
    return RiskCoverage(ascending[::-1], accepted, errors, accepted / max(planned, 1), errors / accepted)


def coverage_at_error_budget(levels: Floats, correct: Booleans, planned: int, budget: Fraction) -> Coverage:
    """The largest accepted count whose share of errors is within the budget.

    The test is `errors * denominator <= accepted * numerator` in integers: 1 - 0.95 in floats is
    0.050000000000000044, and a risk of exactly 5 % has to pass. Every level is looked at, since the risk
    may fall again below a level that fails.

    Parameters
    ----------
    levels : float64 (n,)
        Confidence of the valid rows, unrounded (`Confidence.levels`).
    correct : bool (n,)
    planned : int
        All planned examples, failed ones included.
    budget : Fraction
        For 5 %, `Fraction(1, 20)`.
    """
    if not isinstance(budget, Fraction) or not 0 <= budget <= 1:
        raise ValueError(f"budget must be a Fraction from 0 to 1, got {budget!r}.")
    points = risk_coverage(levels, correct, planned)
    within = points.errors * budget.denominator <= points.accepted * budget.numerator
    if not within.any():
        return Coverage(0.0, None, None, 0, 0)
    # Levels run from the highest down, so the last that qualifies accepts the most.
    last = int(np.flatnonzero(within)[-1])
    return Coverage(
        float(points.coverage[last]),
        float(points.risk[last]),
        float(points.level[last]),
        int(points.accepted[last]),
        int(points.errors[last]),
    )
