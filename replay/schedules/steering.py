"""Changes of a load while it is sent: the rate is raised, lowered or paused by hand. Pure: no clock, no socket.

A schedule says when each request is due if nobody changes anything. `Steering` maps that time to the time of the run,
piece by piece: at factor 2 the schedule's time goes by twice as fast, in a pause it stops. So random arrivals
stay random and even ones even, a request that would be due in a pause is due after it, and nothing is sent as a burst.
"""

from collections import deque
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from math import inf
from typing import Any, Final

import numpy as np

from logreplay.replay.schedules.orders import Level, Order
from logreplay.replay.schedules.rates import Instants

SECOND: Final = 1_000_000_000
AHEAD_NS: Final = 100_000_000
"""Nanoseconds before its due time at which a request is given to the sender; after that, its instant is fixed."""
MOST: Final = 10.0
"""Highest rate or speed, as a multiple of the one that was typed when the run began."""
LEAST: Final = 0.001
_MOST_CHANGES: Final = 1000
_NEVER: Final = 1 << 62
"""An instant behind every run; finite, since a pause multiplies it by 0."""


@dataclass(frozen=True, slots=True)
class LoadChange:
    """A change that was made.

    Attributes:
        at: second of the run from which it holds.
        before, after: the load.
        order: its text.
        by: the client that asked.
        step: index of the step that begins with it; None: none does.
        held: the load was in force; False: another order or the end came before its second, or nothing changed by it.
    """

    at: float
    before: Level
    after: Level
    order: str
    by: str
    step: int | None
    held: bool = True

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        before, after = (0.0 if level.paused else level.value for level in (self.before, self.after))
        named = {"from": before, "to": after, "unit": self.after.unit}
        return {"at": self.at, **named, "order": self.order, "by": self.by, "step": self.step, "held": self.held}


@dataclass(frozen=True, slots=True)
class Placed:
    """Requests of one step, with their instants.

    Attributes:
        due: ``(n,)`` nanoseconds since the start of the plan.
        step: its index.
        offered: requests/s; 0 where the log's times decide.
    """

    due: Instants
    step: int
    offered: float


@dataclass(frozen=True, slots=True)
class _Piece:
    """A time of one load: its beginning, and the index of the step of its requests."""

    begin: int
    level: Level
    step: int


