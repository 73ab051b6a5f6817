"""A connection of HTTP/1.1: straight on uvloop's transport, parsed by httptools (llhttp).

Theory of operation. Responses of one kind have equal heads, except for their date. The heads of whole responses that
came in one piece and left the connection open are remembered by their bytes: what the parser said of the first one is
true of the next.

The bytes are written with ``os.write`` on the transport's own descriptor. ``transport.write`` of uvloop before 0.23
keeps them until the end of the loop's turn: the clock would be read before they are sent, and requests to several
targets would lose their order. TLS needs it, therefore 0.23 is required. Bytes that the kernel does not take at once go
through the transport. A target may answer before it has read the whole request; a connection
that still holds a part of one is closed, never used again.
"""

import asyncio
import os
import re
from typing import Any, ClassVar, Final, Protocol, cast

import httptools

from logreplay.replay.clock import Clock
from logreplay.replay.senders.contract import ERROR_CODES, KEPT_BODY, Done, Exchange, SenderCounts, Trace
from logreplay.replay.senders.digests import BodyReader, Digests, Read, head_of
from logreplay.replay.senders.errors import is_race, local_fault, loss_fault

IDEMPOTENT: Final = frozenset({b"GET", b"HEAD", b"OPTIONS", b"TRACE", b"PUT", b"DELETE"})
TLS_UNSEEN: Final = 1 << 16
"""Unsent bytes below a TLS layer up to which it continues writing."""
MAX_HEAD: Final = 1 << 20
"""Bytes of a response's head with the interim answers before it, of a trailer, of the frame of a chunk; more is a
protocol error."""

_OK: Final = 0
_NOT_YET: Final = -1
"""Status of a response that is not whole."""
_NUMBER: Final = 0
"""Connection number in the record: always 0 for HTTP/1.1."""
_write: Final = os.write
_H: Final = ord("H")
_END_OF_HEAD: Final = b"\r\n\r\n"
_LINE_ENDS: Final = b"\r\n"
MOST_HEADS: Final = 1024
"""Heads that are remembered; with one more all are forgotten."""
_LONGEST_HEAD: Final = 2048
"""Bytes of a head that is remembered."""
_INTERIM: Final = re.compile(rb"(?:HTTP/1\.\d 1\d\d[^\r\n]*\r\n(?:[^\r\n]+\r\n)*\r\n[\r\n]*)+")


class ConnectionPool(Protocol):
    """What a connection needs of the sender that opened it.

    Attributes:
        clock: nanoseconds; the instants of an exchange are read from it.
        timeout_ns: nanoseconds from the start of an exchange to its end.
        keep_alive: True if a connection is used again.
        quickest: nanoseconds in which the quickest connection was opened.
        busy: the connection of each exchange in flight, by number of the exchange, in the order of their start.
        idle: time at which each open connection without an exchange became idle.
        heads: remembered head → bytes of the response, bytes of its body, status.
        counts: counts of the sender.
        done: takes the record of an exchange that was answered.
        failed: takes the record of one that failed.
        trace: takes each exchange in full; None: nobody wants it.
        digests: adds digests to the records; None: none are wanted.
    """

    clock: Clock
    timeout_ns: int
    keep_alive: bool
    quickest: float
    busy: "dict[int, Connection]"
    idle: "dict[Connection, int]"
    heads: dict[bytes, tuple[int, int, int]]
    counts: SenderCounts
    done: Done
    failed: Done
    trace: Trace | None
    digests: Digests | None

    def dial(self, seq: int, request: bytes, start: int) -> None:
        """Start an exchange on a new connection."""


