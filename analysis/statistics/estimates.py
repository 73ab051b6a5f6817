"""Estimates with standard errors, Student's t, and the error of a sum of values that depend on their neighbours.

Source: Student's t; Lazarus, Lewis, Stock and Watson, HAR inference: recommendations for practice, 2018 (equal-weighted
cosines).
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from logreplay.analysis.statistics.quantiles import Floats


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its standard errors.

    Attributes:
        value: the estimate.
        down: standard error towards lower values.
        up: standard error towards higher values.
        freedom: degrees of freedom of Student's t; 1 or more.
        blocks: blocks of time (or runs) it rests on.
        seconds: length of the series; 0 for values without a time.
    """

    value: float
    down: float
    up: float
    freedom: float
    blocks: int
    seconds: float = 0.0

    def ends(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return both ends of the interval."""
        t = student(confidence, self.freedom)
        return self.value - t * self.down, self.value + t * self.up

    @property
    def p(self) -> float:
        """Probability of an estimate at least this far from 0 if the true value is 0."""
        error = self.up if self.value < 0 else self.down
        if not error:
            return float(not self.value)
        return float(p_values(np.array([abs(self.value / error)]), self.freedom)[0])


def mean(values: Floats, seconds: float = 0.0) -> Estimate:
    """Estimate the mean of two or more independent values, such as one of each run."""
    error = float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return Estimate(float(np.mean(values)), error, error, len(values) - 1, len(values), seconds)


def trimmed_mean(values: Floats, left_out: float, seconds: float) -> Estimate:
    """Estimate the mean of independent values without a share of them at each end.

    Source: Yuen, The two-sample trimmed t for unequal population variances, 1974.
    """
    ordered, cut = np.sort(values), int(left_out * len(values))
    kept = ordered[cut : len(values) - cut]
    spread = np.clip(ordered, kept[0], kept[-1])
    error = math.sqrt(float(np.square(spread - spread.mean()).sum()) / (len(kept) * (len(kept) - 1)))
    return Estimate(float(kept.mean()), error, error, len(kept) - 1, len(values), seconds)


@lru_cache(maxsize=1024)
def student(confidence: float, freedom: float) -> float:
    """Return the two-sided quantile of Student's t: 1.96 for 0.95 and many degrees of freedom."""
    angle, share = _student(freedom)
    return math.sqrt(freedom) * math.tan(float(np.interp(confidence, share, angle)))


def p_values(distances: Floats, freedom: float) -> Floats:
    """Return the two-sided probabilities of a Student's t at least as far from 0 as these distances."""
    angle, share = _student(freedom)
    found: Floats = 1 - np.interp(np.arctan(distances / math.sqrt(freedom)), angle, share)
    return found


@lru_cache(maxsize=64)  # 320 kB each
def _student(freedom: float) -> tuple[Floats, Floats]:
    """Angles whose tangent is t / sqrt(freedom), and the probability of a value nearer to 0, on both sides."""
    angle = np.linspace(0, math.pi / 2, 20_001)
    density = np.cos(angle) ** (freedom - 1)
    mass = np.cumsum(density) - (density[0] + density) / 2
    return angle, mass / mass[-1]


def error_of_sum(series: Floats, waves: int) -> float:
    """Return the standard error of the sum of an even series (n,) whose mean is 0, from its slowest cosines."""
    return math.sqrt(2 * float(np.mean(np.square(cosines(len(series), waves) @ series))))


def cosines(number: int, waves: int) -> Floats:
    """Return (waves, number) cosines of 1, 2, ... half periods in so many even parts."""
    angles = math.pi * np.outer(np.arange(1, waves + 1), (np.arange(number) + 0.5) / number)
    found: Floats = np.cos(angles)
    return found
