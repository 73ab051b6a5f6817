"""The contract between engine and sender.

The engine gives a `BlockSender` blocks of requests and their due times, and gets arrays of records back. Pacing, limits
and time-outs belong to the sender. Most senders start a single request when told (`Sender`);
`logreplay.replay.engine.open_loop` makes a sender of blocks of them.

A sender turns planned requests into something it can send quickly (in a second thread, ahead of time), starts an
exchange when told, and reports its end exactly once. It never raises for any behaviour of a target.
"""

from asyncio import BaseTransport
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, Final, Protocol, runtime_checkable

import numpy as np
import polars as pl
from numpy.typing import NDArray

from logreplay.core.record import ERRORS
from logreplay.replay.schedules.rates import Instants
from logreplay.replay.schedules.users import Users
from logreplay.replay.sessions.client_sessions import SessionCounts
from logreplay.replay.sessions.server_timing import ServerTimings

WORDS: Final = ("", *ERRORS)
"""Error words by their number in a record."""
ERROR_CODES: Final = {word: code for code, word in enumerate(WORDS)}
"""Number of each error word in a record; 0: success."""


FIELDS: Final = (
    *("seq", "start", "queued", "connect", "latency", "xfertime", "size", "status", "error", "connection", "digest"),
)
RECORD: Final = np.dtype([(name, np.int64) for name in FIELDS])
"""The end of an exchange; the fields are the arguments of `Done`."""
NO_CONNECTION: Final = -1

FIRST_LOGIN: Final = 1 << 62
"""Numbers from here on are those of logins, which have no row."""
KEPT_BODY: Final = 8192
"""Bytes of a response body kept for display: more than are shown, so that a secret at the cut is recognised."""


class Done(Protocol):
    """How a sender reports the end of an exchange. Times are nanoseconds of the engine's clock."""

    def __call__(
        self,
        seq: int,
        start: int,
        queued: int,
        connect: int,
        latency: int,
        xfertime: int,
        size: int,
        status: int,
        error: int,
        connection: int = 0,
        digest: int = 0,
        /,
    ) -> None:
        """Record it.

        Args:
            seq: as given to `Sender.send`.
            start: as given to `Sender.send`.
            queued: from the start until there was a connection, or a place on one, for it. A wait before `Sender.send`
                is added by its caller.
            connect: time spent on opening a connection, 0 if one was reused.
            latency: connected to first byte of the response.
            xfertime: first byte to last byte.
            size: bytes of the body received.
            status: status code of the response, 0 without a status line.
            error: one of `ERROR_CODES`.
            connection: number of the HTTP/2 connection that it was given to, from 1; 0: one of HTTP/1.1;
                `NO_CONNECTION`: none.
            digest: digest of the response (`logreplay.replay.senders.digests`); 0: none.
        """


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and its response in full, for ``-v`` and ``--crash``. Times in seconds.

    Bytes are as they were on the wire; escape them before display.
    """

    seq: int
    request: bytes
    status: int
    reason: bytes
    headers: Sequence[tuple[bytes, bytes]]
    size: int
    connect: float
    latency: float
    xfertime: float
    error: str
    detail: str
    expected_rc: int = 0
    """The status in the log; filled in by the engine."""
    body: bytes = b""
    """The first `KEPT_BODY` bytes of the response body; ``size`` says how long it was."""
    secrets: Sequence[bytes] = ()
    """Values that are masked when the exchange is shown."""


Trace = Callable[[Exchange], None]


@dataclass(slots=True)
class SenderCounts:
    """The counts of a sender, besides the exchanges."""

    connections: int = 0
    reused: int = 0
    retried: int = 0
    """Requests that were sent again: the target had not processed them, or their open connection was lost at once."""
    calm: int = 0
    """Streams and connections that the target ended with ENHANCE_YOUR_CALM."""
    queued: int = 0
    """Requests that waited for a connection."""
    queued_for: str = ""
    """The limit for which they waited; empty: the request before them of the same client."""
    given_up: int = 0
    """Requests that `Queueing.give_up_waiting` ended."""
    limited: int = 0
    """Requests that waited for the limit of requests in flight."""
    received: int = 0
    """Bytes of all responses, heads included, without TLS."""
    unspoken: str = ""
    """Sign that the target does not speak the requested version of HTTP; empty: none."""
    local: Counter[str] = field(default_factory=Counter)
    """Connections that this machine could not open, by the name of its error (EMFILE, EADDRNOTAVAIL)."""
    opened: Counter[str] = field(default_factory=Counter)
    carried: Counter[str] = field(default_factory=Counter)
    """Connections that were opened, and requests that were written on them, by address and port of the target; empty:
    they are not counted."""
    timings: list[ServerTimings] = field(default_factory=list)
    """Headers Server-Timing of each sender; empty: they are not kept."""
    details: dict[str, str] = field(default_factory=dict)
    """For each error word the first full text behind it."""
    sessions: SessionCounts | None = None
    """Counts of the clients' sessions; None: there are none."""

    def copy(self) -> "SenderCounts":
        """A copy of the present state."""
        sessions = self.sessions and self.sessions.copy()
        named = {name: getattr(self, name).copy() for name in ("local", "opened", "carried", "details")}
        return replace(self, sessions=sessions, **named)

    def keep_timings(self, timings: ServerTimings | None) -> None:
        """Note where a sender keeps the headers of its responses, if it does."""
        if timings and timings not in self.timings:
            self.timings.append(timings)

    def count_opened(self, transport: BaseTransport) -> str:
        """Count a connection that was opened; return the address and port of its target."""
        peer = transport.get_extra_info("peername")
        host, port = peer[:2] if isinstance(peer, tuple) else ("unix socket", "")
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}".rstrip(":")
        self.opened[address] += 1
        return address


