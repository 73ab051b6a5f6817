"""Keeping other threads out of the loop's way."""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

_NICE: Final = 10
_SWITCH_S: Final = 0.00005


def step_back() -> None:
    """Let the loop's thread go first: called by a thread that works for it. Threads it starts inherit this.

    On Linux niceness belongs to a thread. The loop wakes for some microseconds at a time; without this it would wait
    for a time slice, milliseconds, when both share a processor.
    """
    if sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)


@contextmanager
def quick_switching() -> Iterator[None]:
    """While the block runs, the interpreter hands over to the loop's thread in 0.05 ms, not in 5."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_S)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
