"""Workers in processes of this machine."""

import subprocess
import threading
from concurrent.futures import BrokenExecutor, Future, wait
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, Final, Protocol

from logreplay.replay.child_process import start_child
from logreplay.replay.clock import monotonic
from logreplay.replay.workers.clock_offset import SAME, ClockOffset
from logreplay.replay.workers.protocol import Channel, packed, unpacked

_EXIT_S: Final = 5.0
"""Seconds that a process may take to exit when its worker has ended."""


class WorkerProcess(Protocol):
    """A process that can run a worker.

    Attributes:
        name: for people.
        channel: the coordinator's end of the channel to the worker, when it was started.
        lead_s: seconds that an order needs at most to arrive.
    """

    name: str
    channel: Channel
    lead_s: float

    def start(self, config: bytes) -> "Future[None]":
        """Let it run a worker with this packed `WorkerConfig`; return what ends when the worker has ended."""

    def gone(self) -> str:
        """The reason why the process ended, unless its future says it; empty while it runs. May take a moment."""
        return ""

    def begun_again(self) -> None:
        """Note that the worker said hello a second time: the process of the first one has ended."""
        return

    def end(self) -> None:
        """End the worker, if it can be ended from here."""
        return

    def sends_until(self, heard: int) -> int:
        """The instant until which a worker may send that was given up just now, and that was heard last at another."""

    def close(self) -> None:
        """Release the process. May take a moment."""


class PipeChannel:
    """A connection of two processes of one machine, which share their clock."""

    def __init__(self, connection: "Connection[Any, Any]") -> None:
        self._connection = connection
        self._sending = threading.Lock()

    def send(self, message: object) -> None:
        with self._sending:
            self._connection.send_bytes(packed(message))

    def receive(self, timeout_s: float) -> object | None:
        return unpacked(self._connection.recv_bytes()) if self._connection.poll(timeout_s) else None

    def clock_offset(self) -> ClockOffset:
        return SAME

    def close(self) -> None:
        self._connection.close()


class LocalProcess(WorkerProcess):
    """A process of this machine."""

    lead_s = 0.5

    def __init__(self) -> None:
        self.name = "a process of this machine"
        self._process: subprocess.Popen[bytes] | None = None
        self._ended: Future[None] = Future()

    def start(self, config: bytes) -> "Future[None]":
        self._ended.set_running_or_notify_cancel()
        self._process, connection = start_child("logreplay.replay.workers.worker", in_group=True)
        self.channel: Channel = PipeChannel(connection)
        args = (self._process, self.channel, config)
        threading.Thread(target=self._wait, args=args, name="process", daemon=True).start()
        return self._ended

    def end(self) -> None:
        if self._process:
            self._process.kill()

    def sends_until(self, heard: int) -> int:
        return monotonic()

    def close(self) -> None:
        if self._process:
            wait([self._ended], _EXIT_S)
            self._process.kill()
            self._process.wait()
            self.channel.close()

    def _wait(self, process: "subprocess.Popen[bytes]", channel: Channel, config: bytes) -> None:
        with suppress(OSError):  # it has ended already
            channel.send(config)
        if process.wait():
            self._ended.set_exception(BrokenExecutor())
        else:
            self._ended.set_result(None)


def processes(count: int) -> list[WorkerProcess]:
    """Return ``count`` processes of this machine."""
    if count < 1:
        raise ValueError(f"there must be at least 1 worker, got {count}")
    return [LocalProcess() for _ in range(count)]
