"""Thread priorities: the loop's thread goes first."""

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


def step_back() -> None:
    """Lower the priority of the calling thread below the loop's. Threads that it starts inherit this.

    On Linux niceness belongs to a thread. The loop wakes for some microseconds at a time; without this it would wait
    for a time slice, milliseconds, when both share a processor.
    """
    _put_back(threading.get_native_id())


@contextmanager
def quick_switching() -> Iterator[None]:
    """While the block runs, the interpreter switches threads every 0.05 ms instead of every 5 ms.

    The threads of Polars get a lower priority, and keep it.
    """
    _put_polars_back()
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_S)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


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
