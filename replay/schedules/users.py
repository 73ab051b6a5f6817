"""A closed loop as a schedule: N users who wait for an answer, then think, then send the next request."""

from dataclasses import dataclass

import numpy as np

from logreplay.replay.schedules.rates import Instants, Pacer


@dataclass(frozen=True, slots=True)
class UniformThink:
    """Think times at random: drawn for each request, evenly between two bounds.

    Attributes:
        low, high: bounds, seconds.
        seed: the same draws for the same seed.
        part: index among several processes that draw from one seed.
    """

    low: float
    high: float
    seed: int = 0
    part: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.low <= self.high < float("inf"):
            raise ValueError(f"think times must be 0 <= low <= high, got {self.low!r}..{self.high!r}")

    @property
    def mean(self) -> float:
        """Seconds."""
        return (self.low + self.high) / 2

    def generator(self) -> np.random.Generator:
        """Make the source of the draws."""
        return np.random.default_rng([self.seed, self.part])


@dataclass(frozen=True, slots=True)
class Users:
    """A closed loop as the schedule of a plan; its engine must be made with ``closed=True``.

    All users share the plan: whoever is free takes its next request. They come one after the other within one (mean)
    think time; all at once, if that comes from the log.

    Attributes:
        count: users, at least 1.
        think: seconds between an answer and the same user's next request, fixed or at random; None: the ``thinktime``
            that the log has for the request just answered (`Requests.keep` must name it).
        duration: seconds; a request that would begin later is not sent. None: to the end of the plan.
        requests: no more than this many, of all users together. None: no limit.
        places: places of these users among all those of several processes, ``range(first, all users, processes)``, so
            that all come one after the other; None: these are all.
    """

    count: int
    think: float | UniformThink | None = 0.0
    duration: float | None = None
    requests: int | None = None
    places: range | None = None

    def __post_init__(self) -> None:
        if self.count < 1:
            raise ValueError(f"a closed loop needs at least 1 user, got {self.count!r}")
        if isinstance(self.think, float | int) and not 0 <= self.think < float("inf"):
            raise ValueError(f"think time must not be below 0 s, got {self.think!r}")
        if self.duration is not None and not self.duration > 0:
            raise ValueError(f"duration must be above 0 s, got {self.duration!r}")

    @property
    def rate(self) -> float:
        """0: the target's answers decide."""
        return 0.0

    def pacer(self) -> Pacer:
        left = self.requests

        def pace(starts: Instants) -> Instants:
            nonlocal left
            count = len(starts) if left is None else min(left, len(starts))
            left = None if left is None else left - count
            return np.zeros(count, np.int64)

        return pace
