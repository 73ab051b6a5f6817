"""The change of a quantile as a series over time: the mean of its blocks is the change, their scatter shows its error.

Theory of operation. Each request moves a quantile by its influence: 1 or 0, for below or above, minus the share of the
quantile, divided by the density of the values there. The sums of these influences in blocks of time are a series, whose
neighbours depend on each other as those of any other series do. The series of one run minus that of the other leaves
out what slowed both runs alike, and keeps what slowed one of them.

Times in whole milliseconds have many ties. So half of the values equal to x count as below x, and the share between two
values lies on the line between them.

Source: Hampel, The influence curve and its role in robust estimation, 1974; Hall and Sheather, On the distribution of a
studentized quantile, 1988 (how far the density is read); Ma, Genton and Parzen, Asymptotic properties of sample
quantiles of discrete distributions, 2011 (mid-distribution).
"""

from collections.abc import Sequence
from statistics import NormalDist
from typing import Final

import numpy as np

from logreplay.analysis.statistics.quantiles import Floats, Ints

Placed = tuple[Ints, Floats]
"""The block of time of each value, and the values, logarithms of times: ``(n,)`` each."""
_WIDEST: Final = 0.8
"""Share of the way from a quantile to the nearer end of the values over which their density is read at most."""


def blocks_of(at: Floats, blocks: int) -> Ints:
    """The block of time of each value, ``blocks`` of equal length from the first to the last."""
    passed = at - at.min()
    found: Ints = np.minimum((passed * (blocks / (float(passed.max()) or 1.0))).astype(np.int64), blocks - 1)
    return found


def ratio_series(old: Placed, new: Placed, blocks: int, shares: Sequence[float]) -> list[Floats]:
    """Return a series (blocks,) for the quantile at each share; its mean is the logarithm of the ratio new/old."""
    before, after = (_quantile_series(*each, blocks, shares) for each in (old, new))
    return [new_one - old_one for old_one, new_one in zip(before, after, strict=True)]


def _quantile_series(block: Ints, values: Floats, blocks: int, shares: Sequence[float]) -> list[Floats]:
    distinct, counts = np.unique(values, return_counts=True)
    places, series = (np.cumsum(counts) - counts / 2) / len(values), []
    for share in shares:
        reach = min(_reach(share, len(values)), _WIDEST * min(share, 1 - share))
        low, found, high = np.interp((share - reach, share, share + reach), places, distinct)
        counted = _below(values, distinct, float(found))
        scale = (high - low) / (2 * reach) * blocks / len(values)
        series.append(found - scale * np.bincount(block, counted - counted.mean(), blocks))
    return series


def _reach(share: float, number: int) -> float:
    """How far on each side of a share the density is read, for an interval of 95 %."""
    usual = NormalDist()
    at = usual.inv_cdf(share)
    return float(1.96 ** (2 / 3) * (1.5 * usual.pdf(at) ** 2 / (2 * at * at + 1) / number) ** (1 / 3))


def _below(values: Floats, distinct: Floats, found: float) -> Floats:
    """Return by how much each value counts as below a quantile: 1, 0, or a part for the two values beside it."""
    right = int(np.searchsorted(distinct, found))
    before, after = distinct[max(right - 1, 0)], distinct[right]
    weight = (found - before) / (after - before) if after > before else 0.0
    counted = [(values < end) + (values == end) / 2 for end in (before, after)]
    result: Floats = (1 - weight) * counted[0] + weight * counted[1]
    return result
