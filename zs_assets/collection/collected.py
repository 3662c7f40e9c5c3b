"""What a collection tells while it runs, and what it leaves."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa


@dataclass(frozen=True)
class Progress:
    """How far a partition is. `cost_usd` is None once any cost is unknown."""

    done: int
    total: int
    failures: int
    cost_usd: float | None
    tokens: int
    rate_per_s: float
    resumed: int


@dataclass(frozen=True)
class Collected:
    """A complete partition.

    `in_flight_at_stop` counts calls that an earlier, killed run had begun and that may have been billed twice.
    """

    predictions: pa.Table
    attempts: pa.Table
    resumed: int
    in_flight_at_stop: int
    torn_line: bool
    identity: dict[str, str] = field(default_factory=dict)
