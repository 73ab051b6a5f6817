"""Measures what a target carries while a backlog lasts, and how long it takes for a request alone.

Their product is the number of requests in the target while it is just busy, by Little's law. It is the number of its
workers only if it has workers and one queue: `logreplay.analysis.limit.rules` decides that.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from logreplay.analysis.limit.observations import Observations
from logreplay.analysis.statistics.quantiles import Floats, Ints

LOW_RATES: Final = 0.65
"""Share of the highest stable rate up to which requests that find the target idle rarely overlap with later ones."""
COLD: Final = 0.1
"""Share of these requests, the first ones, that is left out: a cold target may answer them late."""
SLOWER: Final = 0.04
SURELY: Final = 3.0
"""The target was cold while requests were slower than later ones by this share and this many standard errors."""
FEWEST: Final = 40
ENOUGH: Final = 200
WIDER: Final = 0.05
"""Share by which the interval is widened: the unloaded time contains the time of client and network."""
RESAMPLED: Final = 0.015
FEW_FAILED: Final = 0.02
"""Share of failed requests in a step, above which its backlog is measured only up to the first failure."""
LEAST_BACKLOG: Final = 30
"""Fewest completions during a backlog that give a rate."""
_Z: Final = 1.96


@dataclass(frozen=True)
class Backlog:
    """A span of a step in which requests always waited. Seconds since the start of the run.

    Attributes:
        step: its index.
        begin: from the last time that few were in flight.
        stop: until few are in flight again, after the last request of the step.
        ends: (n,) when requests were over within it, in order.
    """

    step: int
    begin: float
    stop: float
    ends: Floats

    @property
    def rate(self) -> float:
        """Completions per second."""
        return len(self.ends) / (self.stop - self.begin)


@dataclass(frozen=True)
class LoadFigures:
    """The figures of a sweep that every rule needs.

    Attributes:
        backlogs: backlogs of the overloaded steps, in order of rate.
        rate: completions/s while a backlog lasts.
        rows: (n,) which requests found no other, or few others, in flight.
        alone: (n,) their times, seconds.
    """

    backlogs: Sequence[Backlog]
    rate: float
    rows: Ints
    alone: Floats

    @property
    def service_s(self) -> float:
        """Mean time of a request alone, seconds."""
        return float(self.alone.mean())

    @property
    def variation(self) -> float:
        """Coefficient of variation of this time, without its highest hundredth."""
        kept = np.sort(self.alone)[: max(int(0.99 * len(self.alone)), 2)]
        return float(kept.std() / kept.mean())

    @property
    def at_once(self) -> float:
        """Requests in the target while it is just busy."""
        return self.rate * self.service_s

    @property
    def interval(self) -> tuple[float, float]:
        """The range of `at_once`."""
        of_alone = float(self.alone.std() / self.alone.mean()) / math.sqrt(len(self.alone))
        completions = sum(len(each.ends) for each in self.backlogs)
        of_rate = self.variation / math.sqrt(max(completions, 1))
        share = WIDER + max(RESAMPLED, _Z * math.hypot(of_alone, of_rate))
        return self.at_once * (1 - share), self.at_once * (1 + share)


def alone(seen: Observations, steps: Ints, rate: float) -> Ints:
    """Return which requests found the target idle; of those that found it nearly idle if these are few."""
    low = np.isin(seen.step, steps) & seen.good
    chosen = _warm(seen, np.flatnonzero(low & (seen.in_flight == 0)))
    if len(chosen) < ENOUGH:
        some = seen.took[chosen if len(chosen) else low]
        inside = rate * float(some.mean()) if len(some) else 0.0
        if inside > 3.5:
            chosen = _warm(seen, np.flatnonzero(low & (seen.in_flight <= inside / 4)))
    return chosen


def undisturbed(seen: Observations, found: LoadFigures) -> float:
    """Return the mean time of requests alone that no other followed soon: on shared processors it would slow them."""
    chosen = found.rows[found.rows < len(seen.start) - 1]
    quiet = chosen[seen.start[chosen + 1] - seen.start[chosen] > 2 * found.service_s]
    return float(seen.took[quiet].mean()) if len(quiet) >= FEWEST else found.service_s


def _warm(seen: Observations, rows: Ints) -> Ints:
    """The requests without the first tenth, and without the first fifths of the rest that are slower than the last."""
    rows = rows[int(COLD * len(rows)) :]
    parts = np.array_split(rows, 5)
    last = seen.took[np.concatenate(parts[3:])]
    if len(last) < FEWEST:
        return rows
    usual, error = float(last.mean()), float(last.std()) / math.sqrt(len(last))
    while len(parts) > 2:
        times = seen.took[parts[0]]
        more, doubt = float(times.mean()) - usual, math.hypot(error, float(times.std()) / math.sqrt(len(times)))
        if more < SLOWER * usual or more < SURELY * doubt:
            break
        parts = parts[1:]
    return np.concatenate(parts)


def backlog(seen: Observations, step: int, few: float) -> Backlog | None:
    """Return the span of a step in which more than ``few`` were in flight all the time; None if it is short."""
    rows = np.flatnonzero(seen.step == step)
    if not len(rows):
        return None
    failed = seen.end[rows][seen.failed[rows]]
    flying, start = seen.in_flight[rows], seen.start[rows]
    most = int(flying.max())
    calm = np.flatnonzero(flying[: int(flying.argmax()) + 1] <= few)
    begin = start[calm[-1]] if len(calm) else start[0]
    following = seen.start[rows[-1] + 1 : rows[-1] + 2].min(initial=math.inf)
    until = float(min(following, failed.min(initial=math.inf)) if len(failed) > FEW_FAILED * len(rows) else following)
    ends = seen.ends
    first, last = np.searchsorted(ends, (begin, until), "right")
    left = np.searchsorted(seen.start, ends[first:last], "right") - np.arange(first + 1, last + 1)
    busy = np.flatnonzero(left >= few)
    stop = float(ends[first + busy[-1]]) if len(busy) else begin
    ends = ends[first : first + busy[-1] + 1] if len(busy) else ends[:0]
    if not seen.whole[step]:
        stop = float(start[-1])
        ends = ends[ends <= stop]
    if len(ends) < LEAST_BACKLOG or most < 1.5 * few:
        return None
    return Backlog(step, float(begin), float(stop), ends)


def carried(seen: Observations, low: Ints, overloaded: Sequence[int], rate: float) -> LoadFigures | None:
    """Return the figures of a sweep; None where a backlog, or requests alone, are too few; ``rate``: a first guess."""
    found: list[Backlog] = []
    for _ in range(2):
        rows = alone(seen, low, rate)
        if len(rows) < FEWEST:
            return None
        few = 1.3 * rate * float(seen.took[rows].mean()) + 2
        found = [each for step in overloaded if (each := backlog(seen, step, few))]
        if not found:
            return None
        rate = sum(len(each.ends) for each in found) / sum(each.stop - each.begin for each in found)
    return LoadFigures(found, rate, rows, seen.took[rows])
