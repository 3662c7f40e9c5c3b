"""The call every interface answers: ask one presentation, then read the raw reply.

Asking and reading are apart so that the journal can keep what arrived byte for byte and read it (again) later.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import Enum

from zs_assets.backends.systems import SystemSpec
from zs_assets.backends.vectors import SUM_TOLERANCE
from zs_assets.protocol.names import Outcome
from zs_assets.protocol.question import Presentation, Question


@dataclass(frozen=True)
class RawReply:
    """A reply as it arrived: `body` is the text on the wire (local backends: JSON that holds every digit)."""

    body: str
    status: int = 200
    request_id: str | None = None


@dataclass(frozen=True)
class Reading:
    """What a reply says. `probabilities` are raw, aligned to the **declared** option order; None: no vector.

    `choice` is the option id the system itself names, `confidence` the system's own field, `model` what it answered
    under, never the alias sent. `problem` says why an outcome is not ok.

    Tokens mean the same for every system: `input_tokens` is the whole prompt, of which `cache_hit_tokens` came from the
    provider's cache and `cache_miss_tokens` did not; what is left of it was written to the cache. `output_tokens` is
    all billed output, the `reasoning_tokens` among it. None: not reported.
    """

    outcome: Outcome
    probabilities: tuple[float, ...] | None = None
    choice: str | None = None
    confidence: float | None = None
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    truncated: bool | None = None
    latency_ms: float | None = None  # only where the reply itself records it: a replayed run
    run_date: str | None = None  # likewise
    problem: str | None = None
    cache_hit_tokens: int | None = None
    cache_miss_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost_usd: float | None = None  # only where the reply records its own (a replay, a gateway's bill): it wins
    pricing_tier: str | None = None  # likewise

    @classmethod
    def invalid(cls, problem: str) -> Reading:
        """A reply of which nothing could be read."""
        return cls(Outcome.INVALID, problem=problem)


class Remedy(str, Enum):
    """What the collector does about a call that brought no reply."""

    RETRY = "retry"  # within the study's attempt budget
    GIVE_UP = "give_up"  # the request itself is rejected: outcome error, no retry
    STOP = "stop"  # the run ends with the reason (401, JSON 403)


@dataclass
class CallFault(Exception):
    """A call that brought no reply. `detail` is free of keys."""

    kind: str  # timeout, connection, http_429, http_403_html ...
    remedy: Remedy
    detail: str = ""
    status: int | None = None
    retry_after_s: float | None = None
    body: str | None = field(default=None, repr=False)
    request_id: str | None = None

    def __str__(self) -> str:
        return f"{self.kind}: {self.detail}" if self.detail else self.kind


class Backend(ABC):
    """A system under test, bound to one question (one dataset). Use as an async context manager."""

    sum_tolerance: float = SUM_TOLERANCE
    """|sum of a vector - 1| that reading accepts: the study's, set by whoever builds the backend for a study."""

    measures_latency = True
    """False for a replay: the time it takes to read a recording is not the system's latency."""

    def __init__(self, spec: SystemSpec, question: Question):
        self.spec = spec
        self.question = question

    @property
    def model_requested(self) -> str:
        """The model string sent, or the pinned name of a local model."""
        return self.spec.model or self.spec.name

    async def __aenter__(self) -> Backend:
        """Connects or loads the model and warms it up; raises BackendUnavailable in one sentence."""
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        return None

    def identity(self) -> dict[str, str]:
        """What pins this system in the record (model, revision, package version, hardware, threads ...)."""
        return {"model_requested": self.model_requested}

    @abstractmethod
    async def ask(self, presentation: Presentation) -> RawReply:
        """One call. Raises CallFault where no reply came."""

    @abstractmethod
    def read(self, reply: RawReply, presentation: Presentation) -> Reading:
        """Pure: the same reply reads the same. Never raises on a broken body: that is outcome invalid."""
