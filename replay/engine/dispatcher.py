"""The hot loop: sends each request when it is due, never before."""

import asyncio
from math import inf
from typing import Any, Final

import polars as pl

from logreplay.replay.clock import Clock
from logreplay.replay.engine.exchanges import Exchanges
from logreplay.replay.engine.prefetch import EndOfPlan, Opening, Prefetcher
from logreplay.replay.engine.recorder import DROPPED, Registered
from logreplay.replay.engine.run_clock import RunClock
from logreplay.replay.engine.timer import ticker
from logreplay.replay.schedules.rates import Instants

_NEVER: Final = 10**15
"""Eleven days."""
_GRAIN_NS: Final = 150_000
"""Where requests come thick, those due within this of each other share one waking: a timer's costs as much as one."""
_BURST: Final = 64
"""Requests sent in one go when late, before the answers that came meanwhile are read."""
_LATE_NS: Final = 5_000_000
"""Requests that were read so late after they were due count as read late."""
_NOT_READY_NS: Final = 200_000
"""How soon to look again for a chunk that is not ready."""


class Dispatcher:
    """Takes the requests of one plan, in order, and starts each when it is due.

    Args:
        reader: the requests.
        exchanges: starts them, and is told of those that are given up.
        run_clock: says when the plan begins, once its first requests are ready.
        clock: nanoseconds.
        begin: the instant at which the plan begins instead, as agreed with other processes.
        step, offered: for the result log.
        max_in_flight: None: no limit.
        drop_after: seconds; None: never give up.
    """

    def __init__(
        self,
        reader: Prefetcher,
        exchanges: Exchanges,
        run_clock: RunClock,
        clock: Clock,
        *,
        begin: int | None,
        step: int,
        offered: float,
        max_in_flight: int | None,
        drop_after: float | None,
    ) -> None:
        self.base: int | None = None
        self.blocked = False
        self.limited = 0
        self.stopped = False
        self.read_late, self.read_late_ns = 0, 0
        self._starved = False
        self._reader, self._exchanges, self._run_clock, self._clock = reader, exchanges, run_clock, clock
        self._begin, self._step, self._offered = begin, step, offered
        self._cap = inf if max_in_flight is None else max_in_flight
        self._patience = inf if drop_after is None else drop_after * 1e9
        self._due: list[int] = []
        self._requests: Any = ()
        self._at = 0
        loop = asyncio.get_running_loop()
        self._finished: asyncio.Future[None] = loop.create_future()
        self._ticker = ticker(loop, clock, self._wake_up)
        exchanges.on_end = self.ended

    async def run(self) -> None:
        """Send everything; return when the last request was started or given up.

        The plan's time begins (at `base`, nanoseconds of the clock) when its first chunk is ready.

        Raises:
            LogreplayError: the plan cannot go on.
        """
        self._ticker.arm(self._clock())
        try:
            await self._finished
        finally:
            self._ticker.close()

    def ended(self, seq: int) -> None:
        """An exchange ended."""
        if self.blocked:
            self._wake()

    def stop(self) -> None:
        """Send nothing more."""
        self.stopped = True
        self._wake()

    def _wake(self) -> None:
        """Check again for requests to send: an exchange ended, or the run is stopped."""
        self.blocked = False
        if not self._finished.done():
            self._ticker.arm(self._clock())

    def _wake_up(self) -> None:
        try:
            self._pump()
        except BaseException as error:  # or the plan would never end
            self._finish(error)

    def _pump(self) -> None:
        clock, exchanges = self._clock, self._exchanges
        send, recorder = exchanges.sender.send, exchanges.recorder
        due, requests, at, seq = self._due, self._requests, self._at, exchanges.seq
        cap, patience = self._cap, self._patience
        burst, together = _BURST, -1
        while not self.stopped:
            if at == len(due):
                self._at = at
                if not self._take():
                    return
                due, requests, at = self._due, self._requests, 0
            when = due[at]
            now = clock()
            if now < when:
                thick = at + 1 < len(due) and due[at + 1] <= together
                self._ticker.arm(together if thick else when)
                break
            if not burst:
                self._ticker.arm(now)
                break
            burst -= 1
            if together < 0:
                together = when + _GRAIN_NS
            if now - when > patience:
                exchanges.seq = seq = seq + 1
                at += 1
                recorder.record(seq - 1, now, 0, 0, 0, 0, 0, 0, DROPPED)
            elif seq - recorder.recorded >= cap:
                if not self.blocked:
                    self.limited += 1
                self.blocked = True
                self._ticker.arm(now + _NEVER if patience == inf else when + int(patience) + 1)
                break
            else:
                exchanges.seq = seq = seq + 1
                at += 1
                send(seq - 1, requests[at - 1], now, when + patience)
        else:
            self._finish()
        self._at = at

    def _take(self) -> bool:
        """Take the next chunk; False if there is none, or none yet."""
        item = self._reader.poll()
        if item is None:
            self._starved = True
            self._ticker.arm(self._clock() + _NOT_READY_NS)
            return False
        if isinstance(item, EndOfPlan):
            self._finish(item.error)
            return False
        if self.base is None:
            ready = self._clock() + (item.lead if isinstance(item, Opening) else 0)
            self.base = self._run_clock.begin_plan(ready) if self._begin is None else self._begin
            self._reader.begin(self.base)
        if isinstance(item, Opening):
            return self._take()
        due = item.chunk.due + self.base
        if self._starved:
            self._note_late(due)
        frame = self._with_think(item.chunk.frame)
        self._registered = Registered(self._exchanges.seq, frame, due, self._step, self._offered)
        self._exchanges.take_up(self._registered)
        self._due, self._requests, self._at = due.tolist(), item.requests, 0
        return True

    def _note_late(self, due: Instants) -> None:
        """Count requests for which the loop waited until after they were due."""
        self._starved = False
        late = self._clock() - due
        self.read_late += int((late > _LATE_NS).sum())
        self.read_late_ns = max(self.read_late_ns, int(late.max()))

    def _with_think(self, frame: pl.DataFrame) -> pl.DataFrame:
        return frame

    def _finish(self, error: BaseException | None = None) -> None:
        self._ticker.close()
        if self._finished.done():
            return
        if error:
            self._finished.set_exception(error)
        else:
            self._finished.set_result(None)
