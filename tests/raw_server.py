"""A raw socket server that answers each path in its own bad way, and counts what it got."""

import asyncio
import socket
import ssl
import struct
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

Answer = Callable[["Exchange"], Awaitable[bool]]


class Exchange:
    """One request as it stood on the wire, and the way back."""

    def __init__(self, head: bytes, number: int, writer: asyncio.StreamWriter) -> None:
        self.head, self.number, self._writer = head, number, writer

    async def send(self, *parts: bytes) -> None:
        """Send each part in a packet of its own."""
        for part in parts:
            self._writer.write(part)
            await self._writer.drain()
            await asyncio.sleep(0.002 if len(parts) > 1 else 0)

    def reset(self) -> None:
        """Let the connection end in a reset."""
        sock = self._writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()


def whole(body: bytes = b"hello", status: str = "200 OK", *headers: str) -> bytes:
    """An answer as it should be."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


async def _ok(exchange: Exchange) -> bool:
    body = b"" if exchange.head.startswith(b"HEAD ") else b"hello"
    await exchange.send(whole(b"hello")[:-5] + body)
    return True


def _sends(*parts: bytes, keep: bool = False) -> Answer:
    async def answer(exchange: Exchange) -> bool:
        await exchange.send(*parts)
        return keep

    return answer


async def _reset(exchange: Exchange) -> bool:
    exchange.reset()
    return False


async def _reset_in_body(exchange: Exchange) -> bool:
    await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nab")
    await asyncio.sleep(0.01)  # or the reset overtakes what was sent
    exchange.reset()
    return False


async def _stall(exchange: Exchange) -> bool:
    await asyncio.sleep(3600)
    return False


async def _stall_in_body(exchange: Exchange) -> bool:
    await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nab")
    return await _stall(exchange)


async def _endless(exchange: Exchange) -> bool:
    await exchange.send(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        await exchange.send(b"x" * 1000)
        await asyncio.sleep(0.005)


async def _endless_head(exchange: Exchange) -> bool:
    await exchange.send(b"HTTP/1.1 200 OK\r\n")
    while True:
        await exchange.send(b"X-More: " + b"x" * 65000 + b"\r\n")
        await asyncio.sleep(0)


async def _byte_by_byte(exchange: Exchange) -> bool:
    for byte in whole(b"hello"):
        await exchange.send(bytes([byte]))
        await asyncio.sleep(0.001)
    return True


async def _closed_when_reused(exchange: Exchange) -> bool:
    """As a server whose keep-alive ran out just now: the second request on a connection is never answered."""
    if exchange.number > 1:
        return False
    return await _ok(exchange)


HINTS = b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

ANSWERS: dict[str, Answer] = {
    "/ok": _ok,
    "/404": _sends(whole(b"no", "404 Not Found"), keep=True),
    "/500": _sends(whole(b"", "500 Internal Server Error"), keep=True),
    "/204": _sends(b"HTTP/1.1 204 No Content\r\n\r\n", keep=True),
    "/304": _sends(b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", keep=True),
    "/chunked": _sends(CHUNKED + b"3\r\nabc\r\n", b"4;x=y\r\ndefg\r\n", b"0\r\n\r\n", keep=True),
    "/until-close": _sends(b"HTTP/1.1 200 OK\r\nX: y\r\n\r\nabc", b"def"),
    "/http10": _sends(b"HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nabc"),
    "/says-close": _sends(whole(b"abc", "200 OK", "Connection: close")),
    "/interim": _sends(
        b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n", b"HTTP/1.1 100 Continue\r\n\r\n" + whole(), keep=True
    ),
    "/interim-only": _sends(HINTS),
    "/interim-and-half": _sends(HINTS + b"HTTP/1.1 200 OK\r\nX-A"),
    "/interim-until-close": _sends(HINTS + b"HTTP/1.1 200 OK\r\n\r\nabc", b"def"),
    "/byte-by-byte": _byte_by_byte,
    "/redirect": _sends(whole(b"", "302 Found", "Location: http://127.0.0.1:1/elsewhere"), keep=True),
    "/cookie": _sends(whole(b"hello", "200 OK", "Set-Cookie: a=b"), keep=True),
    "/gzip": _sends(whole(b"\x1f\x8bno gzip at all", "200 OK", "Content-Encoding: gzip"), keep=True),
    "/escape": _sends(whole(b"hello", "200 OK", "X-Evil: \x9b31mred"), keep=True),
    "/two": _sends(whole(b"one") + whole(b"stray answer"), keep=True),
    "/reused": _closed_when_reused,
    "/reset": _reset,
    "/reset-in-body": _reset_in_body,
    "/stall": _stall,
    "/stall-in-body": _stall_in_body,
    "/endless": _endless,
    "/endless-head": _endless_head,
    "/close": _sends(),
    "/close-in-status": _sends(b"HTTP/1.1 20"),
    "/close-in-head": _sends(b"HTTP/1.1 200 OK\r\nContent-Le"),
    "/short": _sends(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"),
    "/short-chunked": _sends(CHUNKED + b"ff\r\nabc"),
    "/garbage": _sends(b"\x00\x01\x02 what is this\r\n\r\n"),
    "/bad-chunk": _sends(CHUNKED + b"zz\r\nabc\r\n0\r\n\r\n"),
    "/negative": _sends(b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nabc"),
    "/huge": _sends(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\nabc"),
    "/two-lengths": _sends(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd"),
    "/both-lengths": _sends(CHUNKED[:-2] + b"Content-Length: 3\r\n\r\n3\r\nabc\r\n0\r\n\r\n"),
    "/upgrade": _sends(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"),
    "/http09": _sends(b"<html>hello</html>"),
}


class RawServer:
    """The server; what it got is in `heads` (whole requests) and `counts` (by path)."""

    def __init__(self) -> None:
        self.heads: list[bytes] = []
        self.counts: Counter[str] = Counter()
        self.connections = 0
        self.url = ""
        self.asked: list[str] = []
        """For each connection the address that was asked."""
        self.tasks: set[asyncio.Task[None]] = set()

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        name = writer.get_extra_info("sockname")
        self.asked.append(name[0] if isinstance(name, tuple) else "")
        task = asyncio.current_task()
        assert task
        self.tasks.add(task)
        number = 0
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                number += 1
                self.heads.append(head)
                path = head.split(b" ", 2)[1].decode().partition("?")[0]
                self.counts[path] += 1
                if not await ANSWERS.get(path, _ok)(Exchange(head, number, writer)):
                    break
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
            self.tasks.discard(task)


@asynccontextmanager
async def raw_server(
    host: str = "127.0.0.1", *, tls: ssl.SSLContext | None = None, socket_path: str = ""
) -> AsyncIterator[RawServer]:
    """Serve on a free port, or a unix socket, while the block runs."""
    handler = RawServer()
    if socket_path:
        server: asyncio.Server = await asyncio.start_unix_server(handler, socket_path, limit=1 << 20)
        handler.url = f"unix:{socket_path}"
    else:
        server = await asyncio.start_server(handler, host, 0, limit=1 << 20, ssl=tls)
        port = server.sockets[0].getsockname()[1]
        scheme = "https" if tls else "http"
        handler.url = f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"
    try:
        yield handler
    finally:
        server.close()
        for task in handler.tasks:
            task.cancel()
        await asyncio.gather(*handler.tasks, return_exceptions=True)
        await asyncio.sleep(0.01)  # lets the transports close
