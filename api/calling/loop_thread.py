"""Runs work in a thread of its own, on the fast event loop; Ctrl-C in the calling thread ends it in good order.

Theory of operation. The calling thread waits for the work; there Python raises `KeyboardInterrupt`, by its own handler
or by that of the command line. The first one asks the work to stop; the caller waits, so that rows and summaries are
whole; the second one is raised at once. Meanwhile that thread calls the listener of the call. So the library needs no
signal handler, and works in threads that get none.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

from logreplay.calling.busy import thread_of_run
from logreplay.calling.callbacks import Callbacks
from logreplay.calling.mailbox import Mailbox
from logreplay.core.errors import Interrupted, LogreplayError

T = TypeVar("T")
_FEWEST_FILES: Final = 48
"""Descriptors that a run needs before it sends."""
_LOOK_S: Final = 0.2
"""Longest wait of the calling thread: a signal that the system gives to another thread does not end it."""
Main = Callable[[asyncio.Event], Coroutine[Any, Any, T]]
Fault = Callable[[Any, dict[str, Any]], object]


class Stop:
    """The wish to stop, from any thread.

    Attributes:
        heeded: a loop ran when the wish came, or began after it.
    """

    def __init__(self) -> None:
        self.heeded = False
        self._asked = False
        self._lock = threading.Lock()
        self._tell: Callable[[], object] | None = None

    def ask(self) -> None:
        """Ask the loop that runs, or the next one, to stop."""
        with self._lock:
            self._asked = True
            if self._tell:
                self.heeded = True
                self._tell()

    def bind(self, tell: Callable[[], object] | None) -> None:
        """Let a loop hear the wish from now on; None: it has ended."""
        with self._lock:
            self._tell = tell
            if tell and self._asked:
                self.heeded = True
                tell()

    @property
    def missed(self) -> bool:
        """Whether a stop was asked for that no loop received."""
        return self._asked and not self.heeded


def protected(work: Callable[[Stop], T], mailbox: Mailbox | None = None) -> T:
    """Do work in another thread; the first `KeyboardInterrupt` asks it to stop, the second one is raised.

    This thread, which made the mailbox, calls its listener.

    Raises:
        Interrupted: it was asked to stop when no loop ran; ``result`` is that of the work, which was done nevertheless.
        Exception: of the work; or of the listener, which ends the work in the same way as Ctrl-C.
    """
    stop, done, mailbox = Stop(), list[tuple[Any, BaseException | None]](), mailbox or Mailbox(Callbacks())

    def do() -> None:
        try:
            with thread_of_run():
                result = work(stop)
        except BaseException as error:  # raised in the calling thread
            done.append((None, error))
        else:
            done.append((result, None))
        mailbox.wake()

    thread = threading.Thread(target=do, name="logreplay", daemon=True)
    ended, asked, of_listener = False, False, None
    while not ended:
        try:
            if thread.ident is None:
                thread.start()
            while not ended:  # here, since Python looks for signals where a loop turns
                over = bool(done)  # read first: messages sent before the end are still delivered
                mailbox.deliver(0 if over else _LOOK_S)
                ended = over
        except KeyboardInterrupt:
            if asked:
                raise
            asked = True
            stop.ask()
        except BaseException as error:
            of_listener = of_listener or error
            stop.ask()
    result, of_work = done[0]
    if failure := of_listener or of_work:
        raise failure
    if stop.missed:
        interrupted = Interrupted()
        interrupted.result = result
        raise interrupted
    return result  # type: ignore[no-any-return]  # of `work`


def loop_in_this_thread(main: Main[T], stop: Stop, fault: Fault | None = None) -> T:
    """Run ``main(event)`` on uvloop; the event is set by the wish to stop, and ``main`` then ends.

    ``fault`` handles what the loop reports; without it asyncio does.
    """
    import uvloop

    _check_descriptors()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        event, loop = asyncio.Event(), runner.get_loop()
        loop.set_exception_handler(fault)
        stop.bind(lambda: loop.call_soon_threadsafe(event.set))
        try:
            return runner.run(main(event))
        finally:
            stop.bind(None)


def run_in_loop(main: Main[T], fault: Fault | None = None, mailbox: Mailbox | None = None) -> T:
    """Run ``main(stop)`` on uvloop in a thread of its own; Ctrl-C sets ``stop``, and ``main`` then ends.

    Raises:
        Interrupted: Ctrl-C came before ``main`` began, or, if it is ``late``, after its end.
    """
    try:
        return protected(lambda stop: loop_in_this_thread(main, stop, fault), mailbox)
    except Interrupted as error:
        error.late, error.result = error.result is not None, None  # the value of `main` is not the result of a call
        raise


def run_until_stopped(main: Callable[[], Coroutine[Any, Any, T]], fault: Fault | None = None) -> T:
    """Run ``main()`` in the same way; Ctrl-C cancels it, and `Interrupted` is raised."""
    return run_in_loop(lambda stop: unless_stopped(stop, main()), fault)


async def unless_stopped(stop: asyncio.Event, work: Coroutine[Any, Any, T]) -> T:
    """Await something that the wish to stop cancels; then `Interrupted` is raised."""
    task, stopped = asyncio.create_task(work), asyncio.create_task(stop.wait())
    await asyncio.wait((task, stopped), return_when=asyncio.FIRST_COMPLETED)
    stopped.cancel()
    if not task.done():
        task.cancel()
        await asyncio.wait((task,))
    if task.cancelled():
        raise Interrupted
    return await task


def _check_descriptors() -> None:
    """Raise the limit where it is allowed; with too few nothing can begin, not even the loop."""
    from logreplay.replay.senders.descriptors import allow_descriptors

    if (hard := allow_descriptors(_FEWEST_FILES)) < _FEWEST_FILES:
        text = f"only {hard} file descriptors are allowed (ulimit -Hn), and a run needs {_FEWEST_FILES} before it sends"
        raise LogreplayError(f"{text}; raise the limit")
