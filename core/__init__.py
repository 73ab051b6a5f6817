"""The ground floor: the row and its columns, files, headers, bodies, masking and units."""

import os
import sys


class ForkedThreads:
    """Notices a fork of a process in which Polars had started its threads: calls would wait for them in the fork."""

    def __init__(self) -> None:
        self._started = self._lost = False

    def before_fork(self) -> None:
        self._started = self._started or _polars_started()

    def in_child(self) -> None:
        self._lost = self._started

    def check(self) -> None:
        """Check that Polars can compute."""
        if self._lost:
            from logreplay.core.errors import LogreplayError

            raise LogreplayError(
                "this process was forked after a call of logreplay or Polars, and a fork lacks the threads of Polars, "
                "so the call would never end; start processes with multiprocessing.get_context('spawn') or "
                "'forkserver'"
            )


def _polars_started() -> bool:
    """Whether Polars has started its threads, which stay; where the system does not tell, whether it was imported."""
    if "polars" not in sys.modules:
        return False
    try:
        return any(map(_is_of_polars, os.listdir("/proc/self/task")))
    except OSError:
        return not os.path.exists("/proc/self/task")


def _is_of_polars(thread: str) -> bool:
    try:
        with open(f"/proc/self/task/{thread}/comm", "rb") as file:
            name = file.read()
    except OSError:  # it has ended
        return False
    return name.startswith(b"polars-") and name[7:8].isdigit()


FORKED_THREADS = ForkedThreads()
os.register_at_fork(before=FORKED_THREADS.before_fork, after_in_child=FORKED_THREADS.in_child)
