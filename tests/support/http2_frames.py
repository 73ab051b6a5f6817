"""Frames of an HTTP/2 server, made by the hyperframe and hpack packages: whole, broken and hostile ones."""

from collections.abc import Iterable
from typing import Any

from hpack import Encoder
from hyperframe.frame import (
    ContinuationFrame,
    DataFrame,
    Frame,
    GoAwayFrame,
    HeadersFrame,
    PingFrame,
    PriorityFrame,
    PushPromiseFrame,
    RstStreamFrame,
    SettingsFrame,
    WindowUpdateFrame,
)

Fields = Iterable[tuple[str, str]]


def coded(status: int | str | None = 200, fields: Fields = ()) -> bytes:
    """The header block of a response, without a dynamic table."""
    encoder = Encoder()
    encoder.header_table_size = 0
    pseudo = [] if status is None else [(":status", str(status))]
    return bytes(encoder.encode([*pseudo, *fields]))


def made(frame: Frame, *flags: str) -> bytes:
    """A frame as bytes."""
    for flag in flags:
        frame.flags.add(flag)
    return bytes(frame.serialize())


def settings(**values: int) -> bytes:
    """A SETTINGS frame; values by the names of RFC 9113, in lower case."""
    numbers = {getattr(SettingsFrame, name.upper()): value for name, value in values.items()}
    return made(SettingsFrame(0, settings=numbers))


def settings_ack() -> bytes:
    return made(SettingsFrame(0), "ACK")


def greeted(**values: int) -> bytes:
    """What a server says first: its settings, and that it has those of the client."""
    return settings(**values) + settings_ack()


def headers(stream: int, block: bytes, *flags: str, **fields: Any) -> bytes:
    """A HEADERS frame; END_HEADERS is to be named."""
    return made(HeadersFrame(stream, block, **fields), *flags)


def head(stream: int, status: int | str | None = 200, fields: Fields = (), *, end: bool = False) -> bytes:
    """The header of a response, or its trailers, in one frame."""
    return headers(stream, coded(status, fields), "END_HEADERS", *(["END_STREAM"] if end else []))


def data(stream: int, body: bytes = b"hello", *, end: bool = True, padding: int | None = None) -> bytes:
    """A DATA frame."""
    flags = (["END_STREAM"] if end else []) + ([] if padding is None else ["PADDED"])
    return made(DataFrame(stream, body, pad_length=padding or 0), *flags)


def answer(stream: int, body: bytes = b"hello", fields: Fields = ()) -> bytes:
    """A response as it should be."""
    return head(stream, 200, [("content-length", str(len(body))), *fields]) + data(stream, body)


def continuation(stream: int, block: bytes, *flags: str) -> bytes:
    return made(ContinuationFrame(stream, block), *flags)


def goaway(last: int, code: int = 0, text: bytes = b"") -> bytes:
    return made(GoAwayFrame(0, last, code, text))


def rst(stream: int, code: int) -> bytes:
    return made(RstStreamFrame(stream, code))


def ping(payload: bytes = b"12345678") -> bytes:
    return made(PingFrame(0, payload))


def priority(stream: int) -> bytes:
    return made(PriorityFrame(stream, depends_on=0, stream_weight=1))


def push(stream: int, promised: int) -> bytes:
    return made(PushPromiseFrame(stream, promised, b"\x82"), "END_HEADERS")


def window(stream: int, increment: int) -> bytes:
    return made(WindowUpdateFrame(stream, increment))


def raw(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """Any frame, also one that hyperframe would not write."""
    return len(payload).to_bytes(3) + bytes((kind, flags)) + stream.to_bytes(4) + payload


def parsed(stream: bytes) -> list[Frame]:
    """All frames in some bytes."""
    frames = []
    while stream:
        frame, length = Frame.parse_frame_header(memoryview(stream[:9]))
        assert len(stream) >= 9 + length, "a cut frame"
        frame.parse_body(memoryview(stream[9 : 9 + length]))
        frames.append(frame)
        stream = stream[9 + length :]
    return frames