class Connection(asyncio.Protocol):
    """One connection, and the exchange that is on it.

    Attributes:
        seq: number of the exchange; -1 if there is none.
        start: start of the exchange, nanoseconds of the clock.
        connect: nanoseconds it took to connect, for the exchange that had to wait for it.
        queued: nanoseconds until the exchange was sent again; 0: it was not.
        reused: True if the exchange began on an open connection.
        ended: end of the exchange before it on the connection, nanoseconds of the clock.
    """

    __slots__ = (
        "_answered", "_body", "_clock", "_fd", "_feed", "_first", "_head", "_heads", "_in_body", "_last", "_lasting",
        "_parser", "_request", "_sender", "_transport", "_unsent", "_useless", "connect", "ended", "queued", "reused",
        "seq", "start",
    )  # fmt: skip

    reads_all: ClassVar[bool] = False
    """True if each response must be parsed, since more than its status and length is needed."""

    def __init__(self, sender: "ConnectionPool", seq: int, request: bytes, start: int) -> None:
        self._sender, self._clock = sender, sender.clock
        self._transport: asyncio.Transport | None = None
        self._fd = -1
        self._new_parser()
        self._clear()
        self.seq, self._request, self.start = seq, request, start
        self.connect, self.ended, self.reused, self._unsent = 0, start, False, False

    def _clear(self) -> None:
        """No byte of a response has arrived."""
        self._first = self._last = self._body = self._useless = 0
        self._answered = _NOT_YET
        self._in_body = self._lasting = False
        self._head = b""
        self.queued = 0

    def _new_parser(self) -> None:
        self._parser: Any = httptools.HttpResponseParser(self)
        self._feed: Any = self._parser.feed_data
        self._heads = None if self.reads_all or not self._sender.keep_alive else self._sender.heads

    def usable(self) -> bool:
        """Whether another exchange may begin on this connection."""
        return self._transport is not None and not self._transport.is_closing()

    def begin(self, seq: int, request: bytes, start: int) -> None:
        """Start an exchange on this connection, which is open."""
        self.seq, self._request, self.start = seq, request, start
        if request[0] == _H and request.startswith(b"HEAD "):
            self._parser = httptools.HttpResponseParser(_HeadAnswer(self))
            self._feed = self._parser.feed_data
            self._heads = None
        if self._fd < 0:
            self._write_encrypted(request)
            return
        try:
            written = _write(self._fd, request)
        except BlockingIOError:
            written = 0
        except OSError as error:
            if not local_fault(error):
                return  # the transport will find out, and say so to connection_lost
            written = 0  # an error of this machine (ENOBUFS): only a write of the transport reports it
        if written < len(request):
            assert self._transport
            self._transport.write(request[written:])
            self._unsent = True

    def _write_encrypted(self, request: bytes) -> None:
        """Write over TLS. Of a long request the last byte goes alone.

        The TLS layer does not count unsent bytes of the layer below, but holds back later bytes because of them.
        """
        transport = self._transport
        assert transport
        if len(request) > TLS_UNSEEN:
            transport.write(request[:-1])
            request = request[-1:]
            self._unsent = True
        transport.write(request)

    # what the transport says

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is not a subclass
        if self.seq < 0:  # given up while it was being opened
            self.drop()
            return
        if transport.get_extra_info("sslcontext") is None:
            self._fd = transport.get_extra_info("socket").fileno()
        self.connect = self._clock() - self.start - self.queued
        self._sender.quickest = min(self._sender.quickest, self.connect)
        self.begin(self.seq, self._request, self.start)

    def data_received(self, data: bytes) -> None:
        now, sender = self._clock(), self._sender
        sender.counts.received += len(data)
        if self.seq < 0:  # nobody asked
            self.drop()
            return
        if not self._first:
            if self._heads:
                head = data[: data.find(_END_OF_HEAD) + 4]
                known = self._heads.get(head)
                if known and known[0] == len(data) and now - self.start <= sender.timeout_ns and not self._unsent:
                    self._skim(now, known, head, data)
                    return
            if data[0] != _H and not self._head:
                received, data = len(data), data.lstrip(_LINE_ENDS)  # the parser skips empty lines before a status line
                if not data:
                    self._count_useless(received)
                    return
            self._first = now
        self._last = now
        body, in_body = self._body, self._in_body
        try:
            self._feed(data)
        except httptools.HttpParserUpgrade:
            self.fail("protocol", "an upgrade nobody asked for")
            return
        except httptools.HttpParserError as error:
            if self._answered < 0:
                self._head += data
                self.fail("protocol", str(error))
                return
            self._lasting = False  # the answer was whole, what follows is not ours
        if self._answered >= 0:
            if self._heads is not None:
                self._remember(data)
            self._finish(now, data)
            return
        if not in_body:
            self._collect_head(data)
        if self._body > body or self._in_body > in_body:
            self._useless = 0
        else:
            self._count_useless(len(data))

    def _count_useless(self, size: int) -> None:
        """Take note of bytes that ended no head and were none of a body."""
        self._useless += size
        if self._useless > MAX_HEAD:
            what = "trailer or the frame of a chunk" if self._in_body else "head, with the interim answers before it,"
            self.fail("protocol", f"the {what} is longer than {MAX_HEAD} bytes")

    def _remember(self, data: bytes) -> None:
        """Remember the head of a whole response, if it is all that came and leaves the connection open."""
        end = data.find(_END_OF_HEAD) + 4
        whole = self._lasting and not self._head and end + self._body == len(data)
        if whole and end <= _LONGEST_HEAD and self._answered >= 200:
            if len(self._sender.heads) == MOST_HEADS:
                self._sender.heads.clear()
            self._sender.heads[data[:end]] = len(data), self._body, self._answered

    def _skim(self, now: int, known: tuple[int, int, int], head: bytes, data: bytes) -> None:
        """End the exchange by a response with a remembered head, of the same length."""
        sender, seq, start, queued, connect = self._sender, self.seq, self.start, self.queued, self.connect
        digests, (_, size, status) = sender.digests, known
        digest = digests.of(seq, status, head, data[len(head) :]) if digests else 0
        self.seq = -1
        del sender.busy[seq]
        latency = now - start - queued - connect
        sender.done(seq, start, queued, connect, latency, 0, size, status, _OK, _NUMBER, digest)
        self.reused, self.connect, self.queued = True, 0, 0
        sender.idle[self] = self.ended = now

    def _collect_head(self, data: bytes) -> None:
        """Keep the head of a response that arrives in pieces: its end may have to be found without the parser."""
        self._head += data
        if b"\r\n\r\n" in self._head[-len(data) - 3 :]:
            if self._head.startswith(b"HTTP/1.1 1"):
                self._head = _INTERIM.sub(b"", self._head, count=1)
            self._in_body = b"\r\n\r\n" in self._head

    def eof_received(self) -> None:
        return None  # the transport closes itself, and says so to connection_lost

    def connection_lost(self, exc: BaseException | None) -> None:
        self._fd = -1
        self._sender.idle.pop(self, None)
        if self.seq >= 0:
            self._lost(exc)
        self._transport = None
        self.forget()

    def forget(self) -> None:
        """Break the cycles with the parser: the collector is off during a run."""
        self._parser = self._feed = None

    def _lost(self, exc: BaseException | None) -> None:
        sender, waited = self._sender, self._clock() - self.start
        again = self.reused and not self._last and is_race(waited, sender.quickest, self.start - self.ended)
        if again and self._request.split(b" ", 1)[0] in IDEMPOTENT:
            sender.counts.retried += 1
            seq, self.seq = self.seq, -1
            sender.dial(seq, self._request, self.start)
            sender.busy[seq].queued = waited
        elif exc is None and self._in_body and _ends_with_connection(self._head):
            self._answered = self._parser.get_status_code()
            self._finish(self._clock(), b"")
        else:
            if exc and (local := local_fault(exc)):
                sender.counts.local[local] += 1
            self.fail(loss_fault(exc, in_body=self._in_body), "" if exc is None else str(exc))

    # what the parser says

    def on_message_begin(self) -> None:
        if self._answered >= 0:
            raise _UnaskedError  # ends the parser: it would speak of this answer from here on
        self._first = self._first or self._last  # behind an interim answer

    def on_body(self, data: bytes) -> None:
        self._body += len(data)

    def on_message_complete(self) -> None:
        parser = self._parser
        status = parser.get_status_code()
        if 100 <= status < 200 and not parser.should_upgrade():
            self._first = 0  # an interim answer
            self._heads = None  # the parser may hold a part of the next answer, or accept none
        else:
            self._answered, self._lasting = status, parser.should_keep_alive()

    # the end of an exchange

    def _finish(self, now: int, data: bytes) -> None:
        """End the exchange: its response is whole, and its last bytes are in ``data``."""
        sender = self._sender
        if now - self.start > sender.timeout_ns:
            self.fail("timeout")
            return
        status = self._answered
        if status < 200:
            self.fail("protocol", f"an answer with the status {status}")
            return
        lasting = self._lasting and sender.keep_alive
        if self._unsent:
            lasting = lasting and self._sent_all()
        seq, start, connect, first = self.seq, self.start, self.connect, self._first or now
        queued = self.queued
        digest = self._digest(status, data) if sender.digests else 0
        self.seq = -1
        del sender.busy[seq]
        latency, xfertime = first - start - queued - connect, now - first
        sender.done(seq, start, queued, connect, latency, xfertime, self._body, status, _OK, _NUMBER, digest)
        if sender.trace:
            self._traced(seq, now, status, "", "")
        if not lasting:
            self.drop()
            return
        self.reused, self.connect = True, 0
        sender.idle[self] = self.ended = now
        if self._request[0] == _H:
            self._new_parser()
        self._clear()

    def _digest(self, status: int, data: bytes) -> int:
        """The digest of a response that ends with these bytes."""
        return 0

    def _sent_all(self) -> bool:
        """Whether the transport has written all its bytes; otherwise it must not be used again."""
        self._unsent = False
        return self._transport is not None and self._transport.get_write_buffer_size() == 0

    def fail(self, word: str, detail: str = "") -> None:
        """End the exchange, and the connection with it."""
        if self.seq < 0:
            return
        sender, start = self._sender, self.start
        seq, self.seq = self.seq, -1
        del sender.busy[seq]
        end = self._clock()
        if end - start > sender.timeout_ns:
            word = "timeout"
        if word == "timeout":
            end = start + sender.timeout_ns
        dialled = min(start + self.queued, end)
        if self._transport is None and not self.connect:
            word = "connect_timeout" if word == "timeout" else word
            connect, latency, xfertime = end - dialled, 0, 0
        else:
            connected = min(dialled + self.connect, end)
            first = min(self._first or end, end)
            connect, latency, xfertime = connected - dialled, first - connected, end - first
        status = self._status()
        if detail:
            sender.counts.details.setdefault(word, detail)
        sender.failed(seq, start, dialled - start, connect, latency, xfertime, self._body, status, ERROR_CODES[word])
        self._traced(seq, end, status, word, detail)
        if self._transport is None:
            self.forget()  # it never opened
        self.drop()

    def _status(self) -> int:
        """The status, if its line arrived; otherwise 0."""
        if self._answered >= 0:
            return self._answered
        if self._in_body:
            return int(self._parser.get_status_code())
        line = re.match(rb"HTTP/\d\.\d ([2-9]\d\d|101)[ \r\n]", self._head)
        return int(line[1]) if line else 0

    def _traced(self, seq: int, end: int, status: int, word: str, detail: str) -> None:
        """Show an ended exchange to the trace; here there is none."""

    def drop(self) -> None:
        """Close the connection."""
        if self._transport:
            self._transport.abort()


