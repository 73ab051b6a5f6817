"""One HTTP/2 connection on a transport: writes the bytes of its state, and reads the clock where bytes arrive."""

import asyncio
import os
from collections.abc import Iterable
from typing import Any, Final, Protocol, cast

from logreplay.replay.clock import Clock
from logreplay.replay.senders.contract import SenderCounts
from logreplay.replay.senders.errors import local_fault
from logreplay.replay.senders.http2.client_state import ClientState
from logreplay.replay.senders.http2.stream import Stream

NOT_SPOKEN: Final = "the target does not choose HTTP/2 in the TLS handshake (ALPN)"


class Owner(Protocol):
    """The sender, as its connections know it."""

    clock: Clock
    counts: SenderCounts
    quickest: float

    def defer_write(self, connection: "Http2Connection", /) -> bool:
        """Whether the sender flushes later, with more requests."""

    def ended(self, connection: "Http2Connection", streams: Iterable[Stream], now: int, /) -> None:
        """Streams ended, or what the connection can carry has changed."""


class Http2Connection(asyncio.Protocol):
    """Carries the streams of a sender.

    Attributes:
        pool: which it belongs to.
        number: number of the connection in the sender, from 1.
        state: state of the protocol.
        waiting: streams that were given to it while it was being opened.
        dialled, idle_since: nanoseconds of the clock; when it began to be opened, and when a stream ended last.
        idle: nanoseconds for which it carried nothing before the streams that were lost with it; 0 or less if a stream
            ended after the first of them had begun, or if the target had begun to answer one.
        answered: streams that ended with a response.
    """

    __slots__ = (
        "_behind", "_clock", "_counted", "_fd", "_sender", "_transport", "answered", "dialled", "idle", "idle_since",
        "limit", "number", "pool", "state", "waiting",
    )  # fmt: skip

    def __init__(self, sender: Owner, pool: Any, state: ClientState, now: int) -> None:
        self._sender, self._clock, self.pool, self.state = sender, sender.clock, pool, state
        self.number = sender.counts.connections
        self._transport: asyncio.Transport | None = None
        self._fd, self._behind, self._counted = -1, False, 1
        self.waiting: list[Stream] = []
        self.dialled = self.idle_since = now
        self.answered, self.idle, self.limit = 0, 0, state.limit

    def room(self, most: float) -> float:
        """Number of further streams that the connection takes, if ``most`` are allowed at once."""
        state = self.state
        if state.retired:
            return 0
        limit = state.limit
        return (limit if limit < most else most) - len(state.streams) - len(self.waiting)

    @property
    def unused(self) -> bool:
        """Whether the connection has no stream."""
        return not self.state.streams and not self.waiting

    def begin(self, stream: Stream) -> None:
        """Send a request, as soon as the connection is open."""
        stream.carrier = self
        if self._transport is None:
            self.waiting.append(stream)
        else:
            self.state.begin(stream)
            if not self._sender.defer_write(self):
                self.flush()

    def give_up(self, stream: Stream) -> None:
        """Let a stream end before its response did."""
        if stream.number:
            self.state.cancel(stream)
            self.flush()
        else:
            self.waiting.remove(stream)

    def flush(self) -> None:
        """Write the bytes that the state has for the peer."""
        out, transport, began = self.state.out, self._transport, self.state.began
        if not out or transport is None:
            return
        if began > self._counted:
            self._sender.counts.reused += began - self._counted
            self._counted = began
        data = out[0] if len(out) == 1 else b"".join(out)
        out.clear()
        if self._behind and transport.get_write_buffer_size() == 0:
            self._behind = False
        if self._fd < 0 or self._behind:
            transport.write(data)
            return
        try:
            written = os.write(self._fd, data)
        except BlockingIOError:
            written = 0
        except OSError as error:
            if not local_fault(error):
                return  # the transport will find out, and say so to connection_lost
            written = 0
        if written < len(data):
            transport.write(data[written:])
            self._behind = True

    # what the transport says

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        if self.state.dead:  # given up while it was being opened
            self.drop()
            return
        tls = transport.get_extra_info("ssl_object")
        if tls is None:
            self._fd = transport.get_extra_info("socket").fileno()
        elif tls.selected_alpn_protocol() != "h2":
            self._sender.counts.unspoken = NOT_SPOKEN
            self.fail("protocol", NOT_SPOKEN)
            return
        now = self._clock()
        self._sender.quickest = min(self._sender.quickest, now - self.dialled)
        waiting, self.waiting = self.waiting, []
        self._counted = max(1, len(waiting))
        for stream in waiting:
            stream.connect = now - stream.began
            self.state.begin(stream)
        self.flush()

    def fail(self, word: str, detail: str) -> None:
        """End the streams that wait for the connection, and the connection."""
        if "no application protocol" in detail:  # an alert of TLS (RFC 7301)
            self._sender.counts.unspoken = NOT_SPOKEN
        waiting, self.waiting = self.waiting, []
        self.state.dead = True
        for stream in waiting:
            stream.error, stream.detail = word, detail
        self._sender.ended(self, waiting, self._clock())
        self.drop()

    def data_received(self, data: bytes) -> None:
        now = self._clock()
        self._sender.counts.received += len(data)
        state = self.state
        ended = state.receive(data, now)
        if state.out:
            self.flush()
        if state.dead and not state.greeted:
            self._sender.counts.unspoken = state.why
        if ended or state.retired or state.limit != self.limit:
            self.limit = state.limit
            self._sender.ended(self, ended, now)

    def eof_received(self) -> None:
        return None  # the transport closes itself, and says so to connection_lost

    def connection_lost(self, exc: BaseException | None) -> None:
        self._fd, self._transport = -1, None
        if exc and (local := local_fault(exc)):
            self._sender.counts.local[local] += 1
        if not self.state.greeted:
            self._sender.counts.unspoken = self.state.why or "it closes the connection instead of greeting"
        lost = self.state.lost(exc)
        if lost and not any(stream.answering for stream in lost):
            self.idle = lost[0].began - self.idle_since
        self._sender.ended(self, lost, self._clock())

    def drop(self) -> None:
        """Close the connection."""
        if self._transport and not self._transport.is_closing():
            self._transport.abort() if self.state.dead and not self.state.out else self._transport.close()


class SpreadConnection(Http2Connection):
    """A connection that counts what those to each address of the target carry, and keeps to its number of streams."""

    __slots__ = ("_address", "_carried")

    def room(self, most: float) -> float:
        return min(super().room(most), self.state.most - self.state.began - len(self.waiting))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._address, self._carried = self._sender.counts.count_opened(transport), 0
        super().connection_made(transport)

    def flush(self) -> None:
        super().flush()
        if self._transport is not None and (more := self.state.began - self._carried):
            self._carried += more
            self._sender.counts.carried[self._address] += more
