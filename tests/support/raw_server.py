"""A raw socket server that answers each path in its own bad way, and counts what it got."""

import asyncio
import socket
import ssl
import struct
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

from support.listening import listening

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

    def half_close(self) -> None:
        """Say that nothing more will come, and go on listening."""
        self._writer.write_eof()

    def reset(self) -> None:
        """Let the connection end in a reset."""
        reset_transport(self._writer)


def reset_transport(writer: asyncio.StreamWriter) -> None:
    """Let a connection end in a reset."""
    sock = writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


def response(body: bytes = b"hello", status: str = "200 OK", *headers: str) -> bytes:
    """An answer as it should be."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


async def ok(exchange: Exchange) -> bool:
    """As it should be."""
    body = b"" if exchange.head.startswith(b"HEAD ") else b"hello"
    await exchange.send(response(b"hello")[:-5] + body)
    return True


def sends(*parts: bytes, keep: bool = False) -> Answer:
    """Answer with these parts; go on listening if ``keep``, else close."""

    async def answer(exchange: Exchange) -> bool:
        await exchange.send(*parts)
        return keep

    return answer


async def reset(exchange: Exchange) -> bool:
    """Not at all."""
    exchange.reset()
    return False


async def stall(exchange: Exchange) -> bool:
    """Never."""
    await asyncio.sleep(3600)
    return False


async def _stall_in_body(exchange: Exchange) -> bool:
    await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nab")
    return await stall(exchange)


async def _endless(exchange: Exchange) -> bool:
    await exchange.send(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        await exchange.send(b"x" * 1000)
        await asyncio.sleep(0.005)


async def _closed_when_reused(exchange: Exchange) -> bool:
    """As a server whose keep-alive ran out just now: the second request on a connection is never answered."""
    if exchange.number > 1:
        return False
    return await ok(exchange)


async def _lost_in_work(exchange: Exchange) -> bool:
    """As a server that crashes while it works: the second request on a connection is never answered."""
    if exchange.number > 1:
        await asyncio.sleep(0.1)
        return False
    return await ok(exchange)


async def _lost_behind_hints(exchange: Exchange) -> bool:
    """As a server that crashes when it has begun to answer: the second request gets an interim answer only."""
    if exchange.number > 1:
        await exchange.send(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
        return False
    return await ok(exchange)


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

ANSWERS: dict[str, Answer] = {
    "/ok": ok,
    "/404": sends(response(b"no", "404 Not Found"), keep=True),
    "/chunked": sends(CHUNKED + b"3\r\nabc\r\n", b"4;x=y\r\ndefg\r\n", b"0\r\n\r\n", keep=True),
    "/until-close": sends(b"HTTP/1.1 200 OK\r\nX: y\r\n\r\nabc", b"def"),
    "/cookie": sends(response(b"hello", "200 OK", "Set-Cookie: a=b"), keep=True),
    "/escape": sends(response(b"hello", "200 OK", "X-Evil: \x9b31mred"), keep=True),
    "/reused": _closed_when_reused,
    "/crash": _lost_in_work,
    "/hints": _lost_behind_hints,
    "/reset": reset,
    "/stall": stall,
    "/stall-in-body": _stall_in_body,
    "/endless": _endless,
    "/close": sends(),
    "/short": sends(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"),
    "/garbage": sends(b"\x00\x01\x02 what is this\r\n\r\n"),
}


class RawServer:
    """The server; what it got is in `heads` (whole requests) and `counts` (by path).

    Args:
        answers: by path; all others are answered as they should be.
        greeting: what the first connection is told before it has asked; it is closed then, unless told to go on.
    """

    def __init__(self, answers: Mapping[str, Answer], greeting: Answer | None = None) -> None:
        self._answers, self._greeting = answers, greeting
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
            if self._greeting and self.connections == 1 and not await self._greeting(Exchange(b"", 0, writer)):
                return
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                number += 1
                self.heads.append(head)
                path = head.split(b" ", 2)[1].decode().partition("?")[0]
                self.counts[path] += 1
                if not await self._answers.get(path, ok)(Exchange(head, number, writer)):
                    break
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        except RuntimeError as error:
            if "closed" not in str(error):  # so uvloop says that the client has gone
                raise
        finally:
            writer.close()
            self.tasks.discard(task)


@asynccontextmanager
async def raw_server(
    host: str = "127.0.0.1",
    *,
    tls: ssl.SSLContext | None = None,
    socket_path: str = "",
    answers: Mapping[str, Answer] = ANSWERS,
    greeting: Answer | None = None,
) -> AsyncIterator[RawServer]:
    """Serve on a free port, or a unix socket, while the block runs."""
    handler = RawServer(answers, greeting)
    server, handler.url = await listening(handler, host, tls, socket_path, limit=1 << 20)
    try:
        yield handler
    finally:
        server.close()
        for task in handler.tasks:
            task.cancel()
        await asyncio.gather(*handler.tasks, return_exceptions=True)
        for _ in range(3):
            await asyncio.sleep(0)  # the transports close in the next turns
