"""Divides the requests of a run into parts of whole seconds, few enough to stay in the cache of a processor."""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from logreplay.analysis.input.arrays import RequestArrays
from logreplay.analysis.statistics.quantiles import Ints
from logreplay.analysis.statistics.slices import slices

SECOND: Final = 1_000_000
PART: Final = 1 << 18
"""Requests in a part, about; a second that has more is not divided."""

_BLOCK: Final = 1 << 16


def by_second(requests: RequestArrays) -> Iterator[tuple[int, int, Ints]]:
    """Yield the rows of the requests scheduled from one second on (first item) up to another (second item), in time.

    Together these are all requests; of equal seconds in the order of the rows. Rows are nearly in the order of the
    schedule, so each part is looked for only where it can be.
    """
    scheduled = requests.scheduled
    edges = _edges(requests)
    starts = np.arange(0, len(scheduled), _BLOCK)
    lowest, highest = np.minimum.reduceat(scheduled, starts), np.maximum.reduceat(scheduled, starts)
    for first, stop in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        begin, end = first * SECOND, stop * SECOND
        touched = np.flatnonzero((highest >= begin) & (lowest < end))
        if len(touched):
            offset = int(touched[0]) * _BLOCK
            near = scheduled[offset : (int(touched[-1]) + 1) * _BLOCK]
            yield first, stop, np.flatnonzero((near >= begin) & (near < end)) + offset


def changes(values: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.bool_]:
    """Return where another group begins: (n,) whether each value differs from the one before; the first does."""
    found = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=found[1:])
    return found


def _edges(requests: RequestArrays) -> Ints:
    """The seconds between which the parts lie, increasing, from 0 to the one after the last."""
    number = int(requests.scheduled.max()) // SECOND + 1
    counts = np.zeros(number, np.int64)
    for rows in slices(len(requests)):
        counts += np.bincount(requests.scheduled[rows] // SECOND, minlength=number)
    upto = np.cumsum(counts)
    wanted = np.arange(PART, int(upto[-1]), PART)
    result: Ints = np.unique(np.concatenate(([0], np.searchsorted(upto, wanted) + 1, [number])))
    return result
