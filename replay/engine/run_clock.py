"""The time of a run: its beginning, and the beginning of each of its plans."""

import time
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from logreplay.replay.clock import Clock
from logreplay.replay.results.result_log import utc

_SECOND: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Start:
    """An instant by two clocks.

    Attributes:
        at: nanoseconds of the clock.
        wall: the same instant, nanoseconds since 1970.
    """

    at: int
    wall: int


class RunClock:
    """Decides when the plans of a run begin. The run begins with the first of them.

    Attributes:
        start: begin of the run; None before.
    """

    def __init__(self, clock: Clock) -> None:
        self.start: Start | None = None
        self._clock = clock

    def begin_run(self, start: Start) -> Start:
        """Begin the run, if it has not begun; return when it did."""
        self.start = self.start or start
        return self.start

    def begin_plan(self, ready: int) -> int:
        """When a plan begins whose first requests are ready at an instant: on a whole second of the run.

        So each second of the run belongs to one plan only.
        """
        run = self.begin_run(self._now(ready))
        return ready + (run.at - ready) % _SECOND

    def _now(self, at: int) -> Start:
        return Start(at, time.time_ns() + at - self._clock())

    def seconds(self, at: int) -> float:
        """From the start of the run to an instant of the clock."""
        return (at - self.start.at) / 1e9 if self.start else 0.0

    def utc(self, at: int) -> datetime:
        """The time of an instant of the clock."""
        start = self.start or self._now(at)
        return utc(at - start.at + start.wall)
