"""Serves HTTP/2 beside HTTP/1.1 on one port, in cleartext: the first bytes of a connection say which it is."""

import asyncio
import struct
from collections.abc import Awaitable, Callable
from typing import Any, Final, cast

from hpack import Decoder, HPACKError

from logreplay.replay.senders.http2 import frames
from logreplay.replay.senders.http2.frames import HEADER_BYTES, PREFACE, ConnectionFault, frame, read_header
from logreplay.replay.senders.http2.header_blocks import block
from logreplay.replay.senders.http2.send_windows import SendWindows
from logreplay.replay.senders.http2.stream import Stream

Respond = Callable[[str, str], Awaitable[tuple[int, int]]]
"""Method and path to status and body size of the response, when it is due."""

MOST_STREAMS: Final = 128
"""Requests at once on a connection, as nginx allows."""
NO_BODY: Final = (204, 304)
_AT_ONCE: Final = 1 << 18
"""Bytes of bodies that are handed to the transport at once."""
_NUMBER: Final = 0x7FFFFFFF


class _Zeros:
    """A body that takes no memory before it is sent."""

    def __init__(self, size: int) -> None:
        self._size = size

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, part: slice) -> "_Zeros":
        return _Zeros(len(range(self._size)[part]))

    def __bytes__(self) -> bytes:
        return bytes(self._size)


class EitherService(asyncio.Protocol):
    """A connection whose version of HTTP is not known yet."""

    def __init__(self, http1: Callable[[], asyncio.Protocol], respond: Respond, streams: int = MOST_STREAMS) -> None:
        self._http1, self._respond, self._streams, self._seen = http1, respond, streams, b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._seen += data
        if len(self._seen) < len(PREFACE) and PREFACE.startswith(self._seen):
            return
        is_http2 = self._seen.startswith(PREFACE)
        chosen = Http2Service(self._respond, self._streams) if is_http2 else self._http1()
        self._transport.set_protocol(chosen)
        chosen.connection_made(self._transport)
        chosen.data_received(self._seen.removeprefix(PREFACE))