class _UnaskedError(Exception):
    """A response begins for which there was no request."""


class _HeadAnswer:
    """Listens to the parser for the response to a HEAD, which ends with its head even if that announces a body.

    The parser does not know that, and takes a response without a length for one that ends with its connection.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._show = getattr(connection, "on_header", None)
        if show_reason := getattr(connection, "on_status", None):
            self.on_status = show_reason

    def on_message_begin(self) -> None:
        self._connection.on_message_begin()
        self._options = b""

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"connection":
            self._options += value + b","
        if self._show:
            self._show(name, value)

    def on_headers_complete(self) -> None:
        connection = self._connection
        status = connection._parser.get_status_code()
        if status >= 200:
            connection._answered = status
            connection._lasting = persists(connection._parser.get_http_version(), self._options)

    def on_message_complete(self) -> None:
        if self._connection._answered < 0:
            self._connection.on_message_complete()

    def on_body(self, data: bytes) -> None:
        self._connection._lasting = False  # a body where none may be: what follows cannot be trusted


class TracedConnection(Connection):
    """A connection that shows each exchange in full."""

    reads_all = True

    def __init__(self, sender: "ConnectionPool", seq: int, request: bytes, start: int) -> None:
        super().__init__(sender, seq, request, start)
        self._headers: list[tuple[bytes, bytes]] = []
        self._reason = self._kept = b""

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._headers.clear()  # those of an interim answer

    def on_status(self, reason: bytes) -> None:
        self._reason = reason

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name, value))

    def on_body(self, data: bytes) -> None:
        if len(self._kept) < KEPT_BODY:
            self._kept += data[: KEPT_BODY - len(self._kept)]
        super().on_body(data)

    def _traced(self, seq: int, end: int, status: int, word: str, detail: str) -> None:
        headers, self._headers = self._headers, []
        body, self._kept = self._kept, b""
        connected = min(self.start + self.queued + self.connect, end)
        first = min(self._first or end, end)
        times = (self.connect / 1e9, (first - connected) / 1e9, (end - first) / 1e9)
        trace = self._sender.trace
        assert trace
        answer = (status, self._reason, headers, self._body)
        trace(Exchange(seq, self._request, *answer, *times, word, detail, body=body))


class DigestConnection(Connection):
    """A connection that reads each answer for its digest."""

    _read: Read = b""

    def on_body(self, data: bytes) -> None:
        if self._body:
            self._add(data)
        else:
            self._read = data
        self._body += len(data)

    def _add(self, data: bytes) -> None:
        """Take a piece of the body that is not the first one."""
        assert self._sender.digests
        self._read = self._sender.digests.add(self._read, data, lambda: head_of(self._head) if self._in_body else None)

    def _digest(self, status: int, data: bytes) -> int:
        digests, body = self._sender.digests, self._read
        assert digests
        self._read = b""
        if self._head:
            data = self._head if self._in_body else self._head + data
        return digests.of(self.seq, status, digests.head_of(data), body)

    def fail(self, word: str, detail: str = "") -> None:
        if isinstance(self._read, BodyReader):
            self._read.drop()
        super().fail(word, detail)


class TracedDigestConnection(TracedConnection, DigestConnection):
    """A connection with both."""


class CountedConnection(Connection):
    """Counts what connections to each address of the target carry."""

    _address = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._address = self._sender.counts.count_opened(transport)
        super().connection_made(transport)

    def begin(self, seq: int, request: bytes, start: int) -> None:
        self._sender.counts.carried[self._address] += 1
        super().begin(seq, request, start)


def persists(version: str, options: bytes) -> bool:
    """Whether a connection stays open after a response that does not end with it (RFC 9112, 9.3).

    The options are the values of its ``Connection`` headers, joined by commas.
    """
    named = {option.strip().lower() for option in options.split(b",")}
    return b"close" not in named and (version == "1.1" or b"keep-alive" in named)


def _ends_with_connection(head: bytes) -> bool:
    """Whether a body ends where the connection does: no length was announced."""
    block = head[: head.index(b"\r\n\r\n") + 2].lower()
    chunked = re.search(rb"\r\ntransfer-encoding:(?:[^\r]*[, \t])?chunked[ \t]*\r", block)
    return not chunked and not re.search(rb"\r\ncontent-length:", block)
