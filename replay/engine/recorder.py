"""Turns the records of exchanges into rows and counts, outside the loop.

Theory of operation. The sender collects the records of exchanges. These, and the chunks of the plan they belong to, go
through one queue to a second thread, which counts, joins each record with its row of the plan, and writes. A chunk is
freed when all its requests are recorded, so memory is flat however long the run.

The loop never waits for the disk. Where the disk is slow, records wait in memory, at most `MOST_WAITING` of them:
then the engine ends the run with an error. Batching requests back instead would change the measured load, and send a
burst when the disk recovers. Nothing is lost: all ended requests are written before the engine closes.
"""

import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Final, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from logreplay.core.errors import LogreplayError
from logreplay.core.record import ERRORS, RESULT_COLUMNS, SWAP_TURN, TARGET, to_csv
from logreplay.replay.clock import monotonic
from logreplay.replay.engine.run_clock import RunClock, Start
from logreplay.replay.engine.undisturbed import lower_priority
from logreplay.replay.requests.header_columns import HTTP1, HTTP2
from logreplay.replay.results.counters import Counters
from logreplay.replay.results.histogram import Histogram
from logreplay.replay.results.result_log import MemoryResults, Results
from logreplay.replay.results.self_monitor import WriteLag
from logreplay.replay.senders.contract import ERROR_CODES, NO_CONNECTION, RECORD
from logreplay.replay.senders.digests import digest_texts
from logreplay.replay.sessions.server_timing import ServerTimings, timing_columns

DROPPED: Final = ERROR_CODES["dropped"]

MOST_WAITING: Final = 500_000
"""Records that may wait for the disk: some 150 MB with their rows of the plan, 50 s at 10,000 requests/s."""
_BATCH: Final = 16_384
"""Records that become rows at once. Their columns fit into the caches of a processor."""
_LATE_S: Final = 1.0
"""Rows that are written later than this after they were handed on are counted as delayed."""
_DAY_US: Final = 86_400_000_000
_ERROR_NAMES: Final = pl.Series((None, *ERRORS), dtype=pl.String)
_PROTOCOLS: Final = pl.Series((None, HTTP1, HTTP2), dtype=pl.String)


@dataclass(slots=True)
class InFlightChunk:
    """A chunk of the plan while its requests are in flight.

    Attributes:
        first: seq of its first request.
        frame: as in `logreplay.replay.requests.plan.Chunk`.
        due: ``(n,)`` when each is due, nanoseconds of the clock.
        step: index of the step.
        offered: offered rate of the step, requests/s; 0: none, and its column stays empty.
        left: requests not recorded yet.
        open: ``(n,)`` which these are.
    """

    first: int
    frame: pl.DataFrame
    due: NDArray[np.int64]
    step: int
    offered: float
    left: int = field(init=False)
    open: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        self.left, self.open = len(self.due), np.ones(len(self.due), np.bool_)

    def end_at(self, seq: int) -> None:
        """Forget the requests from this number on: their plan ended before they were sent."""
        sent = max(0, seq - self.first)
        self.left -= int(self.open[sent:].sum())
        self.open[sent:] = False


