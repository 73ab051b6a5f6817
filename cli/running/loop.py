"""Running an engine from the command line: the fast loop, and signals that end a run in good order."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from logreplay.cli.display.bug_report import tell_of_loop
from logreplay.cli.running.signals import SIGNALS

if TYPE_CHECKING:
    from logreplay.replay.engine.engine import Replayer

T = TypeVar("T")
_FEWEST_FILES = 48


def run_in_loop(main: Callable[[asyncio.Event], Coroutine[Any, Any, T]]) -> T:
    """Run ``main(stop)`` on uvloop; ``stop`` is set by Ctrl-C, SIGTERM or SIGHUP, and ``main`` then ends."""
    import uvloop

    _check_descriptors()

    async def with_signals() -> T:
        stop, loop = asyncio.Event(), asyncio.get_running_loop()
        loop.set_exception_handler(tell_of_loop)
        with SIGNALS.stopping(lambda: loop.call_soon_threadsafe(stop.set)):
            return await main(stop)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(with_signals())


def _check_descriptors() -> None:
    """Raise the limit where it is allowed; with too few nothing can begin, not even the loop.

    Raises:
        LogreplayError: too few are allowed.
    """
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < _FEWEST_FILES <= hard or hard == resource.RLIM_INFINITY:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, _FEWEST_FILES), hard))
    elif soft < _FEWEST_FILES:
        from logreplay.parsers.record import LogreplayError

        text = f"only {hard} file descriptors are allowed (ulimit -Hn), and a run needs {_FEWEST_FILES} before it sends"
        raise LogreplayError(f"{text}; raise the limit")


@asynccontextmanager
async def stopped_by(stop: asyncio.Event, engine: "Replayer") -> AsyncIterator[None]:
    """Within the block, end the run of an engine in good order when ``stop`` is set."""

    async def wait() -> None:
        await stop.wait()
        engine.stop("interrupted")

    stopper = asyncio.create_task(wait())
    try:
        yield
    finally:
        stopper.cancel()
