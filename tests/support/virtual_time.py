"""Virtual time: an event loop whose selector, instead of waiting, moves the loop's clock on; and a target in it."""

import asyncio
import selectors
from collections.abc import Callable, Coroutine, Sequence
from math import inf
from typing import Any, TypeVar

import polars as pl

from logreplay.replay.senders.contract import Done, SenderCounts, Trace

T = TypeVar("T")


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """Jumps to the next timer whenever nothing else is to be done."""

    def __init__(self) -> None:
        self.virtual = 0.0
        super().__init__(_JumpingSelector(self))

    def time(self) -> float:
        return self.virtual

    def now_ns(self) -> int:
        """The virtual time as the engine's clock."""
        return round(self.virtual * 1e9)


class _JumpingSelector(selectors.DefaultSelector):
    def __init__(self, loop: VirtualTimeLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> Any:
        if timeout is None:
            raise RuntimeError("virtual time stands still: nothing is scheduled")
        self._loop.virtual += max(0.0, timeout)
        return super().select(0)


def run(main: Coroutine[Any, Any, T], loop: VirtualTimeLoop) -> T:
    """Run to the end in virtual time."""
    try:
        return loop.run_until_complete(main)
    finally:
        loop.close()


class OneServerQueue:
    """A target that answers one request after the other, each in ``service`` seconds, and stands still once."""

    def __init__(self, service: float, stall: tuple[float, float]) -> None:
        self.counts = SenderCounts()
        self._service, self._stall = service, stall
        self._free = 0.0

    def prepare(self, frame: pl.DataFrame) -> Sequence[str]:
        return frame["url"].to_list()

    async def open(self, done: Done, clock: Callable[[], int], trace: Trace | None = None) -> None:
        self._done, self._loop = done, asyncio.get_running_loop()

    def send(self, seq: int, request: str, start: int, latest: float = inf) -> None:
        begin = max(start / 1e9, self._free)
        if self._stall[0] <= begin < self._stall[1]:
            begin = self._stall[1]
        self._free = begin + self._service
        latency = round(self._free * 1e9) - start
        self._loop.call_at(self._free, self._done, seq, start, 0, 0, latency, 0, 10, 200, 0)

    def cancel(self) -> None: ...

    async def close(self) -> None: ...


class OneStream(OneServerQueue):
    """The same target behind a sender with one stream: requests wait in the sender, and their wait is counted."""

    def send(self, seq: int, request: str, start: int, latest: float = inf) -> None:
        begin = max(start, round(self._free * 1e9))
        self._free = begin / 1e9 + self._service
        queued, latency = begin - start, round(self._service * 1e9)
        self._loop.call_at(self._free, self._done, seq, start, queued, 0, latency, 0, 10, 200, 0)
