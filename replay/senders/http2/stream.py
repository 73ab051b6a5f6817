"""One request on a stream of HTTP/2, and its response as far as it has arrived; also as text."""

from math import inf
from typing import Any, Final

from hpack import Decoder

from logreplay.replay.senders.contract import KEPT_BODY, Exchange
from logreplay.replay.senders.digests import Read
from logreplay.replay.senders.http2.frames import DEFAULT_WINDOW, HEADER_BYTES
from logreplay.replay.senders.http2.header_blocks import WITHOUT_BODY, ResponseFields, field

_HEAD: Final = field(b":method", b"HEAD")


class Stream:
    """A request and its response. Times are nanoseconds of the engine's clock.

    Attributes:
        seq, start: number of the request, and when it was started.
        since: begin of its time-out; infinite: not yet.
        latest: the instant after which it is dropped where it is queued.
        request: one HEADERS frame without the number of its stream, then the body.
        began: instant at which a stream was found for it; before, it was queued.
        connect: nanoseconds it waited for a connection that was being opened.
        carrier: the connection that carries it; None: it is queued.
        attempts: number of times that it was written.
        number: number of the stream; 0 before it has one.
        window: bytes of the body that the peer still accepts.
        unsent: bytes of the body that are not sent.
        first, last: arrival of the response's header, and of its end; 0: not yet.
        size: bytes of the response's body.
        interim: bytes of the header blocks of interim answers.
        fields: header fields of the response; None before they came.
        error, detail: word of the result log, and the text behind it; empty: success.
        unprocessed: the peer says that it has not looked at the request, so that it may be sent again.
        kept: the beginning of the body, if the connection keeps bodies.
        body: as far as it was read, if digests are wanted; empty before its first byte.
    """

    __slots__ = (
        "attempts", "began", "body", "carrier", "connect", "detail", "error", "fields", "first", "interim", "kept",
        "last", "latest", "number", "refill", "request", "seq", "since", "size", "start", "unprocessed", "unsent",
        "window",
    )  # fmt: skip

    def __init__(self, seq: int, request: bytes, start: int, latest: float = inf) -> None:
        self.seq, self.request, self.start, self.latest = seq, request, start, latest
        self.since: float = start
        self.began = self.connect = self.attempts = 0
        self.carrier: Any = None
        self.clear()

    def clear(self) -> None:
        """Nothing is sent, no byte of a response has arrived."""
        self.number = self.first = self.last = self.size = self.interim = 0
        self.window, self.refill = DEFAULT_WINDOW, 1 << 30
        self.unsent: bytes | memoryview = b""
        self.fields: ResponseFields | None = None
        self.error = self.detail = ""
        self.unprocessed, self.kept = False, b""
        self.body: Read = b""

    @property
    def answering(self) -> bool:
        """Whether a byte of an answer came, if only of an interim one."""
        return bool(self.first or self.interim)

    @property
    def status(self) -> int:
        """Status of the response; 0 if none came."""
        return self.fields.status if self.fields else 0

    def head(self) -> tuple[tuple[bytes, bytes], ...]:
        """The headers of the response; empty before they came."""
        return self.fields.headers if self.fields else ()

    def length_fault(self) -> tuple[str, str]:
        """The error word and text for a body that is not as announced; empty if it is."""
        assert self.fields
        announced, size = self.fields.length, self.size
        if self.fields.status in WITHOUT_BODY or self.request.startswith(_HEAD, HEADER_BYTES):
            return ("protocol", f"a body of {size} bytes where none may be") if size else ("", "")
        if announced < 0 or announced == size:
            return "", ""
        return ("short_body" if size < announced else "protocol"), f"a body of {size} bytes, announced were {announced}"


def request_text(request: bytes) -> bytes:
    """A rendered request in the form of HTTP/1: request line, headers, blank line, body."""
    end = HEADER_BYTES + int.from_bytes(request[:3])
    fields: Any = Decoder(1 << 24).decode(request[HEADER_BYTES:end], raw=True)
    pairs = [(bytes(name), bytes(value)) for name, value in fields]
    pseudo = {name: value for name, value in pairs if name.startswith(b":")}
    lines = [pseudo[b":method"] + b" " + pseudo[b":path"] + b" HTTP/2", b"host: " + pseudo.get(b":authority", b"")]
    lines += [name + b": " + value for name, value in pairs if not name.startswith(b":")]
    return b"\r\n".join(lines) + b"\r\n\r\n" + request[end:]


def exchange_of(stream: Stream, word: str, connect: int, latency: int, xfertime: int) -> Exchange:
    """A stream that has ended, as an exchange; times in nanoseconds."""
    return Exchange(
        stream.seq,
        request_text(stream.request),
        stream.status,
        b"",
        stream.head(),
        stream.size,
        connect / 1e9,
        latency / 1e9,
        xfertime / 1e9,
        word,
        stream.detail,
        body=stream.kept[:KEPT_BODY],
    )