class Steering:
    """Places the requests of a schedule under a load that changes. All instants are nanoseconds since its start.

    A change takes effect on a whole second of the run, so that each second has one rate.

    Args:
        unit: ``rate`` or ``speed``.
        typed: rate or speed of the schedule.
        duration: seconds of sending, pauses not counted; None: until the schedule is over.
        counted: a number of requests ends the schedule too, perhaps before.

    Attributes:
        changes: changes so far.
        over: the time is over, or the end was asked for.
        ended: sentence that the end was asked for, with its time; empty: it was not.
    """

    def __init__(self, unit: str, typed: float, duration: float | None = None, *, counted: bool = False) -> None:
        self.changes: list[LoadChange] = []
        self.over, self.ended = False, ""
        self._ended_at: float = inf
        self._typed, self._counted = typed, counted
        self._piece = _Piece(0, Level(unit, typed), 0)
        self._turns: deque[_Piece] = deque()
        self._schedule = 0.0
        self._left = inf if duration is None else duration * SECOND

    @property
    def changed(self) -> bool:
        """Whether another load than the typed one was in force."""
        return any(change.held and change.order != "end" for change in self.changes)

    @property
    def length(self) -> float | None:
        """Seconds from the start to the end, pauses so far included; None: the schedule decides."""
        return None if self._left == inf or self._counted else (self._piece.begin + self._left) / SECOND

    def left(self, now: int) -> float | None:
        """Seconds of sending that are left at an instant; None: the schedule decides."""
        spent = 0 if self._piece.level.paused else now - self._piece.begin
        return None if self._left == inf else max(0.0, (self._left - spent) / SECOND)

    def due(self, scheduled: int) -> int | None:
        """When a request that is not placed yet is due without further orders; None: a pause or the end comes first."""
        if self.over:
            return None
        ahead = copy(self)
        ahead._turns = self._turns.copy()
        placed = next(ahead.place(np.array([scheduled]), _NEVER), None)
        return None if placed is None else int(placed.due[0])

    def level(self, now: int) -> Level:
        """The load at an instant."""
        return [piece.level for piece in (self._piece, *self._turns) if piece.begin <= now or piece is self._piece][-1]

    def ask(self, order: Order, by: str, now: int) -> str:
        """Carry out the order of a client; return a sentence on it. ValueError says why it cannot be carried out."""
        if self.over:
            raise ValueError("the run is ending; there is nothing to change")
        if order.word == "end":
            return self._end_now(order, by, now)
        if len(self.changes) >= _MOST_CHANGES:
            raise ValueError(f"the load was changed {_MOST_CHANGES} times already; end this run, and begin another")
        asked = (self._piece, *self._turns)[-1]
        after = self._after(order, asked.level)
        turn = -(-(now + AHEAD_NS) // SECOND) * SECOND
        if turn >= self._end:
            raise ValueError(f"the run ends before second {turn // SECOND}, from which the change would hold")
        if asked.begin == turn and self._turns:  # both hold from the same second: the first one never does
            self._turns.pop()
        last = (self._piece, *self._turns)[-1]
        differs = after != last.level  # two orders of one second may cancel each other
        begins = differs and not after.paused
        if differs:
            self._turns.append(_Piece(turn, after, last.step + begins))
        step = last.step + 1 if begins else None
        self._note(LoadChange(turn / SECOND, last.level, after, order.text, by, step, differs))
        return f"{asked.level} → {after} from second {turn // SECOND} of the run"

    def _end_now(self, order: Order, by: str, now: int) -> str:
        level, at = self.level(now), round(now / SECOND, 3)
        self.over, self._ended_at = True, now
        self.ended = (
            f"ended by hand at {at:.10g} s"
            if self.length is None
            else f"ended by hand at {at:.10g} of {self.length:.10g} s"
        )
        self._note(LoadChange(at, level, replace(level, paused=True), order.text, by, None))
        return f"the run ends; its last load was {level}"

    def _note(self, made: LoadChange) -> None:
        self._take_back(made.at)
        self.changes.append(made)

    def _take_back(self, at: float) -> None:
        """Note that the changes that would have held from an instant on, or from later, never do."""
        self.changes = [
            replace(change, step=None, held=False) if change.at >= at else change for change in self.changes
        ]

    def finish(self) -> None:
        """Note that no request is left: changes from a later instant on never take effect."""
        self.over = True
        if self._turns:
            self._take_back(self._turns[0].begin / SECOND)

    def place(self, due: Instants, until: float) -> Iterator[Placed]:
        """Yield the requests, of those to come, that are due before an instant.

        Args:
            due: ``(n,)`` when they are due by the schedule, nanoseconds, increasing.
            until: the instant, not before that of the last call.
        """
        until = min(until, self._ended_at)
        while True:
            turns = self._turns and self._turns[0].begin <= min(until, self._end)
            end = self._turns[0].begin if turns else min(until, self._end)
            begin, level = self._piece.begin, self._piece.level
            if count := self._due_before(due, end):
                instants = begin + np.rint((due[:count] - self._schedule) / self._factor)
                instants = np.clip(instants, begin, max(end - 1, begin)).astype(np.int64)
                yield Placed(instants, self._piece.step, level.value if level.unit == "rate" else 0.0)
                due = due[count:]
            if not turns:
                self.over = self.over or until >= self._end
                return
            self._schedule += (end - begin) * self._factor
            self._left -= 0 if level.paused else end - begin
            self._piece = self._turns.popleft()

    @property
    def _factor(self) -> float:
        level = self._piece.level
        return 0.0 if level.paused else level.value / self._typed

    @property
    def _end(self) -> float:
        """End of the sending if nothing changes any more; a pause has none."""
        return inf if self._piece.level.paused else self._piece.begin + self._left

    def _due_before(self, due: Instants, end: float) -> int:
        passed = (end - self._piece.begin) * self._factor
        return int(np.searchsorted(due, self._schedule + passed)) if passed else 0

    def _after(self, order: Order, now: Level) -> Level:
        if order.word in ("pause", "continue"):
            if (order.word == "pause") == now.paused:
                raise ValueError("the load is paused already" if now.paused else "the load is not paused")
            return replace(now, paused=not now.paused)
        if order.word in ("rate", "speed") and order.word != now.unit:
            has = "a speed and no rate (--speed)" if now.unit == "speed" else "a rate and no speed (--tps)"
            raise ValueError(f"{order.text!r}: this run has {has}; use {now.unit} N, or raise and lower")
        shares = {"raise": 1 + order.value, "lower": 1 - order.value}
        value = now.value * shares[order.word] if order.word in shares else order.value
        if not LEAST * self._typed <= value <= MOST * self._typed * (1 + 1e-9):
            bounds = f"{Level(now.unit, LEAST * self._typed)} to {Level(now.unit, MOST * self._typed)}"
            raise ValueError(
                f"{order.text!r}: {value:.6g} is not within {bounds}, a thousandth to {MOST:g} times the "
                "load with which the run began; to send nothing use pause, for more begin a new run"
            )
        return replace(now, value=float(f"{value:.9g}"))
