"""Bounds on response times and errors, and how surely requests kept them.

Every bound is turned into a cost per request and an allowance for the mean cost, so that all are judged alike. For a
percentile the cost is 1 for a request that was answered late, and the allowance is the share that may be: p99 at
300 ms is kept if at most 1 % took longer than 300 ms. Requests that failed have a budget of their own (``errors``), and
no part in a bound of times unless they took longer than it, such as time-outs: a target that answers 1 % of the
requests with 500 at every rate would otherwise use up a p99 before it is loaded.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np

from logreplay.analysis.format_time import show, spoken
from logreplay.analysis.statistics.failures import SURE_Z, Series, expected_hits
from logreplay.analysis.statistics.quantiles import PERCENTILES, SMALLEST_SAMPLE, Bools, Floats, Ints
from logreplay.core.quantities import percent
from logreplay.core.validity import batch_variance, cluster_size, wilson

BOUNDED: Final = {**PERCENTILES, "p9999": 0.9999, "p99999": 0.99999}
"""Percentiles that may have a bound."""
STATISTICS: Final = (*BOUNDED, "mean", "max", "errors")
Z: Final = 2.24
"""z of a two-sided 97.5 % interval: stricter than 95 %, because a trial is tested every second."""
LEAST_DESIGN_EFFECT: Final = 2.0
MEAN_NEEDS: Final = 100
"""Requests after which a mean is known to 10 %, one standard error, if response times are exponential."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A condition that a trial must fulfil.

    Attributes:
        statistic: one of `STATISTICS`, of the response time, or ``errors``: the share of failed requests.
        limit: seconds; for ``errors`` a share.
    """

    statistic: str
    limit: float

    def __post_init__(self) -> None:
        if self.statistic not in STATISTICS:
            raise ValueError(f"no bound on {self.statistic!r}; there are: {', '.join(STATISTICS)}")
        if self.statistic == "errors":
            if not 0 <= self.limit < 1:
                raise ValueError(f"--max-errors must be from 0 % to below 100 %, got {self.limit * 100:g} %")
        elif not 0 < self.limit < math.inf:
            raise ValueError(f"the bound of {self.statistic} must be above 0 s, got {self.limit!r}")

    @property
    def allowance(self) -> float:
        """Mean cost of a request up to which the bound is kept."""
        if self.statistic in BOUNDED:
            return 1 - BOUNDED[self.statistic]
        return 0.0 if self.statistic == "max" else self.limit

    def kept_by(self, cost: float) -> bool:
        """Whether a mean cost of a request keeps the bound: an allowance such as 1 - 0.9 is not exact."""
        return cost <= self.allowance + 1e-12

    @property
    def is_share(self) -> bool:
        """Whether each request either keeps the bound or does not."""
        return self.statistic != "mean"

    @property
    def needs(self) -> int:
        """Fewest requests that determine this statistic."""
        if self.statistic in BOUNDED:
            return SMALLEST_SAMPLE[BOUNDED[self.statistic]]
        return MEAN_NEEDS if self.statistic == "mean" else 1

    def costs(self, response_s: Floats, failed: Bools) -> tuple[Floats, Bools]:
        """Return what each request (n,) costs, and which of them this bound judges; as in `observe`."""
        if self.statistic == "errors":
            return failed.astype(np.float64), np.ones(len(failed), np.bool_)
        late = response_s > self.limit
        judged = ~failed | late
        return np.where(judged, response_s if self.statistic == "mean" else late, 0.0), judged

    def __str__(self) -> str:
        if self.statistic == "errors":
            return f"errors <= {percent(self.limit)}"
        return f"{spoken(self.statistic)} <= {show(self.limit)}"


@dataclass(frozen=True, slots=True, eq=False)
class BoundEvidence:
    """The observed requests that count, by the second in which they were scheduled.

    Attributes:
        counts: (s,) requests.
        costs: (bounds, s) sum of their costs, for each bound.
        judged: (bounds, s) requests that each bound judges.
        in_flight: (t,) requests under way at the end of each second of the trial, those of settling included.
        failed: (s,) requests that failed.
        variability: squared coefficient of variation of the response times: at a low rate, of the service times. It is
            1 if they are exponential, 5 where one request in eight takes forty times as long as the others.
        response_s: (s,) sum of the response times of the answered requests, seconds; None where it is not known.
    """

    counts: Ints
    costs: Floats
    judged: Ints
    in_flight: Ints
    failed: Ints
    variability: float = 1.0
    response_s: Floats | None = None

    @classmethod
    def none(cls, bounds: int) -> Self:
        """Nothing seen yet."""
        empty = np.zeros(0, np.int64)
        return cls(empty, np.zeros((bounds, 0)), np.zeros((bounds, 0), np.int64), empty, empty)

    @property
    def failures(self) -> Series:
        """Requests and failures of each second."""
        return self.counts, self.failed

    @property
    def requests(self) -> int:
        """How many requests count."""
        return int(self.counts.sum())

    @property
    def mean_response_s(self) -> float:
        """The mean response time of the answered requests, seconds; 0 where it is not known."""
        answered = max(int((self.counts - self.failed).sum()), 1)
        return 0.0 if self.response_s is None else float(self.response_s.sum()) / answered

    def completed(self, settle_s: float) -> float:
        """Requests completed in each second after those of settling, on average."""
        settled, seconds = int(settle_s), len(self.in_flight) - int(settle_s)
        before = int(self.in_flight[settled - 1]) if settled else 0
        return (int(self.counts[:seconds].sum()) + before - int(self.in_flight[-1])) / seconds


def observe(
    bounds: Sequence[Bound], scheduled: Floats, ended: Floats, failed: Bools, *, settle_s: float, until: float
) -> BoundEvidence:
    """Look at a trial, under way or over. Times are seconds since its start.

    A request under way counts with its age: what it costs in the end can only be more.

    Args:
        bounds: to be judged.
        scheduled: (n,) instants at which requests were due; those after ``until`` are ignored.
        ended: (n,) ends of the exchanges, scheduled + response time; inf of those under way.
        failed: (n,) whether there was no answer, or not the expected one.
        settle_s: length of the beginning, whose requests do not count.
        until: now, or the end of the trial.
    """
    seconds = max(math.ceil(until - settle_s), 0)
    judged = (scheduled >= settle_s) & (scheduled < until)
    second = np.minimum((scheduled[judged] - settle_s).astype(np.int64), seconds - 1)
    response = np.where(np.isinf(ended[judged]), until, ended[judged]) - scheduled[judged]
    costs = [bound.costs(response, failed[judged]) for bound in bounds]
    return BoundEvidence(
        np.bincount(second, minlength=seconds).astype(np.int64),
        np.array([np.bincount(second, cost, seconds) for cost, _ in costs]).reshape(len(bounds), seconds),
        np.array([np.bincount(second[mine], minlength=seconds) for _, mine in costs]).reshape(len(bounds), seconds),
        _by(scheduled, int(until)) - _by(ended, int(until)),
        np.bincount(second[failed[judged]], minlength=seconds).astype(np.int64),
        _variability(response[~failed[judged]]),
        np.bincount(second[~failed[judged]], response[~failed[judged]], seconds).astype(np.float64),
    )


def _variability(response: Floats) -> float:
    """The variance of response times (n,) over the square of their mean; 1 where there are none."""
    return float(response.var() / response.mean() ** 2) if response.any() else 1.0


def _by(instants: Floats, seconds: int) -> Ints:
    """How many of these instants (n,) had come at the end of each second: (seconds,)."""
    second = np.clip(np.ceil(instants) - 1, 0, seconds).astype(np.int64)
    result: Ints = np.cumsum(np.bincount(second, minlength=seconds + 1)[:seconds]).astype(np.int64)
    return result


@dataclass(frozen=True, slots=True)
class BoundFinding:
    """How well a trial keeps one bound.

    Attributes:
        bound: the bound that is judged.
        cost: mean cost of a request: the share of late or of failed ones, or the mean response time in seconds.
        low, high: between which the long-run value lies, as far as this trial can tell.
        design_effect: requests that carry as much information as one independent request.
        requests: that it judges.
        enough: True if these are enough for `cost` to decide; otherwise only certain results decide.
    """

    bound: Bound
    cost: float
    low: float
    high: float
    design_effect: float
    requests: int
    enough: bool

    @property
    def kept(self) -> bool:
        return self.bound.kept_by(self.cost)

    @property
    def surely_kept(self) -> bool:
        return self.high <= self.bound.allowance

    @property
    def surely_missed(self) -> bool:
        return self.low > self.bound.allowance


def findings(bounds: Sequence[Bound], evidence: BoundEvidence) -> tuple[BoundFinding, ...]:
    """Judge each bound by all requests seen; without any request a bound is neither kept nor missed."""
    parts = zip(bounds, evidence.judged, evidence.costs, strict=True)
    return tuple(_finding(bound, evidence, counts, costs) for bound, counts, costs in parts)


def _finding(bound: Bound, evidence: BoundEvidence, counts: Ints, costs: Floats) -> BoundFinding:
    number = int(counts.sum())
    if not number:
        return BoundFinding(bound, math.nan, 0.0, math.inf, LEAST_DESIGN_EFFECT, 0, False)
    mean = float(costs.sum()) / number
    if bound.statistic == "errors":
        effect = cluster_size(evidence.failures)
        low, high = (hits * effect / number for hits in expected_hits(mean * number / effect, SURE_Z))
        return BoundFinding(bound, mean, low, high, effect, number, False)
    variance = mean * (1 - mean) if bound.is_share else mean**2 * evidence.variability
    effect = max(LEAST_DESIGN_EFFECT, batch_variance(counts, costs) * number / variance if variance else 0.0)
    if bound.is_share:
        low, high = map(float, wilson(mean, number / effect, Z))
        return BoundFinding(bound, mean, low, high, effect, number, number >= bound.needs)
    margin = Z * math.sqrt(variance * effect / number)
    enough = number >= bound.needs * max(evidence.variability, 1)
    return BoundFinding(bound, mean, mean - margin, mean + margin, effect, number, enough)
