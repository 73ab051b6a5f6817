"""Running an engine from the command line: the fast loop, and signals that end a run in good order."""

import asyncio
import signal
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

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
