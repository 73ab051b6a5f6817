"""Sends each client's requests in order, on a connection of its own.

A request waits until its predecessor is answered. The wait is its ``queued`` time, a part of the response time, which
is the time that the client would have waited. So each client sends less to a slow target, and the loop is no longer
fully open. A request that must not be late (``latest`` of `send`) is dropped where it waits.
"""

import asyncio
from collections.abc import Callable, Sequence
from math import inf
from typing import Any, Final

import polars as pl

from logreplay.replay.senders.contract import ERROR_CODES, NO_CONNECTION, Done, Trace
from logreplay.replay.senders.descriptors import allow_descriptors
from logreplay.replay.senders.http1.sender import Connection, WireSender
from logreplay.replay.senders.http1.slots import Slots, Waiting

MAX_IDLE: Final = 20_000
"""Idle connections kept at most: the client that has been idle longest is disconnected first."""

_CANCELLED: Final = ERROR_CODES["cancelled"]
_DROPPED: Final = ERROR_CODES["dropped"]


def most_idle() -> float:
    """Idle connections that may be kept: `MAX_IDLE`, or half of the descriptors that this process may open."""
    return min(MAX_IDLE, allow_descriptors(2 * MAX_IDLE) // 2)


class ByClientSender(WireSender):
    """Sends as the wire sender does, with a connection for each ``client`` of the log.

    Requests without a client share one, as those of a client named "".
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._own: dict[str, Connection] = {}
        self._slots = Slots(each=1)
        self._expiry: asyncio.TimerHandle | None = None
        self._begun: dict[int, tuple[str, int]] = {}

    def prepare(self, frame: pl.DataFrame) -> Sequence[Any]:
        clients = frame["client"].fill_null("").to_list() if "client" in frame.columns else [""] * frame.height
        return list(zip(clients, super().prepare(frame), strict=True))

    async def open(self, done: Done, clock: Callable[[], int], trace: Trace | None = None) -> None:
        self._turn = asyncio.get_running_loop()
        self._report = done
        self._most_idle = most_idle()
        await super().open(self._ended, clock, trace)

    def send(  # type: ignore[override]
        self, seq: int, request: tuple[str, bytes], start: int, latest: float = inf
    ) -> None:
        client, head = request
        one = Waiting(seq, head, start, latest)
        if self._slots.take(client):
            self._begin(client, one, start)
        else:
            self.counts.queued += 1
            self._slots.wait(client, one)
            self._watch_expiry()

    def dial(self, seq: int, request: bytes, start: int, client: str | None = None) -> None:
        client = self._begun[seq][0]
        super().dial(seq, request, start, client)
        self._own[client] = self.busy[seq]

    def cancel(self) -> None:
        waiting = list(self._slots.clear())
        super().cancel()
        for one in waiting:
            self._end_unsent(one, _CANCELLED)

    @property
    def waiting(self) -> int:
        return self._slots.waiting

    def give_up_waiting(self, since: int) -> None:
        if self.clock() - since >= self.timeout_ns:
            for one in self._slots.clear():
                self.counts.given_up += 1
                self._end_unsent(one, _CANCELLED)

    def _end_unsent(self, one: Waiting, error: int) -> None:
        self._report(one.seq, one.start, self.clock() - one.start, 0, 0, 0, 0, 0, error, NO_CONNECTION)

    def _watch_expiry(self) -> None:
        if self._expiry is None and (at := self._slots.next_expiry) < inf:
            self._expiry = self._turn.call_later(max(0.0, at - self.clock()) / 1e9, self._expire)

    def _expire(self) -> None:
        """Drop requests that have waited too long."""
        self._expiry = None
        self._drop_expired()
        self._watch_expiry()

    def _drop_expired(self) -> None:
        for one in self._slots.expired(self.clock()):
            self._end_unsent(one, _DROPPED)

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
        self._turn.call_soon(self._next, client)
        self._report(seq, waited_from, start - waited_from + queued, *rest)

    def _next(self, client: str) -> None:
        self._drop_expired()
        if one := self._slots.free(client):
            self._begin(client, one, self.clock())
            return
        if self._own.get(client) not in self.idle:
            self._own.pop(client, None)
        elif len(self.idle) > self._most_idle:
            oldest = next(iter(self.idle))
            del self.idle[oldest]
            oldest.drop()
        if len(self._own) > 4 * self._most_idle + 2 * len(self._slots):  # many were closed by the target meanwhile
            self._own = {name: own for name, own in self._own.items() if own in self.idle or name in self._slots}
