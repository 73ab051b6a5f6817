"""The HTTP/2 sender: some connections, many streams on each.

Theory of operation. A request takes a stream on the next connection that has room; where none has, another connection
is opened, as long as `connections` allows, else the request is queued. The wait in the queue is part of its response
time: the target's limit made it necessary, or the user's. All requests in flight, queued ones too, are in one dict in
the order of their start, so those that timed out are at its front: one sweep, no timer per request.

A request that the target says it has not processed (GOAWAY, REFUSED_STREAM) is sent again on another stream, and
counted as retried; so is one whose connection is lost as it is sent. A connection that the target ends is replaced at
once, before its successor is needed. One that does not open within the time-out is given up: what waits for it goes to
another.
"""

import asyncio
import ssl
from collections.abc import Iterable, Sequence
from itertools import takewhile
from math import inf
from typing import Final

import polars as pl

from logreplay.replay.clock import Clock
from logreplay.replay.senders.contract import ERROR_CODES, KEPT_BODY, NO_CONNECTION, Done, SenderCounts, Trace
from logreplay.replay.senders.digests import BodyReader, Digests
from logreplay.replay.senders.encode import default_headers
from logreplay.replay.senders.endpoint import Dialer, Endpoint
from logreplay.replay.senders.errors import is_race
from logreplay.replay.senders.http1.connection import IDEMPOTENT
from logreplay.replay.senders.http1.sender import UNNEEDED_NS
from logreplay.replay.senders.http2.client_state import UNKNOWN_LIMIT, ClientState
from logreplay.replay.senders.http2.connection import Http2Connection, SpreadConnection
from logreplay.replay.senders.http2.connection_state import ConnectionState
from logreplay.replay.senders.http2.frames import HEADER_BYTES
from logreplay.replay.senders.http2.header_blocks import ResponseFields, field
from logreplay.replay.senders.http2.pool import Pool
from logreplay.replay.senders.http2.render import render
from logreplay.replay.senders.http2.stream import Stream, exchange_of
from logreplay.replay.senders.request_budget import RequestBudget

LEAST_CONNECTIONS: Final = 2
"""One connection would lead to one process of the target."""
MOST_TOGETHER: Final = 16
"""Requests in one write: the first of them waits for the others, some microseconds each."""
MOST_ATTEMPTS: Final = 4
"""Attempts to send a request that the target says it has not processed."""
_TIDY_NS: Final = 1_000_000_000
_IDEMPOTENT: Final = tuple(field(b":method", method) for method in sorted(IDEMPOTENT))


