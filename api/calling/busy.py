"""One run at a time in a process: two would measure each other."""

import os
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from logreplay.core.errors import BusyError

_LOCK = threading.Lock()
_UNDER_WAY: list[str] = []
"""The function of the run, once for the call and once for its thread, which may outlive the call."""
_LEFT_TO_THREAD: list[ExitStack] = []
"""Objects that a thread which outlives its call closes at its end."""
os.register_at_fork(after_in_child=_UNDER_WAY.clear)
os.register_at_fork(after_in_child=_LEFT_TO_THREAD.clear)


@contextmanager
def only_run(function: str) -> Iterator[None]:
    """A call of a function, from its first check to its result.

    Raises:
        BusyError: another one is under way.
    """
    with _LOCK:
        if _UNDER_WAY:
            raise BusyError(
                f"{function}: logreplay.{_UNDER_WAY[0]} is under way in this process, and two would measure each "
                "other; wait for its end, or start another process"
            )
        _UNDER_WAY.append(function)
    try:
        yield
    finally:
        _remove(function)


@contextmanager
def thread_of_run() -> Iterator[None]:
    """The thread of a call that is under way: after the second Ctrl-C it may outlive the call."""
    mine = list(_UNDER_WAY)
    _UNDER_WAY.extend(mine)
    try:
        yield
    finally:
        with _LOCK:
            for function in mine:
                _remove(function)
            left, _LEFT_TO_THREAD[:] = _LEFT_TO_THREAD[:], []
        for stack in left:
            stack.close()


@contextmanager
def used_by_thread() -> Iterator[ExitStack]:
    """A stack for what the thread of a run uses: closed at the end of the block, or of a thread that outlives it."""
    with ExitStack() as stack:
        try:
            yield stack
        finally:
            with _LOCK:
                if len(_UNDER_WAY) > 1:
                    _LEFT_TO_THREAD.append(stack.pop_all())


def _remove(function: str) -> None:
    """Remove a function once, if no fork has cleared the list."""
    if function in _UNDER_WAY:
        _UNDER_WAY.remove(function)
