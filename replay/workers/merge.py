"""Merges the rows of several workers into one result log.

Theory of operation. Each worker reports its rows some times a second, with the instant up to which it has reported
everything. Rows that ended before the earliest of these instants are sorted by completion and written; the others are
held. A worker that is silent for a second no longer delays the others: memory is bounded and rows are on disk soon,
and its late rows follow when they come. `LostRows` fills in what a lost worker did not report from its share of the
plan, so that every request of the plan has its row and all identities hold. That is done when all others have ended:
going through a long plan again takes long, and the other workers must be listened to meanwhile.
"""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import inf
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from logreplay.core.errors import LogreplayError
from logreplay.core.record import RESPONSE_PARTS
from logreplay.replay.engine.recorder import DROPPED, result_rows
from logreplay.replay.requests.plan import Chunk
from logreplay.replay.results.counters import Counters
from logreplay.replay.results.result_log import Results
from logreplay.replay.schedules.users import Users
from logreplay.replay.senders.contract import ERROR_CODES, NO_CONNECTION, RECORD
from logreplay.replay.workers.partition import Share

PATIENCE_S: Final = 1.0
_EVERY_S: Final = 0.1
_HELD_ROWS: Final = 100_000
_CANCELLED: Final = ERROR_CODES["cancelled"]
_END: Final = "end"


