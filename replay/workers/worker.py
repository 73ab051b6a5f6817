"""Sends a share of each plan in a process of its own, as the coordinator says.

Theory of operation. A worker runs an engine with its own loop, sender and connections. A channel connects it with the
coordinator (`logreplay.replay.workers.coordinator`). The coordinator says what to prepare, when to begin and when to
stop; the worker reports when it is ready, four times a second which requests have ended, and the outcome of each plan.
All instants in messages are those of one clock that all workers share. A worker that hears nothing from its coordinator
for a while stops sending: no target may be loaded by an unattended process.
"""

import asyncio
import os
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeVar
from uuid import uuid4

import numpy as np
import polars as pl
from numpy.typing import NDArray

from logreplay.core.errors import LogreplayError
from logreplay.core.installation import OWN_PROCESS
from logreplay.replay.child_process import connection_to_parent, end_with_parent
from logreplay.replay.clock import monotonic
from logreplay.replay.engine.engine import Engine
from logreplay.replay.engine.run_clock import Start
from logreplay.replay.results.counters import Counters
from logreplay.replay.senders.contract import FIRST_LOGIN, Exchange
from logreplay.replay.senders.descriptors import allow_descriptors
from logreplay.replay.senders.trace import Watch
from logreplay.replay.workers.clock_offset import SAME
from logreplay.replay.workers.partition import Share
from logreplay.replay.workers.processes import PipeChannel
from logreplay.replay.workers.protocol import (
    BEAT_S,
    COORDINATOR_LOST_S,
    LISTEN_S,
    Alive,
    Begin,
    Channel,
    CutPlan,
    ExchangeSeen,
    Hello,
    Leave,
    PlanEnded,
    Prepare,
    Silence,
    StopAll,
    Welcome,
    WorkerConfig,
    WorkerFailed,
    WorkerReady,
    WorkerReport,
    unpacked,
)

_LOOKED_S: Final = 0.6 * COORDINATOR_LOST_S
"""Longest pause of this process that counts as silence: alone it never makes a coordinator lost."""

Order = TypeVar("Order", Prepare, Begin)


def run_worker(packed: bytes, connect: Callable[[], Channel]) -> None:
    """Follow the coordinator's orders until it ends the worker; ``packed`` is a `WorkerConfig`."""
    import uvloop

    channel = connect()
    try:
        config = unpacked(packed)
        assert isinstance(config, WorkerConfig)
        allow_descriptors()
        token = uuid4().hex
        channel.send(Hello(token, f"{socket.gethostname()}, process {os.getpid()}", os.getpid()))
        while isinstance(answer := channel.receive(COORDINATOR_LOST_S), Alive):
            pass
        if answer == Welcome(token):
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(_Worker(config, channel).serve())
    except BaseException as error:
        known = error if isinstance(error, LogreplayError) else None
        with suppress(OSError, LogreplayError):
            channel.send(WorkerFailed(f"{type(error).__name__}: {error}", known))
        raise
    finally:
        channel.close()


class _Relay:
    """Takes the rows of the engine, and gives requests and connections their numbers in the whole run."""

    def __init__(self) -> None:
        self._rows: list[pl.DataFrame] = []
        self._own_first = 0
        self._share: Share | None = None
        self._first = 0

    def begin(self, share: Share, first: int, own_first: int) -> None:
        self._share, self._first, self._own_first = share, first, own_first

    def write(self, rows: pl.DataFrame) -> None:
        assert self._share
        connection = (pl.col("connection") - 1) * self._share.count + (self._share.index + 1)
        self._rows.append(rows.with_columns(self.number(pl.col("seq")).alias("seq"), connection.alias("connection")))

    def take(self) -> pl.DataFrame | None:
        rows, self._rows = self._rows, []
        return pl.concat(rows) if rows else None

    def number(self, own: Any) -> Any:
        """The seq in the whole run, of an int or an expression."""
        assert self._share
        return self._share.number(own - self._own_first) + self._first

    def close(self) -> None: ...


