"""Workers in processes of a Dask cluster. Needs the extra ``cluster``.

Theory of operation. Each worker is one task, bound to one process of the cluster by an executor of its own. Its channel
is a pair of Dask queues: messages pass the scheduler, the one machine that all can reach; so the scheduler's clock is
the common one, too. Dask begins a task again when its process dies, `retries` or not (`distributed.scheduler.allowed-
failures`); a replay must never be begun again, so a worker begins only when the coordinator has welcomed it, which it
does once (`logreplay.replay.workers.protocol.Welcome`).
"""

import asyncio
import atexit
import logging
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Executor, Future
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast
from uuid import uuid4

from logreplay.core import installation
from logreplay.core.errors import ClusterError
from logreplay.core.files import scratch_folder
from logreplay.core.plural import number_of
from logreplay.replay.child_process import start_child
from logreplay.replay.clock import monotonic
from logreplay.replay.workers.clock_offset import ClockOffset, boot_id, measure, settled
from logreplay.replay.workers.cluster_address import local_workers
from logreplay.replay.workers.processes import WorkerProcess
from logreplay.replay.workers.protocol import ALIVE_S, COORDINATOR_LOST_S, SCHEDULER_GONE, Channel, packed, unpacked
from logreplay.replay.workers.worker import run_worker

if TYPE_CHECKING:
    from distributed import Client, Security

_CONNECT_S: Final = 10.0
_CLOSING_S: Final = 30.0
"""Seconds that a cluster of this machine may take to end."""
_DYING_S: Final = 5.0
"""Seconds that killed workers may take to be gone."""
_RUNNING: "Final[set[subprocess.Popen[bytes]]]" = set()
"""Processes of the clusters of this machine."""
_ENDING: Final = threading.Event()
"""Set when these are killed because this process ends."""
_GONE: Final = (OSError, RuntimeError, ValueError, AttributeError, CancelledError, asyncio.CancelledError)
"""Errors that Dask raises if a client is closed, or has no scheduler."""
_ANSWER_S: Final = 15.0
"""Longest wait for an answer of the scheduler. Dask itself would wait without limit."""

_LEAVES_NS: Final = 5_000_000_000
"""Nanoseconds that a worker may send after the scheduler has noticed its end: it may only have lost its connection."""
_ALONE_NS: Final = int((COORDINATOR_LOST_S + 2 * ALIVE_S + 1) * 1e9)
"""Nanoseconds that a worker may send after it was last heard: it may have heard the coordinator a little longer."""

_TAKEN_S: Final = 60.0
"""Seconds that the scheduler may take to accept a message: longer than both ends listen to its silence."""

_Answer = TypeVar("_Answer")


class QueueChannel:
    """A channel made of two queues of a Dask cluster."""

    def __init__(self, client: "Client", name: str, *, coordinating: bool) -> None:
        from distributed import Queue

        self._client = client
        ways = [Queue(f"{name}-{way}", client=client) for way in ("down", "up")]
        self._out, self._in = ways if coordinating else reversed(ways)
        self._sending = threading.Lock()

    def send(self, message: object) -> None:
        with self._sending, _hung_up():
            self._out.put(packed(message), callback_timeout=_TAKEN_S)

    def receive(self, timeout_s: float) -> object | None:
        with _hung_up():
            try:
                message: bytes = self._in.get(timeout=timeout_s, callback_timeout=timeout_s + _ANSWER_S)
            except TimeoutError:  # the listener knows for how long, and whether it stood still itself
                return None
        return unpacked(message)

    def clock_offset(self) -> ClockOffset:
        with _hung_up():
            measured = measure(partial(self._of_scheduler, time.perf_counter_ns))
            return settled(measured, same_boot=self._boot_of_scheduler() == boot_id())

    def _boot_of_scheduler(self) -> str:
        with suppress(OSError):
            return self._of_scheduler(Path("/proc/sys/kernel/random/boot_id").read_text).strip()
        return ""

    def _of_scheduler(self, what: Callable[[], _Answer]) -> _Answer:
        """Run a function of the standard library on the scheduler, which needs no logreplay."""
        return cast(_Answer, self._client.run_on_scheduler(what, callback_timeout=_ANSWER_S))

    def close(self) -> None:
        """The coordinator's `DaskProcess.close` ends the queues."""

    def forget(self) -> None:
        """Let the scheduler forget the queues."""
        with suppress(OSError), _hung_up():
            self._out.close()
            self._in.close()


