"""A schedule without an end, made of one that has one."""

from dataclasses import dataclass

import numpy as np

from logreplay.replay.schedules.rates import Instants, Pacer, Schedule


@dataclass(frozen=True, slots=True)
class Repeated:
    """A schedule that begins again whenever it is over.

    Attributes:
        schedule: one round; has a duration.
    """

    schedule: Schedule

    @property
    def rate(self) -> float:
        return self.schedule.rate

    @property
    def duration(self) -> float | None:
        return None

    def pacer(self) -> Pacer:
        round_ns = int((self.schedule.duration or 0.0) * 1e9)
        pace, begin = self.schedule.pacer(), 0

        def place(starts: Instants) -> Instants:
            nonlocal pace, begin
            parts = [begin + pace(starts)]
            while (placed := sum(map(len, parts))) < len(starts):
                pace, begin = self.schedule.pacer(), begin + round_ns
                parts.append(begin + pace(starts[placed:]))
                if not len(parts[-1]):  # a round holds no request
                    break
            return np.concatenate(parts)

        return place
