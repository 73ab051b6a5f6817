"""The universal scalability law, X(N) = gN / (1 + a(N-1) + bN(N-1)), and what else a curve may be.

Theory of operation. N/X is linear in N-1 and N(N-1), and none of the three coefficients is below 0, so the law is
fitted by non-negative least squares, each point weighed by its relative error. The ranges come from points that are
drawn again within their errors. A curve has bent if the efficiency of the largest number, X(N) / (N g), is below 1 in
nearly all draws; the range of a or of b then excludes 0, or that of both together. A wall is straight up to a number,
and level from there: the law does not describe it, and beyond the measured numbers the two differ most.

Source: Gunther, Guerrilla Capacity Planning, 2007.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from logreplay.analysis.statistics.nonnegative import nonnegative
from logreplay.analysis.statistics.quantiles import Floats

Kind = Literal["bent", "straight", "wall", "uncertain", "unlike", "few"]
DRAWS: Final = 2000
FEWEST: Final = 3
"""Different numbers that the three values of the law need."""
_STRAIGHT: Final = 0.97
"""A curve may be straight if the range of its efficiency reaches above this."""
_BENT: Final = 0.8
"""It is too uncertain to be called straight if that range reaches below this."""
_MISFIT: Final = 9.0
"""Squared misfit, in standard errors, from which the law does not describe the points."""
_WALL: Final = 6.0
"""A curve may be a wall if the squared misfit of the wall is at most this much above that of the law; with 4,
up to 4 % of walls get a law, with 9 none, but a third of the laws of three numbers are refused."""
_CLEARLY: Final = 4.0
"""It is a wall if the squared misfit of the law is at least this much above that of the wall."""
_LEVEL: Final = 1.1
"""Points are level if the range of the last rate over the first one stays below this."""
_NOTHING: Final = 1e-9
"""Values a and b up to this come from rounding."""
ENDS_PERCENT: Final = (1.5, 98.5)
"""Percentiles of the draws that are taken for the ends of a 95 % range."""
_ENDLESS: Final = 1e12
"""Rate of one machine, requests/s, where the points set no upper limit: they begin above one machine, and fall."""
_FLOOR: Final = 0.005
"""Least relative error of a point: no two measurements agree better."""


@dataclass(frozen=True, slots=True)
class ScalingLaw:
    """The law fitted to points. Ranges are 95 % at least: those of the draws are a little too narrow at 0.

    Attributes:
        kind: ``bent``; ``straight``; ``wall``, if it fits clearly better, or all points are level; ``uncertain``, if
            these cannot be told apart; ``unlike``, if none fits; ``few`` points.
        values: the values g, a and b.
        draws: (draws, 3) the values for points that were drawn again.
        knee: number and rate at which a wall begins; None: no wall.
    """

    kind: Kind
    values: Floats
    draws: Floats
    knee: tuple[float, float] | None = None

    def range(self, place: int) -> tuple[float, float]:
        """The 95 % range of a value; its upper end is infinite where the points set none."""
        values = self.draws[:, place]
        endless = (self.draws[:, 0] >= _ENDLESS) & (values > 0)
        low, high = np.percentile(values, ENDS_PERCENT)
        return float(low), math.inf if 100 * endless.mean() >= 100 - ENDS_PERCENT[1] else float(high)

    def may_be_straight(self, number: float) -> bool:
        """Whether that many machines, the most that were measured, may carry that many times what one carries."""
        return _efficiency(self.draws, number)[1] > _STRAIGHT

    def rates(self, numbers: Floats) -> Floats:
        """(numbers,) throughput of the fit."""
        return np.asarray(throughput(self.values[None], numbers)[0])

    def drawn_rates(self, numbers: Floats) -> Floats:
        """(draws, numbers) throughput of the draws."""
        return throughput(self.draws, numbers)


def throughput(values: Floats, numbers: Floats) -> Floats:
    """(n, numbers) throughput by g, a and b in each of n rows."""
    g, a, b = values[:, :1], values[:, 1:2], values[:, 2:]
    return np.asarray(g * numbers / (1 + a * (numbers - 1) + b * numbers * (numbers - 1)))


def fewest(rates: Floats, rate: float, survive: int) -> list[int | None]:
    """The fewest machines of each row that carry a rate, also if up to ``survive`` are lost; None: no number does."""
    enough = rates >= rate * (1 - 1e-9)
    held = enough.copy()
    for lost in range(1, min(survive, rates.shape[1]) + 1):
        held[:, :lost] = False
        held[:, lost:] &= enough[:, :-lost]
    return [int(place) + 1 if row[place] else None for row, place in zip(held, held.argmax(1), strict=True)]


def fitted_law(numbers: Sequence[float], rates: Sequence[float], errors: Sequence[float]) -> ScalingLaw:
    """Fit the law to ascending numbers, with relative standard errors of the rates, and say what the curve is."""
    count, rate = np.array(numbers, np.float64), np.array(rates, np.float64)
    error = np.maximum(np.array(errors, np.float64), _FLOOR)
    values, misfit = _fit(count, rate[None], error)
    chance = np.random.default_rng(0).standard_normal((DRAWS, len(count)))
    draws, _ = _fit(count, rate * np.exp(error * chance), error)
    wall, knee = _wall(count, rate, error)
    return ScalingLaw(_kind(count, float(values[0, 0]), draws, float(misfit[0]), wall), values[0], draws, knee)


def _kind(count: Floats, single: float, draws: Floats, misfit: float, wall: float) -> Kind:
    if len(np.unique(count)) < FEWEST:
        return "few"
    first, last = throughput(draws, count[[0, -1]]).T
    low, high = _efficiency(draws, count[-1])
    level = _MISFIT + 2 * max(len(count) - FEWEST, 0)
    if high <= _STRAIGHT and wall <= misfit + _WALL and wall < level:
        flat = np.percentile(last / first, 97.5) < _LEVEL
        return "wall" if flat or wall + _CLEARLY <= misfit else "uncertain"
    if misfit >= level:
        return "unlike"
    if high <= _STRAIGHT:
        return "bent" if single < _ENDLESS else "uncertain"
    return "straight" if low >= _BENT else "uncertain"


def _efficiency(draws: Floats, number: float) -> tuple[float, float]:
    """The 95 % range of the throughput of a number over that many times the throughput of one."""
    carried = throughput(draws, np.array([number], np.float64))[:, 0]
    low, high = np.percentile(carried / (draws[:, 0] * number), (2.5, 97.5))
    return float(low), float(high)


def _fit(count: Floats, rates: Floats, error: Floats) -> tuple[Floats, Floats]:
    """The values g, a and b of each row of rates, and its squared misfit."""
    weight = rates / count / error
    found = np.empty((len(rates), 3))
    design = np.column_stack((np.ones(len(count)), count - 1, count * (count - 1)))
    usual = np.median(weight, axis=0)  # the errors are shares, so the weights of all draws are nearly the same
    coefficients = nonnegative(design * usual[:, None], count / rates * usual)
    found[:, 0] = 1 / np.maximum(coefficients[:, 0], 1 / _ENDLESS)
    found[:, 1:] = coefficients[:, 1:] * found[:, :1]
    found[:, 1:][found[:, 1:] < _NOTHING] = 0
    misfit = (((np.log(throughput(found, count)) - np.log(rates)) / error) ** 2).sum(1)
    return found, misfit


def _wall(count: Floats, rate: Floats, error: Floats) -> tuple[float, tuple[float, float] | None]:
    """The squared misfit of the best wall, with its number and rate: straight up to a point, level from the next on."""
    best: tuple[float, tuple[float, float] | None] = (np.inf, None)
    for first in range(1, len(count)):
        slope = float(np.exp(np.average(np.log(rate[:first] / count[:first]), weights=error[:first] ** -2.0)))
        level = float(np.exp(np.average(np.log(rate[first:]), weights=error[first:] ** -2.0)))
        if not count[first - 1] * (1 - _FLOOR) <= level / slope <= count[first] * (1 + _FLOOR):
            continue
        misfit = float((((np.log(np.minimum(slope * count, level)) - np.log(rate)) / error) ** 2).sum())
        if misfit < best[0]:
            best = misfit, (level / slope, level)
    return best
