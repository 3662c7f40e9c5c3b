"""Asks every planned presentation once and loses nothing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence

from zs_assets.backends.base import Backend, CallFault, RawReply, Remedy
from zs_assets.collection.backoff import wait_before_retry
from zs_assets.collection.budget import Budget
from zs_assets.collection.collected import Collected, Progress
from zs_assets.collection.compaction import compact, not_applicable
from zs_assets.collection.event_loop import run_to_end
from zs_assets.collection.journal import Journal, usage_of
from zs_assets.collection.journal_header import JournalHeader
from zs_assets.collection.pace import Pace, Share
from zs_assets.collection.past import Past
from zs_assets.collection.pricing import call_tokens, cost, question_tokens
from zs_assets.protocol.errors import CollectionStopped, JournalError
from zs_assets.protocol.names import Outcome
from zs_assets.protocol.question import Presentation
from zs_assets.storage.journal_place import JournalPath


def collect(
    backend: Backend,
    presentations: Sequence[Presentation],
    journal_path: JournalPath,
    header: JournalHeader,
    *,
    asking: Sequence[Presentation] | None = None,
    attempt_budget: int,
    max_usd: float | None = None,
    elsewhere_usd: float = 0.0,
    retry_errors: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
    progress_every_s: float = 0.5,
    share: Share = 1,
    log: Callable[[str], None] | None = None,
    run_id: str = "",
) -> Collected:
    """Every planned presentation's reply as tables; what the journal holds is not asked again.

    The tables are in the sequence of `presentations`; calls are made in that of `asking`, the same ones (None: as
    planned), by this run and by any that goes on after it. With `share` runs of one provider at once, each keeps that
    part of its limits; a function is asked every few seconds, the largest share counts (`Pace` says why), and a run
    that begins beside others waits until they know of it. `log` is given a sentence for both. `run_id` is what another
    worker that wants the same partition is told.

    Raises CollectionStopped (401, JSON 403, budget), JournalError and BackendUnavailable, each with its reason in one
    sentence; the journal then holds everything that was received, and no table exists.
    """
    spec = backend.spec
    if spec.option_cap is not None and len(backend.question) > spec.option_cap:
        predictions, attempts = not_applicable(backend, presentations, header.prompt_hash)
        return Collected(predictions, attempts, 0, 0, False)
    money = Budget(spec, backend.question, max_usd, elsewhere_usd)
    sequence = presentations if asking is None else asking
    pace = Pace(spec.limits, 1 if spec.is_free else share, log)
    run = _Collection(backend, sequence, attempt_budget, money, pace, retry_errors, on_progress, progress_every_s)
    billed = not spec.is_free and backend.measures_latency  # a replay was paid for by whoever recorded it
    with pace.following(), Journal(journal_path, header, run.on_synced, announces=billed, run_id=run_id) as journal:
        past = journal.past
        resumed, in_flight = len(past.replied), len(past.open_calls)
        run_to_end(run.complete(journal))
        journal.sync()
    run.report()
    predictions, attempts = compact(journal.path, backend, presentations, header.prompt_hash)
    return Collected(predictions, attempts, resumed, in_flight, past.torn_line, past.identity)


class _Collection:
    """One run over the presentations that the journal does not hold yet."""

    def __init__(
        self,
        backend: Backend,
        presentations: Sequence[Presentation],
        attempt_budget: int,
        money: Budget,
        pace: Pace,
        retry_errors: bool,
        on_progress: Callable[[Progress], None] | None,
        progress_every_s: float,
    ):
        self._backend = backend
        self._spec = backend.spec
        self._presentations = presentations
        self._budget = attempt_budget
        self._money = money
        self._retry_errors = retry_errors
        self._on_progress = on_progress or (lambda progress: None)
        self._every_s = progress_every_s
        self._question_tokens = question_tokens(backend.question)
        self._pace = pace
        self._stopped: BaseException | None = None
        self._stop = asyncio.Event()
        self._in_flight = 0
        self._tokens = 0
        self._synced = 0  # replies of this run that are on the disk
        self._failures = 0
        self._given_up = 0
        self._resumed = 0
        self._started = time.monotonic()

    def on_synced(self, replies: int) -> None:
        self._synced = replies

    async def complete(self, journal: Journal) -> None:
        """Asks what is missing; raises the reason if collection must stop."""
        self._journal = journal
        self._take_over(journal.past)
        todo = [p for p in self._presentations if self._is_open(p.id)]
        self._resumed = len(self._presentations) - len(todo)
        if not todo:
            return
        await self._pace.others_know()
        self._started = time.monotonic()
        workers = 1 if self._spec.is_free else min(self._pace.limits.concurrency, len(todo))
        async with self._backend:
            journal.identity(self._backend.identity())
            queue = iter(todo)
            reporter = asyncio.create_task(self._report_regularly())
            try:
                results = await asyncio.gather(*(self._work(queue) for _ in range(workers)), return_exceptions=True)
            finally:
                reporter.cancel()
        for result in results:
            if isinstance(result, BaseException):
                self._stopped = self._stopped or result
        if self._stopped is not None:
            journal.sync()
            raise self._stopped

    def _take_over(self, past: Past) -> None:
        """What earlier runs of this partition spent, received and failed counts on."""
        tokens = {p.id: call_tokens(self._question_tokens, p) for p in self._presentations}
        typical = sum(tokens.values()) / max(len(tokens), 1)
        expected = self._money.expected(typical)
        for usd in past.costs:
            self._money.replied(usd, expected)
        for name in [*past.unanswered, *(name for name, _ in past.open_calls)]:
            self._money.unanswered(self._money.expected(tokens.get(name, typical)))
        self._tokens = past.tokens
        planned_and_closed = [name for name in tokens if not self._is_open(name)]
        self._failures = sum(name in past.not_ok or name not in past.replied for name in planned_and_closed)

    def _is_open(self, name: str) -> bool:
        return self._journal.past.is_open(name, self._budget, self._retry_errors)

    async def _work(self, queue: Iterator[Presentation]) -> None:
        for presentation in queue:
            if self._stopped is not None:
                return
            try:
                await self._ask(presentation)
            except BaseException as error:  # an interrupt of the orchestrator's, too: no worker goes on alone
                self._halt(error)
                raise

    def _halt(self, error: BaseException) -> None:
        """Calls in flight still finish: their replies are paid for. None begins."""
        self._stopped = self._stopped or error
        self._stop.set()

    async def _ask(self, presentation: Presentation) -> None:
        name = presentation.id
        number = self._journal.past.attempts.get(name, 0)
        left = self._budget if self._retry_errors else self._budget - self._journal.past.spent(name)
        for turn in range(left):
            tokens = call_tokens(self._question_tokens, presentation)
            async with self._pace.place():
                await self._pace.turn(tokens)
                if self._stopped is not None:
                    return
                number += 1
                wait = await self._call(presentation, number, tokens, turn, last=turn == left - 1)
            if wait is None or await self._interrupted(wait):
                return

    async def _interrupted(self, wait_s: float) -> bool:
        """Sleeps before the next attempt; True when collection stopped meanwhile."""
        try:
            await asyncio.wait_for(self._stop.wait(), wait_s)
        except asyncio.TimeoutError:
            return False
        return True

    async def _call(
        self, presentation: Presentation, number: int, tokens: float, turn: int, last: bool
    ) -> float | None:
        """One attempt. Returns the wait before the next one, None when the presentation is done with."""
        expected = self._money.begin(tokens)
        self._in_flight += 1
        try:
            asked_at = self._journal.asked(presentation.id, number, self._in_flight)
            if not await self._announced(presentation.id, number, tokens):
                return None
            started = time.perf_counter()
            reply = await self._backend.ask(presentation)
            latency_ms = (time.perf_counter() - started) * 1e3
        except CallFault as fault:
            if fault.status is None:
                self._money.unanswered(expected)
            return self._faulted(presentation, number, fault, (time.perf_counter() - started) * 1e3, turn, last)
        finally:
            self._in_flight -= 1
            self._money.end(expected)
        self._received(presentation, number, reply, asked_at, latency_ms, tokens, expected)
        return None

    async def _announced(self, name: str, number: int, tokens: float) -> bool:
        """False if the call must not be sent: collection stopped, or the lake could not be told of it.

        A worker that goes on after a kill knows of a call in flight from the lake alone.
        """
        if not self._journal.announces:
            return True
        try:
            await self._journal.announced()
            await self._pace.announced_turn(tokens)
        except JournalError as error:
            self._halt(error)
        if self._stopped is None:
            return True
        self._journal.not_sent(name, number)
        return False

    def _received(
        self,
        presentation: Presentation,
        number: int,
        reply: RawReply,
        asked_at: str,
        latency_ms: float,
        tokens: float,
        expected: float,
    ) -> None:
        try:
            reading = self._backend.read(reply, presentation)
        except Exception:
            # Against its contract; the reply is paid for all the same, so it is kept before the run ends.
            self._journal.reply(presentation.id, number, reply, latency_ms)
            raise
        usd, tier = cost(self._spec, reading, reading.run_date or asked_at)
        self._journal.reply(presentation.id, number, reply, latency_ms, **usage_of(reading), usd=usd, tier=tier)
        self._pace.used(reading.input_tokens, tokens)
        self._money.replied(usd, expected)
        self._tokens += reading.input_tokens or 0
        self._failures += reading.outcome is not Outcome.OK

    def _faulted(
        self, presentation: Presentation, number: int, fault: CallFault, latency_ms: float, turn: int, last: bool
    ) -> float | None:
        wait = None
        if fault.remedy is Remedy.RETRY and not last:
            wait = wait_before_retry(fault, turn, self._pace.limits.max_wait_s)
        self._journal.fault(
            presentation.id,
            number,
            latency_ms,
            kind=fault.kind,
            remedy=fault.remedy.value,
            detail=fault.detail,
            status=fault.status,
            wait_ms=None if wait is None else wait * 1e3,
            request_id=fault.request_id,
        )
        if fault.remedy is Remedy.STOP:
            key = self._spec.key_env
            mend = f"check the key in {key} and what it may do" if key else "mend it"
            sentence = f"Backend '{self._spec.name}' refused the call ({fault}): {mend}, then run again."
            self._halt(CollectionStopped(f"{sentence} What was received is kept."))
        elif wait is None:
            self._given_up += 1
            self._failures += 1
        return wait

    async def _report_regularly(self) -> None:
        while True:
            await asyncio.sleep(self._every_s)
            self.report()

    def report(self) -> None:
        new = self._synced + self._given_up
        elapsed = max(time.monotonic() - self._started, 1e-9)
        self._on_progress(
            Progress(
                done=self._resumed + new,
                total=len(self._presentations),
                failures=self._failures,
                cost_usd=self._money.known_usd,
                tokens=self._tokens,
                rate_per_s=new / elapsed,
                resumed=self._resumed,
            )
        )
