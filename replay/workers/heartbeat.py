"""Counts how long another process has been silent while this one was running."""

import time
from collections.abc import Callable


class Silence:
    """Time since something was heard. Belongs to one thread, which looks regularly.

    Where this process did not run itself (Ctrl-Z and ``fg``, a machine that sleeps, a thread that waited for the disk),
    the silence of another one proves nothing: of the time between two looks only ``most_s`` count.

    Args:
        most_s: seconds, more than usually go by between two looks.
        clock: seconds.
    """

    def __init__(self, most_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._clock = most_s, clock
        self.heard()

    def heard(self) -> None:
        """Note that something was heard just now."""
        self._seconds, self._looked = 0.0, self._clock()

    def look(self) -> float:
        """Seconds of silence that count."""
        now = self._clock()
        self._seconds += min(now - self._looked, self._most)
        self._looked = now
        return self._seconds
