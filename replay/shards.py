"""One plan on several processes of this machine.

Theory of operation. The plan is dealt out request by request: process ``i`` of ``n`` takes every ``n``-th, from the
``i``-th on. All wait for each other when they are ready, and begin at one agreed instant of the machine's one
monotonic clock. Each is an engine of its own and writes a part file beside the result log; at the end the parts are
merged in the order of completion. If the run is killed, the parts can be read.
"""

import asyncio
import multiprocessing
import pickle
import queue
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from math import ceil, inf
from multiprocessing.sharedctypes import Synchronized
from multiprocessing.synchronize import Barrier, Event
from pathlib import Path
from typing import Any, Final

import polars as pl
import uvloop

from logreplay.parsers.record import RESULT_COLUMNS, LogreplayError, read_batches
from logreplay.replay.engine import Engine, Limits
from logreplay.replay.histogram import Histogram
from logreplay.replay.outcome import Outcome, Progress, merge
from logreplay.replay.plan import Chunk, Plan
from logreplay.replay.results import ResultLog, Results
from logreplay.replay.sender import Sender
from logreplay.replay.tally import Recent
from logreplay.replay.ticker import monotonic

_LEAD_NS: Final = 100_000_000
"""From the moment all are ready until the first request."""
_READY_S: Final = 120.0
_LOOK_S: Final = 0.1


@dataclass(frozen=True, slots=True)
class Shard:
    """What one process is to do. Everything in it can be pickled.

    Attributes:
        plan: the whole plan.
        make_sender: makes the sender.
        limits: of this process.
        path: its part of the result log.
        index, count: which of how many.
    """

    plan: Plan
    make_sender: Callable[[], Sender]
    limits: Limits
    path: Path
    index: int
    count: int


@dataclass(frozen=True, slots=True)
class _Report:
    """How a shard stands."""

    index: int
    progress: Progress
    response: Histogram
    lag: Histogram


@dataclass(slots=True)
class Dealt(Plan):
    """Every ``count``-th request of a plan, from the ``index``-th on."""

    index: int = 0
    count: int = 1

    def __iter__(self) -> Iterator[Chunk]:
        at = 0
        for chunk in Plan.__iter__(self):
            first = (self.index - at) % self.count
            at += len(chunk.due)
            if first < len(chunk.due):
                yield Chunk(chunk.frame.gather_every(self.count, first), chunk.due[first :: self.count])


class _Numbered:
    """Results in which ``seq`` is that of the whole plan."""

    def __init__(self, results: Results, index: int, count: int) -> None:
        self._results, self._index, self._count = results, index, count

    def write(self, rows: pl.DataFrame) -> None:
        self._results.write(rows.with_columns(pl.col("seq") * self._count + self._index))

    def close(self) -> None:
        self._results.close()


async def replay_sharded(
    plan: Plan,
    make_sender: Callable[[], Sender],
    path: Path,
    workers: int,
    *,
    limits: Limits | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    stop: asyncio.Event | None = None,
) -> Outcome:
    """Replay one plan on several processes.

    Args:
        plan: what to send and when; goes to each process by pickle.
        make_sender: makes a process's sender; goes there by pickle.
        path: the result log; overwritten.
        workers: how many processes.
        limits: of all together; what may be in flight is shared out evenly.
        on_progress: called about once a second, with the figures of all.
        stop: ends the run when set; what is in flight is recorded as ``cancelled``.

    Raises:
        LogreplayError: as `logreplay.replay.engine.replay`; or a process died, then the parts are left beside ``path``.
    """
    try:
        pickle.dumps((plan, make_sender))
    except Exception as error:  # whatever an object of the user's raises
        text = f"this plan cannot be shared out to other processes ({error}); replay it in one, with workers 1"
        raise LogreplayError(text) from None
    limits = limits or Limits()
    if limits.max_in_flight is not None:
        limits = replace(limits, max_in_flight=ceil(limits.max_in_flight / workers))
    parts = [path.with_name(f"{path.name}.part{index}.csv") for index in range(workers)]
    context = multiprocessing.get_context("spawn")
    reports: multiprocessing.Queue[_Report] = context.Queue()
    stopping = context.Event()
    shared = (reports, stopping, context.Barrier(workers), context.Value("q", 0))
    merged = _Merged(workers)
    loop = asyncio.get_running_loop()
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_join, initargs=shared) as pool:
        shards = [
            loop.run_in_executor(pool, run_shard, Shard(plan, make_sender, limits, part, index, workers))
            for index, part in enumerate(parts)
        ]
        ended = asyncio.gather(*shards)
        try:
            while not (await asyncio.wait([ended], timeout=_LOOK_S))[0]:
                if stop and stop.is_set():
                    stopping.set()
                with suppress(queue.Empty):
                    while True:
                        merged.take(reports.get_nowait())
                if on_progress and (progress := merged.progress()):
                    on_progress(progress)
            outcomes = ended.result()
        except BrokenProcessPool:
            left = ", ".join(str(part) for part in parts if part.exists())
            raise LogreplayError(f"a process of this run died; what was recorded is in {left or 'no file'}") from None
        finally:
            stopping.set()
    written = [part for part in parts if part.exists()]  # a part without a row is removed by its writer
    await asyncio.to_thread(merge_parts, written, ResultLog(path, force=True))
    for part in written:
        part.unlink()
    return merge(outcomes)


