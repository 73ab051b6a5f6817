"""A target that notes each request and what was wrong with it, byte by byte."""

import asyncio
import math
import re
import socket
import ssl
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from crossings.http2_target import PREFACE, Http2Strict, fails_by_turns

_LINE: Final = re.compile(rb"([A-Z]+) ([\x21-\x22\x24-\x7e]+) HTTP/1\.1")
_HEADER: Final = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+): ?([\x20-\x7e\x80-\xff\t]*)")
_ONCE: Final = (b"host", b"user-agent", b"content-length", b"referer")
_MOST_WRONGS: Final = 20
_PROBE: Final = ("HEAD", "/")


@dataclass
class Got:
    """What came in.

    Attributes:
        requests: whole ones by method and target, without the ``HEAD /`` that asks before a run.
        broken: heads whose body never came whole, likewise.
        headers: values of each header that was seen, by name.
        versions: of HTTP, of each request.
        wrong: breaches of HTTP or of order, in words.
        connections: how many were made.
        most: requests at once.
        carrying, most_carrying: connections of HTTP/2 with requests, now and at once.
        most_streams: requests at once on a connection of HTTP/2.
        most_on_one: requests on a connection, one after the other too.
        order: when each of ``requests`` was whole (monotonic clock); `targets` learn of them in their order.
        after_head: requests of HTTP/1.1 that came on a connection after the answer to a HEAD.
    """

    url: str = ""
    requests: Counter[tuple[str, str]] = field(default_factory=Counter)
    broken: Counter[tuple[str, str]] = field(default_factory=Counter)
    headers: dict[str, Counter[str]] = field(default_factory=dict)
    versions: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    connections: int = 0
    now: int = 0
    most: int = 0
    carrying: int = 0
    most_carrying: int = 0
    most_streams: int = 0
    most_on_one: int = 0
    order: list[tuple[tuple[str, str], float]] = field(default_factory=list)
    after_head: int = 0

    @property
    def first(self) -> float:
        """When the first of ``requests`` was whole; infinity if none was."""
        return self.order[0][1] if self.order else math.inf

    def with_those_of(self, other: "Got | None") -> "Got":
        """What came in here and at another target, as if they were one."""
        if other is None:
            return self
        headers = {name: self.headers.get(name, Counter()) + other.headers.get(name, Counter())
                   for name in (*self.headers, *other.headers)}  # fmt: skip
        most = ("most", "most_carrying", "most_streams", "most_on_one")
        added = ("requests", "broken", "versions", "wrong", "connections", "after_head")
        return Got(
            self.url,
            headers=headers,
            order=sorted(self.order + other.order, key=lambda each: each[1]),
            **{name: max(getattr(self, name), getattr(other, name)) for name in most},
            **{name: getattr(self, name) + getattr(other, name) for name in added},
        )

    def blame(self, text: str) -> None:
        """Note a breach."""
        if len(self.wrong) < _MOST_WRONGS:
            self.wrong.append(text)

    def head(self, key: tuple[str, str], headers: list[tuple[bytes, bytes]], version: str) -> None:
        """Note the head of a request."""
        if key != _PROBE:
            self.versions[version] += 1
            for name, value in headers:
                self.headers.setdefault(name.decode(), Counter())[value.decode("latin-1")] += 1
        self.now += 1
        self.most = max(self.most, self.now)

    def whole(self, key: tuple[str, str]) -> None:
        """Note a request that came whole."""
        if key != _PROBE:
            self.requests[key] += 1
            self.order.append((key, time.monotonic()))

    def carries(self, streams: int, count: int) -> None:
        """Note requests at once on a connection of HTTP/2, and on it so far."""
        self.carrying += count == 1
        self.most_carrying = max(self.most_carrying, self.carrying)
        self.most_on_one = max(self.most_on_one, count)
        self.most_streams = max(self.most_streams, streams)


