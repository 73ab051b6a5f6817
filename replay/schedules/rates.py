"""Schedules by rate: pure values, without a clock.

A schedule makes a pacer; a pacer says, block by block, how long after the start of the run each next request is
due. The engine adds the one clock. So every case can be tested as a table, and a user can write a schedule of
their own.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

Instants = NDArray[np.int64]
FARTHEST_NS: Final = 2**62
"""Latest due time of the log's own times and of rates, 146 years: later ones would overflow."""


class Pacer(Protocol):
    """Computes the due times of the next requests of one run. Has a state; made again for each run."""

    def __call__(self, starts: Instants) -> Instants:
        """Place the next requests.

        Args:
            starts: ``(n,)`` when these requests started in the log, microseconds since 1970; 0 where the log does
                not say. Schedules by rate use only their number.

        Returns:
            ``(m,)`` nanoseconds since the start of the run, increasing over all calls; ``m < n`` says that the
            schedule is over.
        """


class Schedule(Protocol):
    """A rate shape: the load of a run."""

    @property
    def rate(self) -> float:
        """Offered rate on average, requests/s."""

    @property
    def duration(self) -> float | None:
        """Seconds from the start to the end of the schedule; None where the log decides."""

    def pacer(self) -> Pacer:
        """Begin a run."""


