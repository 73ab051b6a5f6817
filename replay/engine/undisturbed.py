"""Keeps the loop undisturbed: other threads give way to its thread, and the garbage collector is off.

The senders make no cycles, so reference counts free what an exchange leaves behind. A library, a TLS layer or a hook
may make some: the interpreter counts the objects that were made and not freed, and once there are many, the young
ones alone are gone through.
"""

import ctypes
import gc
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from logreplay.core.installation import OWN_PROCESS

_MANY: Final = 50_000
"""Young objects: going through them takes some milliseconds."""
_NICE: Final = 10
"""Steps below the loop's thread."""
_POLARS: Final = ("polars-", "tokio-rt-", "async-executor-")
"""Names of the threads that Polars starts."""
_SWITCH_S: Final = 0.00005
_SLICE_NS: Final = 100_000
"""The shortest time slice that Linux grants."""
_SCHED_SETATTR: Final = {"x86_64": 314, "aarch64": 274}
"""Numbers of the system call; the C library has no function for it before glibc 2.41."""


@contextmanager
def no_collection() -> Iterator[None]:
    """Turn the collector off within the block; present objects become old, which `collect_young` leaves alone."""
    was_enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def collect_young() -> None:
    """Free the cycles among the objects made since the last call, if these are many."""
    if gc.get_count()[0] > _MANY:
        gc.collect(0)


def lower_priority() -> None:
    """Lower the priority of the calling thread below the loop's. Threads that it starts inherit this.

    On Linux niceness belongs to a thread. The loop wakes for some microseconds at a time; without this it would wait
    for a time slice, milliseconds, when both share a processor.
    """
    _put_back(threading.get_native_id())
    _ask_for_slices(0)


@contextmanager
def quick_switching() -> Iterator[None]:
    """While the block runs, the calling thread preempts others soon after it wakes.

    The interpreter switches threads every 0.05 ms instead of every 5 ms, and Linux takes the processor from threads
    with longer time slices. In a process of this package the threads of Polars get a lower priority, and keep it, as a
    user may not raise it again.
    """
    if OWN_PROCESS.claimed:
        _put_polars_back()
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_S)
    _ask_for_slices(_SLICE_NS)
    try:
        yield
    finally:
        _ask_for_slices(0)
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


class _SchedAttr(ctypes.Structure):
    """``struct sched_attr`` of sched_setattr(2)."""

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


def _ask_for_slices(ns: int) -> None:
    """Ask for time slices of this length for the calling thread; 0: those of the system.

    A thread that wakes preempts one with a longer slice (Linux 6.12 and later; older ones ignore the length). Where the
    call is not known or not allowed, or the user chose another policy (chrt), nothing changes.
    """
    number = _SCHED_SETATTR.get(os.uname().machine) if sys.platform == "linux" else None
    with suppress(OSError):  # of the policy, which musl does not tell
        if number and os.sched_getscheduler(0) == os.SCHED_OTHER:
            nice = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
            attr = _SchedAttr(ctypes.sizeof(_SchedAttr), os.SCHED_OTHER, 0, nice, 0, ns, 0, 0)
            ctypes.CDLL(None).syscall(number, 0, ctypes.byref(attr), 0)
