"""A schedule without an end, made of one that has one."""

from dataclasses import dataclass, replace

import numpy as np

from logreplay.replay.schedules.arrivals import Poisson, Scattered
from logreplay.replay.schedules.rates import Instants, Pacer, Schedule


@dataclass(frozen=True, slots=True)
class Repeated:
    """A schedule that begins again whenever it is over. Random arrivals differ from round to round.

    Attributes:
        schedule: the first round; has a duration.
    """

    schedule: Schedule

    @property
    def rate(self) -> float:
        return self.schedule.rate

    @property
    def duration(self) -> float | None:
        return None

    def _round(self, index: int) -> Schedule:
        one = self.schedule
        return replace(one, seed=one.seed + index) if isinstance(one, Poisson | Scattered) else one

    def pacer(self) -> Pacer:
        round_ns = int((self.schedule.duration or 0.0) * 1e9)
        pace, rounds = self.schedule.pacer(), 0

        def place(starts: Instants) -> Instants:
            nonlocal pace, rounds
            parts = [rounds * round_ns + pace(starts)]
            while (placed := sum(map(len, parts))) < len(starts):
                rounds += 1
                pace = self._round(rounds).pacer()
                parts.append(rounds * round_ns + pace(starts[placed:]))
                if not len(parts[-1]):  # a round holds no request
                    break
            return np.concatenate(parts)

        return place