@contextmanager
def _hung_up() -> Iterator[None]:
    """Turn the many exceptions of a closed client, or of one without its scheduler, into one."""
    try:
        yield
    except OSError:
        raise
    except _GONE as error:
        raise OSError(str(error)) from error


class DaskProcess(WorkerProcess):
    """A process of a cluster. Its worker ends itself when it hears `Leave`, or nothing, for a while."""

    lead_s = 1.0

    def __init__(self, client: "Client", worker: str) -> None:
        self.name = f"Dask worker {worker}"
        self._client, self._worker, self._left = client, worker, False
        self._channel_name = f"logreplay-{uuid4().hex}"
        self._channel = QueueChannel(client, self._channel_name, coordinating=True)
        self.channel: Channel = self._channel
        self._executor: Executor = client.get_executor(
            pure=False, retries=0, workers=[worker], allow_other_workers=False
        )

    def start(self, config: bytes) -> "Future[None]":
        return self._executor.submit(run_worker, config, partial(_worker_channel, self._channel_name))

    def gone(self) -> str:
        try:
            workers: dict[str, Any] = self._client.nthreads(callback_timeout=_ANSWER_S)
        except TimeoutError:
            return ""  # the listener measures the silence
        except _GONE:
            return SCHEDULER_GONE
        self._left = self._left or self._worker not in workers
        return "its worker has left the cluster, was killed, or crashed" if self._left else ""

    def begun_again(self) -> None:
        """Note that the worker left: its nanny started another one at the same address, which `gone` may not notice."""
        self._left = True

    def sends_until(self, heard: int) -> int:
        return monotonic() + _LEAVES_NS if self._left else heard + _ALONE_NS

    def close(self) -> None:
        with suppress(*_GONE):
            self._executor.shutdown(wait=False)
        self._channel.forget()


def _worker_channel(name: str) -> Channel:
    """In a task: the worker's end of a channel."""
    from distributed import get_client

    return QueueChannel(get_client(), name, coordinating=False)


@contextmanager
def cluster_client(address: str) -> "Iterator[Client]":
    """A client of a cluster.

    Args:
        address: ``tcp://HOST:PORT`` of a scheduler, or ``local:N`` for N workers of this machine that end with the
            block. Only processes that it starts can connect to these.
    """
    count = local_workers(address)
    try:
        from distributed import Client
    except ImportError:
        raise ClusterError(f"a Dask cluster {installation.needs_extra('cluster')}") from None
    with speechless(), ExitStack() as stack:
        scheduler, security = stack.enter_context(_local_cluster(count)) if count else (address, None)
        try:
            client = Client(scheduler, security=security, timeout=_CONNECT_S)
            stack.callback(_close, client)
        except (OSError, ValueError):
            text = f"no scheduler can be reached there within {_CONNECT_S:g} s"
            remedy = "start one, with: dask scheduler; or write tcp://HOST:PORT of one that runs, or local:N"
            raise ClusterError(f"--cluster {address}: {text}; {remedy}") from None
        except TypeError:  # tls:// without a certificate
            raise ClusterError(
                f"--cluster {address}: TLS needs a certificate; set DASK_DISTRIBUTED__COMM__TLS__CA_FILE, "
                "…CLIENT__CERT and …CLIENT__KEY, see the page on clusters"
            ) from None
        yield client


@contextmanager
def speechless() -> Iterator[None]:
    """Keep Dask in this process from printing what logreplay reports in its own words."""
    levels = {handler: handler.level for handler in logging.getLogger("distributed").handlers}
    for handler in levels:
        handler.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for handler, level in levels.items():
            handler.setLevel(level)


def _close(client: "Client") -> None:
    """Close a client. If a signal cancels what Dask waits for, Dask raises `UnboundLocalError`."""
    with suppress(UnboundLocalError, *_GONE):
        client.close()


