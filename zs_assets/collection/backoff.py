"""How long to wait before a call is made again."""

from __future__ import annotations

import random

from zs_assets.backends.base import CallFault

FIRST_BACKOFF_S = 0.5


def wait_before_retry(fault: CallFault, turn: int, cap_s: float) -> float:
    """Seconds: what the server asks for, else 0.5 s doubling with each `turn` (0 first); capped either way.

    Jitter takes up to a quarter off the backoff, so that calls which failed together do not come back together. It
    takes nothing off what a server asked for.
    """
    if fault.retry_after_s is not None:
        return min(max(fault.retry_after_s, 0.0), cap_s)
    return min(FIRST_BACKOFF_S * 2**turn, cap_s) * random.uniform(0.75, 1.0)
