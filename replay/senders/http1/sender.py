"""The default sender: HTTP/1.1 on uvloop's transports.

Theory of operation. Requests come as finished bytes. `WireSender.send` takes the connection that became idle last
(so the others may close) or opens a new one, and writes. Each `Connection` carries one exchange at a time; the
clock is read where its bytes arrive. Bodies are counted, never kept. All exchanges in flight are in one dict in the
order of their start, so those that timed out are at its front: one sweep, no timer per request.
"""

import asyncio
import ssl
from collections.abc import Sequence
from itertools import takewhile
from math import inf
from typing import Final

import polars as pl

from logreplay.replay.clock import Clock
from logreplay.replay.senders.contract import Done, SenderCounts, Trace
from logreplay.replay.senders.digests import Digests
from logreplay.replay.senders.encode import default_headers, render
from logreplay.replay.senders.endpoint import Dialer, Endpoint
from logreplay.replay.senders.http1.connection import (
    Connection,
    CountedConnection,
    DigestConnection,
    TracedConnection,
    TracedDigestConnection,
)
from logreplay.replay.senders.request_budget import BudgetedIdle, RequestBudget

UNNEEDED_NS: Final = 30_000_000_000
"""A connection that was idle for this long is closed, so that connections opened in a stall do not stay."""


class WireSender:
    """Sends HTTP/1.1 on connections of its own.

    Args:
        endpoint: where to; its addresses are used in turn.
        timeout: seconds from the start of an exchange to its end.
        keep_alive: use connections again.
        tls: context for https.
        digests: adds digests to the records; None: none are wanted.
        budget: limit of requests for each connection; None: as many as the target takes.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        timeout: float,
        keep_alive: bool = True,
        tls: ssl.SSLContext | None = None,
        digests: Digests | None = None,
        budget: RequestBudget | None = None,
    ) -> None:
        self.counts = SenderCounts()
        self.endpoint, self.keep_alive, self.digests = endpoint, keep_alive, digests
        self.timeout_ns = int(timeout * 1e9)
        self.idle: dict[Connection, int] = BudgetedIdle(budget) if budget else {}
        self.busy: dict[int, Connection] = {}
        self.quickest = inf
        self.heads: dict[bytes, tuple[int, int, int]] = {}
        self._dialer = Dialer(endpoint, tls, timeout)
        self._spreads = budget is not None or len(endpoint.addresses) > 1

    def prepare(self, frame: pl.DataFrame) -> Sequence[bytes]:
        return render(frame, default_headers(self.endpoint.target.authority, keep_alive=self.keep_alive))

    async def open(self, done: Done, clock: Clock, trace: Trace | None = None) -> None:
        self.done, self.failed, self.clock, self.trace = done, done, clock, trace
        self._loop = asyncio.get_running_loop()
        self._connection: type[Connection] = TracedConnection if trace else Connection
        if self.digests:
            self.failed = self.digests.failures_to(done)
            self.counts.keep_timings(self.digests.timings)
            self._connection = TracedDigestConnection if trace else DigestConnection
        if self._spreads:
            self._connection = type("SpreadConnection", (CountedConnection, self._connection), {})
        self._sweep_s = min(0.05, max(0.001, self.timeout_ns / 20e9))
        self._sweeper = self._loop.call_later(self._sweep_s, self._sweep)

    def send(self, seq: int, request: bytes, start: int, latest: float = inf) -> None:
        idle = self.idle
        while idle:
            connection = idle.popitem()[0]
            transport = connection._transport
            if transport is not None and not transport.is_closing():
                self.counts.reused += 1
                self.busy[seq] = connection
                connection.begin(seq, request, start)
                return
        self.dial(seq, request, start)

    def dial(self, seq: int, request: bytes, start: int, client: str | None = None) -> None:
        """Start an exchange on a new connection, which is that of a client alone if one is named."""
        connection = self.busy[seq] = self._connection(self, seq, request, start)
        self.counts.connections += 1
        self._dialer.dial(connection, self.counts.local, client)

    def _sweep(self) -> None:
        """End the exchanges that timed out, and the connections idle for too long: they are at the front."""
        now = self.clock()
        expired = []
        for connection in self.busy.values():
            if now - connection.start < self.timeout_ns:
                break
            expired.append(connection)
        for connection in expired:
            self._give_up(connection, "timeout")
        for connection in [*takewhile(lambda one: now - self.idle[one] > UNNEEDED_NS, self.idle)]:
            connection.drop()
        self._sweeper = self._loop.call_later(self._sweep_s, self._sweep)

    def cancel(self) -> None:
        for connection in list(self.busy.values()):
            self._give_up(connection, "cancelled")

    def _give_up(self, connection: "Connection", word: str) -> None:
        connection.fail(word)
        if task := self._dialer.opening.get(connection):
            task.cancel()

    async def close(self) -> None:
        self._sweeper.cancel()
        for connection in list(self.idle):
            connection.drop()
        await self._dialer.close()
