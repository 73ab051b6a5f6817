"""The state of an HTTP/2 connection: any bytes, cut anywhere, end each stream once, and memory stays bounded."""

from typing import Final

from logreplay.replay.senders.contract import KEPT_BODY
from logreplay.replay.senders.http2.connection_state import ConnectionState
from logreplay.replay.senders.http2.frames import END_HEADERS, END_STREAM, HEADERS, frame
from logreplay.replay.senders.http2.header_blocks import MAX_HEAD, MOST_KNOWN, ResponseFields, block, field
from logreplay.replay.senders.http2.stream import Stream

_FIELDS: Final = ((b":scheme", b"http"), (b":authority", b"a"), (b":path", b"/"))
_METHODS: Final = (b"GET", b"HEAD", b"POST", b"OPTIONS")
_SETTINGS: Final = frame(4, 0, 0) + frame(4, 1, 0)
_LENGTH: Final = 0x0F0D0135.to_bytes(4)
"""The field ``content-length: 5``."""


def seeds() -> list[bytes]:
    """Answers, whole and broken, behind three bytes: what is asked, how the bytes are cut, what the client does."""
    head = frame(HEADERS, END_HEADERS, 1, b"\x88" + _LENGTH)
    answers = (
        head + frame(0, 1, 1, b"hello"),
        head + frame(0, 0, 1, b"he") + frame(0, 9, 1, b"\x02llo\x00\x00"),
        head + frame(0, 0, 1, b"hello") + frame(HEADERS, END_HEADERS | END_STREAM, 1, field(b"t", b"z")),
        frame(HEADERS, 0, 1, b"\x88") + frame(9, 0, 1) + frame(9, END_HEADERS, 1, _LENGTH) + frame(0, 1, 1, b"hello"),
        frame(HEADERS, 0x2C, 1, b"\x01\x00\x00\x00\x00\x10\x88\x00") + frame(3, 0, 3, bytes(3) + b"\x07"),
        frame(4, 0, 0, b"\x00\x04\x00\x00\x00\x00\x00\x03\x00\x00\x00\x01") + frame(8, 0, 1, b"\x00\x00\x40\x00"),
        frame(7, 0, 0, bytes(3) + b"\x01" + bytes(3) + b"\x0bcalm") + frame(6, 0, 0, bytes(8)) + head,
        frame(HEADERS, END_HEADERS | END_STREAM, 1, b"\x20\x48\x82\x64\x02\xbe"),
        frame(5, 4, 1, bytes(4)) + frame(2, 0, 1, bytes(5)) + frame(99, 0, 1),
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
    )
    ways = (b"\x00\x00\x00", b"\x06\x01\x03", b"\x1b\x07\x06")
    return [way + (b"" if answer[:1] == b"H" else _SETTINGS) + answer for answer in answers for way in ways]


def one_input(data: bytes) -> None:
    """See `seeds`."""
    if len(data) < 4:
        return
    asked, cut, acts, answer = data[0], data[1] or len(data), data[2], data[3:]
    known: dict[bytes, ResponseFields] = {}
    state = ConnectionState(known, kept_body=KEPT_BODY if acts & 8 else 0)
    streams = [Stream(seq, _request(asked >> 2 * seq, body=bool(acts & 16)), 0) for seq in range(3)]
    for stream in streams:
        state.begin(stream)
    ended: list[Stream] = []
    for at in range(0, len(answer), cut):
        ended += state.receive(answer[at : at + cut], at)
        if acts & 1 and state.streams and at > len(answer) // 2:
            cancelled = next(iter(state.streams.values()))
            state.cancel(cancelled)
            cancelled.error = "cancelled"
            ended.append(cancelled)
        state.out.clear()
        assert len(state._rest) <= 16_384 + 9
        assert state._block_size <= MAX_HEAD
    ended += state.lost(ConnectionResetError(104, "reset") if acts & 2 else None)
    assert sorted(stream.seq for stream in ended) == [0, 1, 2]
    assert not state.streams
    assert len(known) <= MOST_KNOWN
    for stream in ended:
        assert 0 <= stream.size <= len(answer)
        assert stream.error or 200 <= stream.status <= 999
        assert len(stream.kept) <= stream.size


def _request(choice: int, *, body: bool) -> bytes:
    written = block([(b":method", _METHODS[choice & 3]), *_FIELDS])
    flags = END_HEADERS | (0 if body else END_STREAM)
    return frame(HEADERS, flags, 0, written) + (bytes(70_000) if body else b"")
