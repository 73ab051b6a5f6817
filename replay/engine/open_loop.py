"""Sends the requests of blocks when they are due, never before, through a sender that takes one at a time."""

import asyncio
import struct
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from logreplay.replay.clock import Clock
from logreplay.replay.engine.timer import make_timer
from logreplay.replay.schedules.rates import Instants
from logreplay.replay.schedules.users import Users
from logreplay.replay.senders.contract import ERROR_CODES, FIELDS, NO_CONNECTION, RECORD, Batching, Sender, Trace

_NEVER: Final = 10**15
"""Timer value that means "no wake-up": 10^15 ns, about 11.6 days."""
_GRAIN_NS: Final = 150_000
"""Requests due within this time share one wake-up, because a wake-up costs as much CPU as sending a request."""
_BURST: Final = 64
"""Requests sent in one go when late, before the answers that came meanwhile are read."""
_ROOM: Final = 2048
"""Requests that wait behind those of the block that is sent; with more, `OpenLoopSender.push` waits."""
_MOST_INSTANTS: Final = 4096
"""Instants that are remembered; with one more, every second one of the older half is forgotten."""
_DROPPED: Final = ERROR_CODES["dropped"]
_CANCELLED: Final = ERROR_CODES["cancelled"]
_PACK: Final = struct.Struct(f"{len(FIELDS)}q").pack_into
_LENGTH: Final = RECORD.itemsize
_SIZE: Final = 16_384 * _LENGTH
"""Bytes of one piece of memory for records."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The means by which a run may keep its schedule.

    Attributes:
        max_in_flight: requests under way at once; the others wait, which is part of their ``queued`` time. None: as
            many as the schedule asks for.
        drop_after: give up a request that is this many seconds late; None: send it however late.
    """

    max_in_flight: int | None = None
    drop_after: float | None = None

    def __post_init__(self) -> None:
        if self.max_in_flight is not None and self.max_in_flight < 1:
            raise ValueError(f"max_in_flight must be at least 1, got {self.max_in_flight!r}")
        if self.drop_after is not None and self.drop_after < 0:
            raise ValueError(f"drop_after must not be below 0 s, got {self.drop_after!r}")

    def check_none(self, users: Users) -> None:
        """Check that a closed loop has no limits."""
        for name, value in (("max_in_flight", self.max_in_flight), ("drop_after", self.drop_after)):
            if value is not None:
                raise ValueError(
                    f"Limits({name}={value!r}) and {users.count} users exclude each other: each user has one request "
                    f"in flight, which is due when it is sent; leave out {name}"
                )


class RecordBuffer:
    """Takes the ends of exchanges one by one, as packed integers, and gives them as an array.

    Attributes:
        tell: called with the number of each request that ended.
    """

    __slots__ = ("_at", "_before", "_buffer", "_full", "tell")

    def __init__(self) -> None:
        self.tell: Callable[[int], object] | None = None
        self._full: list[bytes] = []
        self._buffer, self._at, self._before = bytearray(_SIZE), 0, 0

    @property
    def count(self) -> int:
        """All records so far."""
        return self._before + self._at // _LENGTH

    def add(
        self,
        seq: int,
        start: int,
        queued: int,
        connect: int,
        latency: int,
        xfertime: int,
        size: int,
        status: int,
        error: int,
        connection: int = 0,
        digest: int = 0,
    ) -> None:
        """Note the end of one exchange (see `logreplay.replay.senders.contract.Done`)."""
        at = self._at
        _PACK(self._buffer, at, seq, start, queued, connect, latency, xfertime, size, status, error, connection, digest)
        self._at = at + _LENGTH
        if self._at == _SIZE:
            self._set_aside()
        if self.tell is not None:
            self.tell(seq)

    def take(self) -> NDArray[np.void]:
        """The records since the last call, ``(n,)`` of `logreplay.replay.senders.contract.RECORD`."""
        if self._at:
            self._set_aside()
        pieces, self._full = self._full, []
        return np.frombuffer(b"".join(pieces), RECORD)

    def _set_aside(self) -> None:
        self._full.append(bytes(memoryview(self._buffer)[: self._at]))
        self._before += self._at // _LENGTH
        self._at = 0


