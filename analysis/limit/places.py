"""Replays the arrivals of a sweep through a number of places, and says how well response times then match.

A request that finds n in flight waits for those before it, as the places decide: c places in order of arrival, c
queues, or processors that all in flight share. The time that a request takes alone is resampled. Of it the share that
fits the rate carried is spent in a place, and the rest outside.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from heapq import heappop, heappush, heapreplace
from typing import Final

import numpy as np

from logreplay.analysis.limit.observations import Observations, counted
from logreplay.analysis.statistics.quantiles import Floats, Ints

TOLERANCE: Final = 0.025
"""Share by which a mean time may differ: no model is exact."""
REPLAYED: Final = 6000
"""Most requests of a step that are replayed, the first ones."""
RANDOM: Final = 0.6
"""Variation of the gaps between requests, above which they are random: 1 if random, up to 0.4 if even."""
SHORTEST_S: Final = 1e-6
IN_ALL: Final = 40_000
LEAST: Final = 12
"""Fewest requests in a group that is compared."""
MOST_PLACES: Final = 200
"""Largest number of places that is tried: each number up to 12, then about 30 in all."""


@dataclass(frozen=True)
class Arrivals:
    """The requests whose times a model has to explain.

    Attributes:
        start: (n,) when each was sent, seconds.
        in_flight: (n,) how many were in flight.
        log_took: (n,) logarithm of its time.
        draws: (n,) times of requests alone, resampled, in seconds.
    """

    start: Floats
    in_flight: Ints
    log_took: Floats
    draws: Floats

    @classmethod
    def of(cls, seen: Observations, steps: Iterable[int], alone: Floats, warm: float = 0.0) -> "Arrivals":
        """Take the first requests of some steps, before which the target was idle.

        Args:
            warm: from when on the target was warm, seconds; steps that began before count from then on.
        """
        chosen = [np.flatnonzero(seen.step == step) for step in steps]
        each = max(min(REPLAYED, IN_ALL // max(len(chosen), 1)), 100)
        rows = np.concatenate([of_step[:each] for of_step in chosen])
        rows = np.sort(rows[seen.good[rows] & (seen.took[rows] > 0) & (seen.start[rows] >= warm)])
        rng = np.random.default_rng(len(rows))  # the same rows give the same answer
        return cls(seen.start[rows], seen.in_flight[rows], np.log(seen.took[rows]), rng.choice(alone, len(rows)))

    @property
    def random(self) -> bool:
        """Whether requests came at random: their gaps, without those between steps, vary as those of a clock do not."""
        gaps = np.sort(np.diff(self.start))
        kept = gaps[: int(0.98 * len(gaps))]
        return bool(len(kept)) and float(kept.std()) > RANDOM * float(kept.mean())

    def misfit(self, modelled: Floats, most: int) -> tuple[float, int]:
        """Return chi-square of the mean log time by number in flight, up to ``most``, and the number of groups."""
        took = np.maximum(modelled, SHORTEST_S)
        order = np.argsort(self.start + took, kind="stable")
        flying = counted(self.start, (self.start + took)[order])
        seen, told = _moments(self.in_flight, self.log_took, most), _moments(flying, np.log(took), most)
        compared = (seen[0] >= LEAST) & (told[0] >= LEAST)
        error = seen[2] / np.maximum(seen[0], 1) + told[2] / np.maximum(told[0], 1) + TOLERANCE**2
        parts = ((seen[1] - told[1]) ** 2 / error)[compared]
        return float(parts.sum()), int(compared.sum())


def _moments(group: Ints, values: Floats, most: int) -> tuple[Floats, Floats, Floats]:
    """Count, mean and variance of the values of each group from 0 to ``most``."""
    inside = group <= most
    group, values = group[inside], values[inside]
    count = np.bincount(group, minlength=most + 1).astype(np.float64)
    least = np.maximum(count, 1)
    mean = np.bincount(group, values, most + 1) / least
    variance = np.bincount(group, values**2, most + 1) / least - mean**2
    return count, mean, np.maximum(variance, 0.0)


def in_order(start: Floats, draws: Floats, places: int, share: float = 1.0) -> Floats:
    """The times with places that have one queue; each request spends this share of its time alone in a place."""
    free, found = [0.0] * places, np.empty(len(start))
    for index, (at, takes) in enumerate(zip(start.tolist(), (share * draws).tolist(), strict=True)):
        end = max(at, free[0]) + takes
        heapreplace(free, end)
        found[index] = end - at
    return found + (1 - share) * draws


def apart(start: Floats, draws: Floats, places: int) -> Floats:
    """The times with places that have a queue each; a random draw decides the place of each request."""
    lane = np.random.default_rng(places).integers(0, places, len(start))
    found = np.empty(len(start))
    for each in range(places):
        own = lane == each
        takes = draws[own]
        slack = start[own] - (np.cumsum(takes) - takes)
        found[own] = np.maximum.accumulate(slack) - slack + takes
    return found


def shared(start: Floats, draws: Floats, processors: float) -> Floats:
    """The times with processors that all requests in flight share."""
    found, active = np.empty(len(start)), list[tuple[float, int]]()
    now = done = 0.0  # ``done``: seconds of work that each request got that is here all the time
    work = draws.tolist()
    for index, at in enumerate(start.tolist()):
        while active:
            rate = min(1.0, processors / len(active))
            first = now + (active[0][0] - done) / rate
            if first > at:
                done += (at - now) * rate
                break
            now, done = first, active[0][0]
            found[heappop(active)[1]] = now
        now = at
        heappush(active, (done + work[index], index))
    while active:
        now += (active[0][0] - done) / min(1.0, processors / len(active))
        done = active[0][0]
        found[heappop(active)[1]] = now
    return found - start


def numbers(most: int) -> list[int]:
    """Return the numbers of places up to ``most`` that are tried."""
    some, each = list(range(1, min(most, 12) + 1)), 12.0
    while each < most:
        each *= 1.12
        some.append(min(round(each), most))
    return sorted(set(some))
