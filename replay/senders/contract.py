"""The contract between engine and sender.

A sender turns planned requests into something it can send quickly (in a second thread, ahead of time), starts an
exchange when told, and reports its end exactly once. It never raises for any behaviour of a target.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, Final, Protocol

import polars as pl

from logreplay.parsers.record import ERRORS

ERROR_CODES: Final = {word: code for code, word in enumerate(("", *ERRORS))}
"""Number of each error word in a record; 0: success."""


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
        /,
    ) -> None:
        """Record it.

        Args:
            seq: as given to `Sender.send`.
            start: as given to `Sender.send`.
            queued: from the start until there was a connection, or a place on one, for it.
            connect: time spent on opening a connection, 0 if one was reused.
            latency: connected to first byte of the response.
            xfertime: first byte to last byte.
            size: bytes of the body received.
            status: of the response, 0 where no status line came.
            error: one of `ERROR_CODES`.
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


Trace = Callable[[Exchange], None]


@dataclass(slots=True)
class SenderCounts:
    """The counts of a sender, besides the exchanges."""

    connections: int = 0
    reused: int = 0
    retried: int = 0
    queued: int = 0
    """Requests that waited for a connection."""
    received: int = 0
    """Bytes of all responses, heads included, without TLS."""
    local: Counter[str] = field(default_factory=Counter)
    """Connections that this machine could not open, by the name of its error (EMFILE, EADDRNOTAVAIL)."""
    details: dict[str, str] = field(default_factory=dict)
    """For each error word the first full text behind it."""

    def copy(self) -> "SenderCounts":
        """A copy of the present state."""
        return replace(self, local=self.local.copy(), details=self.details.copy())


class Sender(Protocol):
    """Sends requests to one target."""

    counts: SenderCounts

    def prepare(self, frame: pl.DataFrame) -> Sequence[Any]:
        """Turn planned requests (see `logreplay.replay.requests.plan.Chunk`) into what `send` takes.

        Called in another thread than the loop's, ahead of time.
        """

    async def open(self, done: Done, clock: Callable[[], int], trace: Trace | None = None) -> None:
        """Get ready in the running loop; report to ``done``, read the time from ``clock`` (nanoseconds).

        Raises:
            LogreplayError: the target is unusable.
        """

    def send(self, seq: int, request: Any, start: int, latest: float = inf) -> None:
        """Start an exchange now. Its end is reported once, from the loop, perhaps before this returns.

        Args:
            seq: number of the request.
            request: as `prepare` made it.
            start: now, nanoseconds of the clock.
            latest: a sender that lets the request wait must not start it after this instant, but report it as
                ``dropped``.
        """

    def cancel(self) -> None:
        """End every exchange in flight, as ``cancelled``; their ends are reported soon, perhaps before this returns."""

    async def close(self) -> None:
        """Close all connections. Nothing is in flight any more."""
