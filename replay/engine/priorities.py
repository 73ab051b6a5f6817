"""Thread priorities: the loop's thread goes first."""

import ctypes
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

_NICE: Final = 10
"""Steps below the loop's thread."""
_POLARS: Final = ("polars-", "tokio-rt-", "async-executor-")
"""Names of the threads that Polars starts."""
_SWITCH_S: Final = 0.00005
_PR_SET_TIMERSLACK: Final = 29
"""Of prctl(2)."""


def step_back() -> None:
    """Lower the priority of the calling thread below the loop's. Threads that it starts inherit this.

    On Linux niceness belongs to a thread. The loop wakes for some microseconds at a time; without this it would wait
    for a time slice, milliseconds, when both share a processor.
    """
    _put_back(threading.get_native_id())


@contextmanager
def quick_switching() -> Iterator[None]:
    """While the block runs, other threads leave the interpreter to this one within 0.05 ms instead of 5 ms.

    On Linux a wait may last 0.05 ms longer than asked, so that wake-ups fall together; this thread's do not, here.
    The threads of Polars get a lower priority, and keep it.
    """
    _put_polars_back()
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_S)
    _set_slack(1)
    try:
        yield
    finally:
        _set_slack(0)  # as it was when the thread began
        sys.setswitchinterval(before)


def _set_slack(ns: int) -> None:
    """Let the waits of the calling thread last so much longer than asked, at most."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, ctypes.c_ulong(ns))


def _put_polars_back() -> None:
    if sys.platform == "linux":
        with suppress(OSError):
            for task in Path("/proc/self/task").iterdir():
                if (task / "comm").read_text().startswith(_POLARS):
                    _put_back(int(task.name))


def _put_back(thread: int) -> None:
    if sys.platform == "linux":
        with suppress(OSError):
            of_main_thread = os.getpriority(os.PRIO_PROCESS, os.getpid())  # of the loop; `nice` may have changed it
            os.setpriority(os.PRIO_PROCESS, thread, of_main_thread + _NICE)
