"""Sends each client's requests as `ByClientSender` does, with what the client's session adds to them.

A client that logs in sends its login requests first; its own requests wait for them as they wait for each other. The
head of each answer is searched for ``Set-Cookie``; parsing it header by header would cost every answer more.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from math import inf
from time import time
from typing import Any

from logreplay.replay.clock import Clock
from logreplay.replay.senders.contract import FIRST_LOGIN, WORDS, Done, SenderCounts, Trace
from logreplay.replay.senders.digests import head_of, pairs_of
from logreplay.replay.senders.endpoint import Endpoint, is_secure
from logreplay.replay.senders.per_client import ByClientSender
from logreplay.replay.senders.slots import Waiting
from logreplay.replay.senders.wire import Connection, WireSender
from logreplay.replay.sessions.client_sessions import ClientSessions, SessionCounts, SessionPlan


def sessions_of(counts: SenderCounts, plan: SessionPlan, endpoint: Endpoint, clock: Clock) -> ClientSessions:
    """The sessions of a sender's clients, which count in its counts."""
    counts.sessions = counts.sessions or SessionCounts()
    return ClientSessions(plan, counts.sessions, secure=is_secure(endpoint), clock=clock, now=time)


def showing(trace: Trace, secrets: Callable[[], Sequence[bytes]]) -> Trace:
    """A trace that is told which values of an exchange, which has just ended, must not be printed."""
    return lambda exchange: trace(replace(exchange, secrets=secrets()))


class SessionSender(ByClientSender):
    """Sends on a connection for each client, with its session.

    Args:
        arguments, options: as for `logreplay.replay.senders.wire.WireSender`.
        plan: what clients keep.
    """

    def __init__(self, *arguments: Any, plan: SessionPlan, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.kept_body = plan.kept_body
        self._plan = plan
        self._logins: Sequence[bytes] = WireSender.prepare(self, plan.logins.frame()) if plan.logins else ()
        self._login_numbers = count(FIRST_LOGIN)
        self._login_of: dict[int, int] = {}
        self._last = ""

    async def open(self, done: Done, clock: Clock, trace: Trace | None = None) -> None:
        self.sessions = sessions_of(self.counts, self._plan, self.endpoint, clock)
        shown = showing(trace, lambda: self.sessions.secrets(self._last)) if trace else None
        await super().open(done, clock, shown)
        self._connection = with_sessions(self._connection)

    def send(  # type: ignore[override]
        self, seq: int, request: tuple[str, bytes], start: int, latest: float = inf
    ) -> None:
        client, head = request
        if client in self._slots or (login := self.sessions.next_login(client)) is None:
            super().send(seq, request, start, latest)
            return
        self._slots.take(client)
        self._slots.wait(client, Waiting(seq, head, start, latest))
        self.counts.queued += 1
        self._watch_expiry()
        self._log_in(client, login)

    def _next(self, client: str) -> None:
        if (login := self.sessions.next_login(client)) is None:
            super()._next(client)
        else:
            self._log_in(client, login)

    def _log_in(self, client: str, login: int) -> None:
        """Send a login request in the place that its client has."""
        seq, now = next(self._login_numbers), self.clock()
        self._login_of[seq] = login
        self._begin(client, Waiting(seq, self._logins[login], now, inf), now)

    def _begin(self, client: str, one: Waiting, now: int) -> None:
        dressed = self.sessions.dress(client, one.request, login=one.seq >= FIRST_LOGIN)
        super()._begin(client, one if dressed is one.request else replace(one, request=dressed), now)

    def answered(self, seq: int, request: bytes, answer: bytes, body: bytes) -> None:
        """Take what a whole answer leaves to its client.

        Args:
            seq: of the exchange, which is still under way.
            request: as it was sent.
            answer: begins with the head; interim answers may come before it.
            body: its beginning, if rules need it.
        """
        head = head_of(answer)
        if self.sessions.leaves_something(head):
            self.sessions.answered(self._begun[seq][0], request, pairs_of(head), body)

    def _ended(self, seq: int, start: int, queued: int, *record: int) -> None:
        client = self._last = self._begun[seq][0]
        if seq < FIRST_LOGIN:
            super()._ended(seq, start, queued, *record)
            return
        del self._begun[seq]
        connect, latency, xfertime, _, status, error, *_ = record
        assert self._plan.logins
        login = self._plan.logins.requests[self._login_of.pop(seq)]
        self.sessions.logged_in(client, login, status, WORDS[error], (connect + latency + xfertime) / 1e9)
        self._turn.call_soon(self._next, client)


class SessionConnection(Connection):
    """A connection that shows its sender the head of each answer, and the beginning of its body if rules need it."""

    _sender: SessionSender

    def _clear(self) -> None:
        super()._clear()
        self._arrived = b""
        self._body_begun = bytearray()

    def data_received(self, data: bytes) -> None:
        self._arrived = data
        super().data_received(data)

    def on_body(self, data: bytes) -> None:
        if room := self._sender.kept_body - len(self._body_begun):
            self._body_begun += data[:room]
        super().on_body(data)

    def _finish(self, now: int) -> None:
        answer = self._head if self._in_body else self._head + self._arrived
        self._sender.answered(self.seq, self._request, answer, bytes(self._body_begun))
        super()._finish(now)


def with_sessions(kind: type[Connection]) -> type[Connection]:
    """A kind of connection that is a `SessionConnection`, too."""
    if kind is Connection:
        return SessionConnection
    return type(f"Session{kind.__name__}", (SessionConnection, kind), {})
