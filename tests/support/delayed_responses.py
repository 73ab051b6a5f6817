"""A server that answers each request after an exact delay, in a process of its own."""

import asyncio
import heapq
import sys
from contextlib import AbstractContextManager
from typing import ClassVar

import uvloop

from logreplay.replay.clock import monotonic
from logreplay.replay.engine.timer import make_timer
from logreplay.replay.servers.minimal import MinimalResponder, serve
from logreplay.replay.servers.server_process import server_process


def delayed_responses(seconds: float) -> AbstractContextManager[str]:
    """Run the server while the block runs; the value is its URL."""
    return server_process(__file__, seconds, failed="the responder did not start")


class Delays:
    """Sends answers after an exact delay."""

    def __init__(self, seconds: float) -> None:
        self._ns = int(seconds * 1e9)
        self._waiting: list[tuple[int, int, asyncio.Transport, bytes]] = []
        self._number = 0
        self._timer = make_timer(asyncio.get_running_loop(), monotonic, self._due)
        self._rest()

    def answer(self, transport: asyncio.Transport, answer: bytes) -> None:
        """Send an answer when the delay is over."""
        self._number += 1
        heapq.heappush(self._waiting, (monotonic() + self._ns, self._number, transport, answer))
        self._timer.arm(self._waiting[0][0])

    def _due(self) -> None:
        while self._waiting and self._waiting[0][0] <= monotonic():
            _, _, transport, answer = heapq.heappop(self._waiting)
            transport.write(answer)
        self._rest()

    def _rest(self) -> None:
        self._timer.arm(self._waiting[0][0] if self._waiting else monotonic() + 10**15)


class DelayedResponder(MinimalResponder):
    """Answers each request when the delay is over."""

    delays: ClassVar[Delays]

    def answer(self, answer: bytes) -> None:
        self.delays.answer(self._transport, answer)


async def main() -> None:
    DelayedResponder.delays = Delays(float(sys.argv[1]))
    await serve(DelayedResponder)


if __name__ == "__main__":
    uvloop.run(main())
