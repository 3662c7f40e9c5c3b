"""What a gate says."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from zs_assets.protocol.names import Gate

SHOWN_OFFENDERS = 5


@dataclass(frozen=True)
class Verdict:
    """One gate's answer. A blocking gate that failed keeps its partition from every reader."""

    gate: Gate
    passed: bool
    blocking: bool
    sentence: str
    counts: dict[str, float] = field(default_factory=dict)
    first_offenders: tuple[str, ...] = ()

    @property
    def stops(self) -> bool:
        return self.blocking and not self.passed

    def as_json(self) -> dict[str, Any]:
        return {
            "gate": self.gate.value,
            "passed": self.passed,
            "blocking": self.blocking,
            "sentence": self.sentence,
            "counts": self.counts,
            "first_offenders": list(self.first_offenders),
        }


def first(offenders: Iterable[str]) -> tuple[str, ...]:
    """The first few offenders, in order: enough to find the trouble, short enough for a message."""
    shown: list[str] = []
    for offender in offenders:
        if len(shown) == SHOWN_OFFENDERS:
            break
        shown.append(str(offender))
    return tuple(shown)
