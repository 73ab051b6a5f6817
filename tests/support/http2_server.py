"""A server of raw HTTP/2 frames that answers each path in its own way, as `raw_server` does for HTTP/1.1."""

import asyncio
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Final

from hpack import Decoder
from hyperframe.frame import ContinuationFrame, DataFrame, Frame, GoAwayFrame, HeadersFrame, RstStreamFrame

from support.http2_frames import answer as good
from support.http2_frames import data, greeted, head, raw
from support.listening import listening
from support.raw_server import reset_transport

StreamAnswer = Callable[["Asked"], Awaitable[None]]


class Asked:
    """One request, and the way back.

    Attributes:
        head: the request as HTTP/1.1 would have written it.
        stream: number of its stream.
        number: of the request on its connection, from 1.
        connection: where it came from.
    """

    def __init__(self, head: bytes, body: bytes, stream: int, number: int, connection: "Peer") -> None:
        self.head, self.body, self.stream, self.number, self.connection = head, body, stream, number, connection

    async def send(self, *parts: bytes) -> None:
        """Send each part in a packet of its own."""
        writer = self.connection.writer
        for part in parts:
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(0.002 if len(parts) > 1 else 0)

    def close(self) -> None:
        """Close the connection: say that nothing more will come, so that what the client still sends is no error."""
        if self.connection.writer.can_write_eof():
            self.connection.writer.write_eof()
        else:
            self.connection.writer.close()

    def reset(self) -> None:
        """Let the connection end in a reset."""
        reset_transport(self.connection.writer)


