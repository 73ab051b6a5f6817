"""The functions of the library as coroutines: same names, same parameters, same results.

A call sends from a process of its own, because other threads of this one may hold the interpreter; a function as
``hook``, or a log that a program makes, binds it to a thread of this process. Functions of ``progress`` and ``stop``
are called on the caller's loop. Cancellation ends a run in good order: its rows are written.
"""

import asyncio
import ctypes
import pickle
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, nullcontext, suppress
from functools import wraps
from os import PathLike
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

from logreplay import controlling, conversion, functions, log_inspection, planning, readings
from logreplay.calling.busy import only_run
from logreplay.calling.callbacks import StopWish, reason
from logreplay.calling.child import CANCEL, ChildCall, ChildEnded
from logreplay.calling.progress_line import ProgressLine
from logreplay.core.errors import LogreplayError, UsageError
from logreplay.inputs.python_logs import RequestsFrom, python_log
from logreplay.options.keywords import read
from logreplay.options.spelling import respelled
from logreplay.replay.child_process import start_child
from logreplay.scratch import Scratch

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from subprocess import Popen

    from logreplay.replay.monitor.snapshot import Snapshot
    from logreplay.replay.servers.target_process import Server

P = ParamSpec("P")
R = TypeVar("R")
_SENDING: Final = ("run", "sweep", "find", "duet", "plan")
_OWN: Final = ("log", "target", "rates", "baseline", "candidate")
"""Parameters besides the options."""
_WAKE_S: Final = 1.0
"""Longest wait of the caller's loop, seconds: a kernel of Jupyter notices Ctrl-C only between two waits."""


def asynchronous(function: Callable[P, R]) -> Callable[P, Coroutine[Any, Any, R]]:
    """A function of the library as a coroutine function."""

    @wraps(function)
    async def call(*given: P.args, **named: P.kwargs) -> R:
        name, log = function.__name__, given[0] if given else named.get("log")
        parameters: dict[str, Any] = dict(named)
        if name not in _SENDING:
            return await _InChild(function, given, parameters).ended()  # type: ignore[no-any-return]  # of `function`
        if given and "log" in parameters:
            raise TypeError(f"{name}() got multiple values for argument 'log'")
        with respelled(name):
            read(name, {key: value for key, value in parameters.items() if key not in _OWN})
            if not (log is None or isinstance(log, str | PathLike) or name == "plan"):
                log = python_log(log)
        parameters.pop("log", None)
        here = isinstance(log, RequestsFrom) or callable(named.get("hook"))
        made: _Background = (_InThread if here else _InChild)(function, (log, *given[1:]), parameters)
        with nullcontext() if here else only_run(name):
            return await made.ended()  # type: ignore[no-any-return]  # of `function`

    return call


@asynccontextmanager
@wraps(functions.serve, assigned=(), updated=())  # its signature
async def serve(*given: Any, **named: Any) -> "AsyncIterator[Server]":
    """Start `logreplay.serve` as an asynchronous context manager."""
    server = await asyncio.to_thread(functions.serve, *given, **named)
    with server:
        yield server


class _Background:
    """A call in another thread, which talks to the caller's loop."""

    def __init__(self, function: Callable[..., Any], given: tuple[object, ...], named: dict[str, Any]) -> None:
        stop = named.get("stop") or ()
        stops = (stop,) if isinstance(stop, str) or callable(stop) else tuple(stop)
        self._function, self._given, self._progress = function, given, named.get("progress")
        if self._progress is True:
            self._progress = ProgressLine()
        self._stops = [each for each in stops if callable(each)]
        self._named = {name: value for name, value in named.items() if name not in ("progress", "stop")}
        self._named |= {"stop": texts} if (texts := [each for each in stops if not callable(each)]) else {}
        self._newest: Snapshot | None = None
        self._fault: BaseException | None = None
        self._lock = threading.Lock()

    async def ended(self) -> Any:
        """Wait for the result.

        Raises:
            CancelledError: the caller was cancelled; the call has ended in good order.
            BaseException: of the call, or of a function of the caller.
        """
        self._loop, cancelled = asyncio.get_running_loop(), None
        done: asyncio.Future[Any] = self._loop.create_future()
        done.add_done_callback(asyncio.Future.exception)  # retrieved also where nobody waits any more
        self._thread = threading.Thread(target=self._work, args=(done,), name="logreplay.aio", daemon=True)
        self._thread.start()
        while not done.done() and self._thread.is_alive():
            try:
                await asyncio.wait((done,), timeout=_WAKE_S)
            except GeneratorExit:  # nobody waits any more
                self._cancel()
                raise
            except BaseException as error:
                if cancelled:
                    self._kill()
                    raise
                cancelled = error
                self._cancel()
        await asyncio.sleep(0)  # what the thread said last
        if failure := cancelled or self._fault:
            raise failure
        return await done

    def _work(self, done: "asyncio.Future[Any]") -> None:
        result, failure = None, None
        try:
            result = self._call()
        except BaseException as error:
            failure = error

        def tell() -> None:
            if failure:
                done.set_exception(failure)
            else:
                done.set_result(result)

        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(tell)

    def _see(self, now: "Snapshot") -> None:
        """From another thread: let the functions of the caller see the state of the run, or a newer one."""
        waiting, self._newest = self._newest, now
        if waiting is None:
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._show)

    def _show(self) -> None:
        now, self._newest = self._newest, None
        if self._fault or now is None:
            return
        try:
            if self._progress:
                self._progress(now)
            for function in self._stops:
                if why := reason(function, now):
                    self._stop(why)
        except BaseException as error:
            self._fault = error
            self._cancel()

    def _call(self) -> Any:
        raise NotImplementedError

    def _stop(self, why: str) -> None:
        """Let a function of ``stop`` end the run."""
        raise NotImplementedError

    def _cancel(self) -> None:
        """End the call as Ctrl-C does."""
        raise NotImplementedError

    def _kill(self) -> None:
        """End it at once, where that is possible."""


