"""The messages between workers and the coordinator, their signs of life, and the channel that carries them.

All instants in messages are those of one clock that all workers share (`logreplay.replay.workers.clock_offset`).
"""

import pickle
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import polars as pl

from logreplay.core.errors import LogreplayError
from logreplay.replay.engine.engine import Limits
from logreplay.replay.engine.trace_ids import TraceIds
from logreplay.replay.requests.plan import RequestStream
from logreplay.replay.results.counters import Counters
from logreplay.replay.results.outcome import Outcome
from logreplay.replay.senders.contract import Exchange, Sender
from logreplay.replay.sessions.client_sessions import LoginRow, SessionCounts
from logreplay.replay.workers.clock_offset import ClockOffset
from logreplay.replay.workers.partition import Share

BEAT_S: Final = 0.25
ALIVE_S: Final = 2.0
"""Interval of the coordinator's signs of life, to workers that it hears."""
LISTEN_S: Final = 5.0
"""Longest wait for one message; messages are more frequent than this."""
COORDINATOR_LOST_S: Final = 20.0
"""Silence after which a worker counts its coordinator as lost, and stops."""

SCHEDULER_GONE: Final = "the scheduler of the cluster ended, or cannot be reached"


class Silence:
    """Seconds since something was heard. Belongs to one thread, which looks regularly.

    Where this process did not run itself (Ctrl-Z and ``fg``, a machine that sleeps, a thread that waited for the disk),
    the silence of another one proves nothing: of the time between two looks only ``most_s`` count, which is more than
    usually go by.
    """

    def __init__(self, most_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._clock = most_s, clock
        self.heard()

    def heard(self) -> None:
        """Note that something was heard just now."""
        self._seconds, self._looked = 0.0, self._clock()

    def look(self) -> float:
        """Seconds of silence that count."""
        now = self._clock()
        self._seconds += min(now - self._looked, self._most)
        self._looked = now
        return self._seconds


def packed(message: object) -> bytes:
    try:
        return pickle.dumps(message, protocol=5)
    except Exception as error:  # it holds objects of the caller's, which may raise anything
        raise LogreplayError(
            f"the plan cannot be sent to the workers: {type(error).__name__}: {error}; it may hold only what a worker "
            "can import: no lambda, no function inside a function, no open file"
        ) from error


def unpacked(message: bytes) -> object:
    try:
        return pickle.loads(message)
    except Exception as error:  # importing a module of the caller's may raise anything
        raise LogreplayError(
            f"a message of another process cannot be read here: {type(error).__name__}: {error}; the modules of a plan "
            "must be installed where each worker runs, in the same version"
        ) from error


class Channel(Protocol):
    """One end of the connection between a worker and the coordinator. May be used from several threads."""

    def send(self, message: object) -> None:
        """Send a message.

        Raises:
            OSError: the other end is closed.
            LogreplayError: the message cannot be sent to another process.
        """

    def receive(self, timeout_s: float) -> object | None:
        """The next message of the other end; None if none came in this time.

        Raises:
            OSError, EOFError: the other end is closed.
            LogreplayError: the message cannot be decoded here.
        """

    def clock_offset(self) -> ClockOffset:
        """The offset of this machine's clock from the shared one."""

    def close(self) -> None:
        """Close this end."""


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """The configuration of a worker.

    Attributes:
        sender: makes the sender; is sent to where the worker runs.
        limits: its part of the whole run's.
        closed: plans are closed loops.
        failures: stop and report the first exchange that failed.
        exchanges: report every exchange.
        trace_ids: trace ids of the requests of the whole run; None: they have none.
    """

    sender: Callable[[], Sender]
    limits: Limits
    closed: bool = False
    failures: bool = False
    exchanges: bool = False
    trace_ids: TraceIds | None = None


@dataclass(frozen=True, slots=True)
class Hello:
    """Up: I have started. A scheduler may start a lost worker again; its token tells the two apart."""

    token: str
    where: str
    pid: int


@dataclass(frozen=True, slots=True)
class Welcome:
    """Down: the worker with this token is accepted. All others leave."""

    token: str


@dataclass(frozen=True, slots=True)
class Prepare:
    """Down: get this ready; ``first`` is the seq of the plan's first request."""

    share: Share
    first: int


@dataclass(frozen=True, slots=True)
class WorkerReady:
    """Up: the first requests are ready; and the offset of this worker's clock."""

    offset: ClockOffset


@dataclass(frozen=True, slots=True)
class Begin:
    """Down: begin at this instant of the common clock; ``wall`` is the same, nanoseconds since 1970."""

    at: int
    wall: int


@dataclass(frozen=True, slots=True)
class WorkerReport:
    """Up: the requests that have ended since the last report.

    Attributes:
        rows: rows of the result log, with the whole run's seq; None if there are none.
        until: all that ended before this instant of the common clock is told.
        taken_up: requests of the plan that were sent or dropped by then.
        counters: counts of the plan, of exactly the rows told so far.
        logins: that have ended since the last report.
        next_due, waiting: as in `logreplay.replay.results.outcome.Progress`, of the requests of this worker.
    """

    rows: pl.DataFrame | None
    until: int
    taken_up: int
    counters: Counters
    logins: Sequence[LoginRow] = ()
    next_due: float | None = None
    waiting: int = 0


@dataclass(frozen=True, slots=True)
class PlanEnded:
    """Up: nothing of the plan is in flight any more; all is reported.

    Attributes:
        outcome: result of the share.
        requests: requests of the plan, with the figures from reading them.
        offset: difference of the clock, measured once more.
        sessions: counts of the clients' sessions since the worker began, without their logins.
    """

    outcome: Outcome
    requests: RequestStream
    offset: ClockOffset
    sessions: SessionCounts | None = None


@dataclass(frozen=True, slots=True)
class WorkerFailed:
    """Up: I end with this error, in words; a `LogreplayError` ends the run with its text."""

    why: str
    error: LogreplayError | None


@dataclass(frozen=True, slots=True)
class ExchangeSeen:
    """Up: an exchange, as `WorkerConfig` asks for."""

    exchange: Exchange


@dataclass(frozen=True, slots=True)
class Alive:
    """Both ways: the sender is alive."""


@dataclass(frozen=True, slots=True)
class StopAll:
    """Down: send nothing more."""

    why: str


@dataclass(frozen=True, slots=True)
class CutPlan:
    """Down: send nothing more of this plan, wait for the requests in flight."""


@dataclass(frozen=True, slots=True)
class Leave:
    """Down: end."""
