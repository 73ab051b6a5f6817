"""Finds the limit by which a target refuses at once: of the rate, or of the number in flight."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from logreplay.analysis.limit import sentences
from logreplay.analysis.limit.observations import Observations
from logreplay.analysis.limit.sentences import TargetLimit
from logreplay.analysis.statistics.quantiles import Bools, Floats, Ints

AT_ONCE_S: Final = 0.005
FEWEST: Final = 30
FULL: Final = 0.9
"""Probability that more requests are in flight at a refusal than at an acceptance, above which their number decides."""
ANY: Final = 0.8
"""The same probability, below which a limit of the rate may decide."""
WITHIN_ONE: Final = 0.85
EVEN: Final = 0.35
"""Largest variance over mean of the accepted requests per half second; it is 1 if they are random."""
STEADY: Final = 0.08
HALF_S: Final = 0.5
FEWEST_HALVES: Final = 4
CLEARLY: Final = 0.15
"""Share of refused requests, above which a step shows the rate of a limiter."""
SHARP: Final = 0.98
"""Probability that the time since the last accepted request is longer for an accepted request than for a refused one,
above which this time decides."""


def refusing(seen: Observations, steps: Sequence[int], service_s: float | None) -> TargetLimit | None:
    """Name the limit by which a target refuses; None if the failures come late, or show neither limit."""
    inside = np.isin(seen.step, steps)
    refused, accepted = inside & seen.failed, inside & seen.good
    if refused.sum() < FEWEST or accepted.sum() < FEWEST:
        return None
    took = float(np.median(seen.took[refused]))
    if took > max((service_s or 0.0) / 2, AT_ONCE_S):
        return None
    flying = _accepted_in_flight(seen)
    apart = probability_above(flying[refused], flying[accepted])
    places = int(np.median(flying[refused]))
    if apart > FULL and np.mean(np.abs(flying[refused] - places) <= 1) >= WITHIN_ONE:
        low, high = np.quantile(flying[refused], (0.05, 0.95))
        return sentences.refuses(places, float(low), float(high), took, service_s)
    if spaced := _spacing(seen, refused, accepted):
        return sentences.rate_limit(1 / spaced, took, service_s)
    clear = [step for step in steps if _share(seen, refused, step) >= CLEARLY] or [*steps][-1:]
    counts = [_by_half_second(seen, accepted, step) for step in clear]
    counts = [each for each in counts if len(each) >= FEWEST_HALVES and each.any()]
    if apart >= ANY or not counts or any(each.var() >= EVEN * each.mean() for each in counts):
        return None
    rates = np.array([each.mean() / HALF_S for each in counts])
    steady = rates.std() < STEADY * rates.mean()
    return sentences.rate_limit(float(rates.mean()), took, service_s) if steady else None


def _share(seen: Observations, chosen: Bools, step: int) -> float:
    own = seen.step == step
    return float(chosen[own].mean()) if own.any() else 0.0


def _spacing(seen: Observations, refused: Bools, accepted: Bools) -> float | None:
    """The least time between two accepted requests, seconds; None if that time does not decide."""
    last = np.maximum.accumulate(np.where(seen.good, seen.start, -np.inf))
    since = seen.start - np.concatenate([[-np.inf], last[:-1]])
    if probability_above(since[accepted], since[refused]) < SHARP:
        return None
    return float((np.quantile(since[refused], 0.99) + np.quantile(since[accepted], 0.01)) / 2)


def probability_above(some: Ints | Floats, others: Ints | Floats) -> float:
    """Return the probability that one of ``some`` is above one of the others; ties count half."""
    ordered = np.sort(others)
    below = np.searchsorted(ordered, some, "left") + np.searchsorted(ordered, some, "right")
    return float(below.mean() / (2 * len(others)))


def _accepted_in_flight(seen: Observations) -> Ints:
    """(n,) requests in flight as each starts that will be answered as expected."""
    before = np.cumsum(seen.good, dtype=np.int64) - seen.good
    return np.asarray(before - np.searchsorted(np.sort(seen.end[seen.good]), seen.start, "right"), dtype=np.int64)


def _by_half_second(seen: Observations, accepted: Bools, step: int) -> Floats:
    """Accepted requests in each whole half second of a step, after its first fifth."""
    start = seen.start[seen.step == step]
    begin = start[0] + 0.2 * (start[-1] - start[0])
    number = int((start[-1] - begin) / HALF_S)
    at = (seen.start[accepted & (seen.step == step)] - begin) / HALF_S
    inside = at[(at >= 0) & (at < number)].astype(np.int64)
    return np.bincount(inside, minlength=number).astype(np.float64)