class Http2Sender:
    """Sends HTTP/2 on connections of its own.

    Args:
        endpoint: where to; its addresses are used in turn.
        timeout: seconds from the start of an exchange to its end.
        keep_alive: use connections again; False: one stream on each.
        tls: context for https; HTTP/2 is asked for in the handshake (ALPN). Without it the target must expect HTTP/2.
        connections: largest number of connections; None: as many as the target's limit of streams makes necessary.
        streams: on each connection at once; None: as many as the target allows.
        digests: adds digests to the records; None: none are wanted.
        budget: limit of requests for each connection; None: as many as the target takes.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        timeout: float,
        keep_alive: bool = True,
        tls: ssl.SSLContext | None = None,
        connections: int | None = None,
        streams: int | None = None,
        digests: Digests | None = None,
        budget: RequestBudget | None = None,
    ) -> None:
        self.counts = SenderCounts()
        self.endpoint, self.keep_alive, self.digests, self._budget = endpoint, keep_alive, digests, budget
        self.timeout_ns = int(timeout * 1e9)
        self.busy: dict[int, Stream] = {}
        self.kept_body = 0
        self.quickest = inf
        self._most, self._each = connections or inf, (streams or inf) if keep_alive else 1
        least = min(LEAST_CONNECTIONS, self._most) if self._each > 1 else 0
        self.pool = Pool(self._dial, least=least, most=self._most, most_open=self._most, streams=self._each)
        self._limit = UNKNOWN_LIMIT
        if tls:
            tls.set_alpn_protocols(["h2"])
        self._dialer = Dialer(endpoint, tls, timeout)
        self._waiting: dict[Pool, None] = {}
        self._connections: set[Http2Connection] = set()
        self._known: dict[bytes, ResponseFields] = {}
        self._closing, self._tidied = False, 0
        self._holding = False
        self._batch: Http2Connection | None = None  # with unwritten requests
        self._batch_room = 0  # requests that it takes before they are written

    def prepare(self, frame: pl.DataFrame) -> Sequence[bytes]:
        target = self.endpoint.target
        return render(frame, target, default_headers(target.authority, keep_alive=True))

    async def open(self, done: Done, clock: Clock, trace: Trace | None = None) -> None:
        self.done, self.failed = done, self.digests.failures_to(done) if self.digests else done
        self.counts.keep_timings(self.digests.timings if self.digests else None)
        self.clock, self.trace = clock, trace
        self._loop = asyncio.get_running_loop()
        self._sweep_s = min(0.05, max(0.001, self.timeout_ns / 20e9))
        self._sweeper = self._loop.call_later(self._sweep_s, self._sweep)

    def send(self, seq: int, request: bytes, start: int, latest: float = inf) -> None:
        if self._batch_room:  # as `begin` does it, in a third of the time
            self._batch_room -= 1
            stream = self.busy[seq] = Stream(seq, request, start, latest)
            stream.began, stream.carrier = start, self._batch
            self._begin_in_batch(stream)
        else:
            if self._batch:
                self._write()
            self.begin(self.pool, seq, request, start, latest)

    def hold(self) -> None:
        self._holding = True

    def flush(self) -> None:
        self._holding = False
        self._write()

    def _write(self) -> None:
        """Write the requests that wait for others."""
        connection, self._batch, self._batch_room = self._batch, None, 0
        if connection:
            connection.flush()

    def defer_write(self, connection: Http2Connection) -> bool:
        """Leave the requests of a connection unwritten until `flush`, if requests are held; return whether they are."""
        if not self._holding or connection.pool is not self.pool:
            return False
        state = connection.state
        self._batch, self._begin_in_batch = connection, state.begin
        limit = state.limit if state.limit < self._each else self._each
        self._batch_room = int(max(0, min(MOST_TOGETHER - 1, limit - len(state.streams), state.most - state.began)))
        return True

    def begin(self, pool: Pool, seq: int, request: bytes, start: int, latest: float) -> None:
        """Start an exchange on a connection of a pool, or let it wait for one."""
        stream = self.busy[seq] = Stream(seq, request, start, latest)
        if pool.queue or not self.assign(stream, pool, start):
            self.counts.queued += 1
            self.counts.queued_for = self.counts.queued_for or self._limits()
            pool.queue.append(stream)
            self._waiting[pool] = None

    def assign(self, stream: Stream, pool: Pool, now: int, *, new: bool = False) -> bool:
        """Give a request to a connection, to a new one if possible where ``new``; False if none may take it now."""
        connection = pool.take(now, new=new)
        if connection is None:
            return False
        self._carry(stream, connection, now)
        return True

    def _carry(self, stream: Stream, connection: Http2Connection, now: int) -> None:
        """Let a connection carry a request, as soon as it is open."""
        stream.began = now
        connection.begin(stream)

    def new_state(self, kept_body: int) -> ClientState:
        """The state of a new connection that keeps the first ``kept_body`` bytes of each body."""
        return ConnectionState(self._known, kept_body=kept_body, digests=self.digests)

    def _dial(self, pool: Pool, now: int) -> Http2Connection:
        """Open a connection."""
        state = self.new_state(max(self.kept_body, KEPT_BODY if self.trace else 0))
        state.limit = max(1, self._limit)
        if self._budget:
            state.most = self._budget.draw()
        kind = SpreadConnection if self._budget or len(self.endpoint.addresses) > 1 else Http2Connection
        self.counts.connections += 1
        connection = kind(self, pool, state, now)
        self._connections.add(connection)
        self._dialer.dial(connection, self.counts.local, pool.client)
        return connection

    def _limits(self) -> str:
        """The limit for which requests wait, and the remedy; the number of connections is a worker's part."""
        if not self.keep_alive:
            return (
                "a stream: --connections and --no-keep-alive limit them (raise --connections, or leave one of them out)"
            )
        if self._each == inf:
            return "a stream: --connections and the target limit them (raise --connections, or leave it out)"
        return f"a stream: --connections and --streams {self._each:g} limit them (raise one of them, or leave it out)"

    # what connections say

    def ended(self, connection: Http2Connection, streams: Iterable[Stream], now: int) -> None:
        """Streams of a connection ended, or what it can carry has changed."""
        for stream in streams:
            if not stream.error:
                connection.answered += 1
                self._report_response(stream, connection.number)
            elif not self._retried(stream, connection, now):
                self._report(stream, now)
            connection.idle_since = now
        state, pool = connection.state, connection.pool
        if state.calm:
            self.counts.calm, state.calm = self.counts.calm + state.calm, 0
        if state.greeted:
            self._limit = state.limit
        if state.retired or (connection.unused and not self.keep_alive):
            self._retire(connection, now)
        else:
            pool.note(connection)
        if pool.queue:
            self._serve(pool, now)

    def _retried(self, stream: Stream, connection: Http2Connection, now: int) -> bool:
        """Send a request again that the target has not processed, or that was lost with an open connection."""
        if stream.error in ("timeout", "cancelled") or stream.attempts >= MOST_ATTEMPTS:
            return False
        if not stream.unprocessed and not self._may_be_repeated(stream, connection, now):
            return False
        self.counts.retried += 1
        pool, new = connection.pool, not stream.unprocessed  # others may be lost in the same way
        if connection.state.retired:
            pool.retire(connection)
        if isinstance(stream.body, BodyReader):
            stream.body.drop()
        stream.clear()
        stream.carrier, stream.began, stream.connect = None, 0, 0
        if not self.assign(stream, pool, now, new=new):
            pool.queue.appendleft(stream)
            self._waiting[pool] = None
        return True

    def _may_be_repeated(self, stream: Stream, connection: Http2Connection, now: int) -> bool:
        """Whether a request got lost with a connection that had answered others, and is sent once more as by HTTP/1.1.

        A target closes idle connections; requests that begin before the sender learns of it are lost with them.
        """
        return (
            is_race(now - stream.began, self.quickest, connection.idle)
            and connection.state.dead
            and stream.error in ("closed", "reset")
            and connection.answered > 0
            and not stream.answering
            and stream.attempts < 2
            and stream.request.startswith(_IDEMPOTENT, HEADER_BYTES)
        )

    def _retire(self, connection: Http2Connection, now: int) -> None:
        """Give a connection no more streams; close it when it has none."""
        if connection.pool.retire(connection) and not self._closing:
            connection.pool.open(now)
        if connection.unused:
            self._connections.discard(connection)
            connection.drop()

    def _serve(self, pool: Pool, now: int) -> None:
        """Start queued requests, as many as find room."""
        queue = pool.queue
        while queue:
            stream = queue[0]
            if self.busy.get(stream.seq) is not stream:
                queue.popleft()
            elif now > stream.latest:
                queue.popleft()
                stream.error = "dropped"
                self._report(stream, now)
            elif now - stream.since >= self.timeout_ns:  # it would be sent and reset at once
                queue.popleft()
                stream.error = "timeout"
                self._report(stream, now)
            elif self.assign(stream, pool, now):
                queue.popleft()
            else:
                return

    # what takes too long

    def _sweep(self) -> None:
        """End the exchanges that timed out; close connections idle for too long."""
        now = self.clock()
        for stream in self.expired(now):
            self._give_up(stream, "timeout", now)
        for pool in [*self._waiting]:
            self._serve(pool, now)
            if not pool.queue:
                del self._waiting[pool]
        if now > self._tidied + _TIDY_NS:
            self._tidied = now
            self.close_idle(now - UNNEEDED_NS)
        self._sweeper = self._loop.call_later(self._sweep_s, self._sweep)

    def expired(self, now: int) -> list[Stream]:
        """The requests whose time is up: they are at the front."""
        return [*takewhile(lambda one: now - one.since >= self.timeout_ns, self.busy.values())]

    def close_idle(self, since: int) -> None:
        """Close connections that carry nothing since an instant of the clock."""
        for connection in [one for one in self._connections if one.unused and one.idle_since < since]:
            connection.state.dead = True
            connection.answered = 0  # it needs no successor
            self._retire(connection, since)

    def _give_up(self, stream: Stream, word: str, now: int) -> None:
        if self.busy.get(stream.seq) is not stream:
            return  # it ended by the end of another
        stream.error = word
        connection: Http2Connection | None = stream.carrier
        if connection is None:
            self._report(stream, now)
            return
        connection.give_up(stream)
        ended = [stream]
        task, waited = self._dialer.opening.get(connection), now - connection.dialled
        # within the time-out, a connection for which others wait is kept: each of them would open another one
        if task and (waited >= self.timeout_ns or (connection.unused and not connection.pool.queue)):
            connection.state.dead = True
            task.cancel()
            ended += self._wait_anew(connection, now)
        self.ended(connection, ended, now)

    def _wait_anew(self, connection: Http2Connection, now: int) -> list[Stream]:
        """Queue again the requests that wait for a connection that does not open; return those that timed out."""
        waiting, connection.waiting = connection.waiting, []
        for stream in reversed(waiting):
            if now - stream.since >= self.timeout_ns:
                stream.error = "timeout"
            else:
                stream.carrier, stream.began = None, 0
                connection.pool.queue.appendleft(stream)
                self._waiting[connection.pool] = None
        return [stream for stream in waiting if stream.error]

    @property
    def waiting(self) -> int:
        return sum(len(pool.queue) for pool in self._waiting)

    def give_up_waiting(self, since: int) -> None:
        pass  # the time-out of a request includes its wait here: none waits longer

    def cancel(self) -> None:
        now = self.clock()
        for stream in sorted(self.busy.values(), key=lambda one: one.carrier is not None):
            self._give_up(stream, "cancelled", now)  # those that wait first: the others make room for them

    async def close(self) -> None:
        self._closing = True
        self._sweeper.cancel()
        for connection in list(self._connections):
            connection.drop()
        await self._dialer.close()

    # the end of an exchange

    def _report_response(self, stream: Stream, connection: int) -> None:
        """Report a whole response."""
        end, start, first = stream.last, stream.start, stream.first
        if end - stream.since > self.timeout_ns or self.trace:
            self._report(stream, end)
            return
        seq, began, connect, fields = stream.seq, stream.began, stream.connect, stream.fields
        assert fields
        del self.busy[seq]
        status, size = fields.status, stream.size
        digest = self.digests.of(seq, status, fields.headers, stream.body) if self.digests else 0
        latency = first - began - connect
        self.done(seq, start, began - start, connect, latency, end - first, size, status, 0, connection, digest)

    def _report(self, stream: Stream, end: int) -> None:
        """Report the end of an exchange, once."""
        seq, start, word = stream.seq, stream.start, stream.error
        del self.busy[seq]
        if end - stream.since > self.timeout_ns and word != "dropped":
            word = "timeout"
        if word == "timeout":
            end = int(stream.since) + self.timeout_ns
        began = min(stream.began or end, end)
        if stream.carrier is not None and not stream.number:  # it never was open
            word = "connect_timeout" if word == "timeout" else word
            connect, connected = end - began, end
        else:
            connected = min(began + stream.connect, end)
            connect = connected - began
        first = min(stream.first or end, end)
        size, status = stream.size, stream.status
        if stream.detail and word:
            self.counts.details.setdefault(word, stream.detail)
        digest = 0
        if word and isinstance(stream.body, BodyReader):
            stream.body.drop()
        elif self.digests and not word:
            digest = self.digests.of(seq, status, stream.head(), stream.body)
        number = NO_CONNECTION if stream.carrier is None else stream.carrier.number
        times = began - start, connect, first - connected, end - first
        report = self.failed if word else self.done
        report(seq, start, *times, size, status, ERROR_CODES[word], number, digest)
        if self.trace:
            self.trace(exchange_of(stream, word, connect, first - connected, end - first))