class Recorder:
    """Takes records in the loop, hands rows to the results.

    Args:
        results: where the rows go.
        run_clock: clock of the run, which has begun before anything is recorded.
        threaded: work in a second thread; False: at once, for runs in virtual time.

    Attributes:
        timings: kept headers Server-Timing of the responses; empty: none are wanted.
    """

    def __init__(self, results: Results, run_clock: RunClock, *, threaded: bool = True) -> None:
        self.counters = Counters()
        self.failure: BaseException | None = None
        self.timings: Sequence[ServerTimings] = ()
        self.delay = WriteLag()
        self._taken = self._written = 0
        self._results, self._run_clock = results, run_clock
        self._chunks: list[InFlightChunk] = []
        self._looks = np.empty((0, 2), np.int64)
        self._queue: queue.SimpleQueue[Callable[[], object] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="recorder", daemon=True) if threaded else None
        if self._thread:
            self._thread.start()

    def register(self, chunk: InFlightChunk) -> None:
        """Announce a chunk, before any of its requests is recorded."""
        self.sync(partial(self._note, chunk))

    def take(self, records: NDArray[np.void]) -> None:
        """Take records, ``(n,)`` of `logreplay.replay.senders.contract.RECORD`, of requests that were registered."""
        if len(records):
            self._taken += len(records)
            self.sync(partial(self._write_all, records, time.monotonic()))

    @property
    def waiting(self) -> int:
        """Records that are not written yet."""
        return self._taken - self._written

    def close(self) -> None:
        """Write the remaining rows. Blocks; call it outside the loop."""
        if self._thread:
            self._queue.put(None)
            self._thread.join()

    def sync(self, call: Callable[[], object]) -> None:
        """Call (from the second thread) when all earlier records are counted and written."""
        if self._thread:
            self._queue.put(call)
        else:
            call()

    def count_waiting(self, next_seq: int, now: int) -> None:
        """Note in the counters how long requests under way have been waiting. Call it with `sync`.

        A request that was started late has waited since it was first seen under way, not since it was due. All requests
        before ``next_seq`` were taken up.
        """
        waiting, looks = Histogram(), np.vstack([self._looks, (next_seq, now)])
        used = np.zeros(len(looks), np.bool_)
        for chunk in self._chunks:
            under_way = np.flatnonzero(chunk.open[: max(0, next_seq - chunk.first)])
            first = np.searchsorted(looks[:, 0], under_way + chunk.first, side="right")
            waiting.add(now - np.maximum(chunk.due[under_way], looks[first, 1]))
            used[first] = True
        self._looks = looks[used]
        self.counters.waiting = waiting

    def _work(self) -> None:
        lower_priority()
        self._attempt(_rehearse)
        while (call := self._queue.get()) is not None:
            self._attempt(call)

    def _attempt(self, work: Callable[[], object]) -> None:
        """Note an error of the thread, so that the engine does not wait for a dead thread."""
        try:
            work()
        except BaseException as error:  # a panic of Polars is no Exception
            self.failure = self.failure or error

    def _note(self, added: InFlightChunk) -> None:
        for chunk in self._chunks:
            chunk.end_at(added.first)
        self._chunks = [*(chunk for chunk in self._chunks if chunk.left), added]

    def _write_all(self, records: NDArray[np.void], taken: float) -> None:
        began = time.monotonic()
        try:
            for at in range(0, len(records), _BATCH):
                self._write(records[at : at + _BATCH])
        finally:
            ended = time.monotonic()
            waited = ended - taken
            self._written += len(records)
            self.delay += WriteLag(len(records) if waited > _LATE_S else 0, waited, ended - began)

    def _write(self, records: NDArray[np.void]) -> None:
        rows, due = self._join(records)
        self.counters.add(records, due, rows["expected_rc"].fill_null(0).to_numpy())
        self.counters.sample(records, rows)
        start = self._run_clock.start
        assert start, "a request ended before the run began"
        if self.failure is None:
            began = time.monotonic()
            try:
                made = result_rows(records, rows, due, start.at, start.wall)
                if self.timings:
                    made = made.with_columns(timing_columns(self.timings, records["seq"].tolist()))
                self._results.write(made)
            except LogreplayError as error:
                self.failure = error
            finally:
                self.delay += WriteLag(writing=time.monotonic() - began)

    def _join(self, records: NDArray[np.void]) -> tuple[pl.DataFrame, NDArray[np.int64]]:
        """The planned rows of these records, in their order, and when each was due."""
        seqs = records["seq"]
        firsts = np.array([chunk.first for chunk in self._chunks])
        present, place, counts = np.unique(
            np.searchsorted(firsts, seqs, side="right") - 1, return_inverse=True, return_counts=True
        )
        chunks = [self._chunks[index] for index in present.tolist()]
        begins = np.cumsum([0, *(len(chunk.due) for chunk in chunks[:-1])])
        at = seqs + (begins - firsts[present])[place]
        steps = pl.Series("step", [chunk.step for chunk in chunks], dtype=pl.Int64)
        offered = pl.Series("offered", [chunk.offered or None for chunk in chunks], dtype=pl.Float64)
        rows = pl.concat([chunk.frame for chunk in chunks])[at].with_columns(steps[place], offered[place])
        due = np.concatenate([chunk.due for chunk in chunks])[at]
        for number, (chunk, count) in enumerate(zip(chunks, counts.tolist(), strict=True)):
            chunk.left -= count
            chunk.open[seqs[place == number] - chunk.first] = False
        self._chunks = [chunk for chunk in self._chunks if chunk.left]
        return rows, due