class _Worker:
    """The worker's end of the channel."""

    def __init__(self, config: WorkerConfig, channel: Channel) -> None:
        self._config, self._channel = config, channel
        self._relay = _Relay()
        self._watch = Watch(crash=config.failures)
        self._orders: asyncio.Queue[object] = asyncio.Queue()
        self._counters: Counters | None = None
        self._offset = SAME
        self._taken_up = 0
        self._reporting = threading.Lock()
        self._silence = Silence(_LOOKED_S)
        self._over = False
        self._fault: LogreplayError | None = None

    async def serve(self) -> None:
        """Run plans until the coordinator ends the worker."""
        self._loop = asyncio.get_running_loop()
        listener = threading.Thread(target=self._listen, name="listener", daemon=True)
        trace = self._see if self._config.failures or self._config.exchanges else None
        config = self._config
        try:
            async with Engine(
                config.sender(),
                self._relay,
                limits=config.limits,
                trace=trace,
                closed=config.closed,
                trace_headers=self._trace_headers if config.trace_ids else None,
            ) as engine:
                self._engine = engine
                self._watch.stop = engine.stop
                listener.start()
                beat = asyncio.create_task(self._beat())
                try:
                    while order := await self._next(Prepare):
                        await self._run(order)
                finally:
                    beat.cancel()
                    self._over = True
        finally:
            if counters := self._counters:  # of a plan that failed: what it had in flight ended as the engine closed
                self._report(counters, counters.ended, monotonic(), last=True)
        if self._fault:
            raise self._fault

    def _trace_headers(self, own: NDArray[np.int64]) -> pl.Series:
        """The trace contexts of requests, by their numbers here."""
        assert self._config.trace_ids
        return self._config.trace_ids.parents(self._relay.number(own))

    async def _next(self, kind: type[Order]) -> Order | None:
        """The next order of this kind; None where there will be none."""
        while not isinstance(order := await self._orders.get(), Leave):
            if isinstance(order, kind):
                return order
            if isinstance(order, StopAll) and kind is Begin:
                return None
        self._orders.put_nowait(order)
        return None

    async def _run(self, order: Prepare) -> None:
        engine = self._engine
        self._offset = await asyncio.to_thread(self._channel.clock_offset)
        self._relay.begin(order.share, order.first, self._taken_up)

        async def agree() -> Start:
            self._tell(WorkerReady(self._offset))
            begin = await self._next(Begin)
            self._counters = engine.counters
            return Start(self._offset.here(begin.at), begin.wall) if begin else Start(monotonic(), time.time_ns())

        outcome = await engine.run(order.share, agree=agree)
        counters, self._counters = self._counters or Counters(), None
        self._taken_up += outcome.scheduled
        await asyncio.to_thread(self._report, counters, outcome.scheduled, monotonic(), last=True)
        offset = await asyncio.to_thread(self._channel.clock_offset)
        self._tell(
            PlanEnded(outcome, order.share.requests, offset, engine.sessions and replace(engine.sessions, rows=[]))
        )

    async def _beat(self) -> None:
        """Report four times a second the requests that have ended, or that this worker is alive."""
        while True:
            await asyncio.sleep(BEAT_S)
            if self._silence.look() > COORDINATOR_LOST_S:
                self._hear(Leave())
            if counters := self._counters:
                now = self._engine.progress()
                self._engine.sync(
                    partial(self._report, counters, now.scheduled, monotonic(), now.next_due, now.waiting)
                )
            else:
                self._tell(Alive())

    def _report(
        self,
        counters: Counters,
        taken_up: int,
        until: int,
        next_due: float | None = None,
        waiting: int = 0,
        *,
        last: bool = False,
    ) -> None:
        """In the writing thread: report the written rows, and how much of the plan they are."""
        with self._reporting:
            if last or self._counters is counters:
                logins = self._engine.logins[:]
                del self._engine.logins[: len(logins)]
                until = self._offset.common(until)
                self._tell(WorkerReport(self._relay.take(), until, taken_up, counters, logins, next_due, waiting))

    def _tell(self, message: object) -> None:
        with suppress(OSError):  # the listener meets the same, and ends the run
            self._channel.send(message)

    def _listen(self) -> None:
        """In a thread of its own: take the orders."""
        order: object = None
        while not (self._over or isinstance(order, Leave)):
            try:
                order = self._channel.receive(LISTEN_S)
            except LogreplayError as error:
                self._fault, order = error, Leave()
            except BaseException:  # of a cluster that ended; without orders nothing is sent
                order = Leave()
            if order is not None:
                with suppress(RuntimeError):  # the loop has ended
                    self._loop.call_soon_threadsafe(self._hear, order)

    def _hear(self, order: object) -> None:
        self._silence.heard()
        if isinstance(order, CutPlan):
            self._engine.cut()
        if isinstance(order, StopAll | Leave):
            self._engine.stop(order.why if isinstance(order, StopAll) else "lost contact with the coordinator")
        self._orders.put_nowait(order)

    def _see(self, exchange: Exchange) -> None:
        self._watch.see(exchange)
        if self._config.exchanges or self._watch.culprit is exchange:
            login = exchange.seq >= FIRST_LOGIN
            self._tell(ExchangeSeen(exchange if login else replace(exchange, seq=self._relay.number(exchange.seq))))


if __name__ == "__main__":  # in a process of this machine: see `logreplay.replay.workers.processes`
    connection = connection_to_parent()
    OWN_PROCESS.claimed = True
    end_with_parent(connection)
    try:
        run_worker(connection.recv(), lambda: PipeChannel(connection))
    except BaseException:  # which the coordinator was told
        sys.exit(1)
