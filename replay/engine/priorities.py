"""Keeping other threads out of the loop's way."""

import ctypes
import os
import platform
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

_NICE: Final = 10
_SLICE_NS: Final = 100_000
_OTHERS_SLICE_NS: Final = 200_000
"""The loop's time slice is the shortest that Linux takes, that of others is longer: who wakes takes the processor at
once from who has a longer one."""
_POLARS: Final = ("polars-", "tokio-rt-", "async-executor-")
"""Names of the threads that Polars starts, whoever asks it for something first."""
_SWITCH_S: Final = 0.00005

_CALLS: Final = {"x86_64": (314, 315), "aarch64": (274, 275), "riscv64": (274, 275)}
"""Numbers of sched_setattr(2) and sched_getattr(2), for which the C library has no functions."""


def step_back() -> None:
    """Let the loop's thread go first: called by a thread that works for it. Threads it starts inherit this.

    On Linux niceness belongs to a thread. The loop wakes for some microseconds at a time; without this it would wait
    for a time slice, milliseconds, when both share a processor.
    """
    _put_back(threading.get_native_id())


@contextmanager
def quick_switching() -> Iterator[None]:
    """While the block runs, this thread gets its processor, and the interpreter, in fractions of a millisecond.

    The interpreter hands over in 0.05 ms, not in 5. The threads of Polars step back, and stay there.
    """
    _put_polars_back()
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_S)
    with _short_slice():
        try:
            yield
        finally:
            sys.setswitchinterval(before)


@contextmanager
def _short_slice() -> Iterator[None]:
    """While the block runs, this thread need not wait for the end of another's time slice, and has short ones."""
    before = None
    with suppress(OSError):
        before = _set_slice(0, _SLICE_NS)
    try:
        yield
    finally:
        if before is not None:
            with suppress(OSError):
                _set_slice(0, before)


def _put_polars_back() -> None:
    if sys.platform == "linux":
        with suppress(OSError):
            for task in Path("/proc/self/task").iterdir():
                if (task / "comm").read_text().startswith(_POLARS):
                    _put_back(int(task.name))


def _put_back(thread: int) -> None:
    if sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, thread, _NICE)
            _set_slice(thread, _OTHERS_SLICE_NS)


class _Attributes(ctypes.Structure):
    """``struct sched_attr`` of sched_setattr(2). Of a thread without a deadline the runtime is its slice (6.12)."""

    _fields_ = (
        ("size", ctypes.c_uint32),
        ("policy", ctypes.c_uint32),
        ("flags", ctypes.c_uint64),
        ("nice", ctypes.c_int32),
        ("priority", ctypes.c_uint32),
        ("runtime", ctypes.c_uint64),
        ("deadline", ctypes.c_uint64),
        ("period", ctypes.c_uint64),
    )


def _set_slice(thread: int, ns: int) -> int:
    """Set how long a thread (0: this one) may run while another one waits.

    Returns:
        What it was.

    Raises:
        OSError: this system knows of no such thing.
    """
    if sys.platform != "linux" or platform.machine() not in _CALLS:
        raise OSError("no slices here")
    setattr_, getattr_ = _CALLS[platform.machine()]
    call = ctypes.CDLL(None, use_errno=True).syscall
    attributes = _Attributes()
    pointer, size = ctypes.byref(attributes), ctypes.sizeof(attributes)
    if call(getattr_, thread, pointer, size, 0):
        raise OSError(ctypes.get_errno(), "sched_getattr")
    before, attributes.runtime = attributes.runtime, ns
    if call(setattr_, thread, pointer, 0):
        raise OSError(ctypes.get_errno(), "sched_setattr")
    return int(before)
