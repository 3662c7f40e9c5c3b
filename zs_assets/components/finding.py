"""What one check found, and checks asked at the same time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

ANSWER_WITHIN_S = 3
"""How long a service may take before it counts as one that does not answer."""


@dataclass(frozen=True)
class Finding:
    """One thing checked. A finding that is not required may be absent without harm."""

    subject: str
    ok: bool
    sentence: str
    required: bool = True


def at_once(*checks: Callable[[], Sequence[Finding]]) -> list[Finding]:
    """The findings of checks that each wait for another service, in the order of the checks."""
    with ThreadPoolExecutor(max(len(checks), 1)) as threads:
        return [finding for found in [threads.submit(check) for check in checks] for finding in found.result()]
