"""A real server that keeps what it is sent: the bytes, and when the first of each request came."""

import asyncio
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass
class Received:
    """One request as it was on the wire."""

    at: int
    """Nanoseconds of the performance counter at its first byte."""
    connection: int
    head: bytes
    body: bytes = b""

    @property
    def line(self) -> str:
        return self.head.split(b"\r\n")[0].decode()

    @property
    def target(self) -> str:
        return self.line.split(" ")[1]

    @property
    def headers(self) -> list[tuple[str, str]]:
        """Names in lower case."""
        lines = self.head.decode("utf-8", "surrogateescape").split("\r\n")[1:]
        pairs = [line.partition(": ") for line in lines if line]
        return [(name.lower(), value) for name, _, value in pairs]

    def header(self, name: str) -> str | None:
        """The value of a header; None if there is none. More than one is an error."""
        values = [value for key, value in self.headers if key == name]
        assert len(values) <= 1, f"{name} came {len(values)} times"
        return values[0] if values else None


@dataclass
class RecordingServer:
    """Answers every request with a status and five bytes, and with these header lines."""

    url: str = ""
    port: int = 0
    received: list[Received] = field(default_factory=list)
    connections: int = 0
    transports: set[asyncio.WriteTransport] = field(default_factory=set)
    """Of the open connections."""
    service: float = 0.0
    """Seconds until it answers."""
    headers: bytes = b""
    status: bytes = b"200 OK"


class _Connection(asyncio.Protocol):
    def __init__(self, server: RecordingServer) -> None:
        self._server, self._data, self._at = server, b"", 0
        self._number = server.connections
        server.connections += 1

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport
        self._server.transports.add(transport)

    def connection_lost(self, _: Exception | None) -> None:
        self._server.transports.discard(self._transport)

    def data_received(self, data: bytes) -> None:
        now = time.perf_counter_ns()
        self._at = self._at or now
        self._data += data
        while b"\r\n\r\n" in self._data:
            head, rest = self._data.split(b"\r\n\r\n", 1)
            length = re.search(rb"\r\ncontent-length: (\d+)", head.lower())
            size = int(length[1]) if length else 0
            if len(rest) < size:
                return
            self._server.received.append(Received(self._at, self._number, head, rest[:size]))
            self._data, self._at = rest[size:], now if rest[size:] else 0
            asyncio.get_running_loop().call_later(self._server.service, self._answer, head.startswith(b"HEAD"))

    def _answer(self, headless: bool) -> None:
        if not self._transport.is_closing():
            head = b"HTTP/1.1 %b\r\nContent-Length: 5\r\n" % self._server.status + self._server.headers + b"\r\n"
            self._transport.write(head + (b"" if headless else b"hello"))


@asynccontextmanager
async def recording(
    service: float = 0.0, headers: bytes = b"", status: bytes = b"200 OK"
) -> AsyncIterator[RecordingServer]:
    """Serve in the running loop."""
    kept = RecordingServer(service=service, headers=headers, status=status)
    server = await asyncio.get_running_loop().create_server(lambda: _Connection(kept), "127.0.0.1", 0)
    kept.port = server.sockets[0].getsockname()[1]
    kept.url = f"http://127.0.0.1:{kept.port}"
    try:
        yield kept
    finally:
        server.close()
        for transport in kept.transports:  # a client that was killed has closed none
            transport.abort()
        await asyncio.sleep(0)  # the transports close their sockets in the next turn
