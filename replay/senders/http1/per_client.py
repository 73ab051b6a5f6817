"""Sends each client's requests in order, on a connection of its own, with what its session adds to them.

A request waits until its predecessor is answered. The wait is its ``queued`` time, a part of the response time, which
is the time that the client would have waited. So each client sends less to a slow target, and the loop is no longer
fully open. A request that must not be late (``latest`` of `send`) is dropped where it waits.

A client that logs in sends its login requests first; its own requests wait for them as they wait for each other. The
head of each answer is searched for ``Set-Cookie``; parsing it header by header would cost every answer more. Sessions,
logins, traces and bodies have classes of their own, so that they cost nothing where they are not wanted.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import count
from math import inf
from time import time
from typing import Any, Final

import polars as pl

from logreplay.replay.clock import Clock
from logreplay.replay.senders.contract import (
    ERROR_CODES,
    FIRST_LOGIN,
    NO_CONNECTION,
    WORDS,
    Done,
    Exchange,
    SenderCounts,
    Trace,
)
from logreplay.replay.senders.descriptors import allow_descriptors
from logreplay.replay.senders.digests import decoded_beginning, head_of, pairs_of
from logreplay.replay.senders.endpoint import Endpoint, is_secure
from logreplay.replay.senders.http1.connection import Connection
from logreplay.replay.senders.http1.sender import WireSender
from logreplay.replay.sessions.client_sessions import ClientSessions, SessionCounts, SessionPlan

MAX_IDLE: Final = 20_000
"""Idle connections kept at most: the client that has been idle longest is disconnected first."""

_CANCELLED: Final = ERROR_CODES["cancelled"]
_DROPPED: Final = ERROR_CODES["dropped"]
_SET_COOKIE: Final = b"\r\nset-cookie:"


def most_idle() -> float:
    """Idle connections that may be kept: `MAX_IDLE`, or half of the descriptors that this process may open."""
    return min(MAX_IDLE, allow_descriptors(2 * MAX_IDLE) // 2)


@dataclass(frozen=True, slots=True)
class Waiting:
    """A request that waits from ``start`` on for the one before it of the same client; the rest as for `send`."""

    seq: int
    request: bytes
    start: int
    latest: float


class ByClientSender(WireSender):
    """Sends as the wire sender does, with a connection for each ``client`` of the log.

    Requests without a client share one, as those of a client named "".
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._own: dict[str, Connection] = {}
        self._under_way: set[str] = set()
        """Clients with a request under way."""
        self._queues: dict[str, deque[Waiting]] = {}
        """The requests that wait for it, by client."""
        self._expiring: deque[tuple[float, str, int]] = deque()
        self._expiry: asyncio.TimerHandle | None = None
        self._begun: dict[int, tuple[str, int]] = {}

    def prepare(self, frame: pl.DataFrame) -> Sequence[Any]:
        clients = frame["client"].fill_null("").to_list() if "client" in frame.columns else [""] * frame.height
        return list(zip(clients, super().prepare(frame), strict=True))

    async def open(self, done: Done, clock: Callable[[], int], trace: Trace | None = None) -> None:
        self._report = done
        self._most_idle = most_idle()
        await super().open(self._ended, clock, trace)

    def send(  # type: ignore[override]
        self, seq: int, request: tuple[str, bytes], start: int, latest: float = inf
    ) -> None:
        client, head = request
        one = Waiting(seq, head, start, latest)
        if client in self._under_way:
            self._wait(client, one)
        else:
            self._under_way.add(client)
            self._begin(client, one, start)

    def _wait(self, client: str, one: Waiting) -> None:
        """Let a request wait behind the others of its client. Those that come later do not expire earlier."""
        self.counts.queued += 1
        self._queues.setdefault(client, deque()).append(one)
        if one.latest < inf:
            self._expiring.append((one.latest, client, one.seq))
            self._watch_expiry()

    def dial(self, seq: int, request: bytes, start: int, client: str | None = None) -> None:
        client = self._begun[seq][0]
        super().dial(seq, request, start, client)
        self._own[client] = self.busy[seq]

    def cancel(self) -> None:
        waiting = self._stop_waiting()
        super().cancel()
        for one in waiting:
            self._end_unsent(one, _CANCELLED)

    @property
    def waiting(self) -> int:
        return sum(map(len, self._queues.values()))

    def give_up_waiting(self, since: int) -> None:
        if self.clock() - since >= self.timeout_ns:
            for one in self._stop_waiting():
                self.counts.given_up += 1
                self._end_unsent(one, _CANCELLED)

    def _stop_waiting(self) -> list[Waiting]:
        """Take out all requests that wait."""
        waiting = [one for queue in self._queues.values() for one in queue]
        self._queues.clear()
        self._expiring.clear()
        return waiting

    def _end_unsent(self, one: Waiting, error: int) -> None:
        self._report(one.seq, one.start, self.clock() - one.start, 0, 0, 0, 0, 0, error, NO_CONNECTION)

    def _watch_expiry(self) -> None:
        if self._expiry is None and self._expiring:
            wait = max(0.0, self._expiring[0][0] - self.clock())
            self._expiry = self._loop.call_later(wait / 1e9, self._expire)

    def _expire(self) -> None:
        self._expiry = None
        self._drop_expired()
        self._watch_expiry()

    def _drop_expired(self) -> None:
        """Drop requests that have waited too long."""
        now = self.clock()
        while self._expiring and self._expiring[0][0] < now:
            _, client, seq = self._expiring.popleft()
            queue = self._queues.get(client)
            if queue and queue[0].seq == seq:
                self._end_unsent(queue.popleft(), _DROPPED)

    def _begin(self, client: str, one: Waiting, now: int) -> None:
        self._begun[one.seq] = client, one.start
        own = self._own.pop(client, None)
        if own is not None and own in self.idle:
            del self.idle[own]
            if own.usable():
                self._own[client] = own
                self.counts.reused += 1
                self.busy[one.seq] = own
                own.begin(one.seq, one.request, now)
                return
            own.drop()
        self.dial(one.seq, one.request, now)

    def _ended(self, seq: int, start: int, queued: int, /, *rest: int) -> None:
        client, waited_from = self._begun.pop(seq)
        # in the loop's next turn: the connection is not idle yet
        self._loop.call_soon(self._next, client)
        self._report(seq, waited_from, start - waited_from + queued, *rest)

    def _next(self, client: str) -> None:
        self._drop_expired()
        if queue := self._queues.get(client):
            self._begin(client, queue.popleft(), self.clock())
            return
        self._queues.pop(client, None)
        self._under_way.remove(client)
        if self._own.get(client) not in self.idle:
            self._own.pop(client, None)
        elif len(self.idle) > self._most_idle:
            oldest = next(iter(self.idle))
            del self.idle[oldest]
            oldest.drop()
        if len(self._own) > 4 * self._most_idle + 2 * len(self._under_way):  # many were closed by the target meanwhile
            self._own = {name: own for name, own in self._own.items() if own in self.idle or name in self._under_way}


