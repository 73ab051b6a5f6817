"""The state of one HTTP/2 connection, without input and output: bytes in, ended streams and bytes out (RFC 9113).

Theory of operation. `ConnectionState.begin` opens a stream and `receive` takes what the peer sent; both add bytes for
the peer to `out`. A stream ends once, in the list that `receive`, `lost` or `cancel` return: with its response,
with an error word, or as unprocessed, when the peer says that it has not looked at the request.

An error of a stream (RFC 9113, 5.4.2) resets the stream and harms no other. An error of the connection (5.4.1) is a
`ConnectionFault` within this module: all streams end, a GOAWAY is written, and `dead` says that the connection must be
closed. Memory is bounded whatever the peer sends: part of a frame, a header block up to `MAX_HEAD`.

Windows for responses are as large as they can be, and opened again in large steps: a body never waits for the client.
The peer's windows for request bodies are kept to the byte.
"""

from collections.abc import Callable
from typing import Final

from logreplay.replay.senders.digests import Digests
from logreplay.replay.senders.http2 import frames
from logreplay.replay.senders.http2.client_state import MAX_RESETS, MOST_SETTINGS, MOST_STREAMS, ClientState, too_long
from logreplay.replay.senders.http2.frames import (
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADER_BYTES,
    HEADERS,
    PADDED,
    SMALLEST_FRAME,
    ConnectionFault,
    read_header,
)
from logreplay.replay.senders.http2.header_blocks import (
    ANY,
    INDEXED,
    MAX_HEAD,
    NO_TABLE,
    NONE,
    USUAL_TABLE,
    BlockError,
    BlockReader,
    ResponseFields,
)
from logreplay.replay.senders.http2.send_windows import SendWindows
from logreplay.replay.senders.http2.stream import Stream

_MOST_PIECES: Final = 1_000
"""CONTINUATION frames of a header block."""
_REFILL: Final = 1 << 30
"""Bytes received after which a window is opened again."""
_SHOWN: Final = 200
_NUMBER: Final = 0x7FFFFFFF


def greeting() -> bytes:
    """The first bytes of a client: preface, settings, a window of the connection as large as it can be."""
    offered = {frames.HEADER_TABLE_SIZE: 0, frames.ENABLE_PUSH: 0, frames.INITIAL_WINDOW_SIZE: frames.LARGEST_WINDOW}
    opened = frames.LARGEST_WINDOW - frames.DEFAULT_WINDOW
    return frames.PREFACE + frames.settings(offered) + frames.window_update(0, opened)


