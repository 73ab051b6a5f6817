"""Compares the order and spacing of completions with those of workers, and tells if later requests delay earlier ones.

Response times by number in flight fit many numbers of places. The completions show more. Behind a lock, they are as
even as the times for which the lock is held. Where only some requests need a pool, the others overtake them. On shared
processors, later requests delay earlier ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from logreplay.analysis.limit.carried import Backlog
from logreplay.analysis.limit.observations import Observations
from logreplay.analysis.limit.places import Arrivals, in_order
from logreplay.analysis.limit.rhythm import steadiness
from logreplay.analysis.statistics.quantiles import Floats, Ints

SAMPLE: Final = 400
"""Requests of a backlog whose place in the queue is measured."""
SAMPLED: Final = 1500
FEWEST: Final = 200
OVERTAKEN: Final = (0.14, 0.03)
"""Share, and number, by which the count of older requests in flight may differ; of workers it differs by a tenth."""
EVENNESS: Final = 1.3
"""Factor by which variances may differ; those of workers differ by up to a quarter, those of a lock by half or more."""
LEAST_VARIANCE: Final = 0.01
MOST: Final = 400
"""Most requests in flight, the youngest, that are compared."""


@dataclass(frozen=True)
class Likeness:
    """Figures of the completions, each as seen and as modelled with workers.

    Attributes:
        overtaken: older requests in flight as one leaves, on average: seen, and modelled.
        evenness: variance of the time of as many completions as there are workers, and twice as many, over that of
            random ones: seen, and modelled.
    """

    overtaken: tuple[float, float]
    evenness: tuple[tuple[float, float], ...]

    @property
    def alike(self) -> bool:
        """Whether requests leave as from workers with one queue."""
        seen, modelled = self.overtaken
        share, number = OVERTAKEN
        if abs(seen - modelled) > share * max(seen, modelled) + number:
            return False
        pairs = [(seen + LEAST_VARIANCE, modelled + LEAST_VARIANCE) for seen, modelled in self.evenness]
        return all(max(pair) <= EVENNESS * min(pair) for pair in pairs)

    @property
    def overtaking(self) -> bool:
        """Whether requests overtake others far more than those of workers do."""
        seen, modelled = self.overtaken
        return seen > 1.5 * modelled + 0.1


def likeness(arrivals: Arrivals, spell: Backlog, places: int) -> Likeness:
    """Compare what left with that many workers; the evenness in one backlog, ``spell``."""
    start = arrivals.start
    seen, modelled = start + np.exp(arrivals.log_took), start + in_order(start, arrivals.draws, places)
    until = float(start[start <= spell.stop].max(initial=spell.begin))
    older = tuple(_overtaken(start, end) for end in (seen, modelled))
    gaps = [_gaps(end, spell.begin, until) for end in (seen, modelled)]
    even = tuple((steadiness([gaps[0]], count), steadiness([gaps[1]], count)) for count in (places, 2 * places))
    return Likeness((older[0], older[1]), even)


def _gaps(ends: Floats, begin: float, until: float) -> Floats:
    return np.diff(np.sort(ends[(ends > begin) & (ends <= until)]))


def rank(seen: Observations, backlogs: Sequence[Backlog]) -> float:
    """Return the mean place in the queue of the requests that leave: 0 is the oldest in flight, 1 the youngest."""
    found = []
    for each in backlogs:
        rows = np.flatnonzero(seen.step == each.step)
        start, end = seen.start[rows], seen.end[rows]
        inside = np.flatnonzero((end > each.begin) & (end <= each.stop))
        for index in inside[:: max(len(inside) // SAMPLE, 1)]:
            here = (start < end[index]) & (end > end[index])
            others = int(np.count_nonzero(here))
            if others:
                found.append(int(np.count_nonzero(here[:index])) / others)
    return float(np.mean(found)) if found else 0.0


def delayed_by_later(seen: Observations, steps: Ints, number: float, service_s: float) -> tuple[float, float]:
    """Return the correlation between a request's time and the number of later requests, and its z.

    Of requests of one step that found the same number in flight, the times are compared with how many came during the
    time that such a request usually takes. Where requests are served in order of arrival, both are independent.
    """
    most = int(2 * number) + 6
    chosen = np.flatnonzero(np.isin(seen.step, steps) & seen.good & (seen.in_flight <= most) & (seen.took > 0))
    if len(chosen) < FEWEST:
        return 0.0, 0.0
    start, flying = seen.start[chosen], seen.in_flight[chosen]
    usual = service_s * np.maximum((flying + 1) / number, 1.0)
    later = np.searchsorted(seen.start, start + usual, "right") - 1 - chosen
    group = seen.step[chosen] * (most + 1) + flying
    slower, more = (_without_mean(values, group) for values in (np.log(seen.took[chosen]), later.astype(np.float64)))
    spread = float(slower.std() * more.std())
    if not spread:
        return 0.0, 0.0
    together = float((slower * more).mean()) / spread
    return together, together * float(np.sqrt(len(chosen)))


def _overtaken(start: Floats, end: Floats) -> float:
    """Return how many older requests are in flight, on average, when one leaves."""
    some = np.linspace(0, len(start) - 1, min(len(start), SAMPLED)).astype(np.int64)
    before = some[:, None] - np.arange(1, MOST + 1)
    older = (before >= 0) & (end[np.maximum(before, 0)] > end[some][:, None])
    return float(older.sum(axis=1).mean()) if len(some) else 0.0


def passed(seen: Observations, steps: Ints, length_s: float) -> float:
    """Return the share of slow requests that later ones overtake; in a pause of the target, none is overtaken.

    Args:
        length_s: length of a pause, seconds; a request is slow from half of it above the median on.
    """
    calm = np.isin(seen.step, steps)
    limit = float(np.median(seen.took[calm])) + length_s / 2 if calm.any() else 0.0
    slow = np.flatnonzero(calm & (seen.took > limit))[:SAMPLE]
    last = np.searchsorted(seen.start, seen.end[slow] - length_s / 4)
    overtaken_by = [
        bool((seen.end[first + 1 : stop] < seen.end[first] - length_s / 4).any())
        for first, stop in zip(slow, last, strict=True)
        if stop > first + 1
    ]
    return float(np.mean(overtaken_by)) if overtaken_by else 0.0


def _without_mean(values: Floats, group: Ints) -> Floats:
    """Subtract from each value the mean of its group."""
    mean = np.bincount(group, values) / np.maximum(np.bincount(group), 1)
    return np.asarray(values - mean[group])
