"""Sends each client's requests on an HTTP/2 connection of its own, as browsers do; one by one if it has a session.

A session makes requests depend on the answers before them. Sessions change requests in the form of HTTP/1.1
(`logreplay.replay.sessions.request_text`); one that they changed is rendered again.
"""

from collections import deque
from collections.abc import Sequence
from itertools import count
from math import inf
from typing import Any, ClassVar

import polars as pl

from logreplay.replay.clock import Clock
from logreplay.replay.senders.contract import FIRST_LOGIN, NO_CONNECTION, WORDS, Done, Trace
from logreplay.replay.senders.digests import decoded_beginning
from logreplay.replay.senders.encode import default_headers
from logreplay.replay.senders.encode import render as render_http1
from logreplay.replay.senders.http1.per_client import Shown, most_idle, sessions_of
from logreplay.replay.senders.http2.connection import Http2Connection
from logreplay.replay.senders.http2.pool import Pool
from logreplay.replay.senders.http2.render import rendered_anew
from logreplay.replay.senders.http2.sender import Http2Sender
from logreplay.replay.senders.http2.stream import Stream
from logreplay.replay.sessions.client_sessions import SessionPlan

Both = tuple[bytes, bytes]
"""A request, rendered for HTTP/2 and for HTTP/1.1."""


