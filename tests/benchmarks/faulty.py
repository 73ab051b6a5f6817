"""A target that fails now and then, on purpose, and counts how; a process of its own for the soak.

Usage: faulty.py FAULTS (a reset, a stall, a short body for every so many requests; 0: none). Says its address; at the
end of its input it says what it did, as JSON. Every so often it refuses connections for a moment.
"""

import asyncio
import json
import socket
import struct
import sys
from collections import Counter
from typing import Final

import uvloop

ANSWER: Final = b"HTTP/1.1 200 OK\r\nContent-Length: 24\r\n\r\nhello, this is 24 bytes!"
KINDS: Final = ("reset", "stall", "short")
REFUSING_S: Final = 0.2
LISTENING_S: Final = 5.0


class Target:
    """What all connections share."""

    def __init__(self, faults: int) -> None:
        self.faults, self.counts = faults, Counter[str]()

    def next(self) -> str:
        """What to do with the next request."""
        number = self.counts.total()
        at = number % self.faults - (self.faults - len(KINDS)) if self.faults else -1
        kind = KINDS[at] if at >= 0 else "ok"
        self.counts[kind] += 1
        return kind


class Connection(asyncio.Protocol):
    """Takes one request at a time."""

    def __init__(self, target: Target) -> None:
        self._target, self._data = target, b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: asyncio.Transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        self._data += data
        if not self._data.endswith(b"\r\n\r\n"):
            return
        self._data = b""
        kind = self._target.next()
        if kind == "ok":
            self._transport.write(ANSWER)
        elif kind == "short":
            self._transport.write(ANSWER[:-4])
            self._transport.close()
        elif kind == "reset":
            linger = struct.pack("ii", 1, 0)
            self._transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self._transport.abort()


async def main(faults: int) -> None:
    loop = asyncio.get_running_loop()
    target = Target(faults)
    port = 0
    over = asyncio.Event()
    loop.add_reader(sys.stdin.fileno(), over.set)
    while not over.is_set():
        server = await loop.create_server(lambda: Connection(target), "127.0.0.1", port, backlog=4096)
        if not port:
            port = server.sockets[0].getsockname()[1]
            print(f"http://127.0.0.1:{port}", flush=True)
        try:
            async with asyncio.timeout(LISTENING_S if faults else None):
                await over.wait()
        except TimeoutError:
            server.close()
            await asyncio.sleep(REFUSING_S)
    print(json.dumps(target.counts), flush=True)


if __name__ == "__main__":
    uvloop.run(main(int(sys.argv[1])))