class _Strict(asyncio.Protocol):
    """One connection. Requests of HTTP/1.1 come one at a time: no further byte before the answer."""

    def __init__(self, got: Got, kind: str) -> None:
        self._got, self._kind = got, kind
        self._data = b""
        self._head: tuple[str, str] | None = None
        self._size = 0
        self._count = 0
        self._owed = False
        self._answered = False
        self._last = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._got.connections += 1

    def connection_lost(self, _: Exception | None) -> None:
        if self._owed:
            self._got.now -= 1
            self._owed = False
        if self._head:
            self._got.broken[self._head] += 1
        elif self._data:
            self._got.blame(f"the connection ended within a head: {self._data[:80]!r}")

    def data_received(self, data: bytes) -> None:
        if not self._count and (self._data + data).startswith(PREFACE):
            http2 = Http2Strict(self._got, self._kind)
            self._transport.set_protocol(http2)
            http2.connection_made(self._transport)
            http2.data_received(self._data + data)
            return
        if self._owed and not self._head and not self._answered:
            self._got.blame(f"bytes before the answer to the request before: {data[:80]!r}")
        self._data += data
        while self._take():
            pass

    def _take(self) -> bool:
        if self._head is None:
            head, end, rest = self._data.partition(b"\r\n\r\n")
            if not end:
                return False
            self._data = rest
            return self._begin(head)
        if len(self._data) < self._size:
            return False
        body, self._data = self._data[: self._size], self._data[self._size :]
        if b" HTTP/1.1\r\n" in body:
            self._got.blame(f"a request within the body of another: {body[:200]!r}")
        key, self._head = self._head, None
        self._got.whole(key)
        self._whole(key)
        return bool(self._data)

    def _begin(self, head: bytes) -> bool:
        lines = head.split(b"\r\n")
        line = _LINE.fullmatch(lines[0])
        headers = [_HEADER.fullmatch(each) for each in lines[1:]]
        if not line or not all(headers):
            self._got.blame(f"no HTTP/1.1 head: {head[:300]!r}")
            self._transport.abort()
            self._data = b""
            return False
        named = [(match[1].lower(), match[2]) for match in headers if match]
        counts = Counter(name for name, _ in named)
        for name in _ONCE:
            if counts[name] > 1:
                self._got.blame(f"{name.decode()} came {counts[name]} times: {head[:300]!r}")
        if not counts[b"host"]:
            self._got.blame(f"no Host: {head[:200]!r}")
        values = dict(named)
        self._head = (line[1].decode(), line[2].decode())
        self._size = int(values.get(b"content-length", b"0"))
        if b"transfer-encoding" in values:
            self._got.blame("Transfer-Encoding from a client that knows its bodies")
        self._got.head(self._head, named, "1.1")
        self._count += 1
        self._got.most_on_one = max(self._got.most_on_one, self._count)
        self._got.after_head += self._last == "HEAD"
        self._last = self._head[0]
        self._owed, self._answered = True, False
        if self._kind == "early" and self._size:
            self._answer(b"401 Unauthorized")
            self._answered = True
        return True

    def _whole(self, key: tuple[str, str]) -> None:
        if self._answered:
            self._owed = False
            return
        if self._kind == "stalling" and key[1].endswith(("3", "7")):
            return
        if (self._kind == "failing" and self._count % 3 == 0) or (self._kind == "periodic" and fails_by_turns(key)):
            self._answer(b"503 Service Unavailable", headless=key[0] == "HEAD")
        else:
            self._answer(b"200 OK", headless=key[0] == "HEAD")
        self._owed = False
        if self._kind == "closing" and self._count % 4 == 0:
            self._transport.close()

    def _answer(self, status: bytes, *, headless: bool = False) -> None:
        self._got.now -= 1
        if not self._transport.is_closing():
            # an answer to a HEAD need not say how long its body would be
            self._transport.write(
                b"HTTP/1.1 %b\r\n%b" % (status, b"\r\n" if headless else b"Content-Length: 5\r\n\r\nhello")
            )


@asynccontextmanager
async def target(kind: str, path: Path, tls: ssl.SSLContext) -> AsyncIterator[Got]:
    """Serve on a free port or a socket while the block runs; ``refusing``: on a port nobody serves."""
    got, loop = Got(), asyncio.get_running_loop()

    def connection() -> asyncio.Protocol:
        return _Strict(got, kind)

    if kind == "refusing":
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            got.url = f"http://127.0.0.1:{taken.getsockname()[1]}"
            yield got
        return
    if kind == "unix":
        server: asyncio.AbstractServer = await loop.create_unix_server(connection, str(path))
        got.url = f"unix:{path}"
    else:
        host = "::1" if kind == "ipv6" else "127.0.0.1"
        context = tls if kind == "tls" else None
        tls.set_alpn_protocols(["h2", "http/1.1"])
        serving = await loop.create_server(connection, host, 0, ssl=context)
        port = serving.sockets[0].getsockname()[1]
        shown = {"ipv6": f"[{host}]", "tls": "localhost"}.get(kind, host)
        got.url = f"{'https' if kind == 'tls' else 'http'}://{shown}:{port}"
        server = serving
    try:
        yield got
    finally:
        server.close()
        await asyncio.sleep(0.02)  # lets the transports close


@asynccontextmanager
async def targets(kinds: Mapping[str, str], folder: Path, tls: ssl.SSLContext) -> AsyncIterator[dict[str, Got]]:
    """Serve several, by name, in one loop: it learns of requests in the order in which they reached the sockets."""
    async with AsyncExitStack() as stack:
        yield {
            name: await stack.enter_async_context(target(kind, folder / f"of-{name}", tls))
            for name, kind in kinds.items()
        }
