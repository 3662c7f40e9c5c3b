"""Thresholds with a promise: above them the share of errors stays below a limit, with stated confidence.

The plug-in coverage of `selective` is chosen on the rows that score it and promises nothing. Here the
thresholds are fixed before anything is seen, and each has to pass an exact test before the next is tried.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.special import bdtr

from zs_assets.stats.intervals import CONFIDENCE_LEVEL
from zs_assets.stats.scored_rows import require_confidence, right_answers
from zs_assets.stats.vectors import Booleans, Confidence, Floats, Integers

GRID_STEPS = 100
"""Thresholds tried: 1.00, 0.99, ... 0.00, the same for every system."""


@dataclass(frozen=True)
class CertifiedThreshold:
    """The lowest certified threshold.

    Attributes
    ----------
    coverage : float
        Accepted over all planned examples; 0.0 when nothing is certified.
    threshold : float or None
        Accept confidences at or above it; None when nothing is certified.
    accepted, errors : int
    p_value : float or None
        Of the test the threshold passed.
    stopped_at : float or None
        First threshold that failed, after which none was tried; None when all passed, or none accepts enough
        rows to be tried.
    stopped_p_value : float or None
        Of the test that failed.
    """

    coverage: float
    threshold: float | None
    accepted: int
    errors: int
    p_value: float | None
    stopped_at: float | None
    stopped_p_value: float | None


def certified_threshold(
    confidence: Confidence,
    correct: Booleans,
    planned: int,
    risk_limit: Fraction,
    *,
    confidence_level: float = CONFIDENCE_LEVEL,
) -> CertifiedThreshold:
    """The lowest threshold whose error rate is below a limit, by fixed-sequence testing.

    From 1.00 down in steps of 0.01 the hypothesis "at least `risk_limit` of what is accepted here is wrong"
    is tested exactly: it is rejected when P(X <= errors) <= 1 - confidence_level for X binomial with
    `accepted` trials and `risk_limit`. The first that stands ends the search, which is why the many tests
    need no correction: a false promise takes a false rejection of the first true hypothesis (the
    fixed-sequence case of "Learn then Test", Angelopoulos et al. 2021).

    The promise holds for new examples drawn like these, answered by the same system: not for another
    dataset, version or mix of questions, and not once the grid has been chosen by looking at the rows.

    A threshold that accepts fewer than `rows_to_certify(0, ...)` rows (59 for 5 % at 95 %) could not pass
    without a single error either; it is passed over, by its number of rows alone and without a look at its
    errors. A system that seldom says 1.00 would otherwise certify nothing at all. Simulated with smooth, flat
    and bumpy accuracies, 100 and 500 rows, limits of 5, 10 and 15 %: at most 4.5 % of the samples broke their
    promise at 95 %, where risks just met the limit, and mostly below 2 %.

    Parameters
    ----------
    confidence : Confidence of the n valid rows
    correct : bool (n,)
    planned : int
        All planned examples; failed ones are never accepted and stay in the denominator.
    risk_limit : Fraction
        For 5 %, `Fraction(1, 20)`.
    confidence_level : float

    Raises
    ------
    ValueError
        Confidence outside [0, 1], NaN, lengths that differ, or a limit that is no Fraction between 0 and 1.
    """
    require_confidence(confidence)
    flags = right_answers(correct, len(confidence.values))
    if planned < len(flags):
        raise ValueError(f"planned must count all examples, got {planned} for {len(flags)} rows.")
    _require_limits(risk_limit, confidence_level)
    accepted, errors = _accepted_by_threshold(confidence, flags)
    p_values = _p_values(errors, accepted, risk_limit)
    tried = np.flatnonzero(accepted >= rows_to_certify(0, risk_limit, confidence_level=confidence_level))
    failed = tried[p_values[tried] > 1 - confidence_level]
    stop = int(failed[0]) if len(failed) else None
    passed = tried if stop is None else tried[tried < stop]
    stopped = (None, None) if stop is None else (_threshold(stop), float(p_values[stop]))
    if len(passed) == 0:
        return CertifiedThreshold(0.0, None, 0, 0, None, *stopped)
    last = int(passed[-1])
    n_accepted, n_errors = int(accepted[last]), int(errors[last])
    return CertifiedThreshold(
        n_accepted / planned, _threshold(last), n_accepted, n_errors, float(p_values[last]), *stopped
    )


def rows_to_certify(errors: int, risk_limit: Fraction, *, confidence_level: float = CONFIDENCE_LEVEL) -> int:
    """Smallest number of accepted rows that certifies a limit with this many errors among them.

    Parameters
    ----------
    errors : int
    risk_limit : Fraction
    confidence_level : float

    Raises
    ------
    ValueError
        A negative count, or a limit that is no Fraction between 0 and 1.
    """
    _require_limits(risk_limit, confidence_level)
    if errors < 0:
        raise ValueError(f"errors must not be negative, got {errors}.")
    # The tail falls as rows are added: double past the answer, then halve the gap.
    low, high = errors, errors + 1
    while not _certifies(errors, high, risk_limit, confidence_level):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _certifies(errors, middle, risk_limit, confidence_level) else (middle, high)
    return high


def _accepted_by_threshold(confidence: Confidence, correct: Booleans) -> tuple[Integers, Integers]:
    """Rows at or above each threshold, and errors among them, from 1.00 down."""
    # Step k stands for the threshold (100 - k) / 100; a row enters at the highest threshold it reaches.
    if confidence.numerator is not None and confidence.denominator is not None:
        enters = GRID_STEPS - GRID_STEPS * confidence.numerator // confidence.denominator
    else:
        ascending = np.arange(GRID_STEPS + 1) / GRID_STEPS
        enters = GRID_STEPS + 1 - np.searchsorted(ascending, confidence.values, side="right")
    accepted = np.cumsum(np.bincount(enters, minlength=GRID_STEPS + 1))
    return accepted, np.cumsum(np.bincount(enters[~correct], minlength=GRID_STEPS + 1))


def _p_values(errors: Integers, accepted: Integers, risk_limit: Fraction) -> Floats:
    return np.asarray(bdtr(errors.astype(np.float64), accepted, float(risk_limit)))


def _certifies(errors: int, accepted: int, risk_limit: Fraction, confidence_level: float) -> bool:
    return float(_p_values(np.array(errors), np.array(accepted), risk_limit)) <= 1 - confidence_level


def _threshold(step: int) -> float:
    return (GRID_STEPS - step) / GRID_STEPS


def _require_limits(risk_limit: Fraction, confidence_level: float) -> None:
    if not isinstance(risk_limit, Fraction) or not 0 < risk_limit < 1:
        raise ValueError(f"risk_limit must be a Fraction between 0 and 1, got {risk_limit!r}.")
    if not 0 < confidence_level < 1:
        raise ValueError(f"confidence_level must lie between 0 and 1, got {confidence_level}.")
