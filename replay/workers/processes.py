"""Where shards run: processes of this machine. A place is an executor and a line to what it executes.

Source: `concurrent.futures.ProcessPoolExecutor` ends all its processes when one dies, so each shard has one of its
own; processes are spawned, not forked, because forked ones would share what threads and loops hold.
"""

import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor
from multiprocessing import connection, get_context, parent_process
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Final, Protocol

from logreplay.replay.workers.clock_offset import SAME, ClockOffset
from logreplay.replay.workers.protocol import Channel, packed, unpacked

_EXIT_S: Final = 5.0
"""How long a process may take to exit when its shard has ended."""


class Workers(Protocol):
    """Where one shard runs.

    Attributes:
        name: for people.
        executor: runs one function there.
        line: the director's end of the way to what runs there.
        lead_s: how long an order takes to get there, amply.
    """

    name: str
    executor: Executor
    line: Channel
    lead_s: float

    @property
    def connect(self) -> Callable[[], Channel]:
        """Makes the shard's end of the line; called there."""

    def taken(self) -> None:
        """The shard has been given to the executor."""

    def gone(self) -> str:
        """Why the place is no more; empty while it is. May take a moment."""

    def end(self) -> None:
        """End what still runs there, if it can be ended from here."""

    def close(self) -> None:
        """Give the place up. May take a moment."""


class PipeChannel:
    """A line between two processes of one machine, which share their clock."""

    def __init__(self, pipe: "Connection[object, object]") -> None:
        self._pipe = pipe
        self._sending = threading.Lock()

    def send(self, message: object) -> None:
        with self._sending:
            self._pipe.send_bytes(packed(message))

    def receive(self, timeout_s: float) -> object | None:
        return unpacked(self._pipe.recv_bytes()) if self._pipe.poll(timeout_s) else None

    def clock_offset(self) -> ClockOffset:
        return SAME

    def close(self) -> None:
        self._pipe.close()


class ProcessWorkers:
    """A process of this machine."""

    lead_s = 0.5

    def __init__(self) -> None:
        ours, self._theirs = get_context("spawn").Pipe()
        self.name = "a process of this machine"
        self.line: Channel = PipeChannel(ours)
        self._pool = ProcessPoolExecutor(
            1, mp_context=get_context("spawn"), initializer=_settle, initargs=(self._theirs,)
        )
        self.executor: Executor = self._pool

    @property
    def connect(self) -> Callable[[], Channel]:
        return _inherited_line

    def taken(self) -> None:
        self._theirs.close()  # or we would not notice when the process has closed its own

    def gone(self) -> str:
        return ""  # its executor says so at once

    def end(self) -> None:
        for process in self._processes():
            process.kill()

    def close(self) -> None:
        processes = self._processes()
        self._pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            if not connection.wait([process.sentinel], _EXIT_S):
                process.kill()
        self._pool.shutdown(wait=True)
        self.line.close()

    def _processes(self) -> "list[BaseProcess]":
        """The one of this place, if it was begun; also if it never came so far as to name itself."""
        return list((self._pool._processes or {}).values())  # Python 3.14 has kill_workers() for this


def processes(count: int) -> list[Workers]:
    """So many processes of this machine.

    Raises:
        ValueError: count is below 1.
    """
    if count < 1:
        raise ValueError(f"there must be at least 1 worker, got {count}")
    return [ProcessWorkers() for _ in range(count)]


_inherited: "Connection[object, object] | None" = None


def _settle(pipe: "Connection[object, object]") -> None:
    """In the new process: keep its end of the pipe, leave Ctrl-C to the director, and do not outlive it."""
    global _inherited
    _inherited = pipe
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, name="parent", daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent
    connection.wait([parent.sentinel])
    os._exit(1)


def _inherited_line() -> Channel:
    assert _inherited
    return PipeChannel(_inherited)