def _rehearse() -> None:
    """Process a record before the run: the first time takes milliseconds, which would delay requests."""
    planned = {"row": 0, "url": "/", "op": "GET", "expected_rc": 200, "expected_bytes": 0, "expected_latency": 0.0}
    results, run_clock = MemoryResults(), RunClock(monotonic)
    run_clock.begin_run(Start(0, 0))
    recorder = Recorder(results, run_clock, threaded=False)
    recorder.register(InFlightChunk(0, pl.DataFrame([{**planned, "client": ""}]), np.zeros(1, np.int64), 0, 1.0))
    recorder.take(np.array([(0, 0, 0, 0, 0, 0, 0, 200, 0, 0, 0)], RECORD))
    to_csv(results.frame, header=False)


def result_rows(
    records: NDArray[np.void], rows: pl.DataFrame, due: NDArray[np.int64], origin: int, wall: int
) -> pl.DataFrame:
    """Rows of the result log, ``(n,)`` with `RESULT_COLUMNS` and the columns of the plan that name targets and turns.

    Args:
        records: ``(n,)`` of `logreplay.replay.senders.contract.RECORD`.
        rows: ``(n,)`` of the plan, as in `logreplay.replay.requests.plan.Chunk`, with ``step`` and ``offered``.
        due: ``(n,)`` when each was due, nanoseconds of the clock.
        origin: the start of the run, nanoseconds of the clock.
        wall: the same instant, nanoseconds since 1970.
    """
    dropped = records["error"] == DROPPED
    began = np.where(dropped, due, records["start"])
    connection = pl.Series("connection", np.where(dropped, NO_CONNECTION, records["connection"]))
    start = (began - origin + wall) // 1000
    return rows.with_columns(
        _dates(pl.Series(start).cast(pl.Datetime("us"))).alias("date"),
        _times(start).alias("time"),
        _seconds("latency", records["latency"]),
        _seconds("xfertime", records["xfertime"]),
        pl.col("thinktime") if "thinktime" in rows.columns else pl.lit(0.0).alias("thinktime"),
        pl.Series("bytes", np.ascontiguousarray(records["size"])),
        pl.Series("rc", np.ascontiguousarray(records["status"])),
        pl.Series("seq", np.ascontiguousarray(records["seq"])),
        _seconds("scheduled", due - origin),
        _seconds("lag", records["start"] - due),
        _seconds("queued", records["queued"]),
        _seconds("connect", records["connect"]),
        _ERROR_NAMES[np.ascontiguousarray(records["error"])].alias("error"),
        _PROTOCOLS[connection.sign() + 1].alias("protocol"),
        pl.when(connection > 0).then(connection),
        digest_texts(records["digest"]).alias("digest"),
    ).select(*RESULT_COLUMNS, *(name for name in (TARGET, SWAP_TURN) if name in rows.columns))


def _dates(start: pl.Series) -> pl.Series | pl.Expr:
    """The days of instants, which mostly are one."""
    first, last = cast(datetime | None, start.min()), cast(datetime | None, start.max())
    if first and last and first.date() == last.date():
        return pl.lit(first.date().isoformat())
    return start.dt.strftime("%Y-%m-%d")


def _times(start: NDArray[np.int64]) -> pl.Series:
    """The times of day of instants, microseconds since 1970. Many share a second, which is written once."""
    seconds, micros = np.divmod(start % _DAY_US, 1_000_000)
    first, last = (seconds.min(), seconds.max()) if len(seconds) else (0, 0)
    each = pl.Series(np.arange(first, last + 1) * 1_000_000).cast(pl.Datetime("us")).dt.strftime("%H:%M:%S.")
    digits = pl.Series(micros + 1_000_000).cast(pl.String).str.slice(1)
    return pl.select(each[seconds - first] + digits).to_series()


def _seconds(name: str, ns: NDArray[np.int64]) -> pl.Series:
    return pl.Series(name, ns / 1e9)
