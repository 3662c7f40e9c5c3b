"""The whole of an estimate: what a study asks of everybody, in one row and one sentence, before anything is spent."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MINUTE_S, HOUR_S, DAY_S = 60, 3_600, 86_400


@dataclass(frozen=True)
class PlannedTotal:
    """All rows of an estimate together.

    Attributes
    ----------
    systems : those that are called; one whose option cap forbids every question is not.
    input_tokens : of hosted systems, whose tokens are billed.
    known_usd : of the systems with a known price; local ones cost nothing.
    unpriced : hosted systems without a known price.
    received : calls whose replies lie in the journals already; they are not made again.
    seconds : the least time the providers' limits allow, one dataset x backend after the other, as `run` makes them.
    """

    calls: int
    systems: tuple[str, ...]
    hosted: tuple[str, ...]
    input_tokens: int
    known_usd: float
    unpriced: tuple[str, ...]
    seconds: float
    received: int = 0

    @property
    def cost_usd(self) -> float | None:
        """None as soon as any part of it is unknown."""
        return None if self.unpriced else self.known_usd

    def as_row(self) -> dict[str, Any]:
        """With the keys of an estimate's row; `dataset` and `backend` are null, since it is all of them."""
        return {
            "dataset": None,
            "backend": None,
            "calls": self.calls,
            "received": self.received,
            "input_tokens": self.input_tokens,
            "cost_usd": self.cost_usd,
            "seconds": self.seconds,
            "known_usd": self.known_usd,
            "unpriced": list(self.unpriced),
        }


def planned_total(rows: Sequence[Mapping[str, Any]]) -> PlannedTotal:
    """The total of `study_estimate`'s rows, one per dataset x backend."""
    called = [row for row in rows if row["calls"]]
    hosted = [row for row in called if row["seconds"] is not None]
    return PlannedTotal(
        calls=sum(row["calls"] for row in called),
        systems=_systems(called),
        hosted=_systems(hosted),
        input_tokens=sum(row["input_tokens"] for row in hosted),
        known_usd=sum(row["cost_usd"] for row in hosted if row["cost_usd"] is not None),
        unpriced=_systems([row for row in hosted if row["cost_usd"] is None]),
        seconds=sum(row["seconds"] for row in hosted),
        # Repeats of an earlier plan may lie in a journal too.
        received=sum(min(row.get("received", 0), row["calls"]) for row in called),
    )


def planned_total_sentence(rows: Sequence[Mapping[str, Any]]) -> str:
    """What is about to be asked, with every part that is unknown said to be."""
    total = planned_total(rows)
    calls = f"{total.calls:,} {'call' if total.calls == 1 else 'calls'}"
    received = f" ({total.received:,} already received)" if total.received else ""
    said = [f"{calls} of {_counted(len(total.systems), 'system')}{received}"]
    if total.hosted:
        said.append(f"about {_tokens(total.input_tokens)} input tokens")
    said.append(_cost(total))
    if total.seconds >= 1:
        said.append(f"at least {duration(total.seconds)} at the providers' limits")
    return ", ".join(said)


def known_cost_words(total: PlannedTotal) -> str:
    """The cell of a table of estimates; an unknown part is never added as zero."""
    if not total.unpriced:
        return f"{total.known_usd:.4f}"
    return f"{total.known_usd:.4f} and unknown" if total.known_usd else "unknown"


def duration(seconds: float) -> str:
    """Rounded down: it is said after "at least"."""
    for unit, size, until in (("s", 1, 2 * MINUTE_S), ("min", MINUTE_S, 2 * HOUR_S), ("h", HOUR_S, 3 * DAY_S)):
        if seconds < until:
            return f"{_down(seconds / size):g} {unit}"
    return f"{_down(seconds / DAY_S):g} days"


def _down(value: float) -> float:
    return math.floor(value) if value >= 10 else math.floor(value * 10) / 10


def _cost(total: PlannedTotal) -> str:
    unknown = f"{_counted(len(total.unpriced), 'system')} without a known price"
    if not total.hosted:
        return "no cost"
    if set(total.unpriced) == set(total.hosted):
        return f"cost unknown ({unknown})"
    digits = 2 if total.known_usd >= 1 else 4
    # Rounded up: it is said after "at most".
    usd = math.ceil(round(total.known_usd * 10**digits, 6)) / 10**digits
    return f"at most {usd:.{digits}f} USD" + (f" ({unknown})" if total.unpriced else "")


def _tokens(count: int) -> str:
    return f"{count / 1e6:.1f} M" if count >= 1e6 else f"{count:,}"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _systems(rows: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(row["backend"] for row in rows))
