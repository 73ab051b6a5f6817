"""A machine with two versions of a service, one port each: ``python _machine.py ADDRESS SLOW DRIFT PAUSES CHANGE``.

It prints both ports. A response takes 40 ms or so, ``SLOW`` times as long here, growing by ``DRIFT`` over a minute; the
new version, the second port, takes ``CHANGE`` times as long. With ``PAUSES`` the machine stops for 150 ms every 7 s on
average. It ends with its standard input.
"""

import asyncio
import random
import sys
import time
from functools import partial
from typing import Final

_WORK_S: Final = 0.04
_SCATTER: Final = 0.3
_PAUSE_S: Final = 0.15
_EVERY_S: Final = 7.0
_ANSWER: Final = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class _Service(asyncio.Protocol):
    """A version of the service."""

    def __init__(self, takes: "Machine", change: float) -> None:
        self._machine, self._change, self._data = takes, change, b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._data += data
        while b"\r\n\r\n" in self._data:
            _, _, self._data = self._data.partition(b"\r\n\r\n")
            asyncio.get_running_loop().call_later(self._machine.takes(self._change), self._transport.write, _ANSWER)


class Machine:
    """How long responses take here, and now."""

    def __init__(self, slow: float, drift: float, *, pauses: bool) -> None:
        self._slow, self._drift, self._begun = slow, drift, time.monotonic()
        self._pause = self._begun + random.expovariate(1 / _EVERY_S) if pauses else float("inf")

    def takes(self, change: float) -> float:
        """Seconds of a response that begins now."""
        now = time.monotonic()
        while now > self._pause + _PAUSE_S:
            self._pause += random.expovariate(1 / _EVERY_S)
        rest = max(0.0, self._pause + _PAUSE_S - now) if now > self._pause else 0.0
        speed = self._slow * (1 + self._drift * (now - self._begun) / 60)
        return rest + _WORK_S * speed * change * random.lognormvariate(0, _SCATTER)


async def _serve(address: str, slow: float, drift: float, pauses: bool, change: float) -> None:
    machine, loop = Machine(slow, drift, pauses=pauses), asyncio.get_running_loop()
    for version in (1.0, change):
        server = await loop.create_server(partial(_Service, machine, version), address, 0)
        sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
        sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    named, *figures = sys.argv[1:]
    of_machine, of_drift, of_pauses, of_change = map(float, figures)
    asyncio.run(_serve(named, of_machine, of_drift, bool(of_pauses), of_change))