class Http2Service(asyncio.Protocol):
    """One connection of HTTP/2, after the client's preface."""

    def __init__(self, respond: Respond, most: int) -> None:
        self._respond, self._most = respond, most
        self._out = [frames.settings({frames.MAX_CONCURRENT_STREAMS: most})]
        self._windows, self._paused = SendWindows(self._out), False
        self._windows.room = _AT_ONCE
        self._decoder = Decoder(1 << 20)
        self._rest, self._block, self._ends = b"", b"", False
        self._asked: dict[int, tuple[str, str]] = {}
        self._streams: dict[int, Stream] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: BaseException | None) -> None:
        for task in self._tasks.values():
            task.cancel()

    def data_received(self, data: bytes) -> None:
        data, at = self._rest + data, 0
        try:
            while len(data) - at >= HEADER_BYTES:
                high, low, kind, flags, number = read_header(data, at)
                size = high << 8 | low
                if size > frames.SMALLEST_FRAME:
                    raise ConnectionFault(frames.FRAME_SIZE_ERROR, f"a frame of {size} bytes")
                end = at + HEADER_BYTES + size
                if len(data) < end:
                    break
                self._take(kind, flags, number & _NUMBER, data[at + HEADER_BYTES : end])
                at = end
        except (ConnectionFault, HPACKError, KeyError, IndexError, struct.error) as error:
            self._out.append(frames.goaway(getattr(error, "code", frames.PROTOCOL_ERROR), type(error).__name__))
            self._flush()
            self._transport.close()
            return
        self._rest = data[at:]
        self._flush()

    def pause_writing(self) -> None:
        self._paused = True

    def resume_writing(self) -> None:
        self._paused = False
        self._flush()

    def _flush(self) -> None:
        """Write the frames; of bodies only as much as the client takes. Forget the streams whose body is sent."""
        while not self._paused and not self._transport.is_closing():
            self._windows.room = _AT_ONCE
            self._windows.go_on()
            if not self._out:
                break
            self._transport.write(b"".join(self._out))
            self._out.clear()
        self._streams = {number: stream for number, stream in self._streams.items() if stream.unsent}

    def _take(self, kind: int, flags: int, number: int, payload: bytes) -> None:
        if kind == frames.HEADERS or kind == frames.CONTINUATION:
            self._headers(kind, flags, number, payload)
        elif kind == frames.DATA:
            if payload:
                self._out.append(frames.window_update(0, len(payload)))
                self._out.append(frames.window_update(number, len(payload)))
            if flags & frames.END_STREAM:
                self._begin(number)
        elif kind == frames.SETTINGS and not flags & frames.ACK:
            self._out.append(frame(frames.SETTINGS, frames.ACK, 0))
            for name, value in frames.read_settings(payload):
                if name == frames.INITIAL_WINDOW_SIZE:
                    self._windows.resize(value, self._streams.values())
                elif name == frames.MAX_FRAME_SIZE:
                    self._windows.largest = max(frames.SMALLEST_FRAME, min(value, frames.LARGEST_FRAME))
        elif kind == frames.PING and not flags & frames.ACK:
            self._out.append(frame(frames.PING, frames.ACK, 0, payload))
        elif kind == frames.WINDOW_UPDATE:
            increment = int.from_bytes(payload) & _NUMBER
            if not number:
                self._windows.open(increment)
            elif (stream := self._streams.get(number)) and (fault := self._windows.open_stream(stream, increment)):
                raise fault
        elif kind == frames.RST_STREAM:
            self._windows.forget(number)
            self._asked.pop(number, None)
            self._streams.pop(number, None)
            if task := self._tasks.pop(number, None):
                task.cancel()

    def _headers(self, kind: int, flags: int, number: int, payload: bytes) -> None:
        if kind == frames.HEADERS:
            padding = payload[0] if flags & frames.PADDED else 0
            start = (1 if flags & frames.PADDED else 0) + (5 if flags & frames.PRIORITIZED else 0)
            payload, self._ends = payload[start : len(payload) - padding], bool(flags & frames.END_STREAM)
        self._block += payload
        if not flags & frames.END_HEADERS:
            return
        coded, self._block = self._block, b""
        fields: Any = self._decoder.decode(coded, raw=True)
        if number not in self._asked:  # else trailers
            named = {bytes(name): bytes(value).decode("latin-1") for name, value in fields}
            self._asked[number] = named[b":method"], named[b":path"]
        if self._ends:
            self._begin(number)

    def _begin(self, number: int) -> None:
        method, path = self._asked.pop(number)
        if len(self._tasks) >= self._most:
            self._out.append(frames.rst_stream(number, frames.REFUSED_STREAM))
            return
        self._tasks[number] = asyncio.get_running_loop().create_task(self._answer(number, method, path))

    async def _answer(self, number: int, method: str, path: str) -> None:
        status, size = await self._respond(method, path)
        self._tasks.pop(number, None)
        body = 0 if method == "HEAD" or status in NO_BODY else size
        if status < 200:  # 101 and the like: no final answer
            self._out.append(frames.rst_stream(number, frames.INTERNAL_ERROR))
        else:
            fields = [(b":status", str(status).encode())]
            if status not in NO_BODY:
                fields += [(b"content-type", b"application/octet-stream"), (b"content-length", str(size).encode())]
            flags = frames.END_HEADERS | (0 if body else frames.END_STREAM)
            self._out.append(frame(frames.HEADERS, flags, number, block(fields)))
        if status >= 200 and body:
            stream = Stream(0, b"", 0)
            stream.number = number
            self._windows.begin(stream, cast(memoryview, _Zeros(body)))
            if stream.unsent:
                self._streams[number] = stream
        self._flush()
