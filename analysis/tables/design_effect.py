"""Design effects of the percentiles of steps: requests that wait in one queue tell less than independent ones.

Source: the design effect of Kish, Survey sampling: the variance of a share over what it would be if each request were
independent, from batches of one second that may depend on their neighbours.
"""

from typing import Final

import numpy as np

from logreplay.analysis.input.arrays import RequestArrays
from logreplay.analysis.input.chunks import SECOND
from logreplay.analysis.statistics.quantiles import FAILED, Floats, Ints
from logreplay.analysis.statistics.slices import slices
from logreplay.core.validity import batch_variance

FEWEST_SECONDS: Final = 8
"""Fewest whole seconds of a step for which their spread is used."""


def design_effects(requests: RequestArrays, start: Ints, stop: Ints, bounds: Floats) -> Floats:
    """How many requests of each step count as one independent request for its percentiles: (steps, n).

    NaN where the step is shorter than `FEWEST_SECONDS`, or no request is above. ``start``, ``stop``: of each step,
    microseconds; ``bounds``: (steps, n) its percentiles, seconds, ascending.
    """
    counts, above = _by_second(requests, bounds)
    effects = np.full(bounds.shape, np.nan)
    for step, (first, last) in enumerate(zip(-(-start // SECOND), stop // SECOND, strict=True)):
        seen = counts[first:last]
        for which, slow in enumerate(above[first:last].T):
            share = slow.sum() / max(seen.sum(), 1)
            if len(seen) >= FEWEST_SECONDS and 0 < share < 1:
                independent = share * (1 - share) / seen.sum()
                effects[step, which] = batch_variance(seen, slow.astype(np.float64)) / independent
    return effects


def _by_second(requests: RequestArrays, bounds: Floats) -> tuple[Ints, Ints]:
    """How many requests were scheduled in each second, and how many of them took longer than their step's bounds."""
    number, width = int(requests.scheduled.max()) // SECOND + 1, bounds.shape[1] + 1
    known = np.isfinite(bounds)
    limits = np.where(known, np.where(known, bounds, 0) * SECOND + 0.5, FAILED).astype(np.int64)
    counts = np.zeros(number * width, np.int64)
    for rows in slices(len(requests)):
        part = requests.take(rows).finished
        passed = part.scheduled // SECOND * width
        for limit in limits.T:
            passed += (part.response > limit[part.step]) | part.failed
        counts += np.bincount(passed, minlength=number * width)
    by_bound = counts.reshape(number, width)
    above = by_bound[:, ::-1].cumsum(axis=1)[:, ::-1]
    return above[:, 0], above[:, 1:]