class Peer:
    """One connection of the server.

    Attributes:
        resets: codes of the streams that the client reset, by number.
        goaway: the code with which the client ended it.
    """

    def __init__(self, server: "Http2Server", reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.server, self.reader, self.writer = server, reader, writer
        self.resets: dict[int, int] = {}
        self.goaway: int | None = None
        self.in_flight = self.most = 0

    async def serve(self) -> None:
        """Answer what is asked, each request in a task of its own."""
        await self.reader.readexactly(24)
        self.writer.write(self.server.greeting)
        decoder, blocks, bodies, heads = Decoder(1 << 24), dict[int, bytes](), dict[int, bytes](), dict[int, bytes]()
        whole = set[int]()
        while True:
            frame = await self._frame()
            number = frame.stream_id
            if isinstance(frame, HeadersFrame | ContinuationFrame):
                blocks[number] = blocks.get(number, b"") + frame.data
                bodies.setdefault(number, b"")
                if "END_HEADERS" in frame.flags:
                    heads[number] = text(decoder, blocks.pop(number))
            elif isinstance(frame, DataFrame):
                bodies[number] += frame.data
            elif isinstance(frame, RstStreamFrame):
                self.resets[number] = frame.error_code
            elif isinstance(frame, GoAwayFrame):
                self.goaway = frame.error_code
            if "END_STREAM" in frame.flags:
                whole.add(number)
            if number in whole and number in heads:
                self.server.ask(Asked(heads.pop(number), bodies.pop(number), number, (number + 1) // 2, self))

    async def _frame(self) -> Frame:
        header = await self.reader.readexactly(9)
        frame, length = Frame.parse_frame_header(memoryview(header))
        frame.parse_body(memoryview(await self.reader.readexactly(length)))
        return frame


def text(decoder: Decoder, block: bytes) -> bytes:
    """A request's header block as the head of HTTP/1.1."""
    fields = {name.decode(): value for name, value in decoder.decode(block, raw=True)}
    lines = [fields.pop(":method") + b" " + fields.pop(":path") + b" HTTP/2", b"Host: " + fields.pop(":authority", b"")]
    fields.pop(":scheme")
    lines += [name.title().encode() + b": " + value for name, value in fields.items()]
    return b"\r\n".join([*lines, b"", b""])


async def ok(asked: Asked) -> None:
    """As it should be."""
    if asked.head.startswith(b"HEAD "):
        await asked.send(head(asked.stream, 200, [("content-length", "5")], end=True))
    else:
        await asked.send(good(asked.stream))


def gives(*parts: Callable[[int], bytes], closes: bool = False) -> StreamAnswer:
    """Answer with these parts, made for the number of the stream."""

    async def answer(asked: Asked) -> None:
        await asked.send(*(part(asked.stream) for part in parts))
        if closes:
            asked.close()

    return answer


async def stall(asked: Asked) -> None:
    """Never."""
    await asyncio.sleep(3600)


def after(seconds: float) -> StreamAnswer:
    """As it should be, so much later."""

    async def late(asked: Asked) -> None:
        await asyncio.sleep(seconds)
        await ok(asked)

    return late


async def _stall_in_body(asked: Asked) -> None:
    await asked.send(head(asked.stream, 200, [("content-length", "100")]) + data(asked.stream, b"ab", end=False))
    await stall(asked)


async def _endless(asked: Asked) -> None:
    await asked.send(head(asked.stream))
    while True:
        await asked.send(data(asked.stream, b"x" * 1000, end=False))
        await asyncio.sleep(0.005)


async def _closed_when_reused(asked: Asked) -> None:
    if asked.number > 1:
        asked.close()
    else:
        await ok(asked)


async def _lost_in_work(asked: Asked) -> None:
    if asked.number > 1:
        await asyncio.sleep(0.1)
        asked.close()
    else:
        await ok(asked)


async def _lost_behind_hints(asked: Asked) -> None:
    if asked.number > 1:
        await asked.send(head(asked.stream, 103, [("link", "</a>")]))
        asked.close()
    else:
        await ok(asked)


async def _reset(asked: Asked) -> None:
    asked.reset()


ANSWERS: Final[dict[str, StreamAnswer]] = {
    "/ok": ok,
    "/404": gives(lambda n: head(n, 404, [("content-length", "2")]) + data(n, b"no")),
    "/chunked": gives(lambda n: head(n) + data(n, b"abc", end=False), lambda n: data(n, b"defg", end=False),
                      lambda n: data(n, b"")),
    "/until-close": gives(lambda n: head(n) + data(n, b"abc", end=False), lambda n: data(n, b"def")),
    "/cookie": gives(lambda n: good(n, fields=[("set-cookie", "a=b")])),
    "/escape": gives(lambda n: good(n, fields=[("x-evil", "\x9b31mred")])),
    "/reused": _closed_when_reused,
    "/crash": _lost_in_work,
    "/hints": _lost_behind_hints,
    "/reset": _reset,
    "/stall": stall,
    "/stall-in-body": _stall_in_body,
    "/endless": _endless,
    "/close": gives(closes=True),
    "/short": gives(lambda n: head(n, 200, [("content-length", "10")]) + data(n, b"abc", end=False), closes=True),
    "/garbage": gives(lambda n: raw(6, 0, 0, b"what is this")),
}  # fmt: skip
"""As those of `raw_server`."""


class Always(dict[str, StreamAnswer]):
    """The same answer for every path."""

    def __init__(self, answer: StreamAnswer) -> None:
        self._answer = answer

    def __missing__(self, path: str) -> StreamAnswer:
        return self._answer


class Http2Server:
    """The server; what it got is in `heads` and `counts` (by path).

    Args:
        answers: by path; all others are answered as they should be.
        greeting: the first frames of the server.
    """

    def __init__(self, answers: Mapping[str, StreamAnswer], greeting: bytes) -> None:
        self._answers, self.greeting = answers, greeting
        self.heads: list[bytes] = []
        self.bodies: list[bytes] = []
        self.counts: Counter[str] = Counter()
        self.asked: list[str] = []
        self.peers: list[Peer] = []
        self.url = ""
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def connections(self) -> int:
        return len(self.peers)

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        name = writer.get_extra_info("sockname")
        self.asked.append(name[0] if isinstance(name, tuple) else "")
        peer = Peer(self, reader, writer)
        self.peers.append(peer)
        task = asyncio.current_task()
        assert task
        self._tasks.add(task)
        try:
            await peer.serve()
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
            self._tasks.discard(task)

    def ask(self, asked: Asked) -> None:
        """Answer a request."""
        path = asked.head.split(b" ", 2)[1].decode().partition("?")[0]
        self.heads.append(asked.head)
        self.bodies.append(asked.body)
        self.counts[path] += 1
        task = asyncio.get_running_loop().create_task(self._answer(path, asked))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _answer_to(self, path: str) -> StreamAnswer:
        try:
            return self._answers[path]
        except KeyError:
            return ok

    async def _answer(self, path: str, asked: Asked) -> None:
        peer = asked.connection
        peer.in_flight += 1
        peer.most = max(peer.most, peer.in_flight)
        try:
            await self._answer_to(path)(asked)
        except (ConnectionError, asyncio.CancelledError):
            pass
        except RuntimeError as error:
            if "closed" not in str(error):  # so uvloop says that the client has gone
                raise
        finally:
            peer.in_flight -= 1

    async def close(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0.01)  # lets the transports close


@asynccontextmanager
async def http2_server(
    host: str = "127.0.0.1",
    *,
    tls: ssl.SSLContext | None = None,
    socket_path: str = "",
    answers: Mapping[str, StreamAnswer] = ANSWERS,
    **settings: int,
) -> AsyncIterator[Http2Server]:
    """Serve on a free port, or a unix socket, while the block runs; with the settings of the server."""
    handler = Http2Server(answers, greeted(**settings))
    if tls:
        tls.set_alpn_protocols(["h2"])
    server, handler.url = await listening(handler, host, tls, socket_path)
    try:
        yield handler
    finally:
        server.close()
        await handler.close()