class Arrived:
    """The requests of a worker that have reported their end: a window of flags, before which all have."""

    def __init__(self) -> None:
        self._first = 0
        self._flags = np.zeros(4096, np.bool_)

    def add(self, numbers: NDArray[np.int64]) -> None:
        if not len(numbers):
            return
        offsets = numbers - self._first
        needed = int(offsets.max()) + 1
        if needed > len(self._flags):
            self._flags = np.concatenate((self._flags, np.zeros(max(needed, 2 * len(self._flags)), np.bool_)))
        self._flags[offsets] = True
        whole = len(self._flags) if self._flags.all() else int(np.argmin(self._flags))
        if whole > len(self._flags) // 2:
            self._first += whole
            self._flags = np.concatenate((self._flags[whole:], np.zeros(whole, np.bool_)))

    def has(self, numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether each of these is noted."""
        offsets = numbers - self._first
        inside = np.clip(offsets, 0, len(self._flags) - 1)
        return (offsets < 0) | ((offsets < len(self._flags)) & self._flags[inside])


@dataclass(slots=True)
class LostRows:
    """Rows for the requests of a lost worker that it did not report.

    Those that were due while it may have been sending may have reached the target: they are ``cancelled``. The others
    were never sent: ``dropped``. When users of a closed loop send is not known beforehand: only the requests that
    their worker had reported as taken up get a row.

    Attributes:
        share: its requests.
        arrived: those it reported.
        taken_up: requests it had taken up when it was last heard.
        first: seq of the plan's first request.
        began, heard, until: nanoseconds from the start of the run to the start of the plan, to when it was last heard,
            and to when it had surely stopped sending.
        wall: start of the run, nanoseconds since 1970.
        counters: counts of the rows so far.
    """

    share: Share
    arrived: Arrived
    taken_up: int
    first: int
    began: int
    heard: int
    until: int
    wall: int
    counters: Counters = field(default_factory=Counters)
    _done: int = 0

    def rows(self, stopped_at: float | None = None) -> Iterator[pl.DataFrame]:
        """Yield the rows, in order. Goes through the plan from its beginning, which may take its time.

        Args:
            stopped_at: seconds since the start of the run, if the plan was stopped then: later requests are left out,
                except for those that may have been sent.
        """
        users = isinstance(self.share.schedule, Users)
        end = inf if stopped_at is None else stopped_at * 1e9
        for chunk in self.share:
            due = chunk.due + self.began
            sent, count = min(len(due), max(0, self.taken_up - self._done)), 0
            if not users:  # who sends by a schedule sends nothing early
                sent, count = max(sent, int(np.searchsorted(due, self.until))), int(np.searchsorted(due, end))
            count = max(sent, count)
            if count:
                yield self._take(chunk, due, sent, count)
                self._done += count
            if count < len(due):
                return

    def _take(self, chunk: Chunk, due: NDArray[np.int64], sent: int, count: int) -> pl.DataFrame:
        """The missing rows of the first ``count`` of a chunk, of which the first ``sent`` may have been sent."""
        missing = np.flatnonzero(~self.arrived.has(np.arange(self._done, self._done + count)))
        due, under_way = due[missing], missing < sent
        records = np.zeros(len(missing), RECORD)
        records["seq"] = self.first + self.share.number(self._done + missing)
        records["start"] = due
        records["latency"] = np.where(under_way, np.maximum(self.heard - due, 0), 0)
        records["error"] = np.where(under_way, _CANCELLED, DROPPED)
        records["connection"] = NO_CONNECTION
        rows = chunk.frame[missing].with_columns(
            pl.lit(self.share.step, pl.Int64).alias("step"),
            pl.lit(self.share.schedule.rate or None, pl.Float64).alias("offered"),
        )
        if len(missing):
            self.counters.add(records, due, rows["expected_rc"].fill_null(0).to_numpy())
        return result_rows(records, rows, due, 0, self.wall)


class MergedLog:
    """One result log from several workers. May be called from several threads.

    Attributes:
        failure: the error that prevents writing.
    """

    def __init__(self, results: Results, count: int) -> None:
        self.failure: LogreplayError | None = None
        self._results = results
        self._lock = threading.Lock()
        self._reported = [0.0] * count
        self._lost: set[int] = set()
        self._lost_rows: list[LostRows] = []
        self._held: list[pl.DataFrame] = []
        self._written = 0.0

    def begin(self, at: float) -> None:
        """A plan begins, seconds after the start of the run; nothing of another is under way."""
        with self._lock:
            self._reported = [inf if index in self._lost else at for index in range(len(self._reported))]
            self._written = at

    def add(self, index: int, rows: pl.DataFrame | None, reported: float) -> None:
        """Take over rows of a worker.

        Args:
            index: index of the worker.
            rows: with `logreplay.core.record.RESULT_COLUMNS`.
            reported: all that ended before is reported; seconds since the start of the run, `inf` when it is done.
        """
        with self._lock:
            if rows is not None:
                self._hold(rows)
            self._reported[index] = reported
            self._write_what_is_due()

    def lose(self, index: int, lost_rows: LostRows | None) -> None:
        """A worker is lost; `finish` writes the rows that it did not report.

        Takes no lock: called in the loop, which must not wait for the disk. Each statement is atomic, and nothing is
        added for this worker any more.
        """
        self._lost.add(index)
        self._reported[index] = inf
        if lost_rows:
            self._lost_rows.append(lost_rows)

    def finish(self, stopped_at: float | None = None) -> Counters:
        """Write all remaining rows; return the counts of those filled in for lost workers.

        Every worker has finished the plan, or is lost. Where the plan cannot be read again, the rows that were reported
        are written all the same. ``stopped_at``: seconds since the start of the run, if the plan did not come to its
        end.
        """
        filled = Counters()
        lost, self._lost_rows = self._lost_rows, []
        try:
            for lost_rows in lost:
                for frame in lost_rows.rows(stopped_at):
                    with self._lock:
                        self._hold(frame)
                        if sum(held.height for held in self._held) > _HELD_ROWS:
                            self._write(inf)
                filled += lost_rows.counters
        finally:
            self.flush()
        return filled

    def flush(self) -> None:
        with self._lock:
            self._write(inf)

    def _write_what_is_due(self) -> None:
        newest = max((reported for reported in self._reported if reported != inf), default=inf)
        until = max(min(self._reported), newest - PATIENCE_S)
        if until != inf and until - self._written >= _EVERY_S:
            self._write(until)

    def _hold(self, rows: pl.DataFrame) -> None:
        if rows.height:
            self._held.append(rows.with_columns(pl.sum_horizontal("scheduled", *RESPONSE_PARTS).alias(_END)))

    def _write(self, until: float) -> None:
        self._written = until
        if not self._held:
            return
        held = pl.concat(self._held, how="diagonal").sort(_END, maintain_order=True)
        count = held.height if until == inf else int(held[_END].search_sorted(until))
        ended, rest = held[:count].drop(_END), held[count:]
        self._held = [rest] if rest.height else []
        if ended.height and self.failure is None:
            try:
                self._results.write(ended)
            except LogreplayError as error:
                self.failure = error
