"""Sends each client's requests in order, on a connection of its own.

A request waits until its predecessor is answered, and the wait is counted as lag: the response time is the time that
the client would have waited. So each client sends less to a slow target, and the loop is no longer fully open. A
request that must not be late (``latest`` of `send`) is dropped where it waits.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Final

import polars as pl

from logreplay.replay.senders.contract import ERROR_CODES, Done, Trace
from logreplay.replay.senders.wire import Connection, WireSender

MAX_IDLE: Final = 1000
"""Idle connections kept: the client that has been idle longest is disconnected first."""

_CANCELLED: Final = ERROR_CODES["cancelled"]
_DROPPED: Final = ERROR_CODES["dropped"]


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A request that waits for the one before it of the same client, until ``latest`` (nanoseconds of the clock)."""

    seq: int
    head: bytes
    latest: float


class ByClientSender(WireSender):
    """Sends as the wire sender does, with a connection for each ``client`` of the log.

    Requests without a client share one, as those of a client named "".
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._own: dict[str, Connection] = {}
        self._waiting: dict[str, deque[_Waiting]] = {}
        self._expiring: deque[tuple[float, str, int]] = deque()
        self._expiry: asyncio.TimerHandle | None = None
        self._client: dict[int, str] = {}

    def prepare(self, frame: pl.DataFrame) -> Sequence[Any]:
        clients = frame["client"].fill_null("").to_list() if "client" in frame.columns else [""] * frame.height
        return list(zip(clients, super().prepare(frame), strict=True))

    async def open(self, done: Done, clock: Callable[[], int], trace: Trace | None = None) -> None:
        self._turn = asyncio.get_running_loop()
        self._report = done
        await super().open(self._ended, clock, trace)

    def send(  # type: ignore[override]
        self, seq: int, request: tuple[str, bytes], start: int, latest: float = inf
    ) -> None:
        client, head = request
        waiting = self._waiting.get(client)
        if waiting is None:
            self._waiting[client] = deque()
            self._begin(client, seq, head, start)
        else:
            self.counts.queued += 1
            waiting.append(_Waiting(seq, head, latest))
            if latest < inf:
                self._expiring.append((latest, client, seq))
                self._watch_expiry()

    def dial(self, seq: int, request: bytes, start: int) -> None:
        super().dial(seq, request, start)
        self._own[self._client[seq]] = self.busy[seq]

    def cancel(self) -> None:
        queues, self._waiting = self._waiting, {client: deque() for client in self._waiting}
        self._expiring.clear()
        super().cancel()
        for queue in queues.values():
            for one in queue:
                self._end_unsent(one, _CANCELLED)

    def _end_unsent(self, one: _Waiting, error: int) -> None:
        self._report(one.seq, self.clock(), 0, 0, 0, 0, 0, error)

    def _watch_expiry(self) -> None:
        if self._expiring and self._expiry is None:
            left = self._expiring[0][0] - self.clock()
            self._expiry = self._turn.call_later(max(0.0, left) / 1e9, self._expire)

    def _expire(self) -> None:
        """Drop requests that have waited too long. Those due later expire later: the first in line expire first."""
        self._expiry = None
        while self._expiring and self._expiring[0][0] < self.clock():
            _, client, seq = self._expiring.popleft()
            waiting = self._waiting.get(client)
            if waiting and waiting[0].seq == seq:
                self._end_unsent(waiting.popleft(), _DROPPED)
        self._watch_expiry()

    def _begin(self, client: str, seq: int, head: bytes, start: int) -> None:
        self._client[seq] = client
        own = self._own.pop(client, None)
        if own is not None and own in self.idle:
            del self.idle[own]
            if own.usable():
                self._own[client] = own
                self.counts.reused += 1
                self.busy[seq] = own
                own.begin(seq, head, start)
                return
            own.drop()
        self.dial(seq, head, start)

    def _ended(
        self, seq: int, start: int, connect: int, latency: int, xfertime: int, size: int, status: int, error: int
    ) -> None:
        client = self._client.pop(seq)
        # in the loop's next turn: the connection is not idle yet
        self._turn.call_soon(self._next, client)
        self._report(seq, start, connect, latency, xfertime, size, status, error)

    def _next(self, client: str) -> None:
        waiting = self._waiting[client]
        while waiting:
            one, now = waiting.popleft(), self.clock()
            if now <= one.latest:
                self._begin(client, one.seq, one.head, now)
                return
            self._end_unsent(one, _DROPPED)
        del self._waiting[client]
        if self._own.get(client) not in self.idle:
            self._own.pop(client, None)
        elif len(self.idle) > MAX_IDLE:
            oldest = next(iter(self.idle))
            del self.idle[oldest]
            oldest.drop()
        if len(self._own) > 4 * MAX_IDLE + 2 * len(self._waiting):  # many were closed by the target meanwhile
            self._own = {name: own for name, own in self._own.items() if own in self.idle or name in self._waiting}
