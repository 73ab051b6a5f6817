"""The base of constant failures, which rates fail more often, and how sure a number of failures is.

Some targets fail at every rate: a page is missing, a route is broken. Failures at the same share at every rate do not
show overload, so `sweep`, `find` and `capacity` take the share at the lowest rates as a base, and judge the failures
above it. Failures that come together count as one: the hundred failures of a blip say as much about a rate as one
failure.
"""

import math
from collections.abc import Sequence
from typing import Final, TypeAlias

import numpy as np

from logreplay.analysis.statistics.isotonic import isotonic
from logreplay.analysis.statistics.quantiles import Bools, Floats, Ints
from logreplay.core.validity import cluster_size, newcombe, size_at_low_rates, wilson

ERROR_SHARE: Final = 0.01
BEYOND_CHANCE: Final = 5
"""Fewest errors at the lowest rates that show a share, however small, and not chance."""
FAILING: Final = 0.5
"""Share of failed requests above which a step measured only failures."""
Series: TypeAlias = tuple[Ints, Ints]
"""(seconds,) requests, and those of them that failed."""

_Z99: Final = 2.5758
GROWS_Z: Final = 2.3
"""One-sided 99 %."""
SURE_Z: Final = 3.1
"""One-sided 99.9 %: a search looks at many trials."""
LIKELY_Z: Final = 1.64
"""One-sided 95 %."""
ODDS: Final = 3.0


