"""When to send: schedules are pure values, without a clock.

A schedule makes a pacer; a pacer says, block by block, how long after the start of the run each next request is
due. The engine adds the one clock. So every case can be tested as a table, and a user can write a schedule of
their own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Instants = NDArray[np.int64]


class Pacer(Protocol):
    """Says when the next requests of one run are due. Has a state; made anew for each run."""

    def __call__(self, starts: Instants) -> Instants:
        """Place the next requests.

        Args:
            starts: ``(n,)`` when these requests started in the log, microseconds since 1970; 0 where the log does
                not say. A schedule that has its own idea of time looks only at how many there are.

        Returns:
            ``(m,)`` nanoseconds since the start of the run, increasing over all calls; ``m < n`` says that the
            schedule is over.
        """


class Schedule(Protocol):
    """A rate shape: what a run is asked to do."""

    @property
    def rate(self) -> float:
        """Requests per second asked for, on average."""

    @property
    def duration(self) -> float | None:
        """Seconds from the start to the end of the schedule; None where the log decides."""

    def pacer(self) -> Pacer:
        """Begin a run."""


@dataclass(frozen=True, slots=True)
class Constant:
    """Evenly spaced requests.

    Request ``k`` is due at ``(k + phase) / rate``. The phase keeps every request off the edges of whole seconds,
    on which rounding would move it from one second's count into the next: for ``rate = p/q`` it is ``1/2q``, so
    that no request comes nearer to an edge than ``1/2p`` seconds (at 3/s: 0.167, 0.5, 0.833). For a duration that is
    a whole number of intervals this gives exactly ``rate * duration`` requests.

    Attributes:
        rate: requests per second, above 0.
        duration: seconds; requests due before its end are sent. None: without end.
        count: no more than this many requests. None: no limit.

    Raises:
        ValueError: rate or duration is not above 0, or count is below 0.
    """

    rate: float
    duration: float | None = None
    count: int | None = None

    def __post_init__(self) -> None:
        if not 0 < self.rate <= 10_000_000:
            raise ValueError(f"rate must be above 0 and at most 10,000,000 requests/s, got {self.rate!r}")
        if self.duration is not None and not self.duration > 0:
            raise ValueError(f"duration must be above 0 s, got {self.duration!r}")
        if self.count is not None and self.count < 0:
            raise ValueError(f"count must not be below 0, got {self.count!r}")

    @property
    def phase(self) -> float:
        """Where in the interval the requests lie, as a share of it."""
        return 1 / (2 * Fraction(self.rate).limit_denominator(1000).denominator)

    @property
    def requests(self) -> int | None:
        """How many requests the schedule holds; None: without end."""
        if self.duration is None:
            return self.count
        # 1e-9: a whole number of intervals must not become one more by the rounding of the product
        fitting = max(0, ceil(self.duration * self.rate - self.phase - 1e-9))
        return fitting if self.count is None else min(fitting, self.count)

    def pacer(self) -> Pacer:
        total, phase, interval_ns = self.requests, self.phase, 1e9 / self.rate
        sent = 0

        def pace(starts: Instants) -> Instants:
            nonlocal sent
            n = len(starts) if total is None else min(len(starts), total - sent)
            due = (np.arange(sent, sent + n) + phase) * interval_ns
            sent += n
            return np.asarray(np.rint(due), np.int64)

        return pace


def steps(rates: Sequence[float], duration: float) -> tuple[Constant, ...]:
    """The schedules of a sweep: one rate after the other, each for ``duration`` seconds."""
    return tuple(Constant(rate, duration) for rate in rates)
