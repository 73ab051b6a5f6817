"""Hands the chunks of one plan to the recorder, and to the sender as soon as that has room."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

import polars as pl

from logreplay.replay.clock import Clock
from logreplay.replay.engine.prefetch import EndOfPlan, Opening, Prefetcher
from logreplay.replay.engine.recorder import InFlightChunk
from logreplay.replay.engine.run_clock import RunClock
from logreplay.replay.requests.plan import ScheduledRequests
from logreplay.replay.schedules.rates import Instants
from logreplay.replay.schedules.users import Users
from logreplay.replay.senders.contract import BlockSender

_LATE_NS: Final = 5_000_000
"""Requests that were read so late after they were due count as read late."""
_NOT_READY_S: Final = 0.001
"""How soon to look again for a chunk that is not ready."""

ThinkTimes = Callable[[pl.DataFrame], tuple[pl.DataFrame, Sequence[float]]]


class Feed:
    """Takes the chunks of a plan, in order, and pushes them.

    Attributes:
        base: when the plan's time began, nanoseconds of the clock; None before.
        stopped: no more is taken.
        read_late, read_late_ns: requests that came from the log after they were due, and how late at most.

    Args:
        plan: of the chunks.
        reader: reads them.
        sender: sends them.
        announce: called with each chunk before it is pushed.
        run_clock: says when the plan begins, once its first requests are ready.
        clock: nanoseconds.
        begin: the instant at which the plan begins instead, as agreed with other processes.
        think: gives users their think times.
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
    ) -> None:
        self.base: int | None = None
        self.stopped = False
        self.read_late, self.read_late_ns = 0, 0
        self._plan, self._reader, self._sender, self._announce = plan, reader, sender, announce
        self._run_clock, self._clock, self._begin, self._think = run_clock, clock, begin, think

    async def run(self) -> None:
        """Push everything; return when the last request was started or given up.

        Raises:
            LogreplayError: the plan cannot go on.
        """
        first, starved = self._sender.taken_up, False
        try:
            while not self.stopped:
                item = self._reader.poll()
                if item is None:
                    starved = True
                    await asyncio.sleep(_NOT_READY_S)
                    continue
                if isinstance(item, EndOfPlan):
                    await self._sender.finish()
                    if item.error:
                        raise item.error
                    return
                base = self._begun(item.lead if isinstance(item, Opening) else 0)
                if isinstance(item, Opening):
                    continue
                due = item.chunk.due + base
                if starved:
                    starved = False
                    self._note_late(due)
                frame, think = self._think(item.chunk.frame) if self._think else (item.chunk.frame, ())
                self._announce(InFlightChunk(first, frame, due, self._plan.step, self._plan.schedule.rate))
                if not await self._sender.push(first, due, item.requests, think):
                    return
                first += len(due)
        finally:
            self._sender.cut()

    def stop(self) -> None:
        """Take and send nothing more."""
        self.stopped = True
        self._sender.cut()

    def _begun(self, lead: int) -> int:
        """Begin the plan's time, if it has not begun; return when it did."""
        if self.base is None:
            ready = self._clock() + lead
            self.base = self._run_clock.begin_plan(ready) if self._begin is None else self._begin
            self._reader.begin(self.base)
            schedule = self._plan.schedule
            self._sender.begin(self.base, schedule if isinstance(schedule, Users) else None)
        return self.base

    def _note_late(self, due: Instants) -> None:
        """Count requests for which the sender waited until after they were due."""
        late = self._clock() - due
        self.read_late += int((late > _LATE_NS).sum())
        self.read_late_ns = max(self.read_late_ns, int(late.max()))
