"""Running an engine from the command line: the fast loop, and signals that end a run in good order."""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from logreplay.replay.engine import Replayer

T = TypeVar("T")
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run_in_loop(main: Callable[[asyncio.Event], Coroutine[Any, Any, T]]) -> T:
    """Run ``main(stop)`` on uvloop; ``stop`` is set by Ctrl-C, SIGTERM or SIGHUP, and ``main`` then ends."""
    import uvloop

    async def with_signals() -> T:
        stop, loop = asyncio.Event(), asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, stop.set)
        try:
            return await main(stop)
        finally:
            for number in _SIGNALS:
                loop.remove_signal_handler(number)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(with_signals())


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
