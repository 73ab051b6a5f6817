"""The closed loop: N users, each of whom waits for an answer before asking again.

How many a target then serves is decided by its answers, not by a schedule: a slow target is asked less. So a closed
loop cannot show what visitors suffer who come whether or not others were served; it shows what so many sessions,
workers or crawlers get. Requests are due when their user is free, so there is no lag.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from logreplay.replay.engine.dispatcher import Dispatcher
from logreplay.replay.schedules.rates import Instants, Pacer


@dataclass(frozen=True, slots=True)
class UniformThink:
    """Think times at random: drawn for each request, evenly between two bounds.

    Attributes:
        low, high: bounds, seconds.
        seed: the same draws for the same seed.
        part: of several processes that draw from one seed, which one.

    Raises:
        ValueError: bounds below 0, or not in order.
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

    Raises:
        ValueError: no user, a think time below 0, or no time.
    """

    count: int
    think: float | UniformThink | None = 0.0
    duration: float | None = None
    requests: int | None = None

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


class ClosedDispatcher(Dispatcher):
    """Starts the next request of a plan whenever a user is free.

    Args:
        users: how many, how they think, how long.
        others: as for `Dispatcher`.
    """

    def __init__(self, users: Users, *others: Any, **options: Any) -> None:
        super().__init__(*others, **options)
        self._users, self._free, self._come = users, 0, False
        self._loop = asyncio.get_running_loop()
        self._draws = users.think.generator() if isinstance(users.think, UniformThink) else None
        self._think: Sequence[float] = ()
        self._thinking: dict[int, float] = {}

    def ended(self, seq: int) -> None:
        """An exchange ended: its user thinks, and is free. Not at once: the connection is not idle yet."""
        think = self._users.think
        if not isinstance(think, float | int):
            think = self._thinking.pop(seq, 0.0)
        if think:
            self._loop.call_later(think, self._one_free)
        else:
            self._loop.call_soon(self._one_free)

    def _one_free(self) -> None:
        self._free += 1
        self._wake_up()

    def _pump(self) -> None:
        if self._finished.done():
            return
        while not self.stopped:
            if self._at == len(self._due) and not self._take():
                return
            now = self._clock()
            base = self.base or 0
            if now < base:
                self._ticker.arm(base)
                return
            if not self._come:
                self._come_in()
            if self._users.duration is not None and now >= base + self._users.duration * 1e9:
                break
            if not self._free:
                return
            self._free -= 1
            seq, at = self.seq, self._at
            self.seq, self._at = seq + 1, at + 1
            self._registered.due[at] = now
            if self._think:
                self._thinking[seq] = self._think[at]
            self._sender.send(seq, self._requests[at], now)
        self._finish()

    def _come_in(self) -> None:
        """The users come, and the end is set."""
        users = self._users
        self._come = True
        if users.duration is not None:
            self._loop.call_later(users.duration, self._wake_up)
        if think := users.think.mean if isinstance(users.think, UniformThink) else users.think:
            for place in range(users.count):
                self._loop.call_later(place / users.count * think, self._one_free)
        else:
            self._free = users.count

    def _with_think(self, frame: pl.DataFrame) -> pl.DataFrame:
        """A chunk's frame with the think times, as they go into the result log."""
        think = self._users.think
        if isinstance(think, UniformThink):
            assert self._draws
            drawn = self._draws.uniform(think.low, think.high, frame.height).round(6)
            frame = frame.with_columns(pl.Series("thinktime", drawn))
        elif think is not None:
            return frame.with_columns(pl.lit(think).alias("thinktime"))
        else:
            frame = frame.with_columns(pl.col("thinktime").fill_null(0.0).clip(0.0))
        self._think = frame["thinktime"].to_list()
        return frame