class TimeAtLimit:
    """The time that a limit was met, so that a wait can be split into the limit's part and the generator's.

    A request that is due while as many others are in flight as may be waits for one of them to end. Between that end
    and its own start the generator works, and may be slow: that part of the wait is lag. So the time that the limit was
    met is summed up over the plan, and a request's part is the sum at its start less the sum when it was due. Instants
    are nanoseconds of one clock, and never decrease.

    Attributes:
        met: True if it is met now.
        ended: last instant at the limit; 0: none.
    """

    def __init__(self) -> None:
        self._instants, self._sums = [0], [0]
        self.met = False
        self.ended = 0

    def begin(self, now: int) -> None:
        """Note that the limit is met from now on."""
        self._note(now)
        self.met = True

    def end(self, now: int) -> None:
        """Note that the limit is not met from now on."""
        self._note(now)
        self.met, self.ended = False, now

    def since(self, due: int, now: int) -> int:
        """Nanoseconds from an instant to now in which it was met."""
        return self._until(now) - self._until(due)

    def _until(self, instant: int) -> int:
        at = bisect_right(self._instants, instant)
        begun, before = self._instants[at - 1], self._sums[at - 1]
        if at == len(self._instants):
            return before + (instant - begun) * self.met
        return before + (instant - begun) * (self._sums[at] - before) // (self._instants[at] - begun)

    def _note(self, now: int) -> None:
        total = self._until(now)
        self._instants.append(now)
        self._sums.append(total)
        if len(self._instants) > _MOST_INSTANTS:
            self._instants[: _MOST_INSTANTS // 2] = self._instants[: _MOST_INSTANTS // 2 : 2]
            self._sums[: _MOST_INSTANTS // 2] = self._sums[: _MOST_INSTANTS // 2 : 2]


@dataclass(frozen=True, slots=True)
class _Block:
    """What `OpenLoopSender.push` was given."""

    due: Instants
    requests: Sequence[Any]
    think: Sequence[float]


class OpenLoopSender:
    """A sender of blocks (`logreplay.replay.senders.contract.BlockSender`) made of a sender of single requests."""

    def __init__(self, sender: Sender, limits: Limits) -> None:
        self.counts = sender.counts
        self.taken_up = 0
        self._sender, self._buffer = sender, RecordBuffer()
        self._holding = sender if isinstance(sender, Batching) else None
        self._cap = inf if limits.max_in_flight is None else limits.max_in_flight
        self._patience = inf if limits.drop_after is None else limits.drop_after * 1e9
        self._waits: dict[int, int] = {}
        self._error: BaseException | None = None
        self._change: asyncio.Future[None] | None = None
        self._forget()

    def _forget(self) -> None:
        """Clear all state: no plan is running."""
        self._blocks: deque[_Block] = deque()
        self._behind = 0
        self._due: list[int] = []
        self._requests: Sequence[Any] = ()
        self._at = 0
        self._idle, self._is_cut = True, True
        self._at_limit = TimeAtLimit()

    def prepare(self, frame: pl.DataFrame) -> Sequence[Any]:
        return self._sender.prepare(frame)

    async def open(self, clock: Clock, trace: Trace | None = None) -> None:
        self._loop, self._clock = asyncio.get_running_loop(), clock
        await self._sender.open(self._buffer.add if self._cap == inf else self._end_of_few, clock, trace)
        # last: `close` is not called if the sender cannot be opened
        self._timer = make_timer(self._loop, clock, self._wake_up)

    def _end_of_few(self, seq: int, start: int, queued: int, /, *rest: int) -> None:
        """Record the end of a request where the number in flight is limited."""
        waited = self._waits.pop(seq, 0)
        self._buffer.add(seq, start - waited, queued + waited, *rest)
        if self._at_limit.met:
            self._at_limit.end(self._clock())
            self._wake()

    @property
    def ended(self) -> int:
        return self._buffer.count

    def records(self) -> NDArray[np.void]:
        return self._buffer.take()

    def begin(self, base: int, users: Users | None) -> None:
        self._forget()
        self._is_cut = False

    async def push(self, first: int, due: Instants, block: Sequence[Any], think: Sequence[float] = ()) -> bool:
        self._blocks.append(_Block(due, block, think))
        self._behind += len(due)
        if self._idle:
            self._idle = False
            self._wake()
        await self._until(lambda: self._behind <= _ROOM)
        return not self._is_cut

    async def finish(self) -> None:
        await self._until(lambda: self._idle)

    async def _until(self, holds: Callable[[], bool]) -> None:
        """Wait until something comes true as blocks are sent, or no more is to be sent."""
        while not (holds() or self._is_cut):
            self._change = self._loop.create_future()
            await self._change
        if self._error:
            raise self._error

    def _tell_change(self) -> None:
        if self._change and not self._change.done():
            self._change.set_result(None)

    def cut(self) -> None:
        if not self._is_cut:
            self._is_cut, self._cut_at = True, self._clock()
        self._tell_change()

    def give_up(self, due: Instants) -> bool:
        self._blocks.append(_Block(due, (), ()))
        now, at_limit = self._cut_at, self._at_limit
        while True:
            end = bisect_right(self._due, now, self._at)
            for when in self._due[self._at : end]:
                waited = at_limit.since(when, now)
                self.counts.limited += waited > 0
                self._buffer.add(self.taken_up, now - waited, waited, 0, 0, 0, 0, 0, _CANCELLED, NO_CONNECTION)
                self.taken_up += 1
            self._at = end
            if end < len(self._due):
                return False
            if not self._next_block():
                return True

    def cancel(self) -> None:
        self._sender.cancel()

    async def close(self) -> None:
        self._timer.close()
        await self._sender.close()

    def _wake(self) -> None:
        """Look again for requests to send."""
        self._timer.arm(self._clock())

    def _wake_up(self) -> None:
        try:
            if self._holding is None:
                self._pump()
            else:
                self._holding.hold()
                self._pump()
                self._holding.flush()
        except BaseException as error:  # or the plan would never end
            self._error = error
            self.cut()

    def _pump(self) -> None:
        clock, send, buffer = self._clock, self._sender.send, self._buffer
        due, requests, at, seq = self._due, self._requests, self._at, self.taken_up
        patience, at_limit = self._patience, self._at_limit
        burst, together = _BURST, -1
        while not self._is_cut:
            if at == len(due):
                self._at = at
                if not self._next_block():
                    return
                due, requests, at = self._due, self._requests, 0
            when = due[at]
            now = clock()
            if now < when:
                thick = at + 1 < len(due) and due[at + 1] <= together
                self._timer.arm(together if thick else when)
                break
            if not burst:
                self._timer.arm(now)
                break
            if together < 0:
                together = when + _GRAIN_NS
            if now - when > patience:
                burst -= 1
                waited = at_limit.since(when, now)
                self.counts.limited += waited > 0
                self.taken_up = seq = seq + 1
                at += 1
                buffer.add(seq - 1, now - waited, waited, 0, 0, 0, 0, 0, _DROPPED)
            elif (room := self._cap - (seq - buffer.count)) < 1:
                if not at_limit.met:
                    at_limit.begin(now)
                self._timer.arm(now + _NEVER if patience == inf else when + int(patience) + 1)
                break
            else:
                end = bisect_right(due, now, at, min(len(due), at + (burst if patience == inf else 1)))
                end = end if end - at <= room else at + int(room)
                burst -= end - at
                if when < at_limit.ended:  # requests due before the last slot was freed waited
                    waits = [at_limit.since(each, now) for each in due[at : bisect_left(due, at_limit.ended, at, end)]]
                    self.counts.limited += len(waits)
                    self._waits.update(enumerate(waits, seq))
                self.taken_up = seq + end - at
                if end == at + 1:  # sent at the instant at which it was found not to be too late
                    send(seq, requests[at], now, when + patience)
                    seq += 1
                else:
                    for when, request in zip(due[at:end], requests[at:end], strict=True):
                        send(seq, request, clock(), when + patience)
                        seq += 1
                at = end
        self._at = at

    def _next_block(self) -> bool:
        """Begin the next block; False if there is none."""
        self._idle = not self._blocks
        self._tell_change()
        if self._idle:
            return False
        block = self._blocks.popleft()
        self._behind -= len(block.due)
        self._begin_block(block)
        return True

    def _begin_block(self, block: _Block) -> None:
        self._due, self._requests, self._at = block.due.tolist(), block.requests, 0
