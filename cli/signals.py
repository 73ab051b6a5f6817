"""Handles Ctrl-C, SIGTERM and SIGHUP: the first ends a run in good order, the second ends the program."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

from logreplay.cli.exit_codes import Exit
from logreplay.core.errors import Interrupted

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_ONE_S: Final = 0.2
"""Signals this close together are one: a closed terminal and timeout(1) send two."""
_LAST_S: Final = 0.5
"""Seconds that the program may tidy up after the second signal."""
_REPEAT_S: Final = 0.005
"""Seconds after which a signal that came within Polars is sent again."""
_TIDY_S: Final = 0.3
"""Seconds that the removal of temporary files may take after the second signal."""


_RAISED: Final = 2
"""Signals that raise: the first asks a run to stop, the second ends the wait for it."""


class Signals:
    """What the process does when it is told to end, step by step.

    The first and the second signal raise `Interrupted`: with the first a run ends in good order
    (`logreplay.calling.loop_thread`), and temporary files are removed. What waits for something that never comes (a
    hook, a disk, a resolver, a reader) may hold that up: half a second after the second signal the process ends,
    whatever it waits for. By then all that ended a second ago is on disk.

    Attributes:
        raised: True if `Interrupted` was raised.
    """

    def __init__(self) -> None:
        self._heard, self._last, self.raised = 0, 0.0, False
        self._code: int | None = None
        self._repeated = False

    @property
    def heard(self) -> bool:
        """Whether a signal asked for the end."""
        return self._heard > 0

    def listen(self, *always: signal.Signals) -> Callable[[], None]:
        """Hear the signals from now on, ignored ones (nohup) only if named; returns what undoes this."""
        heard = [number for number in _SIGNALS if number in always or signal.getsignal(number) is not signal.SIG_IGN]
        before = {number: signal.signal(number, self._hear) for number in heard}

        def undo() -> None:
            for number, handler in before.items():
                signal.signal(number, handler)

        return undo

    @contextmanager
    def hearing(self) -> Iterator[None]:
        """Hear Ctrl-C and SIGTERM within the block even if they are ignored; count signals again."""
        undo = self.listen(signal.SIGINT, signal.SIGTERM)
        self._heard, self.raised = 0, False
        try:
            yield
        finally:
            undo()

    def done(self, code: int) -> None:
        """Let a signal end the process at once with this exit code: the remaining wait is dispensable."""
        self._code = code

    def ignore(self) -> None:
        """Let no signal change the exit code: the interpreter takes no handler along to its end."""
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if self._code is not None:
            _end(self._code)
        if not self._repeated:
            now = time.monotonic()
            if self._heard and now - self._last < _ONE_S:
                return
            self._heard, self._last = self._heard + 1, now
            if self._heard > 1:
                threading.Thread(target=_end_soon, daemon=True).start()
        self._repeated = False
        if self._heard > _RAISED:
            return
        if _within_polars(frame):
            threading.Thread(target=self._repeat, args=(number,), daemon=True).start()
            return
        self.raised = True
        raise Interrupted

    def _repeat(self, number: int) -> None:
        """Send the signal to the main thread again in a moment, unless it is not heard any more."""
        time.sleep(_REPEAT_S)
        if signal.getsignal(number) == self._hear:
            self._repeated = True
            signal.pthread_kill(threading.main_thread().ident or 0, number)


def _within_polars(frame: FrameType | None) -> bool:
    """Whether Polars has called this code: Polars prints a panic where Python code that it calls raises."""
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] == "polars":
            return True
        frame = frame.f_back
    return False


def _end_soon() -> None:
    time.sleep(_LAST_S)
    _end(Exit.INTERRUPTED)


def _end(code: int) -> None:
    """End the process without its exit handlers, which may wait; its files, semaphores and clusters are removed."""
    tidying = threading.Thread(target=_tidy_up, daemon=True)
    tidying.start()
    tidying.join(_TIDY_S)  # a disk may not answer
    os._exit(code)


def _tidy_up() -> None:
    loaded = sys.modules  # nothing is imported here: an import may be what hangs
    files = loaded.get("logreplay.core.files")
    if files:
        files.remove_unfinished()  # first: the end of a cluster may take all the time there is
    if clusters := loaded.get("logreplay.replay.workers.dask_workers"):
        clusters.kill_local_clusters()
        if files:
            files.remove_unfinished()  # what the cluster wrote until then
    if util := loaded.get("multiprocessing.util"):
        util._run_finalizers(0)  # else the tracker of semaphores warns on standard error when it removes them


SIGNALS: Final = Signals()
"""Signals that end this process in good order."""
