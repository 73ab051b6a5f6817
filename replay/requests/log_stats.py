"""Statistics of a log: number of requests, time span, requests in its busiest second."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from logreplay.core.errors import LogError
from logreplay.replay.schedules.rates import Instants

ORDER_OVER: Final = 50_000
"""Requests over which the share out of order is taken."""
_MOST_UNORDERED: Final = 0.01
"""Largest share of requests out of order with which the times of a log are used."""
_SECOND_US = 1_000_000


@dataclass(slots=True)
class LogFigures:
    """Rates of a log, counted while its requests are read.

    Attributes:
        requests: number of requests.
        first, last: microseconds since 1970 of the earliest and the latest whose start is known; 0: none.
        peak: requests in the busiest second of the clock.
        untimed: requests whose start is not known.
        unordered: requests that started earlier than one before them.
    """

    requests: int = 0
    first: int = 0
    last: int = 0
    peak: int = 0
    untimed: int = 0
    unordered: int = 0
    _second: int = 0
    _in_second: int = 0
    _looked_at: int = 0
    _unordered: int = 0

    def add(self, starts: Instants) -> None:
        """Count more requests.

        Args:
            starts: ``(n,)`` microseconds since 1970; 0 where unknown.
        """
        if self._looked_at >= ORDER_OVER:
            self._looked_at = self._unordered = 0
        self._looked_at += len(starts)
        self.requests += len(starts)
        known = starts[starts > 0]
        self.untimed += len(starts) - len(known)
        if not len(known):
            return
        latest = np.maximum.accumulate(np.concatenate(([self.last], known)))
        unordered = int((known < latest[:-1]).sum())
        self.unordered += unordered
        self._unordered += unordered
        self.first = min(self.first or int(known.min()), int(known.min()))
        self.last = int(latest[-1])
        seconds, counts = np.unique(known // _SECOND_US, return_counts=True)
        if seconds[0] == self._second:
            counts[0] += self._in_second
        self.peak = max(self.peak, int(counts.max()))
        self._second, self._in_second = int(seconds[-1]), int(counts[-1])

    def out_of_order(self, *, few: bool = False) -> bool:
        """Whether more than a hundredth of the latest requests, about `ORDER_OVER`, started earlier than one before.

        ``few``: take the share also over fewer requests, as at the end of a short log.
        """
        return self._unordered > _MOST_UNORDERED * max(self._looked_at, 0 if few else ORDER_OVER)

    def expect_order(self, log: object, *, few: bool = False) -> None:
        """Check that the latest requests of a log are not `out_of_order`."""
        if self.out_of_order(few=few):
            raise LogError(
                f"{log}: {self._unordered:,} of its requests {self.requests - self._looked_at + 1:,} to "
                f"{self.requests:,} are out of order: --speed and --arrivals log would send each together with the one "
                "before it; put the log in order, as logreplay convert does"
            )

    @property
    def period(self) -> int:
        """Microseconds after which the log may begin again: its span and one mean gap more; 1 s without times."""
        span = self.last - self.first
        return span + span // max(1, self.requests - 1) or _SECOND_US

    @property
    def mean(self) -> float:
        """Requests per second on average; 0 where the log has no times."""
        return self.requests / self.period * _SECOND_US if self.last > self.first else 0.0
