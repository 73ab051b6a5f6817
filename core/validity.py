"""Tells the quantiles that are the target's from the generator's; intervals of shares and means of requests.

A response time counts from the scheduled send time, so a generator that is late makes it longer. Sorted apart, the
response times and the same times without their lag show at each rank what the lag adds to that quantile: a late request
does no harm to a percentile that slower requests decide, and lifts one below which all others lie.

Late requests also arrive together, and the queue that they form makes requests slower that were on time: in a queue
that serves requests in their order, by no more than the largest lag. So a quantile above the first one that the lag
reaches is the target's only if hardly any lag is large beside it.
"""

from collections.abc import Callable, Mapping, Sequence
from math import floor
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from logreplay.core.plural import listed

LAG_US: Final = 5_000
LAG_SHARE: Final = 0.1
"""Lag of `LAG_US` and more, and of more than this share of a time, makes that time the generator's."""
RARE: Final = 0.1
"""Above the first quantile that the lag reaches, a quantile is the target's only if no more requests had a lag that is
large beside it than this share of the requests that are slower."""
_RARE: Final = (0.999, 0.99)
"""Percentiles that are given only if there are enough requests for a 95 % interval."""
_USUAL: Final = 0.95
SHOWN: Final = (0.5, 0.75, 0.9, _USUAL, *reversed(_RARE))
"""Percentiles that a finding on lag names."""
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
Times = NDArray[np.integer[Any]] | NDArray[np.floating[Any]] | float


def holds_lag(response: Times, without_lag: Times) -> NDArray[np.bool_]:
    """Return whether each time holds too much lag; both arguments are (n,) microseconds."""
    found: NDArray[np.bool_] = response - without_lag > harmless(response)
    return found


def harmless(response: Times) -> NDArray[np.float64]:
    """Return the largest lag, microseconds, that leaves each time the target's; (n,) microseconds."""
    longest: NDArray[np.float64] = np.maximum(LAG_US, LAG_SHARE * response)
    return longest


def is_reached(
    p: NDArray[np.float64] | float, response: Times, without_lag: Times, later: NDArray[np.float64] | float
) -> NDArray[np.bool_]:
    """Return whether quantiles above the first one that the lag reaches are the generator's, too.

    Args:
        p: the quantiles, 0 to 1.
        response: the p-quantiles of the response times, microseconds.
        without_lag: those of the times without the lag.
        later: share of the requests whose lag is above `harmless` of ``response``.
    """
    return holds_lag(response, without_lag) | (np.asarray(later) > RARE * (1 - p) + 1e-9)


def given(count: int) -> tuple[float, ...]:
    """Return the percentiles that this number of requests allows, the lowest first."""
    known = _DOUBT ** (1 / max(count, 1))
    return tuple(p for p in SHOWN if p not in _RARE or p <= known)


def percentile(share: float) -> str:
    """Write a quantile as people do, rounded down: p96, p99.8."""
    return f"p{floor(1000 * share + 1e-9) / 10:g}"


def sent_late(
    added: Mapping[float, float], longest: float, show: Callable[[float], str], *, of: str = "", fate: str = "left out"
) -> str:
    """Say what becomes of percentiles because requests were sent late, and by how much.

    Args:
        added: seconds that the lag adds to each percentile that it reaches.
        longest: the largest lag, seconds.
        show: writes seconds.
        of: names the run: `` of the candidate``.
        fate: participle for what becomes of these percentiles.
    """
    most = f"up to {show(longest)}"  # to one that only the queue behind late requests may lengthen
    names = listed([f"{show(lag) if 1e6 * lag > LAG_US else most} to {percentile(p)}" for p, lag in added.items()])
    late = f"requests{of} were sent late, by up to {show(longest)}"
    return f"{late}: the lag adds {names}, which {'is' if len(added) == 1 else 'are'} {fate}"


def valid_up_to(response: NDArray[Any], without_lag: NDArray[Any]) -> int:
    """Return up to which rank, from 1, no sorted response time holds too much lag; 0: none.

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
