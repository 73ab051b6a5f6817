"""Uneven arrivals: random, or those of the log, even while it is being written; and schedules that repeat.

A server that copes with one request every 10 ms may not cope with a hundred a second that arrive as visitors do:
independently (Poisson), or in the bursts that the log recorded.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from logreplay.replay.schedules.rates import (
    FARTHEST_NS,
    Instants,
    Limited,
    Pacer,
    Profile,
    Schedule,
    Together,
    whole_ns,
)


@dataclass(frozen=True, slots=True)
class _Independent:
    """Independent visitors, at the rate of a profile.

    Attributes:
        profile: rate over time.
        seed: the same seed gives the same instants.
    """

    profile: Profile
    seed: int = 0

    @property
    def rate(self) -> float:
        return self.profile.rate

    @property
    def duration(self) -> float | None:
        return self.profile.duration


@dataclass(frozen=True, slots=True)
class Poisson(_Independent):
    """Independent visitors: exponentially distributed gaps, at the rate of a profile.

    With unit exponentials summed to ``S``, request ``k`` is due when the profile has asked for ``S(k)`` requests; for
    a constant rate that is the Poisson process, for others the one whose rate follows the profile (Çinlar's method of
    time rescaling; https://en.wikipedia.org/wiki/Poisson_point_process#Inhomogeneous_Poisson_point_process). The
    number of requests in a given time is random, too.
    """

    def pacer(self) -> Pacer:
        random = np.random.default_rng(self.seed)
        reached = 0.0

        def pace(starts: Instants) -> Instants:
            nonlocal reached
            counts = reached + np.cumsum(random.standard_exponential(len(starts)))
            reached = counts[-1] if len(counts) else reached
            due = self.profile.when(counts)
            return whole_ns(due[np.isfinite(due)] * 1e9)

        return pace


@dataclass(frozen=True, slots=True)
class Scattered(_Independent):
    """Independent visitors, but exactly as many as an even schedule would send: the Poisson process, given its count.

    In a Poisson process of 60 s at 234/s the count alone varies by 0.8 %, which decides whether a target at its limit
    seems to hold or not; here only the instants are random. They are those of ``n`` uniform draws in order, taken
    through the profile. The draws are made block by block: the last of the next ``m`` of ``n`` that are left is a
    Beta(m, n - m + 1) draw, those below it are partial sums of ``m`` exponentials divided by the whole sum (Devroye,
    Non-Uniform Random Variate Generation, 1986, V.2), so that no more than a block is ever held.
    """

    def __post_init__(self) -> None:
        if self.profile.duration is None:
            raise ValueError("requests can be scattered over a duration only, and this schedule has none")

    def pacer(self) -> Pacer:
        left, duration = self.profile.requests or 0, self.profile.duration or 0.0
        random = np.random.default_rng(self.seed)
        total = self.profile.rate * duration
        reached, drawn = 0.0, np.zeros(0, np.int64)

        def block() -> Instants:
            nonlocal left, reached
            count = min(left, _BLOCK)
            last = reached + (1 - reached) * float(random.beta(count, left - count + 1))
            sums = np.cumsum(random.standard_exponential(count))
            shares = reached + (last - reached) * (sums / sums[-1])
            left, reached = left - count, last
            due = self.profile.when(np.minimum(shares * total, np.nextafter(total, 0)))
            # by rounding, the last ones might come to lie on the end, which belongs to what follows
            return np.minimum(whole_ns(due * 1e9), int(duration * 1e9) - 1)

        def pace(starts: Instants) -> Instants:
            nonlocal drawn
            while len(drawn) < len(starts) and left:
                drawn = np.concatenate((drawn, block()))
            due, drawn = drawn[: len(starts)], drawn[len(starts) :]
            return due

        return pace


_BLOCK: Final = 65_536


def independent(profile: Profile, seed: int) -> Poisson | Scattered:
    """Independent visitors: as many as the profile says, where it has an end."""
    return Poisson(profile, seed) if profile.duration is None else Scattered(profile, seed)


@dataclass(frozen=True, slots=True)
class LogTimes:
    """The log's own times, all of its bursts and gaps, faster or slower.

    The first request is due at once. One whose start is not known is due together with the one before it, and so
    is one that the log has out of order.

    Attributes:
        speed: 2: in half the time.
        rate: requests per second on average; 0 where it is unknown.

    Raises:
        ValueError: speed is not above 0.
    """

    speed: float = 1.0
    rate: float = 0.0

    def __post_init__(self) -> None:
        if not 0 < self.speed < float("inf"):
            raise ValueError(f"speed must be above 0, got {self.speed!r}")

    @classmethod
    def at_rate(cls, rate: float, mean: float, *, offered: float | None = None) -> "LogTimes":
        """The speed at which a log of ``mean`` requests/s (`Requests.survey`) is replayed at ``rate`` requests/s.

        ``offered`` is the rate with injected requests; None: there are none.
        """
        if not mean:
            raise ValueError("the log has no times to take arrivals from")
        return cls(rate / mean, rate if offered is None else offered)

    @property
    def duration(self) -> float | None:
        return None

    def pacer(self) -> Pacer:
        last = elapsed = 0

        def pace(starts: Instants) -> Instants:
            nonlocal last, elapsed
            if not last:
                known = starts[starts > 0]
                last = int(known[0]) if len(known) else 0
            instants = np.maximum.accumulate(np.concatenate(([last], starts)))
            offsets = elapsed + instants[1:] - last
            if len(starts):
                last, elapsed = int(instants[-1]), int(offsets[-1])
            return whole_ns(offsets * (1000 / self.speed))

        return pace


@dataclass(frozen=True, slots=True)
class FollowSchedule:
    """Each request at the instant it began in the log, and a set time later.

    One that is read later than that is due at once, and none is due before the one ahead of it: a log is written as
    requests end, so it is not quite in order of their start. One whose start is not known is due when it is read.

    Attributes:
        delay: seconds; longer than the longest response of the log, or requests are late.
        wall: nanoseconds since 1970.
    """

    delay: float
    wall: Callable[[], int] = time.time_ns

    def __post_init__(self) -> None:
        if not self.delay >= 0:
            raise ValueError(f"delay must not be below 0 s, got {self.delay!r}")

    @property
    def rate(self) -> float:
        """0: the log decides."""
        return 0.0

    @property
    def duration(self) -> float | None:
        return None

    def pacer(self) -> Pacer:
        begin = last = 0

        def pace(starts: Instants) -> Instants:
            nonlocal begin, last
            if not len(starts):
                return starts
            begin = begin or self.wall()
            farthest = FARTHEST_NS // 1000
            due = np.clip(starts, -farthest, farthest) * 1000 + int(self.delay * 1e9) - begin
            if not starts.all():
                due[starts == 0] = self.wall() - begin
            due = np.maximum.accumulate(np.maximum(due, last))
            last = int(due[-1])
            return due

        return pace


def delay_of(schedule: Schedule) -> float | None:
    """How much later than the log a schedule sends, seconds; None if it does not follow one."""
    while isinstance(schedule, Limited | Together):
        schedule = schedule.schedule
    return schedule.delay if isinstance(schedule, FollowSchedule) else None


@dataclass(frozen=True, slots=True)
class Repeated:
    """A schedule that begins again whenever it is over. Random arrivals differ from round to round.

    Attributes:
        schedule: the first round; has a duration.
    """

    schedule: Schedule

    @property
    def rate(self) -> float:
        return self.schedule.rate

    @property
    def duration(self) -> float | None:
        return None

    def _round(self, index: int) -> Schedule:
        one = self.schedule
        return replace(one, seed=one.seed + index) if isinstance(one, Poisson | Scattered) else one

    def pacer(self) -> Pacer:
        round_ns = int((self.schedule.duration or 0.0) * 1e9)
        pace, rounds = self.schedule.pacer(), 0

        def place(starts: Instants) -> Instants:
            nonlocal pace, rounds
            parts = [rounds * round_ns + pace(starts)]
            while (placed := sum(map(len, parts))) < len(starts):
                rounds += 1
                pace = self._round(rounds).pacer()
                parts.append(rounds * round_ns + pace(starts[placed:]))
                if not len(parts[-1]):  # a round holds no request
                    break
            return np.concatenate(parts)

        return place