class Http2ByClientSender(Http2Sender):
    """Sends as `Http2Sender` does, with one connection for each ``client`` of the log.

    Requests of a client are sent when they are due, beside each other; what exceeds the streams of its connection is
    queued. Requests without a client share one connection, as those of a client named "".
    """

    _most_open: ClassVar[float] = inf
    """Most connections of a client at once, including those that only finish their requests."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._pools: dict[str, Pool] = {}

    def prepare(self, frame: pl.DataFrame) -> Sequence[Any]:
        clients = frame["client"].fill_null("").to_list() if "client" in frame.columns else [""] * frame.height
        return list(zip(clients, super().prepare(frame), strict=True))

    def send(  # type: ignore[override]
        self, seq: int, request: tuple[str, bytes], start: int, latest: float = inf
    ) -> None:
        client, rendered = request
        pool = self._pools.get(client)
        if pool is None:
            pool = self._pools[client] = Pool(
                self._dial, least=0, most=1, most_open=self._most_open, streams=self._each, client=client
            )
        self.begin(pool, seq, rendered, start, latest)
        stream = self.busy[seq]
        if stream.carrier is None:
            stream.since = inf

    def give_up_waiting(self, since: int) -> None:
        if (now := self.clock()) - since >= self.timeout_ns:
            for pool in self._waiting:
                waits, pool.queue = pool.queue, deque(one for one in pool.queue if one.seq >= FIRST_LOGIN)
                for stream in waits:
                    if stream.seq < FIRST_LOGIN and self.busy.get(stream.seq) is stream:
                        self.counts.given_up += 1
                        self._give_up(stream, "cancelled", now)

    def _carry(self, stream: Stream, connection: Http2Connection, now: int) -> None:
        if stream.since == inf:  # the time-out of a request that waited for a stream counts from here, as with HTTP/1.1
            stream.since = now
        super()._carry(stream, connection, now)

    def expired(self, now: int) -> list[Stream]:
        return [one for one in self.busy.values() if now - one.since >= self.timeout_ns]

    def _limits(self) -> str:
        waits = "a stream of their client's connection (--by-client)"
        if self._each == inf:
            return f"{waits}, on which the target allows no more"
        return f"{waits} with --streams {self._each:g} (raise --streams, or leave it out)"

    async def open(self, done: Done, clock: Clock, trace: Trace | None = None) -> None:
        self._most_idle = int(most_idle())
        await super().open(done, clock, trace)

    def close_idle(self, since: int) -> None:
        most = self._most_idle
        if len(self._connections) > most:
            idle = sorted(one.idle_since for one in self._connections if one.unused)
            since = max(since, idle[-most]) if len(idle) > most else since
        super().close_idle(since)
        self._pools = {client: pool for client, pool in self._pools.items() if pool.used}


class Http2SessionSender(Http2ByClientSender):
    """Sends as `Http2ByClientSender` does, one request of a client at a time, with its session."""

    _most_open = 1  # or the next request would not wait for a response on a connection that the target ends

    def __init__(self, *arguments: Any, plan: SessionPlan, **options: Any) -> None:
        super().__init__(*arguments, **(options | {"streams": 1}))
        self._plan = plan
        self.kept_body = plan.kept_body
        self._logins: Sequence[Any] = self.prepare(plan.logins.frame()) if plan.logins else ()
        self._login_numbers = count(FIRST_LOGIN)
        self._login_of: dict[int, tuple[str, int]] = {}
        self._asked: dict[int, tuple[str, Both]] = {}
        self._sent: dict[int, bytes] = {}
        # super() would take longer for each request
        self._send_plain, self._carry_plain = super().send, super()._carry
        self._report_plain = super()._report_response

    def prepare(self, frame: pl.DataFrame) -> Sequence[Any]:
        http1 = render_http1(frame, default_headers(self.endpoint.target.authority, keep_alive=True))
        return [(client, (http2, text)) for (client, http2), text in zip(super().prepare(frame), http1, strict=True)]

    async def open(self, done: Done, clock: Clock, trace: Trace | None = None) -> None:
        self.sessions = sessions_of(self.counts, self._plan, self.endpoint, clock)
        self._done, self._kept = done, self.sessions.kept
        self._shown = Shown(trace, self.sessions) if trace else None
        await super().open(self._ended if self._plan.logins else done, clock, self._shown)

    def send(  # type: ignore[override]
        self, seq: int, request: tuple[str, Both], start: int, latest: float = inf
    ) -> None:
        client = request[0]
        while self._logins and (login := self.sessions.next_login(client)) is not None:
            queued, number = self.counts.queued, next(self._login_numbers)
            self._login_of[number] = client, login
            self._ask(number, (client, self._logins[login][1]), self.clock(), inf)
            self.counts.queued = queued
        self._ask(seq, request, start, latest)

    def _ask(self, seq: int, request: tuple[str, Both], start: int, latest: float) -> None:
        self._asked[seq] = request
        if self._shown:
            self._shown.begin(seq, request[0])
        client, (http2, _) = request
        self._send_plain(seq, (client, http2), start, latest)

    def _carry(self, stream: Stream, connection: Http2Connection, now: int) -> None:
        client, (_, text) = self._asked[stream.seq]
        if self._shown:
            self._shown.begin(stream.seq, client)
        if self._plan.use or client in self._kept:
            dressed = self.sessions.dress(client, text, login=stream.seq >= FIRST_LOGIN)
            if dressed is not text:
                self._sent[stream.seq] = dressed
                stream.request = rendered_anew(dressed, self.endpoint.target.scheme)
        self._carry_plain(stream, connection, now)

    @property
    def waiting(self) -> int:
        return super().waiting - sum(self.busy[number].carrier is None for number in self._login_of)

    def _limits(self) -> str:
        return ""  # they wait for the request before them of the same client

    def _report_response(self, stream: Stream, connection: int) -> None:
        self._take(stream)
        self._report_plain(stream, connection)

    def _report(self, stream: Stream, end: int) -> None:
        self._take(stream)
        super()._report(stream, end)

    def _take(self, stream: Stream) -> None:
        """Take what a response leaves to its client, once."""
        asked = self._asked.pop(stream.seq, None)
        if asked is None:
            return
        client, (_, text) = asked
        sent = self._sent.pop(stream.seq, text) if self._sent else text
        if stream.fields and not stream.error and self.sessions.leaves(stream.fields.headers):
            headers = stream.fields.headers
            self.sessions.answered(client, sent, headers, decoded_beginning(stream.kept, headers, self.kept_body))

    def _ended(self, seq: int, start: int, /, *record: int) -> None:
        if seq < FIRST_LOGIN:
            self._done(seq, start, *record)
            return
        _, connect, latency, xfertime, _, status, error, connection, *_ = record
        assert self._plan.logins
        client, login = self._login_of.pop(seq)
        if WORDS[error] == "cancelled" and connection == NO_CONNECTION:
            return  # it was never sent
        seconds = (connect + latency + xfertime) / 1e9
        self.sessions.logged_in(client, self._plan.logins.requests[login], status, WORDS[error], seconds)
