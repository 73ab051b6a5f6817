"""Virtual time: an event loop whose selector, instead of waiting, moves the loop's clock on."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """Jumps to the next timer whenever nothing else is to be done."""

    def __init__(self) -> None:
        self.virtual = 0.0
        super().__init__(_JumpingSelector(self))

    def time(self) -> float:
        return self.virtual

    def now_ns(self) -> int:
        """The virtual time as the engine's clock."""
        return round(self.virtual * 1e9)


class _JumpingSelector(selectors.DefaultSelector):
    def __init__(self, loop: VirtualTimeLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> Any:
        if timeout is None:
            raise RuntimeError("virtual time stands still: nothing is scheduled")
        self._loop.virtual += max(0.0, timeout)
        return super().select(0)


def run(main: Coroutine[Any, Any, T], loop: VirtualTimeLoop) -> T:
    """Run to the end in virtual time."""
    try:
        return loop.run_until_complete(main)
    finally:
        loop.close()
