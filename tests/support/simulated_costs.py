"""Readings of a processor that serves routes of known cost: the steps of ``sweep --routes``, simulated."""

from collections.abc import Sequence

import numpy as np

from logreplay.analysis.costs.readings import StepReadings

_PARTS = 10
"""Parts of a second in which requests and work are counted."""


def designed(
    chance: np.random.Generator,
    costs: Sequence[float],
    rates: Sequence[float],
    *,
    without: Sequence[tuple[int, ...]] | None = None,
    seconds: int = 24,
    idle: float = 0.05,
    random: bool = True,
    noise: float = 0.02,
) -> list[StepReadings]:
    """Simulate a sweep: all routes, each step without some of them, and all routes again.

    A reading is the mean of a second that ends between two whole seconds, as readings do; requests come at random.

    Args:
        chance: random numbers.
        costs: processor seconds of a request of each route.
        rates: requests/s of each route.
        without: places of the routes that each step in between leaves out; None: each alone.
        seconds: length of a step.
        idle: used without requests.
        random: the work of a request is exponential; else it is always the same.
        noise: of a reading, as a share of it.
    """
    number, late = len(costs), int(chance.integers(_PARTS))
    left_out = [(place,) for place in range(number)] if without is None else list(without)
    steps = []
    for label, lacking in enumerate([(), *left_out, ()]):
        mean = np.where(np.isin(np.arange(number), lacking), 0.0, rates)
        count = chance.poisson(mean / _PARTS, (seconds * _PARTS, number))
        work = np.where(count > 0, chance.gamma(np.maximum(count, 1)), 0.0) if random else count
        done = np.concatenate(([0.0], np.cumsum(work @ np.asarray(costs))))
        at = np.arange(2, seconds - 1)
        used = idle + done[at * _PARTS + late] - done[(at - 1) * _PARTS + late]
        sent = count.reshape(seconds, _PARTS, number).sum(1)
        readings = used * (1 + noise * chance.standard_normal(len(at)))
        steps.append(StepReadings(label, readings, (sent[at] + sent[at - 1]) / 2, "x" if lacking else ""))
    return steps
