"""What one check found, and checks asked at the same time."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import Thread

ANSWER_WITHIN_S = 3
"""How long a service may take before it counts as one that does not answer."""

CHECKED_WITHIN_S = 10
"""How long all questions of one check may take: names that no server resolves, say, have a timeout of their own."""


@dataclass(frozen=True)
class Finding:
    """One thing checked. A finding that is not required may be absent without harm."""

    subject: str
    ok: bool
    sentence: str
    required: bool = True


def at_once(checks: Mapping[str, Callable[[], Sequence[Finding]]], within_s: float = CHECKED_WITHIN_S) -> list[Finding]:
    """The findings of checks that each wait for another service, in the order of the checks.

    Parameters
    ----------
    checks
        By what they ask, as a sentence would begin with it.
    within_s
        A check that takes longer becomes a finding that says so. It is not waited for, not even when the process ends.
    """
    found: dict[str, Sequence[Finding]] = {}
    errors: list[Exception] = []

    def answer(name: str) -> None:
        try:
            found[name] = checks[name]()
        except Exception as error:  # raised again where somebody waits for it
            errors.append(error)

    threads = [Thread(target=answer, args=(name,), daemon=True) for name in checks]
    deadline = time.monotonic() + within_s
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(deadline - time.monotonic(), 0))
    if errors:
        raise errors[0]
    return [finding for name in checks for finding in found.get(name, [_silent(name, within_s)])]


def _silent(name: str, within_s: float) -> Finding:
    return Finding(name, False, f"{name} does not answer within {within_s:.0f} s: check its address and the network.")
