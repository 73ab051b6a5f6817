"""Simulates the work of requests that two machines serve at the same times, for the parts ``duet`` and ``swap``.

The speed of a machine wanders as a first-order autoregression, for both alike or each by itself.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np

from logreplay.analysis.statistics.quantiles import Floats
from logreplay.analysis.verdict.ratio_interval import DIFFERENT, Change
from simulate import wander

BATCH: Final = 200
"""Runs that are simulated at once."""
WORKERS: Final = 4
_RATE: Final = 100.0
_STEP_S: Final = 0.25


@dataclass(frozen=True, slots=True)
class TwoMachines:
    """What both machines do.

    Attributes:
        name: on the page.
        seconds: length of a run.
        load: utilization of the workers.
        common, apart: standard deviation and time of the wander of both machines, and of each by itself.
    """

    name: str
    seconds: int = 60
    load: float = 0.6
    common: tuple[float, float] = (0.0, 1.0)
    apart: tuple[float, float] = (0.0, 1.0)

    def times(self, runs: int, rng: np.random.Generator) -> Floats:
        """(runs, requests) when requests come, seconds."""
        return np.sort(rng.uniform(0, self.seconds, (runs, round(_RATE * self.seconds))), axis=1)

    def work(self, at: Floats, rng: np.random.Generator) -> Floats:
        """(runs, requests) seconds of work of the requests, the same for both machines."""
        return rng.lognormal(-0.5, 1, at.shape) * WORKERS * self.load / _RATE * self._wander(at, self.common, rng)

    def own(self, work: Floats, at: Floats, rng: np.random.Generator) -> Floats:
        """(runs, requests) seconds of this work on one machine; that of a request differs by 10 % between machines."""
        return work * rng.lognormal(0, 0.1, at.shape) * self._wander(at, self.apart, rng)

    def _wander(self, at: Floats, wanders: tuple[float, float], rng: np.random.Generator) -> Floats:
        step, steps = (at // _STEP_S).astype(np.int64), math.ceil(self.seconds / _STEP_S) + 1
        return np.exp(np.take_along_axis(wander(rng, (len(at), steps), *wanders, _STEP_S), step, axis=1))


def held(at: Floats, begins: Floats, pause_s: float) -> Floats:
    """(requests,) seconds that each request of one run waits for the end of a pause."""
    place = np.searchsorted(begins, at, side="right") - 1
    return np.where(place >= 0, np.maximum(begins[np.maximum(place, 0)] + pause_s - at, 0), 0)


def any_differs(changes: Iterable[Change], tolerance: float) -> bool:
    """Whether a verdict is slower or faster."""
    return any(change.verdict(tolerance) in DIFFERENT for change in changes)
