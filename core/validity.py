"""Finds the highest quantile at which response times are the target's, and intervals of shares and means of requests.

A response time counts from the scheduled send time, so a generator that is late makes it longer. Sorted apart, the
response times and the same times without their lag show at each rank what the lag adds to that quantile: a late request
does no harm to a percentile that slower requests decide, and lifts one below which all others lie.
"""

from collections.abc import Sequence
from math import floor
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

LAG_US: Final = 5_000
LAG_SHARE: Final = 0.1
"""Lag of `LAG_US` and more, and of more than this share of a time, makes that time the generator's."""
_RARE: Final = (0.999, 0.99)
"""Percentiles that are given only if there are enough requests for a 95 % interval."""
_USUAL: Final = 0.95
_DOUBT: Final = 0.025

FEW: Final = 0.05
"""Largest share of failed requests in a step that shows how many fail together without overload."""
USUAL_CLUSTER: Final = 5.0
"""Hits of one event, such as the failures of one blip: assumed until the data show it."""
USUAL_AT_LOW_RATES: Final = 2.0
"""The same in the steps at the lowest rates of a sweep in which few requests fail."""
USUAL_S: Final = 10
"""Seconds of data that weigh as much as the assumption `USUAL_CLUSTER`."""

Numbers = NDArray[np.float64] | NDArray[np.int64] | float
Ints = NDArray[np.int64]
Times = NDArray[np.integer[Any]] | NDArray[np.floating[Any]]


def holds_lag(response: Times, without_lag: Times) -> NDArray[np.bool_]:
    """Return whether each time holds too much lag; both arguments are (n,) microseconds."""
    found: NDArray[np.bool_] = response - without_lag > np.maximum(LAG_US, LAG_SHARE * response)
    return found


def deepest(count: int) -> float:
    """Return the highest percentile that this number of requests allows."""
    known = _DOUBT ** (1 / max(count, 1))
    return next((p for p in _RARE if p <= known), _USUAL)


def percentile(share: float) -> str:
    """Write a quantile as people do, rounded down: p96, p99.8."""
    return f"p{floor(1000 * share + 1e-9) / 10:g}"


def targets_own(share: float) -> str:
    """Say of response times up to which percentile they are the target's: the rest of "response times are"."""
    return f"the target's up to {percentile(share)} only" if share >= 0.001 else "the target's at no percentile"


def valid_up_to(response: Times, without_lag: Times) -> int:
    """Return up to which rank, from 1, sorted response times are the target's; 0: none.

    Args:
        response: (n,) ascending, microseconds.
        without_lag: (n,) ascending, microseconds: the same times without the generator's lag.
    """
    held = holds_lag(response, without_lag)
    return int(held.argmax()) if held.any() else len(response)


def wilson(
    share: NDArray[np.float64] | float, number: Numbers, z: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return both ends of the Wilson score interval of a share.

    Args:
        share: hits among ``number``, 0 to 1.
        number: requests, or effective requests, above 0.
        z: half the width in standard deviations: 1.96 for 95 %.
    """
    middle = share + z * z / (2 * number)
    margin = z * np.sqrt(share * (1 - share) / number + z * z / (4 * number * number))
    ends = np.array([np.where(share == 0, 0.0, middle - margin), middle + margin]) / (1 + z * z / number)
    low, high = np.clip(ends, 0.0, 1.0)
    return low, high


def newcombe(
    hits: tuple[Numbers, Numbers], numbers: tuple[Numbers, Numbers], z: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return both ends of the interval of the second share minus the first, of independent requests.

    Args:
        hits: number of hits in both groups, each a number or (n,) of them; clusters, if hits come together.
        numbers: requests of both groups, above 0; divided by the size of a cluster where hits are.
        z: half the width in standard deviations: 1.96 for 95 %.

    Source: Newcombe, Interval estimation for the difference between independent proportions, 1998, method 10.
    """
    shares = [hit / number for hit, number in zip(hits, numbers, strict=True)]
    (low, high), (new_low, new_high) = (wilson(*each, z) for each in zip(shares, numbers, strict=True))
    old, new = shares
    down, up = np.hypot(new - new_low, high - old), np.hypot(new_high - new, old - low)
    return new - old - down, new - old + up


def batch_variance(counts: Ints, costs: NDArray[np.float64] | Ints) -> float:
    """Return the variance of the mean cost, from batches of one second that may depend on their neighbours.

    Requests that waited in the same queue are late together: counted as independent, they would make an interval
    several times too narrow.

    Args:
        counts: (s,) requests in each batch, at least one in all.
        costs: (s,) their summed costs.

    Source: ratio estimator over batches, with the covariance of adjacent ones. Residuals from the mean of s independent
    batches make the sum too small, by the factor (s - 1)(s - 2)/s²; with 3 batches or more it is divided by that.
    """
    residuals = costs - counts * (costs.sum() / counts.sum())
    number, total = len(counts), residuals @ residuals + 2 * (residuals[:-1] @ residuals[1:])
    unbiased = number**2 / ((number - 1) * (number - 2)) if number > 2 else 1.0
    return max(float(total) * unbiased, 0.0) / int(counts.sum()) ** 2


def cluster_size(*series: tuple[Ints, Ints], usual: float = USUAL_CLUSTER) -> float:
    """Return how many hits, such as failures, count as one independent hit: 1 or more.

    A blip of a second fails all requests of that second: these are one event, not hundreds. If the seconds show smaller
    clusters than usual, that size weighs as much as `USUAL_S` seconds: a few seconds prove nothing.

    Args:
        series: requests and hits of each second, each (s,), by run or trial.
        usual: hits of one event, assumed until the seconds show it.

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
    return max(1.0, effect, (USUAL_S * usual + seconds * effect) / (USUAL_S + seconds))


def size_at_low_rates(
    rate: NDArray[np.float64],
    errors: Ints,
    requests: Ints,
    known: NDArray[np.bool_],
    series: Sequence[tuple[Ints, Ints]],
) -> float:
    """Return how many failures come together at the lowest third of the rates, where few fail; 1 where none does.

    Args:
        rate: (n,) requests/s.
        errors: (n,) requests that failed.
        requests: (n,) requests.
        known: (n,) steps whose rates and failures count.
        series: requests and failures of each second, each (s,), by step or for the first steps.
    """
    few = known & (errors > 0) & (errors <= FEW * requests)
    few &= rate <= (np.quantile(rate[known], 1 / 3) if known.any() else 0.0)
    chosen = [each for each, of_few in zip(series, few, strict=False) if of_few]
    return cluster_size(*chosen, usual=USUAL_AT_LOW_RATES) if chosen else 1.0