@contextmanager
def _local_cluster(count: int) -> "Iterator[tuple[str, Security]]":
    """Run a cluster of this machine in child processes within the block; yield its address and its certificate."""
    with scratch_folder() as folder:  # workers that are killed leave files in it
        process, connection = start_child("logreplay.replay.workers.local_cluster", in_group=True)
        _RUNNING.add(process)
        patience = 0.0  # what has not started needs no end in good order
        try:
            try:
                connection.send((count, str(folder)))
                answer: tuple[str, Security] | ClusterError = connection.recv()
            except (EOFError, OSError):
                answer = ClusterError(
                    f"--cluster local:{count}: the process of the cluster was killed; repeat the command"
                )
            if isinstance(answer, ClusterError):
                raise answer
            patience = _CLOSING_S
            yield answer
        except Exception:
            if _ENDING.is_set():  # nobody waits for this thread, which would print the error
                threading.Event().wait()
            raise
        finally:
            connection.close()
            try:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(patience)
            finally:
                _kill_family(process)
                _RUNNING.discard(process)


def kill_local_clusters() -> None:
    """Kill the clusters of this machine that this process runs; code that skips its exit handlers calls this first.

    At the end of the process, the thread that runs a cluster may still wait for its start.
    """
    _ENDING.set()
    for process in [*_RUNNING]:
        _kill_family(process)


atexit.register(kill_local_clusters)  # before the scratch folder is removed, which the cluster would make again


def _kill_family(process: "subprocess.Popen[bytes]") -> None:
    """Kill the process of a cluster and those that it started: alive for a moment more, they would write files.

    The tracker of `multiprocessing` is left to end by itself, after all others: it removes their semaphores.
    """
    if process.poll() is not None:  # its number may be that of another process by now
        return
    import psutil

    family: list[psutil.Process] = []
    try:
        process.send_signal(signal.SIGSTOP)  # it starts no others meanwhile
        with suppress(psutil.NoSuchProcess):
            family += psutil.Process(process.pid).children(recursive=True)
        for each in family:
            with suppress(psutil.NoSuchProcess):
                if not any("multiprocessing.resource_tracker" in word for word in each.cmdline()):
                    each.kill()
    finally:
        process.kill()
        process.wait()
    psutil.wait_procs(family, timeout=_DYING_S)


def workers(client: "Client", count: int | None = None) -> list[WorkerProcess]:
    """Return ``count`` processes of a cluster; None: all."""
    found = _addresses(client)
    if len(found) < (count or 1):
        raise ClusterError(
            f"the cluster has {number_of(len(found), 'worker')}, and {count or 1} "
            f"{'are' if (count or 1) > 1 else 'is'} needed; start more, with: dask worker ADDRESS"
        )
    _check_versions(client, found[:count])
    return [DaskProcess(client, worker) for worker in found[:count]]


def anywhere(client: "Client") -> Executor:
    """An executor on all workers, for work that may be done twice: another worker repeats the work of a lost one."""
    _check_versions(client, _addresses(client))
    return cast(Executor, client.get_executor(pure=False))


def _addresses(client: "Client") -> list[str]:
    try:
        return sorted(client.nthreads(callback_timeout=_ANSWER_S))
    except TimeoutError:
        text = f"the scheduler of the cluster did not answer within {_ANSWER_S:g} s; end it, and start another"
        raise ClusterError(f"{text}, with: dask scheduler") from None


def _check_versions(client: "Client", addresses: Sequence[str]) -> None:
    """Check that workers have logreplay in this version.

    A function of the standard library asks them: Dask ends a worker that cannot import what it is given.
    """
    own = installation.version()
    try:
        answers = client.run(
            metadata.version,
            installation.DISTRIBUTION,
            workers=list(addresses),
            on_error="return",
            callback_timeout=_ANSWER_S,
        )
    except TimeoutError:
        raise ClusterError(
            f"a worker of the cluster did not answer within {_ANSWER_S:g} s ({', '.join(sorted(addresses))}); end "
            "those that hang, and start others, with: dask worker ADDRESS"
        ) from None
    found = {
        address: installation.UNKNOWN if isinstance(answer, metadata.PackageNotFoundError) else answer
        for address, answer in answers.items()
    }
    wrong = {address: answer for address, answer in found.items() if isinstance(answer, str) and answer != own}
    if wrong:
        named = ", ".join(
            f"worker {address} has {'none' if answer == installation.UNKNOWN else answer}"
            for address, answer in sorted(wrong.items())
        )
        raise ClusterError(
            f"this is logreplay {own}, and {named}; install the same version, with its extra cluster, for each worker"
        )