def sessions_of(counts: SenderCounts, plan: SessionPlan, endpoint: Endpoint, clock: Clock) -> ClientSessions:
    """The sessions of a sender's clients, which count in its counts."""
    counts.sessions = counts.sessions or SessionCounts()
    secure, target = is_secure(endpoint), str(endpoint.target)
    return ClientSessions(plan, counts.sessions, secure=secure, clock=clock, now=time, target=target)


class Shown:
    """A trace that is told which values of an exchange must not be printed."""

    def __init__(self, trace: Trace, sessions: ClientSessions) -> None:
        self._trace, self._sessions = trace, sessions
        self._begun: dict[int, tuple[str, list[bytes]]] = {}

    def begin(self, seq: int, client: str) -> None:
        """Note whose an exchange is, and the secrets of its request: its answer may replace them."""
        self._begun[seq] = client, self._sessions.secrets(client)

    def __call__(self, exchange: Exchange) -> None:
        """Show an exchange that has ended."""
        client, before = self._begun.pop(exchange.seq)
        self._trace(replace(exchange, secrets=[*before, *self._sessions.secrets(client)]))


class SessionSender(ByClientSender):
    """Sends on a connection for each client, with its session: the cookies, values and logins that its plan keeps."""

    def __init__(self, *arguments: Any, plan: SessionPlan, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.kept_body, self.takes_values = plan.kept_body, bool(plan.extract)
        self._plan, self._uses = plan, bool(plan.use)
        self._shown: Shown | None = None
        self._begin_plain = super()._begin

    async def open(self, done: Done, clock: Clock, trace: Trace | None = None) -> None:
        self.sessions = sessions_of(self.counts, self._plan, self.endpoint, clock)
        self._kept = self.sessions.kept
        self._shown = Shown(trace, self.sessions) if trace else None
        await super().open(done, clock, self._shown)
        kinds = (BodySessionConnection, SessionConnection) if self.kept_body else (SessionConnection,)
        plain = self._connection
        beyond = {"_finished": plain._finish, "reads_all": plain.reads_all or self.takes_values}
        self._connection = type("SessionConnection", (*kinds, plain), beyond)

    def _begin(self, client: str, one: Waiting, now: int) -> None:
        if self._shown:
            self._shown.begin(one.seq, client)
        if self._uses or client in self._kept:
            dressed = self.sessions.dress(client, one.request, login=one.seq >= FIRST_LOGIN)
            one = one if dressed is one.request else replace(one, request=dressed)
        self._begin_plain(client, one, now)

    def answered(self, seq: int, request: bytes, answer: bytes, body: bytes) -> None:
        """Take what a whole answer leaves to its client; its exchange is still under way.

        The answer begins with the head, or with interim answers before it; ``body`` holds the beginning of the body,
        if rules need it.
        """
        head = head_of(answer)
        if self.sessions.leaves_something(head):
            pairs = pairs_of(head)
            text = decoded_beginning(body, pairs, self.kept_body)
            self.sessions.answered(self._begun[seq][0], request, pairs, text)


class LoginSender(SessionSender):
    """Sends as `SessionSender` does, and lets each client log in before its first request."""

    def __init__(self, *arguments: Any, plan: SessionPlan, **options: Any) -> None:
        super().__init__(*arguments, plan=plan, **options)
        assert plan.logins
        self._logins, self._login_requests = plan.logins, WireSender.prepare(self, plan.logins.frame())
        self._numbers = count(FIRST_LOGIN)
        self._login_of: dict[int, int] = {}
        self._cancelled = False

    def cancel(self) -> None:
        self._cancelled = True
        super().cancel()

    def send(  # type: ignore[override]
        self, seq: int, request: tuple[str, bytes], start: int, latest: float = inf
    ) -> None:
        client, head = request
        if client in self._under_way or (login := self.sessions.next_login(client)) is None:
            super().send(seq, request, start, latest)
            return
        self._under_way.add(client)
        self._wait(client, Waiting(seq, head, start, latest))
        self._log_in(client, login)

    def _next(self, client: str) -> None:
        if self._cancelled:
            return
        if (login := self.sessions.next_login(client)) is None:
            super()._next(client)
        else:
            self._log_in(client, login)

    def _log_in(self, client: str, login: int) -> None:
        """Send a login request in the place that its client has."""
        seq, now = next(self._numbers), self.clock()
        self._login_of[seq] = login
        self._begin(client, Waiting(seq, self._login_requests[login], now, inf), now)

    def _ended(self, seq: int, start: int, queued: int, /, *record: int) -> None:
        if seq < FIRST_LOGIN:
            super()._ended(seq, start, queued, *record)
            return
        client, _ = self._begun.pop(seq)
        connect, latency, xfertime, _, status, error, *_ = record
        login = self._logins.requests[self._login_of.pop(seq)]
        self.sessions.logged_in(client, login, status, WORDS[error], (connect + latency + xfertime) / 1e9)
        self._loop.call_soon(self._next, client)


class SessionConnection(Connection):
    """A connection that shows its sender the answers that leave something to their clients.

    Attributes:
        _finished: the method of the class that it adds to; ``super()`` would take longer for each answer.
    """

    _sender: SessionSender
    _finished: Callable[[int, bytes], None]

    def _remember(self, data: bytes) -> None:
        if _SET_COOKIE not in head_of(data).lower():  # a head that leaves nothing leaves nothing the next time
            super()._remember(data)

    def _finish(self, now: int, data: bytes) -> None:
        in_pieces, sender = self._head, self._sender
        if in_pieces or sender.takes_values or _SET_COOKIE in head_of(data).lower():
            answer = in_pieces if self._in_body else in_pieces + data
            sender.answered(self.seq, self._request, answer, self._beginning())
        self._finished(now, data)

    def _beginning(self) -> bytes:
        """The first bytes of the body, as many as the rules need."""
        return b""


class BodySessionConnection(SessionConnection):
    """A connection that keeps the beginning of each body, too."""

    def _clear(self) -> None:
        super()._clear()
        self._body_begun = bytearray()

    def on_body(self, data: bytes) -> None:
        if room := self._sender.kept_body - len(self._body_begun):
            self._body_begun += data[:room]
        super().on_body(data)

    def _beginning(self) -> bytes:
        return bytes(self._body_begun)