class _InThread(_Background):
    """A call in this process."""

    def __init__(self, *call: Any) -> None:
        super().__init__(*call)
        self._asked = StopWish()

    def _call(self) -> Any:
        named: dict[str, Any] = {"progress": self._see} if self._progress or self._stops else {}
        named |= {"stop": [*self._named.get("stop", ()), self._asked]} if self._stops else {}
        return self._function(*self._given, **(self._named | named))

    def _stop(self, why: str) -> None:
        self._asked.ask(why)

    def _cancel(self) -> None:
        thread, interrupt = ctypes.c_ulong(self._thread.ident or 0), ctypes.py_object(KeyboardInterrupt)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, interrupt)  # as a signal handler does in the main thread


def _packed(call: ChildCall) -> bytes:
    """A call for another process.

    Raises:
        UsageError: a parameter cannot be sent there.
    """
    try:
        return pickle.dumps(call)
    except Exception as error:  # of an object of the caller's
        text = f"{call.function}: a parameter cannot be sent to another process: {type(error).__name__}: {error}"
        raise UsageError(f"{text}; give paths, numbers and texts") from None


class _InChild(_Background):
    """A call in a process of its own."""

    def __init__(self, *call: Any) -> None:
        super().__init__(*call)
        self._wishes: list[str] = []
        self._connection: Connection[Any, Any] | None = None
        self._process: Popen[bytes] | None = None

    def _call(self) -> Any:
        scratch = Scratch()
        self._process, connection = start_child("logreplay.calling.child", in_group=True)
        watched = bool(self._progress or self._stops)
        call = ChildCall(self._function.__name__, self._given, self._named, scratch.path, watched, bool(self._stops))
        try:
            with self._lock:
                connection.send_bytes(_packed(call))
                for wish in self._wishes:
                    connection.send(wish)
                self._connection = connection
            while not isinstance(answer := connection.recv(), ChildEnded):
                self._see(answer)
        except (EOFError, OSError):
            answer = ChildEnded(error=LogreplayError("the process that makes the call was killed, or crashed"))
        finally:
            self._process.kill()  # it has said all, or must not go on
            self._process.wait()
            with self._lock:
                self._connection = None
            connection.close()
        if answer.in_folder:
            held: Any = answer.result or answer.error
            getattr(held, "result", held).scratch = scratch
        else:
            scratch.close()
        if answer.error:
            raise answer.error
        return answer.result

    def _stop(self, why: str) -> None:
        with self._lock:
            if self._connection:
                with suppress(OSError):
                    self._connection.send(why)
            else:
                self._wishes.append(why)

    def _cancel(self) -> None:
        self._stop(CANCEL)

    def _kill(self) -> None:
        if self._process:
            self._process.kill()


run = asynchronous(functions.run)
sweep = asynchronous(functions.sweep)
find = asynchronous(functions.find)
duet = asynchronous(functions.duet)
analyze = asynchronous(readings.analyze)
capacity = asynchronous(readings.capacity)
compare = asynchronous(readings.compare)
control = asynchronous(controlling.control)
convert = asynchronous(conversion.convert)
inspect = asynchronous(log_inspection.inspect)
plan = asynchronous(planning.plan)
__all__ = [
    "analyze", "capacity", "compare", "control", "convert", "duet", "find", "inspect", "plan", "run", "serve", "sweep",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__
