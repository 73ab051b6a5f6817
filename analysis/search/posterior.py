"""Joins all trials of a search in one posterior of the highest rate that keeps the bounds.

Around that rate r*, the share q of late requests rises with the rate r by a power law of its odds, of an unknown
elasticity e: ``logit q(r) = logit p + e log(r / r*)``, where p is the share that the bound allows. A mean rises by a
power of the rate above the response time without load. The posterior of r* and e, on a grid, uses every trial, also
short ones and those at distant rates. A bracket of passed and failed rates would ignore by how much each trial passed.

Late requests come in bunches, one for each time that the queue was long. So k late requests count as k / phi bunches.
The number of bunches is negative binomial, because the speed of a machine differs from trial to trial: one trial is at
most as exact as a few independent bunches (`_UNITS`), however many it has. Where requests piled up, the completions
show the capacity. The rate that keeps a bound on time is lower, by a distance that queueing theory gives.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from logreplay.analysis.search.bounds import Bound
from logreplay.analysis.statistics.quantiles import Floats

_CELLS: Final = 240
"""Rates of the grid."""
_STEEPNESS: Final = np.linspace(-2.2, 2.2, 8)
"""Elasticities of the grid, in standard deviations of the logarithm of what queueing theory expects."""
_ALWAYS: Final = np.array([0.0, 0.15, 0.35, 0.65])
"""Parts of the allowance that requests cost at every rate, by pauses and slow answers that the load does not cause."""
_ALWAYS_PRIOR: Final = np.array([0.5, 0.17, 0.17, 0.16])
_UNLIKE: Final = 0.8
"""The standard deviation of `_STEEPNESS`."""
_STEEPEST: Final = 40.0
_FLATTEST: Final = 3.0
_BUNCH_S: Final = 20.0
"""Weight of the size of bunches that theory expects: that of so many seconds with late requests."""
_UNITS: Final = 3.0
_UNIT_S: Final = 12.0
_CAPACITY_SD: Final = 0.045
"""Standard deviation between completions under overload and the rate that the target carries for long, as a share."""
_OTHERWISE: Final = 0.15
_OTHERWISE_WIDE: Final = 0.3
_GAP_SD: Final = 0.55
"""Standard deviation of the distance between the rate that keeps a bound and the capacity, as a share of it."""
_RAREST: Final = 1e-4
"""A bound that allows nothing is judged as one that allows this share."""


@dataclass(frozen=True, slots=True)
class Light:
    """The target without load: response time in seconds, and the squared coefficient of variation of its work."""

    response_s: float
    variability: float

    def slack(self, bound: Bound) -> float:
        """The seconds that a request may wait under a bound on time: at least a tenth of it."""
        return max(bound.limit - self.response_s, bound.limit / 10)


@dataclass(frozen=True, slots=True)
class Seen:
    """The result of a trial for one bound.

    Attributes:
        rate: offered, requests/s.
        requests: that the bound judges.
        cost: mean cost of a request, as `BoundFinding.cost`.
        effect: requests that give as much information as one independent request.
        seconds: judged.
        cut: the trial ended early, so a mean is at least this long.
    """

    rate: float
    requests: int
    cost: float
    effect: float
    seconds: float
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Carried:
    """Completions under overload, requests/s, and their standard deviation as a share."""

    rate: float
    doubt: float


@dataclass(frozen=True, slots=True, eq=False)
class Belief:
    """The probability that the highest rate that keeps all bounds lies below each of the rates: both (cells,)."""

    rates: Floats
    below: Floats

    def quantile(self, share: float) -> float:
        """The rate below which it lies with this probability."""
        return float(np.exp(np.interp(share, self.below, np.log(self.rates))))

    def wider(self, sd: float) -> "Belief":
        """The same with a further standard deviation, as a share of the rate."""
        if not sd:
            return self
        step = math.log(self.rates[1] / self.rates[0])
        reach = math.ceil(3 * sd / step)
        kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) * step / sd) ** 2)
        below = np.pad(self.below, reach, constant_values=(0.0, 1.0))
        rates = self.rates[0] * np.exp(step * np.arange(-reach, len(self.rates) + reach))
        smooth = np.convolve(np.pad(below, reach, constant_values=(0.0, 1.0)), kernel / kernel.sum(), mode="valid")
        return Belief(rates, smooth)


def believe(
    parts: "Sequence[tuple[Bound, Sequence[Seen], Carried | None]]", light: Light, ends: tuple[float, float]
) -> Belief:
    """Join the results for each bound: the rate that keeps all bounds is the lowest of those that keep each.

    The parts are, for each bound, the results of the trials, and the completions under overload, if there was one;
    ``ends`` are those of the grid.
    """
    rates = np.geomspace(*ends, _CELLS)
    above = np.ones(_CELLS)
    for bound, seen, carried in parts:
        above *= 1 - _below(rates, bound, seen, carried, light)
    return Belief(rates, 1 - above)


def _below(rates: Floats, bound: Bound, seen: Sequence[Seen], carried: Carried | None, light: Light) -> Floats:
    """The cumulative distribution (cells,) of the rate that keeps one bound."""
    timed = bound.statistic != "errors"
    slack = light.slack(bound) if timed else 0.0
    spread = 1 + light.variability
    usual = np.clip(2 * rates * slack / spread, _FLATTEST, _STEEPEST) if timed else np.full(len(rates), 20.0)
    steep = usual[:, None, None] * np.exp(_UNLIKE * _STEEPNESS[:, None])
    log_p = np.zeros((len(rates), len(_STEEPNESS), len(_ALWAYS) if bound.is_share else 1))
    log_p -= 0.5 * _STEEPNESS[:, None] ** 2
    allowed = max(bound.allowance, _RAREST)
    if carried and not any(
        each.rate > 1.1 * carried.rate and bound.kept_by(each.cost) and each.seconds > 1 for each in seen
    ):
        rarity = -math.log(allowed) if bound.is_share else 1.0
        gap = min(rarity * spread / (2 * slack * carried.rate), 0.7) if timed else -allowed
        sd = math.hypot(carried.doubt, _GAP_SD * gap, _CAPACITY_SD)
        away = np.log(rates / (carried.rate * (1 - gap)))
        usual = np.exp(-0.5 * (away / sd) ** 2) / sd
        unlike = np.where(away < 0, _OTHERWISE / _OTHERWISE_WIDE, 1e-9)
        log_p += np.log(usual * (1 - _OTHERWISE) + unlike)[:, None, None]
    if bound.is_share:
        log_p += np.log(_ALWAYS_PRIOR)
    size = bunches(bound, seen, slack, light) if bound.is_share else 1.0
    for each in seen:
        away = steep * np.log(each.rate / rates)[:, None, None]
        if bound.is_share:
            log_p += _shares(each, away, allowed, size * bunch(bound, each.rate, slack, light))
        else:
            log_p += _means(each, away, bound, light)
    weight = np.exp(log_p - log_p.max()).sum(axis=(1, 2))
    below: Floats = (np.cumsum(weight) - weight / 2) / weight.sum()
    return below


def bunch(bound: Bound, rate: float, slack: float, light: Light) -> float:
    """How many late requests come together at a rate, in a queue that is long in one of ``1 / allowance`` instants.

    Source: the clumps of a reflected Brownian motion above a high level (Aldous, Probability approximations, 1989).
    """
    rarity = -math.log(max(bound.allowance, _RAREST))
    return max(2.0, 4 * (slack * rate / rarity) ** 2 / (1 + light.variability))


def bunches(bound: Bound, seen: Sequence[Seen], slack: float, light: Light) -> float:
    """The size of the bunches of late requests, as a multiple of what theory expects."""
    some = [each for each in seen if 0 < each.cost < 0.25]
    ratios = [(each.seconds, each.effect / bunch(bound, each.rate, slack, light)) for each in some]
    seconds = _BUNCH_S + sum(part for part, _ in ratios)
    return max((_BUNCH_S + sum(part * ratio for part, ratio in ratios)) / seconds, 0.3)


def _shares(seen: Seen, away: Floats, allowed: float, bunch: float) -> Floats:
    always, grows = allowed * _ALWAYS, allowed * (1 - _ALWAYS)
    share = always + (1 - always) / (1 + (1 - allowed) / grows * np.exp(np.clip(-away, -50.0, 50.0)))
    expected, some = np.maximum(share, 1e-9) * (seen.requests / bunch), seen.cost * seen.requests / bunch
    units = _UNITS * min(seen.seconds / _UNIT_S, 2.0)
    result: Floats = some * np.log(expected) - (some + units) * np.log(expected + units)
    return result


def _means(seen: Seen, away: Floats, bound: Bound, light: Light) -> Floats:
    base = min(light.response_s, 0.9 * bound.limit)
    mean = np.log(base + (bound.limit - base) * np.exp(np.minimum(away, 20.0)))
    sd = math.hypot(0.1, math.sqrt((1 + light.variability) * seen.effect / max(seen.requests, 1)))
    off = (math.log(max(seen.cost, 1e-9)) - mean) / sd
    if seen.cut:
        off = np.maximum(off, 0.0)
    result: Floats = -2.0 * np.log1p(off**2 / 3)
    return result