class ConnectionState(ClientState):
    """One connection of a client.

    Header blocks that are recognised by their bytes (``known``) are shared between connections. Of each body
    ``kept_body`` bytes are kept.
    """

    def __init__(
        self, known: dict[bytes, ResponseFields], *, kept_body: int = 0, digests: Digests | None = None
    ) -> None:
        super().__init__()
        self.out.append(greeting())
        self._reader = BlockReader(known)
        self._kept_body, self._digests, self._disclaims_table = kept_body, digests, False
        self._next = 1
        self._windows = SendWindows(self.out)
        self._abandoned: dict[int, int] = {}
        self._ended: list[Stream] = []
        self._rest = b""
        self._left, self._left_stream, self._left_flags = 0, 0, 0
        self._taken = 0
        self._block: list[bytes] = []
        self._block_stream = self._block_flags = self._block_size = 0
        self._now = 0

    # what the client does

    def begin(self, stream: Stream) -> None:
        request, windows = stream.request, self._windows
        number = stream.number = self._next
        self._next = number + 2
        self.began += 1
        stream.attempts += 1
        self.streams[number] = stream
        largest = windows.largest
        if self._disclaims_table:
            self._disclaims_table = False
            request = frames.beginning(request, NO_TABLE)
        if request[4] & END_STREAM:
            stream.window = windows.initial
            if len(request) <= largest:
                self.out.append(request[:5] + number.to_bytes(4) + request[9:])
            else:
                self.out.append(frames.header_frames(request, number, largest))
        else:
            body = HEADER_BYTES + int.from_bytes(request[:3])
            self.out.append(frames.header_frames(request[:body], number, largest))
            windows.begin(stream, memoryview(request)[body:])

    def cancel(self, stream: Stream) -> None:
        self._abandon(stream, frames.CANCEL)

    def _abandon(self, stream: Stream, code: int) -> None:
        """Forget a stream that the peer still knows; tell it so, within a budget."""
        number = stream.number
        del self.streams[number]
        self._windows.forget(number)
        self._abandoned[number] = 0
        if self.resets < MAX_RESETS:
            self.out.append(frames.rst_stream(number, code))
        self.resets += 1

    # what the peer sends

    def receive(self, data: bytes, now: int) -> list[Stream]:
        if self.dead:
            return []
        self._now = now
        try:
            self._read(data)
        except ConnectionFault as fault:
            self._break(fault)
        if not self._ended:
            return self._ended
        ended, self._ended = self._ended, []
        return ended

    def _break(self, fault: ConnectionFault) -> None:
        """End all streams by an error of the connection."""
        self.dead, self.why = True, str(fault)
        self.out.append(frames.goaway(fault.code, str(fault)))
        for stream in self.streams.values():
            stream.error, stream.detail = "protocol", self.why
        self._ended += self.streams.values()
        self.streams.clear()
        self._rest, self._block = b"", []

    def _read(self, data: bytes) -> None:
        if self._left:
            data = self._rest_of_data(data)
        elif self._rest:
            data, self._rest = self._rest + data, b""
        if not self.greeted:
            self._check_greeting(data)
        at, end, usual = 0, len(data), True
        while end - at >= HEADER_BYTES:
            high, low, kind, flags, number = read_header(data, at)
            size = high << 8 | low
            if size > SMALLEST_FRAME:
                raise ConnectionFault(frames.FRAME_SIZE_ERROR, f"a frame of {size} bytes")
            if self._block_stream and (kind != CONTINUATION or number & _NUMBER != self._block_stream):
                raise ConnectionFault(frames.PROTOCOL_ERROR, "a header block is interrupted by another frame")
            start = at + HEADER_BYTES
            at = start + size
            if kind == DATA and not flags & PADDED:
                here = size if at <= end else end - start
                if here < size:
                    self._left, self._left_stream, self._left_flags = size - here, number & _NUMBER, flags
                    flags, at = 0, end
                self._data(number & _NUMBER, flags, here, data, start)
            elif at > end:
                at = start - HEADER_BYTES
                break
            elif kind == HEADERS and usual and (after := self._read_known_responses(data, start - HEADER_BYTES)):
                at = after
            elif kind == HEADERS and flags & 0x2C == END_HEADERS:
                usual = False  # the next ones may be like this one, and each try takes time
                self._headers(number & _NUMBER, flags, data[start:at])
            elif kind < len(_HANDLERS):
                _HANDLERS[kind](self, number & _NUMBER, flags, data[start:at])
            else:
                self._count_control()
        self._rest = data[at:]

    def _read_known_responses(self, data: bytes, at: int) -> int:
        """Read responses of one known header block and at most one DATA frame.

        Same effect as `_headers` and `_data`, in half the time.

        Returns the offset of the first other frame; 0: the frame at ``at`` is another.
        """
        if self._kept_body or (known := self._reader.known_now()) is None:
            return 0
        now, digests, streams, ended = self._now, self._digests, self.streams, self._ended
        begun, end, taken = at, len(data), 0
        while end - at >= HEADER_BYTES:
            high, low, kind, flags, number = read_header(data, at)
            after = at + HEADER_BYTES + (high << 8 | low)
            if kind != HEADERS or after > end or number not in streams:
                break
            stream, fields = streams[number], known.get(data[at + HEADER_BYTES : after])
            may_be_head = not stream.request[HEADER_BYTES] & INDEXED
            if fields is None or fields.body == NONE or stream.fields is not None or stream.unsent or may_be_head:
                break
            size = 0
            if flags == END_HEADERS:
                if end - after < HEADER_BYTES:
                    break
                high, low, kind, flags, same = read_header(data, after)
                size = high << 8 | low
                after += HEADER_BYTES + size
                if (
                    kind != DATA
                    or flags != END_STREAM
                    or same != number
                    or after > end
                    or not 0 < size <= SMALLEST_FRAME
                ):
                    break
                if size != fields.body and fields.body != ANY:
                    break
            elif flags != END_HEADERS | END_STREAM or fields.body > 0:
                break
            at, taken = after, taken + size
            stream.first = stream.last = now
            stream.fields, stream.size = fields, size
            if digests and size:
                stream.body = digests.add(b"", data[after - size : after], stream.head)
            del streams[number]
            ended.append(stream)
        if at == begun:
            return 0
        self._control = 0
        self._taken += taken
        if self._taken >= _REFILL:
            self._refill()
        return at

    def _rest_of_data(self, data: bytes) -> bytes:
        """Take what belongs to a DATA frame that has begun; returns what follows it."""
        here = min(self._left, len(data))
        self._left -= here
        self._data(self._left_stream, 0 if self._left else self._left_flags, here, data, 0)
        return data[here:]

    def _check_greeting(self, data: bytes) -> None:
        if data.startswith(b"HTTP/"):
            raise ConnectionFault(frames.PROTOCOL_ERROR, "the target answers with HTTP/1")
        if len(data) >= HEADER_BYTES:
            _, _, kind, flags, _ = read_header(data)
            if kind != frames.SETTINGS or flags & frames.ACK:
                raise ConnectionFault(frames.PROTOCOL_ERROR, "the target does not begin with a SETTINGS frame")
            self.greeted = True

    # frames of a stream

    def _data(self, number: int, flags: int, size: int, data: bytes, start: int) -> None:
        """Bytes of a body, which need not be a whole frame."""
        self._taken += size
        if self._taken >= _REFILL:
            self._refill()
        stream = self.streams.get(number)
        if stream is None:
            self._unknown(number, "DATA")
            return
        if size:
            self._count_progress()
        else:
            self._count_control()
        if stream.fields is None:
            self._stream_error(stream, "protocol", "a body before the header of the response")
            return
        if room := self._kept_body - len(stream.kept):
            stream.kept += data[start : start + min(size, room)]
        if self._digests and size:
            stream.body = self._digests.add(stream.body, data[start : start + size], stream.head)
        stream.size += size
        if stream.size >= stream.refill:
            self.out.append(frames.window_update(number, _REFILL))
            stream.refill += _REFILL
        if flags & END_STREAM:
            self._end(stream)

    def _refill(self) -> None:
        """Open the window of the connection again."""
        self.out.append(frames.window_update(0, self._taken))
        self._taken = 0

    def _padded_data(self, number: int, flags: int, payload: bytes) -> None:
        body = _unpadded(payload)
        if padding := len(payload) - len(body):
            self._taken += padding
            if number in self.streams and not flags & END_STREAM:
                self.out.append(frames.window_update(number, padding))
        self._data(number, flags, len(body), body, 0)

    def _some_headers(self, number: int, flags: int, payload: bytes) -> None:
        """A HEADERS frame with padding, with a priority, or without its end."""
        if flags & PADDED:
            payload = _unpadded(payload)
        if flags & frames.PRIORITIZED:
            if len(payload) < 5:
                raise ConnectionFault(frames.FRAME_SIZE_ERROR, "a HEADERS frame without its priority")
            payload = payload[5:]
        if flags & END_HEADERS:
            self._headers(number, flags, payload)
            return
        if not number:
            raise ConnectionFault(frames.PROTOCOL_ERROR, "HEADERS on stream 0")
        self._block, self._block_stream, self._block_flags = [payload], number, flags
        self._block_size = len(payload)
        if (stream := self.streams.get(number)) and stream.fields is None:
            stream.first = self._now

    def _continuation(self, number: int, flags: int, payload: bytes) -> None:
        if not self._block_stream:
            raise ConnectionFault(frames.PROTOCOL_ERROR, "CONTINUATION without a header block")
        self._block.append(payload)
        self._block_size += len(payload)
        if self._block_size > MAX_HEAD or len(self._block) > _MOST_PIECES:
            raise too_long("headers of the response")
        if flags & END_HEADERS:
            block, self._block, self._block_stream = b"".join(self._block), [], 0
            self._headers(number, self._block_flags, block)

    def _headers(self, number: int, flags: int, block: bytes) -> None:
        """A whole header block: an interim response, a response, or trailers."""
        try:
            fields = self._reader.read(block)
        except BlockError as error:
            raise ConnectionFault(frames.COMPRESSION_ERROR, str(error)) from None
        stream = self.streams.get(number)
        if stream is None:
            self._unknown(number, "HEADERS", len(block))
        elif stream.fields is not None:
            self._trailers(stream, flags, fields)
        elif 100 <= fields.status < 200 and not fields.fault:
            self._count_interim(stream, len(block))
            stream.first = 0
            if flags & END_STREAM or fields.status == 101:
                self._stream_error(stream, "protocol", f"an answer with the status {fields.status}")
        else:
            self._control = 0
            stream.first, stream.fields = stream.first or self._now, fields
            if fields.fault or not fields.status:
                self._stream_error(stream, "protocol", fields.fault or "a response without a status")
            elif flags & END_STREAM:
                self._end(stream)

    def _trailers(self, stream: Stream, flags: int, fields: ResponseFields) -> None:
        if fields.fault or fields.status or not flags & END_STREAM:
            self._stream_error(stream, "protocol", fields.fault or "a second header in one response")
        else:
            self._end(stream)

    def _end(self, stream: Stream) -> None:
        """The response is whole."""
        self._control = 0
        stream.last = self._now
        fields = stream.fields
        if fields is None or fields.body != stream.size or not stream.request[HEADER_BYTES] & INDEXED:
            stream.error, stream.detail = stream.length_fault()
        if stream.unsent:
            self._abandon(stream, frames.CANCEL)  # the answer came before the whole request was asked for
        else:
            del self.streams[stream.number]
        self._ended.append(stream)

    def _stream_error(self, stream: Stream, word: str, text: str, code: int = frames.PROTOCOL_ERROR) -> None:
        stream.error, stream.detail = word, text
        self._abandon(stream, code)
        self._ended.append(stream)

    def _unknown(self, number: int, what: str, head: int = 0) -> None:
        """Ignore a frame of a stream that was given up here, up to a limit; others are a ConnectionFault."""
        if number in self._abandoned:
            self._count_control()
            self._abandoned[number] += head
            if self._abandoned[number] > MAX_HEAD:
                raise too_long("headers of a response that was given up")
            return
        if not number & 1 or number >= self._next:
            raise ConnectionFault(frames.PROTOCOL_ERROR, f"{what} on stream {number}, which was not opened")
        raise ConnectionFault(frames.STREAM_CLOSED, f"{what} on stream {number}, which has ended")

    def _rst_stream(self, number: int, flags: int, payload: bytes) -> None:
        self._control_of_stream(number, payload, 4, "RST_STREAM")
        stream = self.streams.pop(number, None)
        if stream is None:
            return
        self._windows.forget(number)
        code = int.from_bytes(payload)
        self.calm += code == frames.ENHANCE_YOUR_CALM
        stream.error, stream.detail = "reset", f"RST_STREAM: {frames.code_name(code)}"
        stream.unprocessed = code == frames.REFUSED_STREAM
        self._ended.append(stream)

    def _priority(self, number: int, flags: int, payload: bytes) -> None:
        self._count_control()
        if not number:
            raise ConnectionFault(frames.PROTOCOL_ERROR, "PRIORITY on stream 0")
        if len(payload) != 5:
            raise ConnectionFault(frames.FRAME_SIZE_ERROR, f"a PRIORITY frame of {len(payload)} bytes")

    def _push_promise(self, number: int, flags: int, payload: bytes) -> None:
        raise ConnectionFault(frames.PROTOCOL_ERROR, "a push, which was not allowed")

    def _control_of_stream(self, number: int, payload: bytes, size: int, what: str) -> None:
        self._count_control()
        if len(payload) != size:
            raise ConnectionFault(frames.FRAME_SIZE_ERROR, f"a {what} frame of {len(payload)} bytes")
        if not number or (number not in self.streams and (not number & 1 or number >= self._next)):
            raise ConnectionFault(frames.PROTOCOL_ERROR, f"{what} on stream {number}, which was not opened")

    # frames of the connection

    def _settings(self, number: int, flags: int, payload: bytes) -> None:
        self._count_control()
        if number:
            raise ConnectionFault(frames.PROTOCOL_ERROR, f"SETTINGS on stream {number}")
        if flags & frames.ACK:
            if payload:
                raise ConnectionFault(frames.FRAME_SIZE_ERROR, "an acknowledgement with settings")
            self._reader.offer_no_table()
            return
        if len(payload) % 6:
            raise ConnectionFault(frames.FRAME_SIZE_ERROR, f"a SETTINGS frame of {len(payload)} bytes")
        if len(payload) > 6 * MOST_SETTINGS:
            raise ConnectionFault(frames.ENHANCE_YOUR_CALM, f"a SETTINGS frame of more than {MOST_SETTINGS} values")
        self.out.append(frames.frame(frames.SETTINGS, frames.ACK, 0))  # before what the new values allow
        for name, value in frames.read_settings(payload):
            self._set(name, value)

    def _set(self, name: int, value: int) -> None:
        if name == frames.MAX_CONCURRENT_STREAMS:
            self.limit = min(value, MOST_STREAMS)
        elif name == frames.INITIAL_WINDOW_SIZE:
            if value > frames.LARGEST_WINDOW:
                raise ConnectionFault(frames.FLOW_CONTROL_ERROR, f"an initial window of {value} bytes")
            self._windows.resize(value, self.streams.values())
        elif name == frames.MAX_FRAME_SIZE:
            if not frames.SMALLEST_FRAME <= value <= frames.LARGEST_FRAME:
                raise ConnectionFault(frames.PROTOCOL_ERROR, f"frames of {value} bytes")
            self._windows.largest = value
        elif name == frames.HEADER_TABLE_SIZE and value < USUAL_TABLE:
            self._disclaims_table = True  # or the next block is refused (RFC 7541, 4.2)
        elif name == frames.ENABLE_PUSH and value:
            raise ConnectionFault(frames.PROTOCOL_ERROR, "the target sets ENABLE_PUSH")

    def _ping(self, number: int, flags: int, payload: bytes) -> None:
        self._count_control()
        if number:
            raise ConnectionFault(frames.PROTOCOL_ERROR, f"PING on stream {number}")
        if len(payload) != 8:
            raise ConnectionFault(frames.FRAME_SIZE_ERROR, f"a PING frame of {len(payload)} bytes")
        if not flags & frames.ACK:
            self.out.append(frames.frame(frames.PING, frames.ACK, 0, payload))

    def _goaway(self, number: int, flags: int, payload: bytes) -> None:
        self._count_control()
        if number:
            raise ConnectionFault(frames.PROTOCOL_ERROR, f"GOAWAY on stream {number}")
        if len(payload) < 8:
            raise ConnectionFault(frames.FRAME_SIZE_ERROR, f"a GOAWAY frame of {len(payload)} bytes")
        last, code = int.from_bytes(payload[:4]) & _NUMBER, int.from_bytes(payload[4:8])
        self.goaway = code
        self.calm += code == frames.ENHANCE_YOUR_CALM
        if code != frames.NO_ERROR:
            self.why = f"GOAWAY: {frames.code_name(code)} {payload[8 : 8 + _SHOWN].decode('latin-1')}".rstrip()
        for stream in [stream for stream in self.streams.values() if stream.number > last]:
            del self.streams[stream.number]
            self._windows.forget(stream.number)
            self._abandoned[stream.number] = 0
            stream.error, stream.detail = "closed", self.why or "GOAWAY before the request was looked at"
            stream.unprocessed = True
            self._ended.append(stream)

    def _window_update(self, number: int, flags: int, payload: bytes) -> None:
        if number:
            self._control_of_stream(number, payload, 4, "WINDOW_UPDATE")
        else:
            self._count_control()
        if len(payload) != 4:
            raise ConnectionFault(frames.FRAME_SIZE_ERROR, f"a WINDOW_UPDATE frame of {len(payload)} bytes")
        increment, written = int.from_bytes(payload) & _NUMBER, len(self.out)
        if not number:
            self._windows.open(increment)
        elif (stream := self.streams.get(number)) and (fault := self._windows.open_stream(stream, increment)):
            self._stream_error(stream, "protocol", str(fault), fault.code)
        if len(self.out) > written:  # a body goes on
            self._count_progress()


def _unpadded(payload: bytes) -> bytes:
    """The payload of a padded frame without its padding."""
    if not payload:
        raise ConnectionFault(frames.FRAME_SIZE_ERROR, "a padded frame without its length")
    if payload[0] >= len(payload):
        raise ConnectionFault(frames.PROTOCOL_ERROR, "more padding than payload")
    return payload[1 : len(payload) - payload[0]]


_Handler = Callable[[ConnectionState, int, int, bytes], None]
_HANDLERS: Final[tuple[_Handler, ...]] = tuple(
    {
        DATA: ConnectionState._padded_data,
        HEADERS: ConnectionState._some_headers,
        frames.PRIORITY: ConnectionState._priority,
        frames.RST_STREAM: ConnectionState._rst_stream,
        frames.SETTINGS: ConnectionState._settings,
        frames.PUSH_PROMISE: ConnectionState._push_promise,
        frames.PING: ConnectionState._ping,
        frames.GOAWAY: ConnectionState._goaway,
        frames.WINDOW_UPDATE: ConnectionState._window_update,
        CONTINUATION: ConnectionState._continuation,
    }.values()
)
"""By type of frame, in the order of their numbers."""
