"""The door of statistics that set a confidence against right answers: both are checked here, once."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from zs_assets.stats.vectors import Booleans, Confidence


def require_confidence(confidence: Confidence) -> None:
    """Refuse a confidence that is no number in [0, 1].

    Parameters
    ----------
    confidence : Confidence of n rows

    Raises
    ------
    ValueError
        A value is NaN or outside [0, 1].
    """
    # NaN compares false with everything, so this one test also refuses it.
    if not np.all((confidence.values >= 0) & (confidence.values <= 1)):
        raise ValueError("confidence must hold numbers in [0, 1], without NaN.")


def right_answers(correct: ArrayLike, n: int) -> Booleans:
    """The flags of right answers, refused when they are not one boolean per row.

    Integers are refused too: indexing with 0 and 1 would silently pick rows 0 and 1.

    Parameters
    ----------
    correct : bool (n,)
    n : int
        Rows of what the flags belong to.

    Returns
    -------
    bool (n,)

    Raises
    ------
    ValueError
        Another type or length.
    """
    flags = np.asarray(correct)
    if n == 0 and flags.size == 0:
        return np.zeros(0, dtype=np.bool_)
    if flags.dtype != np.bool_ or flags.shape != (n,):
        raise ValueError(f"correct must be {n} booleans, one per row, got {flags.dtype} of shape {flags.shape}.")
    return flags
