"""One sender made of several: each request goes to the one that its row of the plan names."""

from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from math import inf
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from logreplay.core.record import TARGET
from logreplay.replay.clock import Clock
from logreplay.replay.requests.header_columns import HTTP2, PROTOCOL
from logreplay.replay.senders.contract import Done, Queueing, Sender, SenderCounts, Trace


class SeveralSenders:
    """Sends through several senders, in the order in which requests are given to it.

    It holds no requests back (`logreplay.replay.senders.contract.Batching`): written together, those of one sender
    would all go before those of the next, and the target that is always asked first looks faster.

    The senders are not opened; they share one set of counts. ``choose`` gives the index of the sender for each row of a
    planned frame, ``(n,)``.
    """

    def __init__(self, senders: Sequence[Sender], choose: Callable[[pl.DataFrame], NDArray[np.integer[Any]]]) -> None:
        self._senders, self._choose = senders, choose
        self._queueing = [sender for sender in senders if isinstance(sender, Queueing)]
        self._opened = AsyncExitStack()
        self.counts = SenderCounts()

    @property
    def counts(self) -> SenderCounts:
        """The counts that all share."""
        return self._counts

    @counts.setter
    def counts(self, counts: SenderCounts) -> None:
        self._counts = counts
        for sender in self._senders:
            sender.counts = counts

    def prepare(self, frame: pl.DataFrame) -> Sequence[Any]:
        chosen = self._choose(frame)
        prepared: list[Any] = [None] * frame.height
        for index, sender in enumerate(self._senders):
            places = np.flatnonzero(chosen == index)
            if len(places):
                for place, request in zip(places.tolist(), sender.prepare(frame[places]), strict=True):
                    prepared[place] = (sender.send, request)
        return prepared

    async def open(self, done: Done, clock: Clock, trace: Trace | None = None) -> None:
        async with self._opened as opened:  # if one cannot be opened, those before it are closed
            for sender in self._senders:
                await sender.open(done, clock, trace)
                opened.push_async_callback(sender.close)
            self._opened = opened.pop_all()

    def send(self, seq: int, request: Any, start: int, latest: float = inf) -> None:
        send, prepared = request
        send(seq, prepared, start, latest)

    @property
    def waiting(self) -> int:
        return sum(sender.waiting for sender in self._queueing)

    def give_up_waiting(self, since: int) -> None:
        for sender in self._queueing:
            sender.give_up_waiting(since)

    def cancel(self) -> None:
        for sender in self._senders:
            sender.cancel()

    async def close(self) -> None:
        await self._opened.aclose()


def by_protocol(http1: Sender, http2: Sender) -> SeveralSenders:
    """A sender that sends each request in the version of HTTP that its row names."""
    return SeveralSenders((http1, http2), lambda frame: (frame[PROTOCOL] == HTTP2).fill_null(False).to_numpy())


def by_target(senders: Sequence[Sender]) -> SeveralSenders:
    """A sender that sends each request to the target that its row names."""
    return SeveralSenders(senders, target_of)


def target_of(frame: pl.DataFrame) -> NDArray[np.integer[Any]]:
    """The index of the target that each row names."""
    return frame[TARGET].to_numpy()
