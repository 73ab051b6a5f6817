"""Extrapolates mean response times to the capacity of a queue: rough, and only close to saturation."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from logreplay.analysis.statistics.quantiles import Floats

_WORKERS: Final = np.geomspace(1, 64, 31)
_REACH: Final = np.geomspace(1.005, 3.0, 160)
_CHI_SQUARE: Final = 3.84
NEAR: Final = 0.8
"""Utilisation from which the extrapolation is usable (below: 20 to 90 % wrong in simulations)."""

CLEAR: Final = 6
"""Gain from which a queue fits clearly better than a straight line."""


@dataclass(frozen=True)
class Fit:
    """A queue with many workers fitted to mean response times.

    Attributes:
        capacity: requests/s at which waiting would have no end.
        utilisation: reached at the highest rate tried.
        usable: True if this is close enough to saturation, and the fit narrow and clearly better than a straight line.
    """

    capacity: float
    utilisation: float
    usable: bool


def waiting(rate: Floats, workers: Floats, capacity: Floats) -> Floats:
    """Return the mean waiting time of an M/M/c queue, seconds; ``workers`` may be fractional, rate < capacity.

    Source: Sakasegawa, An approximation formula Lq ~ a b^p/(1-b), Ann. Inst. Statist. Math. 29, 1977.
    """
    rho = rate / capacity
    result: Floats = rho ** (np.sqrt(2 * (workers + 1)) - 1) / (capacity * (1 - rho))
    return result


def fit(rate: Floats, mean: Floats) -> Fit | None:
    """Fit a time without waiting, a number of workers and a capacity to mean response times (n,) of stable steps.

    A step without a mean, NaN, is left out. None with fewer than 5 steps: there are 3 unknowns.
    """
    rate, mean = rate[np.isfinite(mean)], mean[np.isfinite(mean)]
    if len(rate) < 5:
        return None
    workers = _WORKERS[:, None, None]
    capacity = (rate.max() * _REACH)[None, :, None]
    waits = waiting(rate[None, None, :], workers, capacity)
    weight = mean**-2.0  # relative errors count
    floor = np.maximum(np.sum((mean - waits) * weight, axis=2) / weight.sum(), 1e-6)
    error = np.sum(np.log((floor[:, :, None] + waits) / mean) ** 2, axis=2).min(axis=0)  # the best for each capacity
    best = int(error.argmin())
    likely = np.flatnonzero(error <= error[best] * (1 + _CHI_SQUARE / (len(rate) - 3)) + 1e-12)
    wide = (_REACH[likely[-1]] / _REACH[likely[0]]) ** 2  # the plain interval is right in 60 % of simulations only
    line = np.maximum(np.polyval(np.polyfit(rate, mean, 1, w=1 / mean), rate), 1e-6)
    straight = np.sum(np.log(line / mean) ** 2)
    gain = len(rate) * np.log((straight + 1e-12) / (error[best] + 1e-12)) - np.log(len(rate))  # Bayesian information
    utilisation = float(1 / _REACH[best])
    usable = utilisation >= NEAR and wide <= 2 and gain > CLEAR
    return Fit(float(rate.max() * _REACH[best]), utilisation, bool(usable))
