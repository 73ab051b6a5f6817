"""Finds the rhythm in which requests leave while a backlog lasts: batches, pauses, and the number served at a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from logreplay.analysis.limit.carried import Backlog, LoadFigures
from logreplay.analysis.statistics.quantiles import Floats

TINY: Final = 0.05
TOGETHER: Final = 0.6
"""Share of tiny gaps between completions, above which requests leave together."""
UNEVEN: Final = 1.6
TRIMMED: Final = 0.015
STEADY: Final = 0.25
"""Variance of a sum of k gaps over that of random gaps, below which every k-th completion is regular."""
STEADY_ONE: Final = 0.12
BELOW_NEIGHBOURS: Final = 0.45
PAUSE_S: Final = 0.05
PAUSED: Final = 0.025
"""Smallest share of the time that pauses take."""


def gaps(backlogs: Sequence[Backlog]) -> list[Floats]:
    """Return the gaps between completions of each backlog, seconds."""
    return [np.diff(each.ends) for each in backlogs]


def batch(found: Sequence[Floats], rate: float) -> float | None:
    """Return how many requests leave together; None where they leave one by one."""
    every = np.concatenate(found)
    tiny = every < TINY / rate
    if tiny.mean() <= TOGETHER or every.std() <= UNEVEN * every.mean():
        return None
    return float(len(every) / np.count_nonzero(~tiny))


@dataclass(frozen=True)
class Pauses:
    """Pauses in which no request left although some waited: their number, length and interval, seconds."""

    number: int
    length_s: float
    every_s: float
    share: float


def pauses(found: Sequence[Floats], carried: LoadFigures) -> Pauses | None:
    """Return the pauses of a target; None where it has none."""
    usual = float(np.quantile(carried.alone, 0.85))  # a few long requests may hold all workers for a while
    limit = max(4 * carried.service_s, 2 * usual, 12 / carried.rate, PAUSE_S)
    every = np.concatenate(found)
    long = every[every > limit]
    whole = float(every.sum())
    if len(long) < 2 or long.sum() <= PAUSED * whole:
        return None
    return Pauses(len(long), float(np.median(long)), whole / len(long), float(long.sum()) / whole)


def dips(found: Sequence[Floats], most: int) -> int | None:
    """Return the first number of successive completions that takes a steady time; None where there is none.

    While all workers of even speed are busy, as many requests leave in the time of one as there are workers.
    """
    before, here = steadiness(found, 1), steadiness(found, 2)
    if before < STEADY_ONE:
        return 1
    for count in range(2, most + 1):
        after = steadiness(found, count + 1)
        if here < STEADY and here < BELOW_NEIGHBOURS * before and here < BELOW_NEIGHBOURS * after:
            return count
        before, here = here, after
    return None


def steadiness(found: Sequence[Floats], count: int) -> float:
    """Return the variance of the sum of ``count`` gaps, over that of random ones; NaN where the gaps are too few."""
    ends = [np.concatenate(([0.0], np.cumsum(each))) for each in found]
    every = np.concatenate([each[count:] - each[:-count] for each in ends])
    cut = int(TRIMMED * len(every))
    size = len(every) - 2 * cut
    if size < 5 * count:
        return float("nan")
    kept = np.partition(every, (cut, cut + size - 1))[cut : cut + size]
    return float(kept.var() / (count * (kept.mean() / count) ** 2))
