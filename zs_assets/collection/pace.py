"""How fast one run may call its provider beside others, while how many there are can change.

Every run keeps its part of the provider's limits by itself. Somebody who raises a pool's limit lets one more run begin
beside those that collect already, so a part that was fixed when a run began would let the provider's rate be broken.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress

from zs_assets.backends.systems import Limits
from zs_assets.collection.limiter import EvenlySpaced, limits_of_one

SHARE_EVERY_S = 2.0
"""How often a run asks again how many may ask its provider at once."""

READINGS_TO_WAIT_FOR = 2
"""A run that begins beside others waits so many times SHARE_EVERY_S: one reading of theirs may have begun just before
it, and the next one must have been answered."""

Share = int | Callable[[], int]
"""By how much a provider's limits are divided: a figure that stays, or a function that reads today's."""


class Pace:
    """One run's part of a provider's limits; it only ever gets smaller.

    The largest share seen in this run counts. A share that falls again says that fewer runs may *begin*: runs that
    began under the larger one go on, each at its part of it, and their places in the pool stay claimed until they end.
    A run that took more at once would add to what they still use. One that begins later reads the share of its own
    day.

    Parameters
    ----------
    limits
        Of the provider.
    share
        By how much they are divided, at least 1. A function is called here once, and its errors are raised: without
        an answer no run begins. Later it is called in a thread of its own, and what it raises leaves the last share.
    tell
        Is given each sentence for the log: in the thread that begins, and in that of the reading.

    Raises
    ------
    StudyError
        For a share below 1.
    """

    def __init__(self, limits: Limits, share: Share = 1, tell: Callable[[str], None] | None = None):
        self._of_provider = limits
        self._read = share if callable(share) else None
        self._tell = tell or (lambda sentence: None)
        self._began = time.monotonic()
        self._share = share() if callable(share) else share
        self.limits = limits_of_one(limits, self._share)
        self._before_announcing = EvenlySpaced(self.limits)
        # Calls that waited for one upload would leave in one burst.
        self._before_sending = EvenlySpaced(self.limits)
        self._places = asyncio.Semaphore(self.limits.concurrency)
        self._number_of_places = self.limits.concurrency

    @property
    def share(self) -> int:
        """By how much the provider's limits are divided now."""
        return self._share

    @contextmanager
    def following(self) -> Iterator[None]:
        """Reads the share again and again meanwhile; the run ends without waiting for a database that hangs."""
        if self._read is None:
            yield
            return
        ended = threading.Event()
        reader = threading.Thread(target=self._follow, args=(self._read, ended), name="share", daemon=True)
        reader.start()
        try:
            yield
        finally:
            ended.set()
            reader.join(timeout=SHARE_EVERY_S)

    def _follow(self, read: Callable[[], int], ended: threading.Event) -> None:
        fails = False
        while not ended.wait(SHARE_EVERY_S):
            try:
                share = read()
                larger = share > self._share
                limits = limits_of_one(self._of_provider, share) if larger else self.limits
            except Exception as error:  # whatever the database says: what is asked of the provider goes on
                if not fails and not ended.is_set():
                    self._note(f"How many runs share the provider could not be read: it stays {self._share} ({error}).")
                fails = True
                continue
            fails = False
            if larger and not ended.is_set():
                self._slow_down(share, limits)

    def _slow_down(self, share: int, limits: Limits) -> None:
        self._share, self.limits = share, limits
        self._before_announcing.slow_to(limits)
        self._before_sending.slow_to(limits)
        self._note(f"The provider is now shared by {share} runs: this one goes on at 1/{share} of its limits.")

    def _note(self, sentence: str) -> None:
        with suppress(Exception):  # the log may lie in the very database that does not answer; reading goes on
            self._tell(sentence)

    async def others_know(self) -> None:
        """Returns at once for the only run; beside others, when each has had the time to learn of this one."""
        if self._read is None or self._share == 1:
            return
        wait = self._began + READINGS_TO_WAIT_FOR * SHARE_EVERY_S - time.monotonic()
        if wait <= 0:
            return
        self._tell(
            f"The provider is shared by {self._share} runs: the first call waits {wait:.1f} s, so that those which "
            "collect already have read it too."
        )
        await asyncio.sleep(wait)

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """One of the calls that this run may have under way at once."""
        await self._places.acquire()
        while self._number_of_places > self.limits.concurrency:
            # This place is no longer ours: it is kept, and another waited for.
            self._number_of_places -= 1
            await self._places.acquire()
        try:
            yield
        finally:
            self._places.release()

    async def turn(self, estimated_tokens: float) -> None:
        """Returns when the next call may be announced, or sent where calls are not announced."""
        await self._before_announcing.turn(estimated_tokens)

    async def announced_turn(self, estimated_tokens: float) -> None:
        """Returns when the next announced call may be sent."""
        await self._before_sending.turn(estimated_tokens)

    def used(self, actual_tokens: int | None, estimated_tokens: float) -> None:
        """Corrects the spacing by what the system counted."""
        for spacing in (self._before_announcing, self._before_sending):
            spacing.used(actual_tokens, estimated_tokens)
