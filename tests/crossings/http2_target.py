"""One connection of HTTP/2 to the target of crossings: it notes what came as the target does for HTTP/1.1."""

import asyncio
from collections import Counter
from contextlib import suppress
from typing import Final, Protocol

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import DataReceived, Event, RequestReceived, StreamEnded, StreamReset
from h2.exceptions import ProtocolError, StreamClosedError

PREFACE: Final = b"PRI * HTTP/2.0"
_ONCE: Final = (b":authority", b"user-agent", b"content-length", b"referer")


def fails_by_turns(key: tuple[str, str]) -> bool:
    """Whether a ``periodic`` target fails a request: every second one of the log, so all of one worker of two."""
    return key[1][-1:] in set("13579")


class Notes(Protocol):
    """Where it notes what came.

    Attributes:
        now: requests at once.
        broken: heads whose body never came whole.
        carrying: connections with requests.
    """

    now: int
    broken: Counter[tuple[str, str]]
    carrying: int

    def head(self, key: tuple[str, str], headers: list[tuple[bytes, bytes]], version: str, /) -> None:
        """Note the head of a request."""

    def whole(self, key: tuple[str, str], /) -> None:
        """Note a request that came whole."""

    def carries(self, streams: int, count: int, /) -> None:
        """Note requests at once on a connection, and on it so far."""

    def blame(self, text: str, /) -> None:
        """Note a breach."""


class Http2Strict(asyncio.Protocol):
    """One connection, after the version is known. ``h2`` says what is wrong with its frames."""

    def __init__(self, notes: Notes, kind: str) -> None:
        self._notes, self._kind = notes, kind
        self._http = H2Connection(H2Configuration(client_side=False, header_encoding=None))
        self._open: dict[int, tuple[str, str]] = {}
        self._coming: set[int] = set()
        self._given_up: set[int] = set()
        self._count = 0
        self._deaf = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._http.initiate_connection()
        self._flush()

    def eof_received(self) -> None:
        """The client has closed: its next connection may carry requests before this one is lost here."""
        self._ended()

    def connection_lost(self, _: Exception | None) -> None:
        for number in [*self._open]:
            self._lost(number)
        self._ended()

    def _ended(self) -> None:
        self._notes.carrying -= self._count > 0
        self._count = 0

    def data_received(self, data: bytes) -> None:
        if self._deaf:
            return
        try:
            events = self._http.receive_data(data)
        except ProtocolError as error:
            self._notes.blame(f"no HTTP/2: {error!r}")
            self._deaf = True
            self._transport.abort()
            return
        self._given_up = {event.stream_id for event in events if isinstance(event, StreamReset)}
        for event in events:
            self._take(event)
        self._flush()

    def _flush(self) -> None:
        if not self._deaf and not self._transport.is_closing():
            self._transport.write(self._http.data_to_send())

    def _take(self, event: Event) -> None:
        if self._deaf:
            return
        if isinstance(event, RequestReceived):
            self._begin(event.stream_id, [(bytes(name), bytes(value)) for name, value in event.headers])
        elif isinstance(event, DataReceived) and event.stream_id in self._coming:
            self._http.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, StreamEnded) and event.stream_id in self._coming:
            self._whole(event.stream_id)
        elif isinstance(event, StreamReset):
            self._lost(event.stream_id)

    def _begin(self, number: int, fields: list[tuple[bytes, bytes]]) -> None:
        named = dict(fields)
        counts = Counter(name for name, _ in fields)
        for name in _ONCE:
            if counts[name] > 1:
                self._notes.blame(f"{name.decode()} came {counts[name]} times: {fields}")
        if not counts[b":authority"] or counts[b"host"]:
            self._notes.blame(f"not one :authority alone: {fields}")
        key = named[b":method"].decode(), named[b":path"].decode()
        headers = [(b"host", named.get(b":authority", b""))] + [pair for pair in fields if pair[0][:1] != b":"]
        self._open[number] = key
        self._coming.add(number)
        self._notes.head(key, headers, "2")
        self._count += 1
        self._notes.carries(len(self._open), self._count)
        if self._kind == "early" and number not in self._given_up and int(named.get(b"content-length", b"0")):
            self._coming.remove(number)
            self._notes.whole(key)
            self._answer(number, 401)
            with suppress(StreamClosedError):
                self._http.reset_stream(number, ErrorCodes.NO_ERROR)

    def _whole(self, number: int) -> None:
        key = self._open[number]
        self._coming.remove(number)
        self._notes.whole(key)
        if number in self._given_up or (self._kind == "stalling" and key[1].endswith(("3", "7"))):
            return
        failing = self._kind == "failing" and self._count % 3 == 0
        self._answer(number, 503 if failing or (self._kind == "periodic" and fails_by_turns(key)) else 200)
        if self._kind == "closing" and self._count % 4 == 0:
            self._http.close_connection(last_stream_id=number)
            self._flush()
            self._deaf = True  # what is still under way must not end in a reset, which would discard the answers
            self._transport.write_eof()

    def _answer(self, number: int, status: int) -> None:
        key = self._open.pop(number)
        headless = key[0] == "HEAD"
        size = [] if headless else [("content-length", "5")]
        self._http.send_headers(number, [(":status", str(status)), *size], end_stream=headless)
        if not headless:
            self._http.send_data(number, b"hello", end_stream=True)
        self._notes.now -= 1

    def _lost(self, number: int) -> None:
        if number not in self._open:
            return
        key = self._open.pop(number)
        self._notes.now -= 1
        if number in self._coming:
            self._coming.remove(number)
            self._notes.broken[key] += 1
