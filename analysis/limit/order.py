"""Measures in which order requests leave, and whether later ones delay earlier ones: signs of shared processors."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from logreplay.analysis.limit.carried import Backlog
from logreplay.analysis.limit.observations import Observations
from logreplay.analysis.statistics.quantiles import Floats, Ints

SAMPLE: Final = 400
"""Requests of a backlog whose place in the queue is measured."""
SAMPLED: Final = 1500
FEWEST: Final = 200


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

    Args:
        seen: the sweep.
        steps: indices of the stable steps.
        number: requests in the target while it is just busy.
        service_s: time of a request alone, seconds.
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


def overtaken(start: Floats, end: Floats, most: int) -> float:
    """Return how many older requests are in flight, on average, when one leaves.

    Args:
        start: (n,) seconds, in order.
        end: (n,) seconds.
        most: the most requests in flight.
    """
    some = np.linspace(0, len(start) - 1, min(len(start), SAMPLED)).astype(np.int64)
    before = some[:, None] - np.arange(1, most + 1)
    older = (before >= 0) & (end[np.maximum(before, 0)] > end[some][:, None])
    return float(older.sum(axis=1).mean()) if len(some) else 0.0


def passed(seen: Observations, steps: Ints, length_s: float) -> float:
    """Return the share of slow requests that later ones overtake; in a pause of the target, none is overtaken.

    Args:
        seen: the sweep.
        steps: indices of the stable steps.
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
