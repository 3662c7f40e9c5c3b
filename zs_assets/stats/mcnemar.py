"""Are two systems right equally often on the same examples: the exact test of McNemar."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import binom

from zs_assets.stats.scored_rows import right_answers
from zs_assets.stats.vectors import Booleans


@dataclass(frozen=True)
class McNemarTest:
    """Result of the test.

    Attributes
    ----------
    only_a, only_b : int
        Examples that only one of the two has right. All others say nothing about which is better.
    p_value : float
        Two-sided and exact: never rejects too often. 1.0 when the two are never right apart.
    mid_p : float
        The same with half the probability of the outcome itself: less cautious, close to its level
        (Fagerland, Lydersen and Laake 2013).
    """

    only_a: int
    only_b: int
    p_value: float
    mid_p: float


def mcnemar_exact(a_correct: Booleans, b_correct: Booleans) -> McNemarTest:
    """Exact McNemar test: if both are equally good, either is as likely to be the one that is right.

    The rows have to be chosen before: a threshold picked because it looks best on them makes p too small.

    Parameters
    ----------
    a_correct, b_correct : bool (n,)
        Right answers of each on the same n examples, a failed one being wrong.

    Raises
    ------
    ValueError
        Flags that are not booleans, or lengths that differ.
    """
    a = right_answers(a_correct, len(a_correct))
    b = right_answers(b_correct, len(a))
    only_a, only_b = int(np.count_nonzero(a & ~b)), int(np.count_nonzero(b & ~a))
    fewer, apart = min(only_a, only_b), only_a + only_b
    tails = 2 * float(binom.cdf(fewer, apart, 0.5))
    return McNemarTest(only_a, only_b, min(1.0, tails), min(1.0, tails - float(binom.pmf(fewer, apart, 0.5))))
