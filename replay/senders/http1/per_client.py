"""Sends each client's requests in order, on a connection of its own.

A request waits until its predecessor is answered. The wait is its ``queued`` time, a part of the response time, which
is the time that the client would have waited. So each client sends less to a slow target, and the loop is no longer
fully open. A request that must not be late (``latest`` of `send`) is dropped where it waits.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Final

import polars as pl

from logreplay.replay.senders.contract import ERROR_CODES, NO_CONNECTION, Done, Trace
from logreplay.replay.senders.descriptors import allow_descriptors
from logreplay.replay.senders.http1.sender import Connection, WireSender

MAX_IDLE: Final = 20_000
"""Idle connections kept at most: the client that has been idle longest is disconnected first."""

_CANCELLED: Final = ERROR_CODES["cancelled"]
_DROPPED: Final = ERROR_CODES["dropped"]


def most_idle() -> float:
    """Idle connections that may be kept: `MAX_IDLE`, or half of the descriptors that this process may open."""
    return min(MAX_IDLE, allow_descriptors(2 * MAX_IDLE) // 2)


@dataclass(frozen=True, slots=True)
class Waiting:
    """A request that waits from ``start`` on for the one before it of the same client; the rest as for `send`."""

    seq: int
    request: bytes
    start: int
    latest: float


class ByClientSender(WireSender):
    """Sends as the wire sender does, with a connection for each ``client`` of the log.

    Requests without a client share one, as those of a client named "".
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._own: dict[str, Connection] = {}
        self._queues: dict[str, deque[Waiting] | tuple[()]] = {}
        """For each client with a request under way those that wait for it."""
        self._expiring: deque[tuple[float, str, int]] = deque()
        self._expiry: asyncio.TimerHandle | None = None
        self._begun: dict[int, tuple[str, int]] = {}

    def prepare(self, frame: pl.DataFrame) -> Sequence[Any]:
        clients = frame["client"].fill_null("").to_list() if "client" in frame.columns else [""] * frame.height
        return list(zip(clients, super().prepare(frame), strict=True))

    async def open(self, done: Done, clock: Callable[[], int], trace: Trace | None = None) -> None:
        self._report = done
        self._most_idle = most_idle()
        await super().open(self._ended, clock, trace)

    def send(  # type: ignore[override]
        self, seq: int, request: tuple[str, bytes], start: int, latest: float = inf
    ) -> None:
        client, head = request
        one = Waiting(seq, head, start, latest)
        if client in self._queues:
            self._wait(client, one)
        else:
            self._queues[client] = ()
            self._begin(client, one, start)

    def _wait(self, client: str, one: Waiting) -> None:
        """Let a request wait behind the others of its client. Those that come later do not expire earlier."""
        self.counts.queued += 1
        queue = self._queues[client] = self._queues[client] or deque()
        queue.append(one)
        if one.latest < inf:
            self._expiring.append((one.latest, client, one.seq))
            self._watch_expiry()

    def dial(self, seq: int, request: bytes, start: int, client: str | None = None) -> None:
        client = self._begun[seq][0]
        super().dial(seq, request, start, client)
        self._own[client] = self.busy[seq]

    def cancel(self) -> None:
        waiting = self._stop_waiting()
        super().cancel()
        for one in waiting:
            self._end_unsent(one, _CANCELLED)

    @property
    def waiting(self) -> int:
        return sum(map(len, self._queues.values()))

    def give_up_waiting(self, since: int) -> None:
        if self.clock() - since >= self.timeout_ns:
            for one in self._stop_waiting():
                self.counts.given_up += 1
                self._end_unsent(one, _CANCELLED)

    def _stop_waiting(self) -> list[Waiting]:
        """Take out all requests that wait."""
        waiting = [one for queue in self._queues.values() for one in queue]
        self._queues = dict.fromkeys(self._queues, ())
        self._expiring.clear()
        return waiting

    def _end_unsent(self, one: Waiting, error: int) -> None:
        self._report(one.seq, one.start, self.clock() - one.start, 0, 0, 0, 0, 0, error, NO_CONNECTION)

    def _watch_expiry(self) -> None:
        if self._expiry is None and self._expiring:
            wait = max(0.0, self._expiring[0][0] - self.clock())
            self._expiry = self._loop.call_later(wait / 1e9, self._expire)

    def _expire(self) -> None:
        self._expiry = None
        self._drop_expired()
        self._watch_expiry()

    def _drop_expired(self) -> None:
        """Drop requests that have waited too long."""
        now = self.clock()
        while self._expiring and self._expiring[0][0] < now:
            _, client, seq = self._expiring.popleft()
            queue = self._queues.get(client)
            if queue and queue[0].seq == seq:
                self._end_unsent(queue.popleft(), _DROPPED)

    def _begin(self, client: str, one: Waiting, now: int) -> None:
        self._begun[one.seq] = client, one.start
        own = self._own.pop(client, None)
        if own is not None and own in self.idle:
            del self.idle[own]
            if own.usable():
                self._own[client] = own
                self.counts.reused += 1
                self.busy[one.seq] = own
                own.begin(one.seq, one.request, now)
                return
            own.drop()
        self.dial(one.seq, one.request, now)

    def _ended(self, seq: int, start: int, queued: int, /, *rest: int) -> None:
        client, waited_from = self._begun.pop(seq)
        # in the loop's next turn: the connection is not idle yet
        self._loop.call_soon(self._next, client)
        self._report(seq, waited_from, start - waited_from + queued, *rest)

    def _next(self, client: str) -> None:
        self._drop_expired()
        if queue := self._queues[client]:
            self._begin(client, queue.popleft(), self.clock())
            return
        del self._queues[client]
        if self._own.get(client) not in self.idle:
            self._own.pop(client, None)
        elif len(self.idle) > self._most_idle:
            oldest = next(iter(self.idle))
            del self.idle[oldest]
            oldest.drop()
        if len(self._own) > 4 * self._most_idle + 2 * len(self._queues):  # many were closed by the target meanwhile
            self._own = {name: own for name, own in self._own.items() if own in self.idle or name in self._queues}
