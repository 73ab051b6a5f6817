"""Takes from the rows of a sweep when requests were sent and over, and how many were in flight.

Theory of operation: of each step the first `MOST` requests are taken, fewer where there are many steps, in one pass
over the rows. So a sweep of 20 million rows takes no more memory than one of two million.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np

from logreplay.analysis.input.arrays import RequestArrays
from logreplay.analysis.input.chunks import SECOND
from logreplay.analysis.input.downcast import CANCELLED
from logreplay.analysis.statistics.quantiles import Bools, Floats, Ints
from logreplay.analysis.statistics.slices import slices
from logreplay.analysis.tables.aggregate import step_windows

MOST: Final = 50_000
"""Most requests of a step that are read, the first ones: those of 10 s at 5,000/s."""
FEWEST: Final = 20
ALL: Final = 2_000_000
"""Most requests of all steps together."""


@dataclass(frozen=True)
class Observations:
    """Requests that were sent, in order of their start. Times in seconds since the start of the run.

    Attributes:
        start: (n,) actual instants of sending, not the scheduled ones.
        end: (n,) when its last byte came.
        step: (n,) index of its step.
        route: (n,) index of its route.
        good: (n,) answered as expected.
        failed: (n,) neither answered as expected nor cancelled.
        in_flight: (n,) requests in flight as it was sent, without itself.
        whole: (steps,) whether all requests of the step are here.
        waited: (steps,) share of the requests that this machine held back before it sent them.
    """

    start: Floats
    end: Floats
    step: Ints
    route: Ints
    good: Bools
    failed: Bools
    in_flight: Ints
    whole: Bools
    waited: Floats

    @classmethod
    def of(cls, requests: RequestArrays) -> "Observations":
        """Take the requests of each step of a sweep."""
        windows, number = step_windows(requests), len(requests.labels)
        most = min(MOST, ALL // number)
        until = windows.start + (windows.length * np.minimum(most / np.maximum(windows.count, 1), 1)).astype(np.int64)
        until[windows.count <= most] = np.iinfo(np.int64).max
        chosen, waited = [], np.zeros(number)
        for rows in slices(len(requests)):
            part = requests.take(rows)
            waited += np.bincount(part.step[part.queued > 0], minlength=number)
            chosen.append(rows.start + np.flatnonzero(part.taken_up & (part.scheduled < until[part.step])))
        taken = requests.take(np.concatenate(chosen))
        began = taken.scheduled + taken.lag + taken.queued
        order = np.argsort(began, kind="stable")
        taken, start = taken.take(order), began[order] / SECOND
        end = (taken.scheduled + taken.response) / SECOND
        return cls(
            start,
            end,
            taken.step.astype(np.int64),
            taken.route.astype(np.int64),
            taken.good,
            (taken.kind != CANCELLED) & ~taken.good,
            counted(start, end),
            windows.count <= most,
            waited / np.maximum(windows.count, 1),
        )

    @cached_property
    def took(self) -> Floats:
        """(n,) seconds from the start of each to its last byte."""
        return self.end - self.start

    @cached_property
    def ends(self) -> Floats:
        """(n,) when requests were over, in this order."""
        return np.sort(self.end)

    def answered(self, step: int) -> float:
        """Answers as expected per second, from a fifth of a step on until its last request was sent."""
        start = self.start[self.step == step]
        if len(start) < FEWEST:
            return 0.0
        begin, stop = start[0] + 0.2 * (start[-1] - start[0]), start[-1]
        return float(np.count_nonzero(self.good & (self.end > begin) & (self.end <= stop)) / max(stop - begin, 1e-6))

    def only(self, chosen: Bools) -> "Observations":
        """Select some of the requests, and count those in flight among them again."""
        of_each = ("start", "end", "step", "route", "good", "failed")
        kept = {name: getattr(self, name)[chosen] for name in of_each}
        return replace(self, **kept, in_flight=counted(kept["start"], kept["end"]))


def counted(start: Floats, end: Floats) -> Ints:
    """Return how many others are in flight as each starts: (n,) sorted by start."""
    before = np.searchsorted(np.sort(end), start, "right")
    found: Ints = np.maximum(np.arange(len(start)) - before, 0)  # one that takes no time ends before itself
    return found
