"""A target of HTTP/2 that carries ten streams and answers each request 50 ms after it came, to some microseconds.

Usage: stream_target.py CORE. Prints its URL, and serves until its input is closed.
"""

import asyncio
import os
import sys
from collections import deque
from typing import Final

import uvloop

from logreplay.replay.clock import monotonic
from logreplay.replay.engine.timer import make_timer
from logreplay.replay.servers.http2_service import EitherService
from logreplay.replay.servers.server_process import serve_until_stdin_closes

STREAMS: Final = 10
SERVICE_S: Final = 0.05


class Service:
    """Answers each request a fixed time after it came; a timer of the kernel says when."""

    def __init__(self) -> None:
        self._due: deque[tuple[int, asyncio.Future[None]]] = deque()
        self._loop = asyncio.get_running_loop()
        self._timer = make_timer(self._loop, monotonic, self._wake_up)

    async def respond(self, _method: str, _path: str) -> tuple[int, int]:
        """Status and size of the response, when it is due."""
        at, done = monotonic() + int(SERVICE_S * 1e9), self._loop.create_future()
        self._due.append((at, done))
        if len(self._due) == 1:
            self._timer.arm(at)
        await done
        return 200, 24

    def _wake_up(self) -> None:
        due, now = self._due, monotonic()
        while due and due[0][0] <= now:
            _, done = due.popleft()
            if not done.done():
                done.set_result(None)
        if due:
            self._timer.arm(due[0][0])


async def main() -> None:
    service = Service()
    server = await asyncio.get_running_loop().create_server(
        lambda: EitherService(asyncio.Protocol, service.respond, STREAMS), "127.0.0.1", 0
    )
    async with server:
        await serve_until_stdin_closes(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")


if __name__ == "__main__":
    os.sched_setaffinity(0, {int(sys.argv[1])})
    uvloop.run(main())