def run_shard(shard: Shard) -> Outcome:
    """Do one shard's part, in a process that `replay_sharded` set up."""
    try:
        return uvloop.run(_run_shard(shard))
    except BaseException:
        _shared[2].abort()  # nobody need wait for this one
        raise


async def _run_shard(shard: Shard) -> Outcome:
    reports, stopping, barrier, begin = _shared
    results = _Numbered(ResultLog(shard.path, force=True), shard.index, shard.count)
    plan = Dealt(shard.plan.requests, shard.plan.schedule, shard.plan.step, shard.index, shard.count)
    async with Engine(shard.make_sender(), results, limits=shard.limits) as engine:
        watch = asyncio.create_task(_watch(engine, stopping))

        def report(progress: Progress) -> None:
            response, lag = engine.histograms()
            reports.put(_Report(shard.index, progress, response, lag))

        try:
            return await engine.run(plan, report, agree=partial(asyncio.to_thread, _agree, barrier, begin))
        finally:
            watch.cancel()


async def _watch(engine: Engine, stopping: Event) -> None:
    while not stopping.is_set():  # noqa: ASYNC110  the event is another process's
        await asyncio.sleep(_LOOK_S)
    engine.stop("interrupted")


_shared: tuple[Any, Event, Barrier, Any]
"""What the processes of a run share; set in each by `_join`."""


def _join(reports: Any, stopping: Event, barrier: Barrier, begin: "Synchronized[int]") -> None:
    import signal

    global _shared
    _shared = reports, stopping, barrier, begin
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C is for the first process, which tells the others
    reports.cancel_join_thread()


def _agree(barrier: Barrier, begin: "Synchronized[int]") -> int:
    """Wait until all are ready, and learn when the run begins."""
    if barrier.wait(_READY_S) == 0:
        begin.value = monotonic() + _LEAD_NS
    barrier.wait(_READY_S)
    return int(begin.value)


class _Merged:
    """Live figures of all shards. Histograms are added; percentiles are of the sum."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._latest: dict[int, _Report] = {}
        self._fresh: set[int] = set()
        self._shown = (Histogram(), Histogram())

    def take(self, report: _Report) -> None:
        self._latest[report.index] = report
        self._fresh.add(report.index)

    def progress(self) -> Progress | None:
        """The figures of all, once each shard has told its own again."""
        if len(self._fresh) < self._count:
            return None
        self._fresh.clear()
        reports = list(self._latest.values())
        response, lag = Histogram(), Histogram()
        for report in reports:
            response.merge(report.response)
            lag.merge(report.lag)
        last_response, last_lag = response.since(self._shown[0]), lag.since(self._shown[1])
        self._shown = response, lag
        recent = Recent(
            last_response.quantile(0.5) or 0.0, last_response.quantile(0.99) or 0.0, last_lag.quantile(0.99) or 0.0
        )
        sums = {
            name: sum(getattr(report.progress, name) for report in reports)
            for name in (
                "scheduled",
                "sent",
                "completed",
                "ok",
                "http_error",
                "net_error",
                "new_errors",
                "dropped",
                "in_flight",
            )
        }
        return Progress(elapsed=max(report.progress.elapsed for report in reports), recent=recent, **sums)


def merge_parts(parts: Sequence[Path], results: Results) -> None:
    """Write the rows of several result logs, each in order of completion, as one in that order; in flat memory.

    Raises:
        LogreplayError: a part cannot be read, or the results cannot be written.
    """
    streams = [_by_completion(part) for part in parts]
    held = [next(stream, None) for stream in streams]
    while any(frame is not None for frame in held):
        horizons = [inf if frame is None else float(frame["completed"][-1]) for frame in held]
        limit = min(horizons)
        ready = [frame.filter(pl.col("completed") <= limit) for frame in held if frame is not None]
        results.write(pl.concat(ready).sort("completed", maintain_order=True).drop("completed"))
        for index, frame in enumerate(held):
            if frame is not None:
                rest = frame.filter(pl.col("completed") > limit)
                held[index] = rest if rest.height else next(streams[index], None)
    results.close()


def _by_completion(part: Path) -> Iterator[pl.DataFrame]:
    """The rows of a part with the instant of their completion, seconds since the start; never an empty frame."""
    latest = -inf
    for frame in read_batches(part, RESULT_COLUMNS):
        if frame.height:
            instant = pl.sum_horizontal("scheduled", "lag", "connect", "latency", "xfertime")
            # times are rounded to the microsecond: what was written later is not earlier for that
            completed = pl.max_horizontal(instant.cum_max(), pl.lit(latest)).alias("completed")
            frame = frame.with_columns(completed)
            latest = float(frame["completed"][-1])
            yield frame
