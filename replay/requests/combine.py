"""Combines streams of requests: mixes in those of another log, or copies each request for several targets.

The plan for several targets is an ordinary plan with a column `TARGET`, the number of the target of each request
(`Int8`): engine, pacing and workers treat it as any other. The requests of a group stand next to each other; its number
is ``seq // together``.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from logreplay.core.record import SWAP_TURN, TARGET
from logreplay.replay.requests.headers import HeaderFromLog
from logreplay.replay.requests.plan import CHUNK_ROWS, Chunk, Made, Plan, RequestStream
from logreplay.replay.schedules.rates import Instants, Schedule, Together


@dataclass(slots=True)
class Mixed(Made):
    """A stream with another one mixed in.

    Of the first ``n`` requests ``floor(n * share)`` are injected. At a rate they take the place of others; on the
    log's own times they come on top, each together with the request before it. Their ``row`` is negative:
    ``-1 - row`` in their own file.

    Attributes:
        requests: those of the log.
        injected: those to mix in; it should loop, or the rest of the log has none.
        share: share of all requests, above 0 and below 1.
    """

    requests: RequestStream
    injected: RequestStream
    share: float

    def __post_init__(self) -> None:
        if not 0 < self.share < 1:
            raise ValueError(f"a share is above 0 % and below 100 %, got {self.share:%}")

    def frames(self, rows: int = CHUNK_ROWS, begin: int = 0) -> Iterator[pl.DataFrame]:
        before, at = int(begin * self.share), begin
        others = _Supply(self.injected, rows, before)
        for frame in self.requests.frames(rows, begin - before):
            pattern = _pattern(at, frame.height, self.share)
            extra = others.take(int(pattern.sum()))
            if extra is None:
                yield frame
                continue
            at += len(pattern)
            yield _merged(frame, extra, pattern)

    @property
    def left_out(self) -> Counter[str]:
        return self.requests.left_out + Counter({f"injected: {why}": n for why, n in self.injected.left_out.items()})

    @property
    def unfilled(self) -> Counter[HeaderFromLog]:
        return self.requests.unfilled + self.injected.unfilled


@dataclass(slots=True)
class ForTargets(Made):
    """A stream in which each request names its target.

    Attributes:
        requests: the stream.
        targets: number of targets.
        seed: seed of the draws.
        alternate: send each request to one target, drawn at random; False: to all of them, in random order.
    """

    requests: RequestStream
    targets: int = 2
    seed: int = 0
    alternate: bool = False

    @property
    def together(self) -> int:
        """Requests of this stream that are one of the log."""
        return 1 if self.alternate else self.targets

    def frames(self, rows: int = CHUNK_ROWS, begin: int = 0) -> Iterator[pl.DataFrame]:
        together, draws = self.together, np.random.PCG64(self.seed)
        draws.advance(begin)
        rng = np.random.Generator(draws)
        for frame in self.requests.frames(max(1, rows // together), begin // together):
            drawn = rng.random((frame.height, together))
            target = (drawn * self.targets).astype(np.int8) if self.alternate else drawn.argsort(axis=1).astype(np.int8)
            copies = frame if self.alternate else frame[np.repeat(np.arange(frame.height), together)]
            yield copies.with_columns(pl.Series(TARGET, target.reshape(-1), dtype=pl.Int8))


@dataclass(frozen=True, slots=True)
class Swap:
    """Two pairs of targets that take turns, by the time at which a request is due.

    Each pair has one of turns 0 and 1, one of turns 2 and 3, and so on, in random order. In a fixed order, a job of a
    machine that recurs after an even number of turns, such as one each minute, would always disturb the same pair.

    Attributes:
        every: seconds of a turn.
        targets: number of targets of each request. The first pair has the numbers 0 and 1; the second pair has these
            plus ``targets``.
        seed: seed of the draws.
    """

    every: float
    targets: int = 2
    seed: int = 0

    def turns(self, due: Instants) -> NDArray[np.int64]:
        """The turn of each instant, from 0: ``(n,)``."""
        return np.asarray(due // round(self.every * 1e9), np.int64)

    def second(self, turns: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether each turn is that of the second pair, ``(n,)``."""
        times, place = np.unique(turns // 2, return_inverse=True)
        draws = np.random.PCG64(self.seed)
        rng, drawn = np.random.Generator(draws), np.empty(len(times), np.bool_)
        for index, between in enumerate((np.diff(times, prepend=-1) - 1).tolist()):
            draws.advance(between)
            drawn[index] = rng.random() < 0.5
        return np.asarray(drawn[place] ^ (turns % 2 == 1))

    def applied(self, chunk: Chunk) -> Chunk:
        """Name the target of each request, and its turn in the column `SWAP_TURN`."""
        turns = self.turns(chunk.due)
        moved = self.second(turns) & (chunk.frame[TARGET] < 2).to_numpy()
        target = chunk.frame[TARGET] + pl.Series(moved * self.targets, dtype=pl.Int8)
        return Chunk(chunk.frame.with_columns(target.alias(TARGET), pl.Series(SWAP_TURN, turns)), chunk.due)


@dataclass(slots=True)
class SwappedPlan(Plan):
    """A plan whose requests go to two pairs of targets in turn."""

    swap: Swap = Swap(1.0)

    def __iter__(self) -> Iterator[Chunk]:
        for chunk in Plan.__iter__(self):
            yield self.swap.applied(chunk)


def duet_plan(stream: ForTargets, schedule: Schedule, swap: Swap | None = None) -> Plan:
    """The plan that sends each request of a group when the schedule has one request."""
    together = stream.together
    times = Together(schedule, together) if together > 1 else schedule
    if swap:
        return SwappedPlan(stream, times, together=together, swap=swap)
    return Plan(stream, times, together=together)


def _pattern(at: int, rows: int, share: float) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    """Which of the requests after the first ``at`` are injected, up to the last of ``rows`` that are not."""
    places = np.arange(at, at + int(rows / (1 - share)) + 2)
    injected = np.floor((places + 1) * share) > np.floor(places * share)
    end = int(np.searchsorted(np.cumsum(~injected), rows)) + 1 if rows else 0
    return np.asarray(injected[:end], np.bool_)


def _merged(
    frame: pl.DataFrame, extra: pl.DataFrame, pattern: "np.ndarray[tuple[int], np.dtype[np.bool_]]"
) -> pl.DataFrame:
    own = np.cumsum(~pattern) - 1
    place = np.where(pattern, frame.height + np.cumsum(pattern) - 1, own)
    start = frame["start"][np.maximum(own, 0)]
    return pl.concat([frame, extra], how="diagonal")[place].with_columns(start)


class _Supply:
    """Takes as many requests from a stream as are wanted."""

    def __init__(self, stream: RequestStream, rows: int, begin: int) -> None:
        self._frames = stream.frames(rows, begin)
        self._rest: pl.DataFrame | None = None

    def take(self, count: int) -> pl.DataFrame | None:
        """The next ``count`` requests; None at the end."""
        while self._rest is None or self._rest.height < count:
            frame = next(self._frames, None)
            if frame is None:
                return None
            frame = frame.with_columns((-1 - pl.col("row")).alias("row"))
            self._rest = frame if self._rest is None else pl.concat([self._rest, frame], how="diagonal")
        taken, self._rest = self._rest.head(count), self._rest.slice(count)
        return taken
