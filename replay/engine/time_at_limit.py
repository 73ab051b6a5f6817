"""Measures how long a limit was met, so that a wait can be split into the limit's part and the generator's.

Theory of operation. A request that is due while as many others are in flight as may be waits for one of them to end.
Between that end and its own start the generator works, and may be slow: that part of the wait is lag. So the time that
the limit was met is summed up over the plan, and a request's part is the sum at its start less the sum when it was due.
"""

from bisect import bisect_right
from typing import Final

_MOST: Final = 4096
"""Instants that are remembered; with one more, every second one of the older half is forgotten."""


class TimeAtLimit:
    """The time that a limit was met. Instants are nanoseconds of one clock, and never decrease.

    Attributes:
        met: True if it is met now.
        ended: last instant at the limit; 0: none.
    """

    def __init__(self) -> None:
        self._instants, self._sums = [0], [0]
        self.met = False
        self.ended = 0

    def begin(self, now: int) -> None:
        """Note that the limit is met from now on."""
        self._note(now)
        self.met = True

    def end(self, now: int) -> None:
        """Note that it is no longer met."""
        self._note(now)
        self.met, self.ended = False, now

    def since(self, due: int, now: int) -> int:
        """Nanoseconds from an instant to now in which it was met."""
        return self._until(now) - self._until(due)

    def _until(self, instant: int) -> int:
        at = bisect_right(self._instants, instant)
        begun, before = self._instants[at - 1], self._sums[at - 1]
        if at == len(self._instants):
            return before + (instant - begun) * self.met
        return before + (instant - begun) * (self._sums[at] - before) // (self._instants[at] - begun)

    def _note(self, now: int) -> None:
        total = self._until(now)
        self._instants.append(now)
        self._sums.append(total)
        if len(self._instants) > _MOST:
            self._instants[: _MOST // 2] = self._instants[: _MOST // 2 : 2]
            self._sums[: _MOST // 2] = self._sums[: _MOST // 2 : 2]
