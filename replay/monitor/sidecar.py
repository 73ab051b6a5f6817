"""Runs a process beside the replay that serves the live page and the metrics, and reads the probes.

Theory of operation. The process that sends does none of this: a page, a scrape or a slow probe must not delay a
request. Down go the configuration and, once a second, snapshots, written by a thread of their own; up come readings,
orders to change the load, and the wish to stop. The sidecar (`logreplay.replay.monitor.sidecar_main`) ends when its
connection is closed, so also when the replay is killed. If it dies, hangs or does not keep up, the run goes on without
it. The replay kills a sidecar that sends nothing for `_SILENT_S`, and reports each death (`SidecarDied`).
"""

import pickle
import queue
import secrets
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

from logreplay.core.errors import LogreplayError
from logreplay.replay.child_process import start_child
from logreplay.replay.monitor.access import Address
from logreplay.replay.monitor.otlp_settings import LAST_S, OtlpSettings, PushCounts
from logreplay.replay.monitor.probes import Probe, ProbeReading
from logreplay.replay.monitor.snapshot import Snapshot
from logreplay.replay.schedules.orders import Order

_BACKLOG: Final = 120
_OPENING_S: Final = 30.0
_END_S: Final = 3.0
_SILENT_S: Final = 15
"""Seconds without a message of the process, not even `SidecarAlive`, after which it counts as hanging."""
_DIED: Final = "has ended, perhaps for lack of memory"


@dataclass(frozen=True, slots=True)
class SidecarConfig:
    """The first message down.

    Attributes:
        live, metrics: where to serve the page and the metrics; None: not at all.
        probes: sources to read once a second.
        otlp: where to push metrics; None: nowhere.
        control: the folder of the socket for orders; None: the load is not changed.
        token: with it, the run may be stopped, and its load changed, from the page.
    """

    live: Address | None = None
    metrics: Address | None = None
    probes: tuple[Probe, ...] = ()
    otlp: OtlpSettings | None = None
    control: Path | None = None
    token: str = field(default_factory=secrets.token_urlsafe)


@dataclass(frozen=True, slots=True)
class Opened:
    """The first message up: the base URLs, empty where nothing was asked for. A `LogreplayError` instead: it failed."""

    live: str
    metrics: str


@dataclass(frozen=True, slots=True)
class StopAsked:
    """Up: somebody pressed the stop button; ``who`` is an address."""

    who: str


@dataclass(frozen=True, slots=True)
class OrderAsked:
    """Up: ``who`` asks for a change of the load, until an instant of the monotonic clock, in seconds."""

    number: int
    order: Order
    who: str
    until: float


@dataclass(frozen=True, slots=True)
class SidecarAlive:
    """Up, twice a second: the process does not hang."""


@dataclass(frozen=True, slots=True)
class SidecarDied:
    """Heard last, if the process ended before `Sidecar.close`.

    Attributes:
        at: time at which it was heard last, seconds of the monotonic clock.
        why: its fate, as text.
    """

    at: float
    why: str = _DIED


@dataclass(frozen=True, slots=True)
class OrderAnswered:
    """Down: the answer to the order of this number."""

    number: int
    done: bool
    text: str


Heard = ProbeReading | StopAsked | PushCounts | SidecarDied
Answer = Callable[[bool, str], object]
"""Takes whether an order was carried out, and a sentence on it."""


def _unheard(_: OrderAsked, answer: Answer) -> None:
    answer(False, "the load of this run cannot be changed")


class Sidecar:
    """The replay's end of the connection.

    Args:
        config: addresses and sources of the sidecar.
        hear: called with each `ProbeReading`, `StopAsked`, `PushCounts` and `SidecarDied`, in a thread of its own.
        obey: called there with each `OrderAsked`, and what takes its answer.
    """

    def __init__(
        self,
        config: SidecarConfig,
        hear: Callable[[Heard], object],
        obey: Callable[[OrderAsked, Answer], object] = _unheard,
    ) -> None:
        self._hear, self._obey = hear, obey
        self._last_s = LAST_S if config.otlp else 0.0
        self._down: queue.SimpleQueue[Snapshot | OrderAnswered | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._closing = False
        self._process, self._connection = start_child("logreplay.replay.monitor.sidecar_main")
        try:
            with suppress(OSError):
                self._connection.send(config)
            in_time = self._connection.poll(_OPENING_S)
            first = take(self._connection) if in_time else None
        except BaseException:  # interrupted
            self._kill()
            raise
        if not isinstance(first, Opened):
            self._kill()
            why = "died" if in_time else f"did not start within {_OPENING_S:g} s"
            raise first if isinstance(first, LogreplayError) else LogreplayError(f"the process of the live page {why}")
        self.opened = first
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._write, self._listen)]
        for thread in self._threads:
            thread.start()

    def show(self, snapshot: Snapshot) -> None:
        """Show this from now on. Does not wait: drops it if too many wait."""
        if self._down.qsize() < _BACKLOG:
            self._down.put(snapshot)

    def close(self) -> None:
        """Let it show the last snapshot, and end it."""
        self._closing = True
        self._down.put(None)
        self._threads[0].join(_END_S)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_S + self._last_s)
        self._kill()

    def _write(self) -> None:
        with suppress(OSError, ValueError):
            while message := self._down.get():
                self._connection.send(message)
            self._connection.send(None)

    def _listen(self) -> None:
        heard_at = time.monotonic()
        while not (silent := self._is_silent()) and isinstance(
            message := take(self._connection), Heard | OrderAsked | SidecarAlive
        ):
            heard_at = time.monotonic()
            if isinstance(message, OrderAsked):
                self._obey(message, partial(self._answer, message.number))
            elif not isinstance(message, SidecarAlive):
                self._hear(message)
        if silent:
            self._process.kill()
        if not self._closing:
            why = f"did not respond for {_SILENT_S} s, and was ended" if silent else _DIED
            self._hear(SidecarDied(heard_at, why))

    def _is_silent(self) -> bool:
        """Wait for the next message; return whether none came in `_SILENT_S`.

        Waits in pieces of a second: a pause of this process, however long, counts as one of them.
        """
        with suppress(OSError, ValueError):
            return not any(self._connection.poll(1.0) for _ in range(_SILENT_S))
        return False

    def _answer(self, number: int, done: bool, text: str) -> None:
        self._down.put(OrderAnswered(number, done, text))  # never dropped: the load may have been changed

    def _kill(self) -> None:
        """End the process, if it has not ended; what it said is heard by then."""
        self._process.kill()
        self._process.wait()
        for thread in self._threads:
            thread.join(_END_S)
        self._connection.close()


def take(connection: "Connection[Any, Any]") -> object:
    """The next message; None when there will be none."""
    try:
        return connection.recv()
    except (EOFError, OSError, ValueError, pickle.UnpicklingError):
        return None
