"""Intervals of rare hits, and the variance of means and shares of requests that depend on their neighbours."""

import math
from collections.abc import Sequence
from typing import Final

from logreplay.analysis.statistics.quantiles import Floats, Ints

USUAL_CLUSTER: Final = 5.0
"""Hits of one event, such as the failures of one blip: assumed until the data show it."""
USUAL_S: Final = 10
"""Seconds of data that weigh as much as the assumption `USUAL_CLUSTER`."""


def expected_hits(hits: float, z: float) -> tuple[float, float]:
    """Return the interval of the expected number of rare, independent hits.

    Args:
        hits: number seen; a number of clusters need not be whole.
        z: standard deviations on each side. Unlike Wilson's interval of a share, it also holds for one or two hits.

    Source: the likelihood ratio of a Poisson distribution.
    """

    def edge(inside: float, outside: float) -> float:
        for _ in range(60):
            middle = (inside + outside) / 2
            ratio = 2 * ((hits * math.log(hits / middle) if hits else 0.0) - hits + middle)
            inside, outside = (middle, outside) if ratio <= z * z else (inside, middle)
        return inside

    return edge(hits, 1e-12) if hits else 0.0, edge(hits, hits + z * z + 3 * z * math.sqrt(hits + 1))


def batch_variance(counts: Ints, costs: Floats | Ints) -> float:
    """Return the variance of the mean cost, from batches of one second that may depend on their neighbours.

    Requests that waited in the same queue are late together: counted as independent, they would make an interval
    several times too narrow.

    Args:
        counts: (s,) requests in each batch, at least one in all.
        costs: (s,) their summed costs.

    Source: ratio estimator over batches, with the covariance of adjacent ones.
    """
    residuals = costs - counts * (costs.sum() / counts.sum())
    total = residuals @ residuals + 2 * (residuals[:-1] @ residuals[1:])
    return max(float(total), 0.0) / int(counts.sum()) ** 2


def share_of(series: Sequence[tuple[Ints, Ints]]) -> float:
    """Return the share of hits, of (s,) requests and (s,) hits of each run or trial; 0 for no requests."""
    number = sum(int(counts.sum()) for counts, _ in series)
    return sum(int(hits.sum()) for _, hits in series) / number if number else 0.0


def cluster_size(*series: tuple[Ints, Ints]) -> float:
    """Return how many hits, such as failures, count as one independent hit: 1 or more.

    A blip of a second fails all requests of that second: these are one event, not hundreds. If the seconds show smaller
    clusters than `USUAL_CLUSTER`, that size weighs as much as `USUAL_S` seconds: a few seconds prove nothing.

    Args:
        series: of each run, or trial: (s,) requests and (s,) hits of each second.

    Source: the design effect of Kish, Survey sampling, by `batch_variance`.
    """
    seen = independent = seconds = 0.0
    for counts, hits in series:
        number, share = int(counts.sum()), float(hits.sum()) / max(int(counts.sum()), 1)
        if 0 < share < 1:
            seen += batch_variance(counts, hits) * number**2
            independent += number * share * (1 - share)
            seconds += len(counts)
    effect = seen / independent if independent else 1.0
    return max(1.0, effect, (USUAL_S * USUAL_CLUSTER + seconds * effect) / (USUAL_S + seconds))
