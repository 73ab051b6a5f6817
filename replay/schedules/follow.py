"""The schedule of a followed log: its own times, each a set delay later."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from logreplay.replay.schedules.rates import FARTHEST_NS, Instants, Limited, Pacer, Schedule, Together


@dataclass(frozen=True, slots=True)
class FollowSchedule:
    """Each request at the instant it began in the log, and a set time later.

    One that is read later than that is due at once, and none is due before the one ahead of it: a log is written as
    requests end, so it is not quite in order of their start. One whose start is not known is due when it is read.

    Attributes:
        delay: seconds; longer than the longest response of the log, or requests are late.
        wall: nanoseconds since 1970.

    Raises:
        ValueError: delay is below 0.
    """

    delay: float
    wall: Callable[[], int] = time.time_ns

    def __post_init__(self) -> None:
        if not self.delay >= 0:
            raise ValueError(f"delay must not be below 0 s, got {self.delay!r}")

    @property
    def rate(self) -> float:
        """0: the log decides."""
        return 0.0

    @property
    def duration(self) -> float | None:
        return None

    def pacer(self) -> Pacer:
        begin = last = 0

        def pace(starts: Instants) -> Instants:
            nonlocal begin, last
            if not len(starts):
                return starts
            begin = begin or self.wall()
            farthest = FARTHEST_NS // 1000
            due = np.clip(starts, -farthest, farthest) * 1000 + int(self.delay * 1e9) - begin
            if not starts.all():
                due[starts == 0] = self.wall() - begin
            due = np.maximum.accumulate(np.maximum(due, last))
            last = int(due[-1])
            return due

        return pace


def delay_of(schedule: Schedule) -> float | None:
    """How much later than the log a schedule sends, seconds; None if it does not follow one."""
    while isinstance(schedule, Limited | Together):
        schedule = schedule.schedule
    return schedule.delay if isinstance(schedule, FollowSchedule) else None
