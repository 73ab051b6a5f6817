"""Estimates the typical value of pairs where two pairs of targets took turns, each version on both machines in turn.

Theory of operation. In the turns of one pair the logarithm of the ratio is the change plus what the machines differ by,
in those of the other it is the change minus that. Of two turns one is that of each pair, and which comes first was
drawn. So the mean of both turns is the change, plus or minus half of how much the machines moved between the turns,
with a sign that was drawn. Whatever a machine does, wander, drift or pause, such means are independent and lie evenly
about the change: Student's t of them holds without any assumption on how a machine wanders.

Before, blocks of half a second far from the median of their neighbours of the same pair are drawn near to it: a pause
is not typical, and would widen the interval of all. A block far away is clipped, not replaced: replaced by its
neighbours it would make the turns depend on each other.

Source: the randomized block design: Fisher, The Design of Experiments, 1935. docs/accuracy.md measures it.
"""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from logreplay.analysis.statistics import estimates
from logreplay.analysis.statistics.estimates import Estimate
from logreplay.analysis.statistics.quantiles import Floats, Ints

FEWEST: Final = 5
"""Fewest times that both pairs had their turns."""
_BLOCK_S: Final = 0.5
_NEIGHBOURS: Final = 11
_CLIP: Final = 3.0
_LEAST_CLIP: Final = 1e-4
_SIGMA: Final = 1.4826
"""Standard deviations of a normal distribution in its median absolute deviation."""

Bools = NDArray[np.bool_]


def estimate(at: Floats, values: Floats, turns: Ints, second: Bools) -> Estimate | None:
    """Estimate the typical value of pairs; None for fewer than `FEWEST` times two turns.

    Args:
        at: (n,) seconds.
        values: (n,) such as logarithms of the ratio of candidate and baseline.
        turns: (n,) the turn of each: of 0 and 1, 2 and 3, ... one is that of each pair of targets.
        second: (n,) whether it was that of the second pair.
    """
    found = _of_turns(at, values, turns, second)
    return estimates.mean(found[0], float(np.ptp(at))) if found else None


def machines(at: Floats, values: Floats, turns: Ints, second: Bools) -> Estimate | None:
    """Estimate what the first pair of targets adds to the value, and the second takes away; arguments as `estimate`.

    It is what the machines differ by; or, if the targets of the second pair stand in each other's place, the change.
    """
    found = _of_turns(at, values, turns, second)
    return estimates.mean(found[1], float(np.ptp(at))) if found else None


def _of_turns(at: Floats, values: Floats, turns: Ints, second: Bools) -> tuple[Floats, Floats] | None:
    """The mean of both turns, and half of the difference of first and second pair, each time that both had theirs."""
    if not len(at):
        return None
    half = (at // _BLOCK_S).astype(np.int64)
    _, first, block = np.unique(turns * (half.max() + 1) + half, return_index=True, return_inverse=True)
    means = np.bincount(block, values) / np.bincount(block)
    near, turn = _drawn_near(means, second[first]), turns[first]
    numbers, place = np.unique(turn, return_inverse=True)
    of_turn = np.bincount(place, near) / np.bincount(place)
    both = np.flatnonzero((numbers[:-1] % 2 == 0) & (np.diff(numbers) == 1))
    if len(both) < FEWEST:
        return None
    sign = np.where(second[first][np.searchsorted(turn, numbers[both])], -1.0, 1.0)
    return (of_turn[both] + of_turn[both + 1]) / 2, sign * (of_turn[both] - of_turn[both + 1]) / 2


def times_of(turns: Sequence[Ints]) -> list[Ints]:
    """The place of each turn among the times at which both turns have values of all series; -1: there it has not."""
    known = set.intersection(*({*np.unique(each).tolist()} for each in turns))
    whole = np.array(sorted(each // 2 for each in known if each % 2 == 0 and each + 1 in known), np.int64)
    return [np.where(np.isin(each // 2, whole), np.searchsorted(whole, each // 2), -1) for each in turns]


def _drawn_near(means: Floats, second: Bools) -> Floats:
    """Means of blocks, those far from the median of their neighbours of the same pair clipped."""
    level = np.empty_like(means)
    for own in (np.flatnonzero(second), np.flatnonzero(~second)):
        if len(own):
            width = min(_NEIGHBOURS, len(own))
            medians = np.median(sliding_window_view(means[own], width), axis=1)
            level[own] = medians[np.clip(np.arange(len(own)) - width // 2, 0, len(medians) - 1)]
    away = means - level
    scatter = _SIGMA * float(np.median(np.abs(away - np.median(away)))) * math.sqrt(_NEIGHBOURS / (_NEIGHBOURS - 1))
    most = max(_CLIP * scatter, _LEAST_CLIP)
    return level + np.clip(away, -most, most)
