"""The closed loop: N users, each of whom waits for a response before the next request.

The target's responses set the rate, not a schedule: a slow target receives fewer requests. So a closed loop shows the
response times of so many sessions, workers or crawlers, but not of visitors who arrive independently of each other.
Requests are due when their user is free, so there is no lag.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

import polars as pl

from logreplay.replay.engine.dispatcher import Dispatcher
from logreplay.replay.schedules.users import UniformThink, Users


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
        """An exchange ended: its user thinks, then is free. Deferred, because the connection is not idle yet."""
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
            exchanges, seq, at = self._exchanges, self._exchanges.seq, self._at
            exchanges.seq, self._at = seq + 1, at + 1
            self._registered.due[at] = now
            if self._think:
                self._thinking[seq] = self._think[at]
            exchanges.sender.send(seq, self._requests[at], now)
        self._finish()

    def _come_in(self) -> None:
        """Start the users, and set the end."""
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
