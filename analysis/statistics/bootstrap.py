"""Differences between two series that ran at the same time, with errors from blocks of time.

Theory of operation. What disturbs a machine disturbs both series: they move together, and their ratio moves little.
Time is cut into blocks of 1 s or longer, since responses of one second wait in the same queue.

Pairs have ratios. A median of them would not do: where the generator waits for a processor, it reads both responses of
a pair at once, most ratios are 1, and the few others alone tell the targets apart. Their mean would not do either: one
second of a busy processor moves it by more than the targets differ. So each block of half a second has the mean of its
logarithms, and a fifth of the blocks is left out at each end. Equal targets are as likely to be left out at either end.
Series shorter than 4 s have eight shorter blocks, of 0.2 s or longer. Neighbouring blocks of 0.2 s are a little more
alike than blocks of 0.5 s.

Quantiles have none, so both series are resampled together (block bootstrap): a resample draws as many blocks as there
are, with replacement, and takes the values of both series from each. The standard deviation of the logarithm of the
ratio over the resamples is its standard error. With few blocks an error would be too small: it is widened for their
number, and Student's t with one degree of freedom less than blocks gives the interval.

Source: Künsch, The jackknife and the bootstrap for general stationary observations, 1989; Yuen, The two-sample trimmed
t for unequal population variances, 1974; Bulej and others, Duet benchmarking, 2020. tools/duet_table.py measures it.
"""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from logreplay.analysis.statistics.estimates import FEWEST_BLOCKS, Estimate
from logreplay.analysis.statistics.quantiles import Floats

_RESAMPLES: Final = 1000
_BINS: Final = 4096
"""Values are told apart up to this many; more are counted in so many bins of equal count."""
_SHORTEST_S: Final = 1.0
_USUAL_S: Final = 2.0
_WANTED: Final = 20
"""Blocks for which they are shorter than usual."""
_MOST: Final = 100
"""Blocks of long series, which are longer than usual then."""
_AT_ONCE: Final = 100
HALF_S: Final = 0.5
FEWEST_MEANS: Final = 8
"""Fewest blocks of a mean; series below 4 s have exactly so many."""
SHORTEST_MEAN_S: Final = 1.6
"""Series of pairs shorter than this, eight blocks of 0.2 s, have no estimate of their mean."""
_LEFT_OUT: Final = 0.2
"""Share of the blocks that a mean leaves out at each end."""

Series = tuple[Floats, Floats]
"""Times in seconds, and positive values, ``(n,)`` each."""


def ratios(old: Series, new: Series, shares: Sequence[float], seed: int = 0) -> list[Estimate] | None:
    """Estimate the logarithm of the ratio new/old of each quantile; None for fewer than `FEWEST_BLOCKS` blocks of time.

    Args:
        old, new: both series, with one clock.
        shares: 0.5 for the median.
        seed: of the resamples.
    """
    if not (len(old[0]) and len(new[0])):
        return None
    block, blocks = _blocks(np.concatenate((old[0], new[0])))
    if blocks < FEWEST_BLOCKS:
        return None
    distinct, place = _binned(np.log(np.concatenate((old[1], new[1]))))
    first = len(old[0])
    counts = [_counts(block[part], place[part], (blocks, len(distinct))) for part in (slice(first), slice(first, None))]
    drawn = np.random.default_rng(seed).multinomial(blocks, np.full(blocks, 1 / blocks), _RESAMPLES).astype(np.float64)
    found = _difference(np.ones((1, blocks)), counts, distinct, shares)[0]
    spread = np.concatenate(
        [_difference(drawn[at : at + _AT_ONCE], counts, distinct, shares) for at in range(0, _RESAMPLES, _AT_ONCE)]
    )
    errors = np.nanstd(spread, axis=0) * math.sqrt(blocks / (blocks - 1))
    return [
        Estimate(float(value), float(error), float(error), blocks - 1, blocks)
        for value, error in zip(found, errors, strict=True)
    ]


def trimmed_mean(at: Floats, values: Floats) -> Estimate | None:
    """Estimate the mean of values, such as logarithms of ratios, of the middle blocks of time; None for fewer than 8.

    Args:
        at: (n,) seconds.
        values: (n,).
    """
    span = float(np.ptp(at)) if len(at) else 0.0
    if span < SHORTEST_MEAN_S:
        return None
    block, blocks = _numbered(at, max(min(HALF_S, span / FEWEST_MEANS), span / _MOST))
    if blocks < FEWEST_MEANS:
        return None
    means = np.sort(np.bincount(block, values) / np.bincount(block))
    left_out = int(_LEFT_OUT * blocks)
    kept = means[left_out : blocks - left_out]
    spread = np.clip(means, kept[0], kept[-1])
    error = math.sqrt(float(np.square(spread - spread.mean()).sum()) / (len(kept) * (len(kept) - 1)))
    return Estimate(float(kept.mean()), error, error, len(kept) - 1, blocks)


def spread_above(at: Floats, values: Floats, share: float) -> bool:
    """Whether the values above a quantile come from `FEWEST_BLOCKS` blocks of time: one burst tells nothing."""
    block, _ = _blocks(at)
    return len(np.unique(block[values > np.quantile(values, share)])) >= FEWEST_BLOCKS


def _blocks(at: Floats) -> tuple[NDArray[np.int64], int]:
    """The block of time of each value, and how many there are."""
    span = float(np.ptp(at))
    return _numbered(at, max(_SHORTEST_S, min(_USUAL_S, span / _WANTED), span / _MOST))


def _numbered(at: Floats, length: float) -> tuple[NDArray[np.int64], int]:
    """The block of time of each value, and how many blocks hold one. The last value belongs to the last block."""
    passed = at - at.min()
    number = np.minimum(passed // length, np.ceil(passed.max() / length) - 1)
    _, block = np.unique(number.astype(np.int64), return_inverse=True)
    return block, int(block.max()) + 1


def _binned(values: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """The distinct values, or the middles of bins of equal count, and the place of each value among them."""
    distinct, place = np.unique(values, return_inverse=True)
    if len(distinct) <= _BINS:
        return distinct, place
    edges = np.unique(np.quantile(values, np.linspace(0, 1, _BINS + 1)[1:-1]))
    place = np.searchsorted(edges, values)
    counts = np.bincount(place, minlength=len(edges) + 1)
    used = counts > 0
    middles = np.bincount(place, values, minlength=len(edges) + 1)[used] / counts[used]
    return middles, (np.cumsum(used) - 1)[place]


def _counts(block: NDArray[np.int64], place: NDArray[np.int64], shape: tuple[int, int]) -> Floats:
    """(blocks, distinct) how often each value is in each block."""
    found = np.bincount(block * shape[1] + place, minlength=shape[0] * shape[1])
    return found.reshape(shape).astype(np.float64)


def _difference(weights: Floats, counts: Sequence[Floats], distinct: Floats, shares: Sequence[float]) -> Floats:
    """(resamples, shares) difference of the quantiles of both series, where each block has a weight."""
    old, new = (_quantiles(weights @ each, distinct, shares) for each in counts)
    return new - old


def _quantiles(counts: Floats, distinct: Floats, shares: Sequence[float]) -> Floats:
    """(rows, shares) quantiles, each value counting half as below itself; not a number where a row is empty."""
    below = np.cumsum(counts, axis=1)
    found = np.full((len(counts), len(shares)), np.nan)
    for row, (each, total) in enumerate(zip(counts, below, strict=True)):
        used = np.flatnonzero(each)
        if len(used):
            found[row] = np.interp(shares, (total[used] - each[used] / 2) / total[-1], distinct[used])
    return found
