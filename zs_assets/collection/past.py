"""What an existing journal says of the calls that were made."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from zs_assets.backends.base import Remedy
from zs_assets.collection.journal_reading import never_began
from zs_assets.protocol.names import Outcome


@dataclass
class Past:
    """What an existing journal holds, bodies left on disk."""

    replied: set[str] = field(default_factory=set)
    attempts: dict[str, int] = field(default_factory=dict)  # calls begun, per presentation
    open_calls: set[tuple[str, int]] = field(default_factory=set)  # asked without an answer: in flight at a stop
    refused: set[tuple[str, int]] = field(default_factory=set)  # spent no attempt: a wrong key, or never sent
    gave_up: set[str] = field(default_factory=set)  # a request the system rejects
    unanswered: list[str] = field(default_factory=list)  # calls without any answer: they may have been billed
    costs: list[float | None] = field(default_factory=list)  # of the replies; None: unknown
    tokens: int = 0
    not_ok: set[str] = field(default_factory=set)  # replied, but not with outcome ok
    identity: dict[str, str] = field(default_factory=dict)  # of the backend when it was last opened
    torn_line: bool = False

    def note(self, line: dict[str, Any]) -> None:
        """One line of the journal after its header, in the journal's sequence.

        Raises ForeignLine for the end of a call that is not in flight: its table could not be made.
        """
        if line["k"] == "identity":
            self.identity = line["identity"]
            return
        name, attempt = line["id"], line["n"]
        if line["k"] == "asked":
            self.attempts[name] = max(attempt, self.attempts.get(name, 0))
            self.open_calls.add((name, attempt))
            return
        if (name, attempt) not in self.open_calls:
            raise never_began(line)
        self.open_calls.discard((name, attempt))
        if line["k"] == "reply":
            self.replied.add(name)
            self.costs.append(line.get("usd"))
            self.tokens += line.get("in") or 0
            if line.get("o", Outcome.OK.value) != Outcome.OK.value:
                self.not_ok.add(name)
            return
        if line["status"] is None:
            self.unanswered.append(name)
        if line["remedy"] == Remedy.GIVE_UP.value:
            self.gave_up.add(name)
        elif line["remedy"] == Remedy.STOP.value:
            self.refused.add((name, attempt))

    def is_open(self, name: str, attempt_budget: int, retry_errors: bool) -> bool:
        """Whether a presentation is still to be asked."""
        if name in self.replied:
            return False
        if retry_errors:
            return True
        return name not in self.gave_up and self.spent(name) < attempt_budget

    def spent(self, name: str) -> int:
        """Attempts that count: not those in flight at a kill (no known end), nor those a wrong key ended."""
        begun = self.attempts.get(name, 0)
        return begun - sum((name, number) in self.open_calls | self.refused for number in range(1, begun + 1))
