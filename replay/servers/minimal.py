"""A bare responder: the least a web server can do, to measure ourselves against.

It answers whatever it is sent with the same few bytes, at once or after an exact delay, from a process of its own.
"""

import asyncio
import heapq
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import uvloop

from logreplay.parsers.record import LogreplayError
from logreplay.replay.clock import Clock, monotonic
from logreplay.replay.engine.timer import ticker

ANSWER: Final = b"HTTP/1.1 200 OK\r\nContent-Length: 24\r\n\r\nhello, this is 24 bytes!"
_HEAD_ANSWER: Final = ANSWER[: ANSWER.index(b"\r\n\r\n") + 4]


class Delays:
    """Calls back after an exact delay.

    Args:
        seconds: of the delay.
    """

    def __init__(self, seconds: float, clock: Clock = monotonic) -> None:
        self._ns, self._clock = int(seconds * 1e9), clock
        self._waiting: list[tuple[int, int, asyncio.Transport, bytes]] = []
        self._number = 0
        self._ticker = ticker(asyncio.get_running_loop(), clock, self._due)
        self._rest()

    def answer(self, transport: asyncio.Transport, answer: bytes, arrived: int) -> None:
        """Send an answer when the delay is over since the request arrived."""
        self._number += 1
        heapq.heappush(self._waiting, (arrived + self._ns, self._number, transport, answer))
        self._ticker.arm(self._waiting[0][0])

    def _due(self) -> None:
        while self._waiting and self._waiting[0][0] <= self._clock():
            _, _, transport, answer = heapq.heappop(self._waiting)
            transport.write(answer)
        self._rest()

    def _rest(self) -> None:
        self._ticker.arm(self._waiting[0][0] if self._waiting else self._clock() + 10**15)


class _Responder(asyncio.Protocol):
    """Answers each blank line, that is, the end of each request's head."""

    def __init__(self, delays: Delays | None) -> None:
        self._delays = delays
        self._rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: asyncio.Transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        arrived = monotonic() if self._delays else 0
        *heads, self._rest = (self._rest + data).split(b"\r\n\r\n")
        for head in heads:
            answer = _HEAD_ANSWER if head.startswith(b"HEAD ") else ANSWER
            if self._delays:
                self._delays.answer(self._transport, answer, arrived)
            else:
                self._transport.write(answer)


@contextmanager
def responding(delay_s: float = 0.0) -> Iterator[str]:
    """Run a responder in a process of its own while the block runs; the value is its URL.

    Raises:
        LogreplayError: it did not start.
    """
    command = [sys.executable, "-m", "logreplay.replay.servers.minimal", str(delay_s)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout
        try:
            url = process.stdout.readline().strip()
            if not url:
                raise LogreplayError("the responder did not start; see it fail with: " + " ".join(command[1:]))
            yield url
        finally:
            process.kill()  # not terminate: one that was stopped (SIGSTOP) would be waited for


async def _serve(delay_s: float) -> None:
    """Serve until stdin closes: with the process that started this one."""
    loop = asyncio.get_running_loop()
    delays = Delays(delay_s) if delay_s else None
    server = await loop.create_server(lambda: _Responder(delays), "127.0.0.1", 0, backlog=4096)
    closed = asyncio.Event()
    loop.add_reader(sys.stdin.fileno(), closed.set)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)  # noqa: T201  the parent reads it
    await closed.wait()


if __name__ == "__main__":
    uvloop.run(_serve(float(sys.argv[1])))
