"""What an HTTP/2 server may send, and what becomes of the request: the table of hostile peers of HTTP/2."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from logreplay.replay.senders.http2 import frames
from logreplay.replay.senders.http2.header_blocks import MAX_HEAD, block
from logreplay.replay.senders.http2.stream import Stream
from support import http2_frames as peer
from support.hostile_target import Seen
from support.http2_frames import answer, coded, data, greeted, head, raw

LONG: Final = [("content-length", "5")]


def request(method: str = "GET", body: bytes = b"", fields: Sequence[tuple[bytes, bytes]] = ()) -> bytes:
    """A request as it is rendered."""
    written = block(
        [(b":method", method.encode()), (b":scheme", b"http"), (b":authority", b"a"), (b":path", b"/"), *fields]
    )
    return frames.frame(frames.HEADERS, frames.END_HEADERS | (0 if body else frames.END_STREAM), 0, written) + body


OK: Final = Seen("", 200, 5)
LOST: Final = Seen("protocol", 0, 0)


def seen(stream: Stream) -> Seen:
    return Seen(stream.error, stream.status, stream.size)


@dataclass(frozen=True)
class Way:
    """A way to answer the first request.

    Attributes:
        answer: frames of the server.
        seen: what the row says.
        method: of the request.
        broken: the connection cannot be used any more, for the reason of this code.
        reset: the stream is reset, for the reason of this code.
    """

    name: str
    answer: bytes
    seen: Seen = OK
    method: str = "GET"
    broken: int | None = None
    reset: int | None = None


GOOD: Final = (
    Way("as it should be", answer(1)),
    Way("without a length", head(1) + data(1)),
    Way("in many pieces", head(1, 200, LONG) + data(1, b"he", end=False) + data(1, b"l", end=False) + data(1, b"lo")),
    Way("padded", head(1, 200, LONG) + data(1, padding=100)),
    Way("ended by an empty frame", head(1, 200, LONG) + data(1, end=False) + data(1, b"")),
    Way("with trailers", head(1, 200, LONG) + data(1, end=False) + head(1, None, [("a", "b")], end=True)),
    Way("after interim answers", head(1, 103) + head(1, 100) + answer(1)),
    Way("without a body", head(1, 404, end=True), Seen("", 404, 0)),
    Way("to a HEAD", head(1, 200, LONG, end=True), Seen("", 200, 0), "HEAD"),
    Way("to a HEAD, ended later", head(1, 200, LONG) + data(1, b""), Seen("", 200, 0), "HEAD"),
    Way("204", head(1, 204, end=True), Seen("", 204, 0)),
    Way("304 with a length", head(1, 304, LONG, end=True), Seen("", 304, 0)),
    Way("header in pieces",
        peer.headers(1, coded(200, LONG)[:1]) + peer.continuation(1, coded(200, LONG)[1:3])
        + peer.continuation(1, coded(200, LONG)[3:], "END_HEADERS") + data(1)),
    Way("padded header with a priority",
        peer.headers(1, coded(), "END_HEADERS", "PADDED", "PRIORITY", pad_length=7, stream_weight=3) + data(1)),
    Way("beside unknown frames", raw(0x42, 0xFF, 1, b"?") + head(1) + raw(0x42, 0, 0) + data(1) + raw(0xFF, 0, 9)),
    Way("beside frames of the connection", peer.ping() + head(1) + peer.priority(1) + peer.window(0, 9) + data(1)),
    Way("with other settings in between", head(1) + greeted(max_concurrent_streams=1, initial_window_size=0) + data(1)),
    Way("with a reserved bit", raw(1, 4, 1 | 1 << 31, coded()) + raw(0, 1, 1 | 1 << 31, b"hello")),
)  # fmt: skip
OF_STREAM: Final = (
    Way("reset", peer.rst(1, 2), Seen("reset", 0, 0)),
    Way("reset within the body", head(1) + data(1, end=False) + peer.rst(1, 8), Seen("reset", 200, 5)),
    Way("too calm", peer.rst(1, 11), Seen("reset", 0, 0)),
    Way("shorter than announced", head(1, 200, [("content-length", "9")]) + data(1), Seen("short_body", 200, 5)),
    Way("longer than announced", head(1, 200, [("content-length", "2")]) + data(1), Seen("protocol", 200, 5)),
    Way("nothing of what was announced", head(1, 200, LONG, end=True), Seen("short_body", 200, 0)),
    Way("a body to a HEAD", head(1) + data(1), Seen("protocol", 200, 5), "HEAD"),
    Way("a body to a HEAD, as announced", head(1, 200, LONG) + data(1), Seen("protocol", 200, 5), "HEAD"),
    Way("a body with 204", head(1, 204) + data(1), Seen("protocol", 204, 5)),
    Way("a body with 304, as announced", head(1, 304, LONG) + data(1), Seen("protocol", 304, 5)),
    Way("a body before its header", data(1), LOST, reset=1),
    Way("no status", head(1, None, [("a", "b")]) + data(1), LOST, reset=1),
    Way("a status of two digits", head(1, "20"), LOST, reset=1),
    Way("an upper-case name", head(1, 200, [("Upper", "x")]), Seen("protocol", 200, 0), reset=1),
    Way("a header of connections", head(1, 200, [("connection", "close")]), Seen("protocol", 200, 0), reset=1),
    Way("an interim answer that ends", head(1, 100, end=True), LOST, reset=1),
    Way("another protocol", head(1, 101), LOST, reset=1),
    Way("two headers", head(1) + head(1), Seen("protocol", 200, 0), reset=1),
    Way("trailers with a status", head(1) + head(1, 200, end=True), Seen("protocol", 200, 0), reset=1),
    Way("a window opened by nothing", peer.raw(8, 0, 1, bytes(4)), LOST, reset=1),
    Way("a window opened too far", peer.window(1, 2**31 - 1), LOST, reset=3),
)
OF_CONNECTION: Final = (
    Way("a second answer behind the first", answer(1) + answer(1), broken=5),
    Way("a reset behind an answer, and data behind it", answer(1) + peer.rst(1, 8) + data(1), broken=5),
    Way("a push", peer.push(1, 2), LOST, broken=1),
    Way("data on stream 0", raw(0, 0, 0, b"x"), LOST, broken=1),
    Way("headers on stream 0", raw(1, 4, 0, coded()), LOST, broken=1),
    Way("headers in pieces on stream 0", raw(1, 0, 0, coded()), LOST, broken=1),
    Way("data on a stream that was not opened", data(3), LOST, broken=1),
    Way("headers on a stream of the server", head(2), LOST, broken=1),
    Way("a reset of a stream that was not opened", peer.rst(3, 8), LOST, broken=1),
    Way("a window of a stream that was not opened", peer.window(3, 1), LOST, broken=1),
    Way("a reset of stream 0", raw(3, 0, 0, bytes(4)), LOST, broken=1),
    Way("a reset of 3 bytes", raw(3, 0, 1, bytes(3)), LOST, broken=6),
    Way("a priority of 4 bytes", raw(2, 0, 1, bytes(4)), LOST, broken=6),
    Way("a priority of stream 0", raw(2, 0, 0, bytes(5)), LOST, broken=1),
    Way("settings of a stream", raw(4, 0, 1), LOST, broken=1),
    Way("settings of 5 bytes", raw(4, 0, 0, bytes(5)), LOST, broken=6),
    Way("an acknowledgement with settings", raw(4, 1, 0, bytes(6)), LOST, broken=6),
    Way("settings that allow pushes", peer.settings(enable_push=1), LOST, broken=1),
    Way("settings with a window too large", raw(4, 0, 0, b"\x00\x04\x80\x00\x00\x00"), LOST, broken=3),
    Way("settings with frames too small", raw(4, 0, 0, b"\x00\x05\x00\x00\x00\x01"), LOST, broken=1),
    Way("a ping of 7 bytes", raw(6, 0, 0, bytes(7)), LOST, broken=6),
    Way("a ping of a stream", raw(6, 0, 1, bytes(8)), LOST, broken=1),
    Way("a goaway of 7 bytes", raw(7, 0, 0, bytes(7)), LOST, broken=6),
    Way("a goaway of a stream", raw(7, 0, 1, bytes(8)), LOST, broken=1),
    Way("a window of 3 bytes", raw(8, 0, 0, bytes(3)), LOST, broken=6),
    Way("the window opened by nothing", raw(8, 0, 0, bytes(4)), LOST, broken=1),
    Way("the window opened too far", peer.window(0, 2**31 - 1), LOST, broken=3),
    Way("a frame longer than allowed", raw(0, 0, 1, bytes(16385)), LOST, broken=6),
    Way("more padding than payload", raw(0, 8, 1, b"\x05abc"), LOST, broken=1),
    Way("padding without its length", raw(0, 8, 1), LOST, broken=6),
    Way("a header without its priority", raw(1, 0x24, 1, b"ab"), LOST, broken=6),
    Way("a block that goes on without a beginning", peer.continuation(1, coded(), "END_HEADERS"), LOST, broken=1),
    Way("a block that is interrupted", peer.headers(1, coded()) + peer.ping(), LOST, broken=1),
    Way("a block that goes on elsewhere", peer.headers(1, coded()) + peer.continuation(3, b""), LOST, broken=1),
    Way("a block that cannot be decoded", peer.headers(1, b"\x80", "END_HEADERS"), LOST, broken=9),
    Way("a table that was not offered", peer.headers(1, b"\x3f\xe1\x01" + coded(), "END_HEADERS"), LOST, broken=9),
    Way("a flood of empty pieces", peer.headers(1, coded()) + peer.continuation(1, b"") * 1001, LOST, broken=11),
    Way("a header of more than 256 kB",
        peer.headers(1, coded()) + peer.continuation(1, b"x" * 16384) * (MAX_HEAD // 16384 + 1), LOST, broken=11),
    Way("a flood of pings", peer.ping() * 20_001, LOST, broken=11),
    Way("a flood of settings", peer.settings() * 20_001, LOST, broken=11),
    Way("a flood of empty data", head(1) + data(1, b"", end=False) * 20_001, Seen("protocol", 200, 0), broken=11),
    Way("a flood of unknown frames", raw(0x42, 0, 0) * 20_001, LOST, broken=11),
    Way("a flood of interim answers", head(1, 103) * 20_001, LOST, broken=11),
    Way("a flood of long interim answers", head(1, 103, [("link", "x" * 2600)]) * 120, LOST, broken=11),
    Way("a flood of windows", peer.window(1, 1) * 20_001, LOST, broken=11),
    Way("a flood of windows of the connection", peer.window(0, 1) * 20_001, LOST, broken=11),
    Way("a flood of priorities", peer.priority(1) * 20_001, LOST, broken=11),
    Way("a flood of pings between bytes of a body", head(1) + (peer.ping() * 2000 + data(1, b"x", end=False)) * 20,
        Seen("protocol", 200, 10), broken=11),
    Way("a flood of headers of a stream that was reset", head(1) + head(1, 200, [("link", "x" * 2600)]) * 120,
        Seen("protocol", 200, 0), broken=11, reset=1),
    Way("a flood of data of a stream that was reset", head(1) + head(1) + data(1, end=False) * 20_001,
        Seen("protocol", 200, 0), broken=11, reset=1),
    Way("settings of a hundred and one values", raw(4, 0, 0, b"\x00\x04\x00\x00\xff\xff" * 101), LOST, broken=11),
    Way("a table that is resized three times", peer.headers(1, b"\x20\x3f\x00\x20" + coded(), "END_HEADERS"), LOST,
        broken=9),
    Way("a header that unpacks to more than 256 kB",
        peer.headers(1, b"\x88\x40\x01a\x7f\xa1\x1e" + b"x" * 4000 + b"\xbe" * 70, "END_HEADERS"), LOST, broken=9),
    Way("an integer without end", peer.headers(1, b"\x88" + b"\xff" * 1000, "END_HEADERS"), LOST, broken=9),
)  # fmt: skip
WAYS: Final = (*GOOD, *OF_STREAM, *OF_CONNECTION)