class Profile(Schedule, Protocol):
    """A schedule that is given by its rate over time; `logreplay.replay.schedules.arrivals.independent` takes any."""

    @property
    def requests(self) -> int | None:
        """How many requests the schedule holds if they are evenly spaced; None: without end."""

    def when(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Invert the cumulated rate.

        Args:
            counts: ``(n,)`` numbers of requests, not negative.

        Returns:
            ``(n,)`` seconds after which each number is scheduled; ``inf`` if the schedule ends before.
        """


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

    Raises:
        ValueError: rate or duration is not above 0.
    """

    rate: float
    duration: float | None = None

    def __post_init__(self) -> None:
        if not 0 < self.rate <= 10_000_000:
            raise ValueError(f"rate must be above 0 and at most 10,000,000 requests/s, got {self.rate!r}")
        if self.duration is not None and not self.duration > 0:
            raise ValueError(f"duration must be above 0 s, got {self.duration!r}")

    @property
    def phase(self) -> float:
        """Where in the interval the requests lie, as a share of it."""
        return 1 / (2 * Fraction(self.rate).limit_denominator(1000).denominator)

    @property
    def requests(self) -> int | None:
        """How many requests the schedule holds; None: without end."""
        if self.duration is None:
            return None
        # 1e-9: a whole number of intervals must not become one more by the rounding of the product
        return max(0, ceil(self.duration * self.rate - self.phase - 1e-9))

    def when(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        due = counts / self.rate
        return due if self.duration is None else np.where(due < self.duration, due, np.inf)

    def pacer(self) -> Pacer:
        total, phase, interval_ns = self.requests, self.phase, 1e9 / self.rate
        sent = 0

        def pace(starts: Instants) -> Instants:
            nonlocal sent
            n = len(starts) if total is None else min(len(starts), total - sent)
            due = (np.arange(sent, sent + n) + phase) * interval_ns
            sent += n
            return whole_ns(due)

        return pace


class _Even:
    """Spaces requests evenly: request ``k`` is due when the profile has asked for ``k + 1/2`` requests."""

    __slots__ = ()

    @property
    def requests(self: Profile) -> int:
        return ceil(self.rate * (self.duration or 0.0) - 0.5 - 1e-9)

    def pacer(self: Profile) -> Pacer:
        sent = 0

        def pace(starts: Instants) -> Instants:
            nonlocal sent
            due = self.when(np.arange(sent, sent + len(starts), dtype=np.float64) + 0.5)
            due = due[np.isfinite(due)]
            sent += len(due)
            return whole_ns(due * 1e9)

        return pace


@dataclass(frozen=True, slots=True)
class Ramp(_Even):
    """A rate that grows (or falls) evenly from one value to another.

    With the slope ``s = (last - first) / duration`` the requests asked for by ``t`` are ``n = first t + s t²/2``;
    request ``k`` is due where ``n = k + 1/2``: ``t = 2n / (first + sqrt(first² + 2 s n))``.

    Attributes:
        first, last: requests per second at the start and at the end; not both 0.
        duration: seconds.

    Raises:
        ValueError: a rate is below 0 or both are 0, or the duration is not above 0.
    """

    first: float
    last: float
    duration: float

    def __post_init__(self) -> None:
        if min(self.first, self.last) < 0 or not 0 < self.first + self.last <= 20_000_000:
            raise ValueError(f"a ramp needs rates above 0 requests/s, got {self.first!r}..{self.last!r}")
        if not self.duration > 0:
            raise ValueError(f"duration must be above 0 s, got {self.duration!r}")

    @property
    def rate(self) -> float:
        return (self.first + self.last) / 2

    def when(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        slope = (self.last - self.first) / self.duration
        under_root = self.first**2 + 2 * slope * counts
        due = 2 * counts / np.maximum(self.first + np.sqrt(np.maximum(under_root, 0)), 1e-300)
        return np.where(counts < self.rate * self.duration, due, np.inf)


@dataclass(frozen=True, slots=True)
class Steps(_Even):
    """One rate after the other, without a pause between them.

    Attributes:
        levels: ``(requests/s, seconds)`` of each, all above 0.

    Raises:
        ValueError: there is no level, or one has a value that is not above 0.
    """

    levels: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        if not self.levels or any(not (rate > 0 and seconds > 0) for rate, seconds in self.levels):
            raise ValueError(f"steps need rates and durations above 0, got {self.levels!r}")

    @property
    def duration(self) -> float:
        return sum(seconds for _, seconds in self.levels)

    @property
    def rate(self) -> float:
        return sum(rate * seconds for rate, seconds in self.levels) / self.duration

    def when(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        rates, seconds = np.array(self.levels).T
        asked, ends = np.cumsum(rates * seconds), np.cumsum(seconds)
        due = np.interp(counts, np.concatenate(([0.0], asked)), np.concatenate(([0.0], ends)))
        return np.where(counts < asked[-1], due, np.inf)


@dataclass(frozen=True, slots=True)
class Limited:
    """The beginning of another schedule.

    Attributes:
        schedule: the whole of it.
        requests: no more than this many; None: no limit.
        seconds: requests due later are left out; None: no limit.

    Raises:
        ValueError: requests is below 0, or seconds is not above 0.
    """

    schedule: Schedule
    requests: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        if self.requests is not None and self.requests < 0:
            raise ValueError(f"requests must not be below 0, got {self.requests!r}")
        if self.seconds is not None and not self.seconds > 0:
            raise ValueError(f"duration must be above 0 s, got {self.seconds!r}")

    @property
    def rate(self) -> float:
        return self.schedule.rate

    @property
    def duration(self) -> float | None:
        if self.seconds is None or self.schedule.duration is None:
            return self.seconds or (None if self.requests is not None else self.schedule.duration)
        return min(self.seconds, self.schedule.duration)

    def pacer(self) -> Pacer:
        inner = self.schedule.pacer()
        left = self.requests
        end = np.inf if self.seconds is None else self.seconds * 1e9

        def pace(starts: Instants) -> Instants:
            nonlocal left
            due = inner(starts if left is None else starts[:left])
            due = due[: np.searchsorted(due, end)]
            if left is not None:
                left -= len(due)
            return due

        return pace


@dataclass(frozen=True, slots=True)
class Together:
    """A schedule that sends several requests at each instant.

    Attributes:
        schedule: one instant for each group of requests.
        count: requests of a group.
    """

    schedule: Schedule
    count: int

    @property
    def rate(self) -> float:
        return self.schedule.rate * self.count

    @property
    def duration(self) -> float | None:
        return self.schedule.duration

    def pacer(self) -> Pacer:
        pace, count = self.schedule.pacer(), self.count

        def pace_groups(starts: Instants) -> Instants:
            return np.repeat(pace(starts[::count]), count)

        return pace_groups


def whole_ns(due: NDArray[np.floating[Any]]) -> Instants:
    """Round due times in nanoseconds; those beyond `FARTHEST_NS` become that."""
    return np.asarray(np.rint(np.minimum(due, FARTHEST_NS)), np.int64)


def most_requests(schedule: Schedule) -> int | None:
    """The number of requests after which a schedule is over; None where no number limits it."""
    if isinstance(schedule, Together):
        groups = most_requests(schedule.schedule)
        return groups and groups * schedule.count
    if not isinstance(schedule, Limited):
        return None
    limits = schedule.requests, most_requests(schedule.schedule)
    return min((limit for limit in limits if limit is not None), default=None)
