"""Runs an engine on the fast event loop; a signal ends the run in good order."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from logreplay.cli.display.bug_report import tell_of_loop
from logreplay.cli.running.signals import SIGNALS, Interrupted

T = TypeVar("T")
_FEWEST_FILES = 48


def run_in_loop(main: Callable[[asyncio.Event], Coroutine[Any, Any, T]]) -> T:
    """Run ``main(stop)`` on uvloop; ``stop`` is set by Ctrl-C, SIGTERM or SIGHUP, and ``main`` then ends."""
    import uvloop

    _check_descriptors()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        stop, loop = asyncio.Event(), runner.get_loop()
        loop.set_exception_handler(tell_of_loop)
        # from before the coroutine is made: one that a signal keeps from beginning is complained of
        with SIGNALS.stopping(lambda: loop.call_soon_threadsafe(stop.set)):
            return runner.run(main(stop))


def run_until_stopped(main: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run ``main()`` in the same way; a signal cancels it.

    Raises:
        Interrupted: a signal came.
    """

    return run_in_loop(lambda stop: unless_stopped(stop, main()))


async def unless_stopped(stop: asyncio.Event, work: Coroutine[Any, Any, T]) -> T:
    """Await something that a signal cancels.

    Raises:
        Interrupted: a signal came.
    """
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
    """Raise the limit where it is allowed; with too few nothing can begin, not even the loop.

    Raises:
        LogreplayError: too few are allowed.
    """
    from logreplay.replay.senders.descriptors import allow_descriptors

    if (hard := allow_descriptors(_FEWEST_FILES)) < _FEWEST_FILES:
        from logreplay.core.record import LogreplayError

        text = f"only {hard} file descriptors are allowed (ulimit -Hn), and a run needs {_FEWEST_FILES} before it sends"
        raise LogreplayError(f"{text}; raise the limit")