def more_errors(
    rate: Floats, errors: Ints, scheduled: Ints, known: Bools, series: Sequence[Series] = ()
) -> tuple[Bools, float, Floats]:
    """Return which steps (n,) fail more often than the lowest rates do, the share of errors at these, and the evidence.

    The evidence (n,) is by how much the share of a step exceeds that at the lowest rates at least, which must be above
    `ERROR_SHARE`.

    Errors that come at the same share at every rate do not show overload. The lowest third of the rates is
    pooled, from the lowest on, while the share is not clearly higher. One rate alone is not enough: a limit
    below the lowest rate has errors there, too, and more at the next. Nor are rates enough at which the target hardly
    answers more where more is offered, or fails more than half. A share of so few errors that they may be chance is
    returned as 0. A step of which more than half fails is failing.

    Args:
        rate: (n,) requests/s.
        errors, scheduled: (n,) requests that failed, and all requests.
        known: (n,) steps without an outage, and not limited by this machine: the base is taken from these.
        series: (n,) seconds of the steps, which show how many failures come together; without them each counts.

    Source: Newcombe, Interval estimation for the difference between independent proportions, 1998, method 10: the lower
    end of its 99 % interval must be above `ERROR_SHARE`.
    """
    lowest, place = np.unique(rate[known], return_inverse=True)
    failed = np.bincount(place, errors[known], len(lowest)).astype(np.int64)
    offered = np.bincount(place, scheduled[known], len(lowest)).astype(np.int64)
    most, rates = min(max(2, len(lowest) // 3), len(lowest)), 1
    size = size_at_low_rates(rate, errors, scheduled, known, series)
    while rates < most and not (
        _difference_low((failed[rates], offered[rates]), (failed[:rates].sum(), offered[:rates].sum()), size)
        > ERROR_SHARE
    ):
        rates += 1
    pooled_errors, pooled = int(failed[:rates].sum()), int(offered[:rates].sum())
    base = pooled_errors / max(pooled, 1)
    if rates < 2 or base > FAILING or not _goodput_grows(lowest[:rates], failed[:rates], offered[:rates], size):
        number = np.maximum(scheduled, 1)
        least = wilson(errors / number, number / size, _Z99)[0]
        return least > ERROR_SHARE, 0.0, least
    least = np.maximum(_difference_low((errors, scheduled), (pooled_errors, pooled), size), 0.0)
    chance = pooled_errors < BEYOND_CHANCE * size and wilson(base, max(pooled, 1) / size, _Z99)[0] <= ERROR_SHARE / 2
    return (least > ERROR_SHARE) | (errors > FAILING * scheduled), 0.0 if chance else base, least


def _goodput_grows(rate: Floats, errors: Ints, scheduled: Ints, size: float) -> bool:
    """Whether goodput grows with the rates (n,), at least half as fast and beyond doubt (99 %).

    Where the same share fails at all rates, it is ``rate * (1 - share)``; above a limit it is the limit, whatever the
    rate.
    """
    good = scheduled - errors
    known = (good > 0) & (rate > 0)
    rate, good, scheduled = np.log(rate[known]), good[known], scheduled[known]
    if len(rate) < 2:
        return False
    apart = rate - np.average(rate, weights=scheduled)
    spread = float(scheduled @ apart**2)
    slope = 1 + float(scheduled * apart @ np.log(good / scheduled)) / spread
    doubt = np.sqrt(size * (scheduled - good).sum() / good.sum() / spread)
    return bool(slope > 1 / 2 and slope > GROWS_Z * doubt)


def _difference_low(step: tuple[Ints, Ints], base: tuple[Ints | int, Ints | int], size: float) -> Floats:
    """By how much the share of errors exceeds that of a base, at least (99 %), each of errors and requests."""
    hits, numbers = zip(base, step, strict=True)
    return newcombe(
        (hits[0] / size, hits[1] / size), (np.maximum(numbers[0], 1) / size, np.maximum(numbers[1], 1) / size), _Z99
    )[0]


def fails_more(trials: Sequence[Series], base: Sequence[Series]) -> bool:
    """Whether trials surely fail more often than others at lower rates, the base, by half of `ERROR_SHARE` at least.

    Source: likelihood ratio of two Poisson rates, of clusters of failures.
    """
    both, size = (trials, base), cluster_size(*trials, *base)
    requests = np.array([sum(int(counts.sum()) for counts, _ in parts) for parts in both])
    shares = np.array([share_of(parts) for parts in both])
    if not requests.all() or shares[0] - shares[1] < ERROR_SHARE / 2:
        return False
    expected = share_of([*trials, *base])
    some = shares > 0
    clusters = (requests * shares / size)[some]
    return bool(2 * np.sum(clusters * np.log(shares[some] / expected)) > SURE_Z**2)


def fails_above(trials: Sequence[Series], allowed: float) -> bool:
    """Whether trials together fail more than an allowed share, and that is likely."""
    size, number = cluster_size(*trials), sum(int(counts.sum()) for counts, _ in trials)
    clusters = share_of(trials) * number / size
    return bool(number) and expected_hits(clusters, LIKELY_Z)[0] > allowed * number / size


def fails_at_any_rate(rate: Floats, trials: Sequence[Series], allowed: float) -> bool:
    """Whether trials at several rates (n,) show that more requests fail than may, however low the rate is.

    The share of failures does not fall as the rate rises. Either it is too large at every rate, or only from some rate
    on, which may lie anywhere between those that were tried, on a logarithmic scale. The first must explain the
    trials `ODDS` times as well as the second does on average.
    """
    if rate.min() == rate.max():
        return False
    order = np.argsort(rate, kind="stable")
    size = cluster_size(*trials)
    requests = np.array([trials[at][0].sum() for at in order], np.float64)
    clusters = np.array([trials[at][1].sum() for at in order]) / size
    limit = allowed / size

    def likelihood(part: slice, least: float, most: float) -> float:
        """Of the failures of some trials, whose shares rise between these ends."""
        number, hits = np.maximum(requests[part], 1.0), clusters[part]
        if not len(hits):
            return 0.0
        share = np.clip(isotonic(hits / number, number), max(least, 1e-12), most)
        return float(hits @ np.log(share) - number @ share)

    at_any = likelihood(slice(None), limit, 1.0)
    from_some = np.array(
        [
            likelihood(slice(0, number), 0.0, limit) + likelihood(slice(number, None), limit, 1.0)
            for number in range(1, len(order) + 1)
        ]
    )
    weight = np.append(np.diff(np.log(rate[order])), 0.0)
    return bool(weight.sum() > ODDS * (weight @ np.exp(np.minimum(from_some - at_any, 700.0))))


def expected_hits(hits: float, z: float) -> tuple[float, float]:
    """Return the interval of the expected number of rare, independent hits, or clusters, of which so many were seen.

    Unlike Wilson's interval of a share, it also holds for one or two hits. ``z``: standard deviations on each side.

    Source: the likelihood ratio of a Poisson distribution.
    """

    def edge(inside: float, outside: float) -> float:
        for _ in range(60):
            middle = (inside + outside) / 2
            ratio = 2 * ((hits * math.log(hits / middle) if hits else 0.0) - hits + middle)
            inside, outside = (middle, outside) if ratio <= z * z else (inside, middle)
        return inside

    return edge(hits, 1e-12) if hits else 0.0, edge(hits, hits + z * z + 3 * z * math.sqrt(hits + 1))


def share_of(series: Sequence[Series]) -> float:
    """Return the share of hits, of (s,) requests and (s,) hits of each run or trial; 0 for no requests."""
    number = sum(int(counts.sum()) for counts, _ in series)
    return sum(int(hits.sum()) for _, hits in series) / number if number else 0.0
