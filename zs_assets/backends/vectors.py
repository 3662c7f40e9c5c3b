"""Checking a probability vector while a reply is read: the same integrity every interface and the gate demand.

Whatever a reply holds becomes a vector or a sentence; nothing here raises, because a broken reply is an outcome.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from zs_assets.protocol.question import Question

SUM_TOLERANCE = 0.02
"""Default of |sum - 1|: replies rounded to two decimals reach it."""

# 0.98 is 2e-17 further from 1 than 0.02. The gate allows 1e-9 for that; half of it here keeps the reader the stricter
# of the two although they add in different orders.
_SUM_SLACK = 5e-10


def read_vector(
    values: Mapping[str, Any], question: Question, tolerance: float
) -> tuple[tuple[float, ...] | None, str | None]:
    """`(vector in declared order, None)`, or `(None, problem)` where the labels, a value or the sum is wrong."""
    if not isinstance(values, Mapping):
        return None, f"probabilities are {_kind(values)}, not an object of option ids"
    missing = [option for option in question.ids if option not in values]
    foreign = [key for key in values if key not in question.index_of]
    if missing or foreign:
        return None, _label_problem(missing, foreign)
    vector = []
    for option in question.ids:
        number = _number(values[option])
        if number is None:
            return None, f"probability of {_shown(option)} is {_kind(values[option])}, not a number"
        if not math.isfinite(number):
            return None, f"probability of {_shown(option)} is not finite"
        if not 0.0 <= number <= 1.0:
            return None, f"probability of {_shown(option)} is {number:g}, outside [0,1]"
        vector.append(number)
    total = math.fsum(vector)
    if not abs(total - 1.0) <= tolerance + _SUM_SLACK:
        return None, f"probabilities sum to {total:.6g}, more than {tolerance:g} from 1"
    return tuple(vector), None


def _number(value: Any) -> float | None:
    """The value as a float; None for what JSON does not call a number (booleans included)."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return float(value)
    except OverflowError:  # JSON integers have no limit
        return math.inf


def _label_problem(missing: list[str], foreign: list[Any]) -> str:
    parts = []
    if missing:
        parts.append(f"{len(missing)} declared labels are missing, first {_shown(missing[0])}")
    if foreign:
        parts.append(f"{len(foreign)} labels are not among the options, first {_shown(foreign[0])}")
    return "; ".join(parts)


def _shown(label: Any) -> str:
    """A label for a problem sentence: short, and safe to encode whatever characters it holds."""
    if not isinstance(label, str):
        return _kind(label)
    return ascii(label if len(label) <= 60 else label[:57] + "...")


def _kind(value: Any) -> str:
    return "null" if value is None else f"of type {type(value).__name__}"