class Sender(Protocol):
    """Sends requests to one target."""

    counts: SenderCounts

    def prepare(self, frame: pl.DataFrame) -> Sequence[Any]:
        """Turn planned requests (see `logreplay.replay.requests.plan.Chunk`) into what `send` takes.

        Called in another thread than the loop's, ahead of time.
        """

    async def open(self, done: Done, clock: Callable[[], int], trace: Trace | None = None) -> None:
        """Get ready in the running loop; report to ``done``, read the time from ``clock`` (nanoseconds).

        LogreplayError if the target is unusable.
        """

    def send(self, seq: int, request: Any, start: int, latest: float = inf) -> None:
        """Start an exchange now, at ``start``. Its end is reported once, from the loop, perhaps before this returns.

        A sender that lets the request wait must not start it after ``latest``, but report it as ``dropped``.
        """

    def cancel(self) -> None:
        """End every exchange in flight, as ``cancelled``; their ends are reported soon, perhaps before this returns."""

    async def close(self) -> None:
        """Close all connections. Nothing is in flight any more."""


@runtime_checkable
class Batching(Protocol):
    """A sender that can write several requests at once."""

    def hold(self) -> None:
        """Until `flush`, requests may wait for others that are sent in the same turn of the loop."""

    def flush(self) -> None:
        """Write the requests that wait."""


@runtime_checkable
class Queueing(Protocol):
    """A sender in which requests may wait for a connection, or for a place on one."""

    @property
    def waiting(self) -> int:
        """Requests in flight that wait now: they are not sent yet."""

    def give_up_waiting(self, since: int) -> None:
        """End as ``cancelled`` the requests that still wait a time-out after this instant of the clock.

        Each of those that wait for their client's previous request could otherwise take a time-out more.
        """


@runtime_checkable
class BlockSender(Protocol):
    """Sends blocks of requests to one target.

    Attributes:
        counts: besides the exchanges.
    """

    counts: SenderCounts

    @property
    def taken_up(self) -> int:
        """The number of the next request: all before it were started or given up."""

    @property
    def ended(self) -> int:
        """Number of requests with a record. The others that were taken up are in flight."""

    def prepare(self, frame: pl.DataFrame) -> Any:
        """Turn planned requests (see `logreplay.replay.requests.plan.Chunk`) into a block that `push` takes.

        Called in another thread than the loop's, ahead of time.
        """

    async def open(self, clock: Callable[[], int], trace: Trace | None = None) -> None:
        """Get ready in the running loop; the rest as for `Sender.open`."""

    def begin(self, base: int, users: Users | None) -> None:
        """Begin a plan at the instant ``base``: its requests are sent when they are due, or when users are free."""

    async def push(self, first: int, due: Instants, block: Any, think: Sequence[float] = ()) -> bool:
        """Take the next requests of the plan; return when there is room for more.

        No request is started before it is due.

        Args:
            first: number of the first one.
            due: ``(n,)`` when each is due, nanoseconds of the clock. Where users send, their sender writes here when
                each was started.
            block: as `prepare` made it.
            think: seconds that its user pauses after each request; empty: all the same.

        Returns:
            False if the sender takes no more of this plan: it was cut, or the time of its users is over.
        """

    async def finish(self) -> None:
        """Return when all requests of the plan were started or given up."""

    def cut(self) -> None:
        """Start no more requests of this plan."""

    def give_up(self, due: Instants) -> bool:
        """End as ``cancelled`` those requests of a plan that were due when it was cut, but not taken up.

        The wait for a limit is their ``queued`` time. Later requests are forgotten.

        Args:
            due: ``(n,)`` when the requests after those pushed are due, nanoseconds of the clock.

        Returns:
            True if all were due by then: those after them may have been, too.
        """

    def records(self) -> NDArray[np.void]:
        """The records since the last call, ``(n,)`` of `RECORD`, in order of completion."""

    def cancel(self) -> None:
        """End every exchange in flight, as ``cancelled``; their ends are recorded soon."""

    async def close(self) -> None:
        """Close all connections. Nothing is in flight any more."""
