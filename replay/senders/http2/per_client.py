"""Sends each client's requests on an HTTP/2 connection of its own, as browsers do."""

from collections import deque
from collections.abc import Sequence
from math import inf
from typing import Any, ClassVar

import polars as pl

from logreplay.replay.clock import Clock
from logreplay.replay.senders.contract import FIRST_LOGIN, Done, Trace
from logreplay.replay.senders.http1.per_client import most_idle
from logreplay.replay.senders.http2.connection import Http2Connection
from logreplay.replay.senders.http2.pool import Pool
from logreplay.replay.senders.http2.sender import Http2Sender
from logreplay.replay.senders.http2.stream import Stream


class Http2ByClientSender(Http2Sender):
    """Sends as `Http2Sender` does, with one connection for each ``client`` of the log.

    Requests of a client are sent when they are due, beside each other; what exceeds the streams of its connection is
    queued. Requests without a client share one connection, as those of a client named "".
    """

    _most_open: ClassVar[float] = inf
    """Most connections of a client at once, including those that only finish their requests."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._pools: dict[str, Pool] = {}

    def prepare(self, frame: pl.DataFrame) -> Sequence[Any]:
        clients = frame["client"].fill_null("").to_list() if "client" in frame.columns else [""] * frame.height
        return list(zip(clients, super().prepare(frame), strict=True))

    def send(  # type: ignore[override]
        self, seq: int, request: tuple[str, bytes], start: int, latest: float = inf
    ) -> None:
        client, rendered = request
        pool = self._pools.get(client)
        if pool is None:
            pool = self._pools[client] = Pool(
                self._dial, least=0, most=1, most_open=self._most_open, streams=self._each, client=client
            )
        self.begin(pool, seq, rendered, start, latest)
        stream = self.busy[seq]
        if stream.carrier is None:
            stream.since = inf

    def give_up_waiting(self, since: int) -> None:
        if (now := self.clock()) - since >= self.timeout_ns:
            for pool in self._waiting:
                waits, pool.queue = pool.queue, deque(one for one in pool.queue if one.seq >= FIRST_LOGIN)
                for stream in waits:
                    if stream.seq < FIRST_LOGIN and self.busy.get(stream.seq) is stream:
                        self.counts.given_up += 1
                        self._give_up(stream, "cancelled", now)

    def _carry(self, stream: Stream, connection: Http2Connection, now: int) -> None:
        if stream.since == inf:  # the time-out of a request that waited for a stream counts from here, as with HTTP/1.1
            stream.since = now
        super()._carry(stream, connection, now)

    def expired(self, now: int) -> list[Stream]:
        return [one for one in self.busy.values() if now - one.since >= self.timeout_ns]

    def _limits(self) -> str:
        waits = "a stream of their client's connection (--by-client)"
        if self._each == inf:
            return f"{waits}, on which the target allows no more"
        return f"{waits} with --streams {self._each:g} (raise --streams, or leave it out)"

    async def open(self, done: Done, clock: Clock, trace: Trace | None = None) -> None:
        self._most_idle = int(most_idle())
        await super().open(done, clock, trace)

    def close_idle(self, since: int) -> None:
        most = self._most_idle
        if len(self._connections) > most:
            idle = sorted(one.idle_since for one in self._connections if one.unused)
            since = max(since, idle[-most]) if len(idle) > most else since
        super().close_idle(since)
        self._pools = {client: pool for client, pool in self._pools.items() if pool.used}
