"""Estimates from values that depend on their neighbours in time, with standard errors that allow for it.

Theory of operation. Requests of the same second wait in the same queue, and the speed of a machine wanders over many
seconds. The error of a mean of such values comes from the slow waves in them. So the series of one value a second is
multiplied with cosines, slow ones of whole half periods; the mean of the squares of these products estimates the
variance, and Student's t allows for there being few of them. Waves of 50 s and longer are used: values that depend
on each other for up to ten seconds or so are then covered, and independent ones give an exact interval at any length.

Times in whole milliseconds have many ties. The step from one value to the next would then be invisible to the interval.
So half of the values equal to x count as below x, and the share between two values lies on the line between them.

Source: Müller, A theory of robust long-run variance estimation, 2007; Lazarus, Lewis, Stock and Watson, HAR inference:
recommendations for practice, 2018 (equal-weighted cosines); Ma, Genton and Parzen, Asymptotic properties of sample
quantiles of discrete distributions, 2011 (mid-distribution). tools/compare_table.py measures it.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from logreplay.analysis.statistics.quantiles import Floats

FEWEST_BLOCKS: Final = 5
_BLOCK_S: Final = 1.0
_MOST_BLOCKS: Final = 1000
_SLOW_S: Final = 50.0
_MOST_WAVES: Final = 40
_INNER: Final = 0.8
"""Share of the way from a quantile to the end of the values that the spread of the values is read over at most."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its standard errors.

    Attributes:
        value: the estimate.
        down: standard error towards lower values.
        up: standard error towards higher values.
        freedom: degrees of freedom of Student's t; 1 or more.
        blocks: blocks of time (or runs) it rests on.
    """

    value: float
    down: float
    up: float
    freedom: float
    blocks: int

    def ends(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return both ends of the interval."""
        t = student(confidence, self.freedom)
        return self.value - t * self.down, self.value + t * self.up

    def minus(self, other: "Estimate") -> "Estimate":
        """Return the difference from an independent estimate, with the degrees of freedom of Welch."""
        down, up = math.hypot(self.down, other.up), math.hypot(self.up, other.down)
        parts = [(each.down**2 + each.up**2, each.freedom) for each in (self, other)]
        squares = sum(part**2 / freedom for part, freedom in parts)
        freedom = sum(part for part, _ in parts) ** 2 / squares if squares else min(freedom for _, freedom in parts)
        return Estimate(self.value - other.value, down, up, freedom, min(self.blocks, other.blocks))


def quantile(at: Floats, values: Floats, share: float) -> Estimate | None:
    """Estimate a quantile; None for fewer than `FEWEST_BLOCKS` blocks of time.

    Args:
        at: (n,) seconds.
        values: (n,).
        share: 0.5 for the median.
    """
    length = max(_BLOCK_S, float(np.ptp(at)) / _MOST_BLOCKS) if len(at) else _BLOCK_S
    _, block = np.unique((at // length).astype(np.int64), return_inverse=True)
    blocks = int(block.max(initial=-1)) + 1
    if blocks < FEWEST_BLOCKS:
        return None
    distinct, counts = np.unique(values, return_counts=True)
    shares = (np.cumsum(counts) - counts / 2) / len(values)  # of the values below, ties half
    found = float(np.interp(share, shares, distinct))
    below = _below(values, distinct, found)
    residuals: Floats = np.bincount(block, below - below.mean()).astype(np.float64)
    waves = int(min(max(blocks * length / _SLOW_S * 2, 1), _MOST_WAVES))
    error = error_of_sum(residuals, waves) / len(values)  # of the share of the values below
    reach = student(0.95, waves) * error
    low, high = min(reach, _INNER * share), min(reach, _INNER * (1 - share))
    if not error:
        return Estimate(found, 0.0, 0.0, waves, blocks)
    down = (found - float(np.interp(share - low, shares, distinct))) * error / low
    up = (float(np.interp(share + high, shares, distinct)) - found) * error / high
    return Estimate(found, down, up, waves, blocks)


def mean(values: Floats) -> Estimate:
    """Estimate the mean of two or more independent values, such as one of each run."""
    error = float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return Estimate(float(np.mean(values)), error, error, len(values) - 1, len(values))


@lru_cache(maxsize=1024)
def student(confidence: float, freedom: float) -> float:
    """Return the two-sided quantile of Student's t: 1.96 for 0.95 and many degrees of freedom."""
    angle, share = _student(freedom)
    return math.sqrt(freedom) * math.tan(float(np.interp(confidence, share, angle)))


def p_value(distance: float, freedom: float) -> float:
    """Return the probability that Student's t is so far from 0, on either side."""
    return float(p_values(np.array([abs(distance)]), freedom)[0])


def p_values(distances: Floats, freedom: float) -> Floats:
    """Return `p_value` of (n,) distances of 0 and above."""
    angle, share = _student(freedom)
    found: Floats = 1 - np.interp(np.arctan(distances / math.sqrt(freedom)), angle, share)
    return found


@lru_cache(maxsize=64)  # 320 kB each
def _student(freedom: float) -> tuple[Floats, Floats]:
    """Angles whose tangent is t / sqrt(freedom), and the probability of less, on both sides of 0."""
    angle = np.linspace(0, math.pi / 2, 20_001)
    density = np.cos(angle) ** (freedom - 1)
    mass = np.cumsum(density) - (density[0] + density) / 2
    return angle, mass / mass[-1]


def error_of_sum(series: Floats, waves: int) -> float:
    """Return the standard error of the sum of a series whose mean is 0, from its slowest cosines.

    Args:
        series: (n,) values at even distances of time.
        waves: so many cosines, which are the degrees of freedom.
    """
    number = len(series)
    angles = math.pi * np.outer(np.arange(1, waves + 1), (np.arange(number) + 0.5) / number)
    return math.sqrt(2 * float(np.mean(np.square(np.cos(angles) @ series))))


def _below(values: Floats, distinct: Floats, found: float) -> Floats:
    """Return how far each value counts as below a quantile: 1, 0, or between for its two neighbours."""
    right = int(np.searchsorted(distinct, found))
    before, after = distinct[max(right - 1, 0)], distinct[right]
    weight = (found - before) / (after - before) if after > before else 0.0
    counted = [(values < end) + (values == end) / 2 for end in (before, after)]
    result: Floats = (1 - weight) * counted[0] + weight * counted[1]
    return result
