"""Workers in processes of this machine.

Source: `concurrent.futures.ProcessPoolExecutor` ends all its processes when one dies, so each worker has a pool of its
own; processes are spawned, not forked, because forked ones would share locks and loops.
"""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import connection, get_context, parent_process, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, Final, Protocol

from logreplay.replay.clock import monotonic
from logreplay.replay.workers.clock_offset import SAME, ClockOffset
from logreplay.replay.workers.protocol import Channel, packed, unpacked

_EXIT_S: Final = 5.0
"""How long a process may take to exit when its worker has ended."""


class WorkerProcess(Protocol):
    """A process that can run a worker.

    Attributes:
        name: for people.
        executor: runs one function in it.
        channel: the coordinator's end of the channel to the worker.
        lead_s: seconds that an order needs at most to arrive.
    """

    name: str
    executor: Executor
    channel: Channel
    lead_s: float

    @property
    def connect(self) -> Callable[[], Channel]:
        """Makes the worker's end of the channel; called in its process."""

    def started(self) -> None:
        """The worker has been given to the executor."""

    def gone(self) -> str:
        """The reason why the process ended; empty while it runs. May take a moment."""

    def end(self) -> None:
        """End the worker, if it can be ended from here."""

    def sends_until(self, heard: int) -> int:
        """The instant until which a worker may send that was given up just now, and that was heard last at another."""

    def close(self) -> None:
        """Release the process. May take a moment."""


class PipeChannel:
    """A pipe between two processes of one machine, which share their clock."""

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


_SAFE_PATH: Final = "PYTHONSAFEPATH"
ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals that end a run in good order."""


@contextmanager
def safe_path() -> Iterator[None]:
    """Keep Python processes that the block starts from running files of the current folder while they start.

    `multiprocessing` then gives a spawned process the ``sys.path`` of this one.
    Source: https://docs.python.org/3/using/cmdline.html#envvar-PYTHONSAFEPATH
    """
    before = os.environ.get(_SAFE_PATH)
    os.environ[_SAFE_PATH] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_SAFE_PATH]
        else:
            os.environ[_SAFE_PATH] = before


@contextmanager
def deaf_to_group() -> Iterator[None]:
    """Let processes that the block starts ignore the signals that end this one, which ends them in good order.

    Ctrl-C, a closed terminal, ``timeout`` and systemd send a signal to all processes of the group. A process inherits
    the mask of the thread that starts it; a handler in it would come too late for a signal during its start.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        resource_tracker.ensure_running()  # a child of its own; whoever starts it has some of the signals unblocked
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Pool(ProcessPoolExecutor):
    """A pool whose processes run no file of the current folder, and leave signals to this one."""

    def submit(self, *call: Any, **given: Any) -> "Future[Any]":
        with safe_path(), deaf_to_group():
            return super().submit(*call, **given)


class LocalProcess:
    """A process of this machine."""

    lead_s = 0.5

    def __init__(self) -> None:
        own, self._peer = get_context("spawn").Pipe()
        self.name = "a process of this machine"
        self.channel: Channel = PipeChannel(own)
        with safe_path(), deaf_to_group():
            self._pool = _Pool(1, mp_context=get_context("spawn"), initializer=_prepare_process, initargs=(self._peer,))
        self.executor: Executor = self._pool

    @property
    def connect(self) -> Callable[[], Channel]:
        return _inherited_channel

    def started(self) -> None:
        self._peer.close()  # or we would not notice when the process has closed its own

    def gone(self) -> str:
        return ""  # its executor says so at once

    def end(self) -> None:
        for process in self._processes():
            process.kill()

    def sends_until(self, heard: int) -> int:
        return monotonic()

    def close(self) -> None:
        processes = self._processes()
        self._pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            if not connection.wait([process.sentinel], _EXIT_S):
                process.kill()
        self._pool.shutdown(wait=True)
        self.channel.close()

    def _processes(self) -> "list[BaseProcess]":
        """The process of the pool, if it was started; also if it never sent its `Hello`."""
        return list((self._pool._processes or {}).values())  # Python 3.14 has kill_workers() for this


def processes(count: int) -> list[WorkerProcess]:
    """So many processes of this machine.

    Raises:
        ValueError: count is below 1.
    """
    if count < 1:
        raise ValueError(f"there must be at least 1 worker, got {count}")
    return [LocalProcess() for _ in range(count)]


_inherited: "Connection[object, object] | None" = None


def _prepare_process(pipe: "Connection[object, object]") -> None:
    """In the new process: keep its end of the pipe, and do not outlive the coordinator."""
    global _inherited
    _inherited = pipe
    threading.Thread(target=_end_with_parent, name="parent", daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent
    connection.wait([parent.sentinel])
    os._exit(1)


def _inherited_channel() -> Channel:
    assert _inherited
    return PipeChannel(_inherited)
