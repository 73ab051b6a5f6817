"""Estimates the typical value of pairs where two pairs of targets took turns, each version on both machines in turn.

Theory of operation. In the turns of one pair the logarithm of the ratio is the change plus the difference of the
machines; in the turns of the other pair it is the change minus that difference. Two turns, one of each pair, belong
together; a random draw decides which comes first. If the difference of the machines moved by d between the two turns,
the mean of both is the change plus or minus d/2, and the draw decides the sign. So whatever a machine does (wander,
drift, pause), these means are independent and symmetric about the change, and Student's t applies to them without an
assumption on how a machine wanders.

First, blocks of half a second far from the median of their 21 neighbours of the same pair are clipped towards it: a
pause is not typical, and would widen the interval. They are not replaced by their neighbours: this would make the turns
depend on each other. In 11 neighbours, as a duet without turns has, pauses of 0.6 s in each 4 s are often the majority.

Source: the randomized block design: Fisher, The Design of Experiments, 1935. docs/accuracy.md measures it.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from logreplay.analysis.statistics import estimates
from logreplay.analysis.statistics.estimates import Estimate
from logreplay.analysis.statistics.quantiles import Bools, Floats, Ints
from logreplay.analysis.statistics.typical_value import BLOCK_S, FAR, LEAST_CLIP, local_medians, usual_scatter

FEWEST: Final = 5
"""Fewest times that both pairs had their turns."""
_NEIGHBOURS: Final = 21


def estimate(at: Floats, values: Floats, turns: Ints, second: Bools) -> tuple[Estimate, Estimate] | None:
    """Estimate the typical value of pairs of requests (n,), and how much it depends on the pair of targets.

    ``at`` is in seconds; ``second`` is true in turns of the second pair of targets. The turns 0 and 1, 2 and 3, ...
    belong together: one of each pair of targets. None if both had their turns fewer than `FEWEST` times.

    The other estimate is the change that the first pair of targets adds and the second takes away: the difference of
    the machines; or the change itself, if the targets of the second pair are in the wrong order.
    """
    if not len(at):
        return None
    half = (at // BLOCK_S).astype(np.int64)
    _, first, block = np.unique(turns * (half.max() + 1) + half, return_index=True, return_inverse=True)
    means = np.bincount(block, values) / np.bincount(block)
    near, turn = _drawn_near(means, second[first]), turns[first]
    numbers, place = np.unique(turn, return_inverse=True)
    of_turn = np.bincount(place, near) / np.bincount(place)
    both = np.flatnonzero((numbers[:-1] % 2 == 0) & (np.diff(numbers) == 1))
    if len(both) < FEWEST:
        return None
    sign = np.where(second[first][np.searchsorted(turn, numbers[both])], -1.0, 1.0)
    change, machines = (of_turn[both] + of_turn[both + 1]) / 2, sign * (of_turn[both] - of_turn[both + 1]) / 2
    return estimates.mean(change, float(np.ptp(at))), estimates.mean(machines, float(np.ptp(at)))


def times_of(turns: Sequence[Ints]) -> list[Ints]:
    """Number the times at which both turns have values in all series, and return that of each turn; -1: it has none."""
    known = set.intersection(*({*np.unique(each).tolist()} for each in turns))
    whole = np.array(sorted(each // 2 for each in known if each % 2 == 0 and each + 1 in known), np.int64)
    return [np.where(np.isin(each // 2, whole), np.searchsorted(whole, each // 2), -1) for each in turns]


def _drawn_near(means: Floats, second: Bools) -> Floats:
    """Return means of blocks; those far from the median of their neighbours of the same pair are clipped."""
    level = np.empty_like(means)
    for own in (np.flatnonzero(second), np.flatnonzero(~second)):
        if len(own):
            level[own] = local_medians(means[own], _NEIGHBOURS)
    away = means - level
    most = max(FAR * usual_scatter(away, _NEIGHBOURS), LEAST_CLIP)
    return level + np.clip(away, -most, most)
