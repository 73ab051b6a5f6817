"""The closed loop: N users, each of whom waits for a response before the next request.

The target's responses set the rate, not a schedule: a slow target receives fewer requests. So a closed loop shows the
response times of so many sessions, workers or crawlers, but not of visitors who arrive independently of each other.
Requests are due when their user is free, so there is no lag.
"""

from collections.abc import Sequence
from heapq import heappop, heappush
from math import inf
from typing import Final

import polars as pl

from logreplay.replay.engine.open_loop import Limits, OpenLoopSender, _Block
from logreplay.replay.schedules.rates import Instants
from logreplay.replay.schedules.users import UniformThink, Users
from logreplay.replay.senders.contract import Sender

_LONGEST_S: Final = 86_400.0
"""Longest think time of a log: one damaged row could hold a run for years."""


class PacedUsers(OpenLoopSender):
    """Starts the next request of a plan whenever a user is free, and notes in its block when that was."""

    def __init__(self, sender: Sender) -> None:
        super().__init__(sender, Limits())
        self._plan = 0

    def begin(self, base: int, users: Users | None) -> None:
        assert users
        super().begin(base, users)
        self._users, self._base = users, base
        self._plan += 1
        self._end_of_plan = inf if users.duration is None else base + users.duration * 1e9
        self._free = self._free_soon = 0
        self._come = False
        self._thinking: dict[int, float] = {}
        self._pauses: list[int] = []  # heap of the instants at which users have ended their pauses
        self._buffer.tell = self._end if users.think == 0 else self._end_thinking

    def give_up(self, due: Instants) -> bool:
        return False  # nothing is due before its user is free

    def _end(self, seq: int) -> None:
        """An exchange ended: its user is free.

        Those who do not think go on together in the loop's next turn: their connections are not idle yet.
        """
        if not self._free_soon:
            self._loop.call_soon(self._go_on)
        self._free_soon += 1

    def _end_thinking(self, seq: int) -> None:
        """An exchange ended: its user thinks, then is free."""
        think = self._users.think
        if not isinstance(think, float | int):
            think = self._thinking.pop(seq, 0.0)
        if think:
            self._think_until(self._clock() + round(think * 1e9))
        else:
            self._end(seq)

    def _think_until(self, end: int) -> None:
        """Free a user at an instant, by the timer: the timers of uvloop have a resolution of a millisecond."""
        heappush(self._pauses, end)
        if self._pauses[0] == end:
            self._timer.arm(end)

    def _go_on(self) -> None:
        self._free, self._free_soon = self._free + self._free_soon, 0
        self._wake_up()

    def _pump(self) -> None:
        if self._is_cut or not (self._come or self._has_come()):
            return
        clock, send, free, pauses = self._clock, self._sender.send, self._free, self._pauses
        begun, requests, at, seq = self._begun, self._requests, self._at, self.taken_up
        while not self._is_cut:
            if at == len(requests):
                self._at, self._free = at, free
                if not self._next_block():
                    return
                begun, requests, at = self._begun, self._requests, 0
            now = clock()
            if now >= self._end_of_plan:
                self.cut()
                break
            while pauses and pauses[0] <= now:
                heappop(pauses)
                free += 1
            if not free:
                if pauses:
                    self._timer.arm(pauses[0])
                break
            free -= 1
            begun[at] = now
            if self._think:
                self._thinking[seq] = self._think[at]
            self.taken_up = seq = seq + 1
            at += 1
            send(seq - 1, requests[at - 1], now)
        self._at, self._free = at, free

    def _begin_block(self, block: _Block) -> None:
        self._begun, self._think, self._requests, self._at = block.due.data, block.think, block.requests, 0

    def _has_come(self) -> bool:
        """Start the users when it is time."""
        if self._at == len(self._requests) and not self._next_block():
            return False
        if self._clock() < self._base:
            self._timer.arm(self._base)
            return False
        self._come_in()
        return True

    def _come_in(self) -> None:
        """Start the users, and set the end."""
        users = self._users
        self._come = True
        if users.duration is not None:
            self._loop.call_later(users.duration, self._end_in_time, self._plan)
        if think := users.think.mean if isinstance(users.think, UniformThink) else users.think:
            places = users.places or range(users.count)
            for place in places:
                self._think_until(self._base + round(place / places.stop * think * 1e9))
        else:
            self._free = users.count

    def _end_in_time(self, plan: int) -> None:
        """End a plan whose duration is over, also while no user is free. A timer of uvloop may call this too early."""
        if plan != self._plan or self._is_cut:
            return
        if (left := self._end_of_plan - self._clock()) > 0:
            self._loop.call_later(left / 1e9, self._end_in_time, plan)
        else:
            self._wake_up()


class ThinkTimes:
    """Gives the think times to a frame, as they go into the result log, and returns them; none where all are equal.

    Attributes:
        cut: think times of the log that were longer than a day; a day is taken instead.
    """

    def __init__(self, users: Users) -> None:
        self._think = users.think
        self._draws = users.think.generator() if isinstance(users.think, UniformThink) else None
        self.cut = 0

    def __call__(self, frame: pl.DataFrame) -> tuple[pl.DataFrame, Sequence[float]]:
        think = self._think
        if isinstance(think, UniformThink):
            assert self._draws
            drawn = self._draws.uniform(think.low, think.high, frame.height).round(6)
            frame = frame.with_columns(pl.Series("thinktime", drawn))
        elif think is not None:
            return frame.with_columns(pl.lit(think).alias("thinktime")), ()
        else:
            self.cut += int((frame["thinktime"] > _LONGEST_S).sum())
            frame = frame.with_columns(pl.col("thinktime").fill_null(0.0).clip(0.0, _LONGEST_S))
        return frame, frame["thinktime"].to_list()
