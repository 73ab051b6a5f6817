"""Hands the chunks of one plan to the recorder, and to the sender as soon as that has room."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from math import inf
from typing import Any, Final

import numpy as np
import polars as pl

from logreplay.replay.clock import Clock
from logreplay.replay.engine.closed_loop import ThinkTimes
from logreplay.replay.engine.prefetch import EndOfPlan, Opening, Prefetcher, ReadyChunk
from logreplay.replay.engine.recorder import InFlightChunk
from logreplay.replay.engine.run_clock import RunClock
from logreplay.replay.requests.hook import hooked
from logreplay.replay.requests.plan import Chunk, ScheduledRequests
from logreplay.replay.schedules.arrivals import delay_of
from logreplay.replay.schedules.rates import Instants
from logreplay.replay.schedules.steering import AHEAD_NS, Steering
from logreplay.replay.schedules.users import Users
from logreplay.replay.senders.contract import BlockSender

_LATE_NS: Final = 5_000_000
"""Requests that were read so late after they were due count as read late."""
_NOT_READY_S: Final = 0.001
"""Seconds until a chunk that is not ready is looked for again."""

_GIVING_UP_NS: Final = 2_000_000_000
"""Longest time to read and record the requests that a limit held back when a plan was stopped."""
_BLOCKED_NS: Final = 500_000_000
"""Longest wait for one chunk of these requests."""

_NOTHING: Final = np.zeros(0, np.int64)
_STEERED_S: Final = AHEAD_NS / 2e9
"""Seconds between two blocks of requests, of a load that may be changed."""


class Feed:
    """Takes the chunks of a plan, in order, and pushes them.

    Attributes:
        base: begin of the plan's time, nanoseconds of the clock; None before.
        stopped_at: the instant at which the plan was stopped; None: it was not.
        last_due: due time of the last request that was pushed, nanoseconds of the clock.
        taken_up_at: the instant at which all pushed requests were taken up, or the rest given up; infinite: not yet.
        read_late, read_late_ns: requests that came from the log after they were due, and how late at most.
        unwritten: not all requests that were due when the plan was stopped have a record.

    The plan begins when ``run_clock`` says, once its first requests are ready; or at ``begin``, as agreed with other
    processes. ``announce`` is called with each chunk before it is pushed.
    """

    def __init__(
        self,
        plan: ScheduledRequests,
        reader: Prefetcher,
        sender: BlockSender,
        announce: Callable[[InFlightChunk], None],
        run_clock: RunClock,
        clock: Clock,
        *,
        begin: int | None,
        think: ThinkTimes | None,
        steering: Steering | None = None,
    ) -> None:
        self.base: int | None = None
        self.stopped_at: int | None = None
        self.last_due = 0
        self.taken_up_at: float = inf
        self.read_late, self.read_late_ns = 0, 0
        self.unwritten = False
        self._first = sender.taken_up
        self._coming = deque[tuple[int, Instants]]()
        self._item, self._at = ReadyChunk(Chunk(pl.DataFrame(), _NOTHING), ()), 0
        self._starved = False
        self._plan, self._reader, self._sender, self._announce = plan, reader, sender, announce
        self._run_clock, self._clock, self._begin, self.think = run_clock, clock, begin, think
        self._steering = steering

    async def run(self) -> None:
        """Push everything; return when the last request was started or given up."""
        try:
            while not self.stopped:
                if self._over():
                    return await self._sender.finish()
                item = self._reader.poll()
                if item is None:
                    self._starved = True
                    if self.taken_up_at == inf and self._sender.taken_up == self._first:
                        self.taken_up_at = self._clock()
                    await asyncio.sleep(_NOT_READY_S)
                    continue
                if isinstance(item, EndOfPlan):
                    if self._steering:
                        self._steering.finish()
                    await self._sender.finish()
                    if item.error:
                        raise item.error
                    return
                base = self._begun(item.lead if isinstance(item, Opening) else 0)
                if isinstance(item, Opening):
                    continue
                late, self._starved = self._starved, False
                self._item, self._at = item, 0
                async for chunk, requests in self._placed(base):
                    if late:
                        late = False
                        self._note_late(chunk.due)
                    chunk.frame, think = self.think(chunk.frame) if self.think else (chunk.frame, ())
                    self._register(chunk)
                    self.taken_up_at = inf
                    if not await self._sender.push(chunk.first, chunk.due, requests, think):
                        return
        finally:
            self.taken_up_at = min(self.taken_up_at, self._clock())
            self._sender.cut()

    def _register(self, chunk: InFlightChunk) -> None:
        self._announce(chunk)
        self._forget_taken_up()
        self._coming.append((chunk.first, chunk.due))
        self._first, self.last_due = chunk.first + len(chunk.due), int(chunk.due[-1])

    @property
    def next_due(self) -> float | None:
        """Seconds from the begin of the plan's time until the next request is due; None: unknown, or none follows."""
        self._forget_taken_up()
        if self.base is None or self.stopped:
            return None
        if self._coming:
            first, due = self._coming[0]
            return (int(due[self._sender.taken_up - first]) - self.base) / 1e9
        read = self._item.chunk.due[self._at :]
        at = self._steering.due(int(read[0])) if self._steering and len(read) else None
        return None if at is None else at / 1e9

    def _forget_taken_up(self) -> None:
        while self._coming and self._coming[0][0] + len(self._coming[0][1]) <= self._sender.taken_up:
            self._coming.popleft()

    @property
    def stopped(self) -> bool:
        """Whether no more is taken."""
        return self.stopped_at is not None

    def stop(self) -> None:
        """Take and send nothing more."""
        if self.stopped_at is None:
            self.stopped_at = self._clock()
            self.taken_up_at = min(self.taken_up_at, self.stopped_at)
        self._sender.cut()

    async def give_up(self, room: Callable[[int], Awaitable[None]]) -> None:
        """End the requests that were due when the plan was stopped, and that a limit held back, as ``cancelled``.

        There may be any number of them: those that were not read yet are read in chunks, for a few seconds at most.
        With a hook, which would be called for each of them, only those that were read already are ended.
        ``room`` is awaited after each chunk, with the instant of the clock at which it must end.
        """
        if self.stopped_at is None or self.base is None:
            return
        self._reader.unsent = True
        taken_up, due = self._sender.taken_up, self._sender.give_up(_NOTHING)
        if not due or self._starved or self._sender.taken_up == taken_up:
            return
        wait, latest = _BLOCKED_NS, self._clock() + _GIVING_UP_NS
        if hooked(self._plan.requests):
            wait = 0
            self._reader.close()
        while due:
            async for chunk, _ in self._placed(self.base):
                self._register(chunk)
                due = self._sender.give_up(chunk.due)
            await room(latest)
            if not due or self._at < len(self._item.chunk.due):
                return
            item = await self._next(min(latest, self._clock() + wait))
            if isinstance(item, EndOfPlan):
                if item.error:
                    raise item.error
                return
            if not isinstance(item, ReadyChunk) or self._clock() > latest:
                idle = item is None and self._reader.idle and delay_of(self._plan.schedule) is not None
                self.unwritten = not idle
                return
            self._item, self._at = item, 0

    async def _next(self, until: int) -> ReadyChunk | Opening | EndOfPlan | None:
        """The next chunk of the reader; None if it has none until an instant of the clock."""
        while (item := self._reader.poll()) is None and self._clock() < until:  # noqa: ASYNC110  another thread's
            await asyncio.sleep(_NOT_READY_S)
        return item

    def _begun(self, lead: int) -> int:
        """Begin the plan's time, if it has not begun; return when it did."""
        if self.base is None:
            ready = self._clock() + lead
            self.base = self._run_clock.begin_plan(ready) if self._begin is None else self._begin
            self._reader.begin(self.base)
            schedule = self._plan.schedule
            self._sender.begin(self.base, schedule if isinstance(schedule, Users) else None)
        return self.base

    def _over(self) -> bool:
        """Whether the time of a load that may be changed is over: also where no request is ready."""
        if self._steering and self.base is not None:
            for _ in self._steering.place(_NOTHING, self._clock() - self.base):
                pass
        return self._steering is not None and self._steering.over

    async def _placed(self, base: int) -> AsyncIterator[tuple[InFlightChunk, Any]]:
        """Yield the next requests with their instants; where these may change, shortly before they are due."""
        frame, due, requests = self._item.chunk.frame, self._item.chunk.due, self._item.requests
        if self._steering is None:
            schedule, at, self._at = self._plan.schedule, self._at, len(due)
            if at < len(due):
                yield InFlightChunk(self._first, frame, due + base, self._plan.step, schedule.rate), requests
            return
        while self._at < len(due):
            until = self._clock() + AHEAD_NS if self.stopped_at is None else self.stopped_at
            for placed in self._steering.place(due[self._at :], until - base):
                at, self._at = self._at, self._at + len(placed.due)
                part = InFlightChunk(self._first, frame[at : self._at], placed.due + base, placed.step, placed.offered)
                yield part, requests[at : self._at]
            if self.stopped or self._steering.over:
                return
            if self._at < len(due):
                await asyncio.sleep(_STEERED_S)

    def _note_late(self, due: Instants) -> None:
        """Count requests for which the sender waited until after they were due."""
        late = self._clock() - due
        self.read_late += int((late > _LATE_NS).sum())
        self.read_late_ns = max(self.read_late_ns, int(late.max()))
