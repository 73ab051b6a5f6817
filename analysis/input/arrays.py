"""Reads result rows into arrays, one entry per request, in one pass over a file that is scanned, not loaded.

Theory of operation: text is parsed in batches; of each request 37 bytes stay, in whole microseconds and in the
order of the rows (that of completion). All tables and verdicts are computed from these arrays, so 20 million
requests fit in well under 1.5 GB, and a quantile is an observed value.
"""

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from logreplay.analysis.input import sources
from logreplay.analysis.input.downcast import (
    CANCELLED,
    DROPPED,
    DROPPED_KIND,
    ERROR_WORDS,
    FIRST_ERROR,
    OUTCOMES,
    compact,
    is_readable,
    unreadable,
)
from logreplay.analysis.input.file_ranges import NotApart, Stretch, stretches
from logreplay.analysis.input.routes import Routes
from logreplay.analysis.input.sources import Source
from logreplay.analysis.statistics.quantiles import FAILED, Ints
from logreplay.analysis.statistics.slices import slices
from logreplay.analysis.statistics.step_finder import LONGEST_S, rate_varies, steps_of_seconds, usual_rate
from logreplay.core.errors import LogreplayError
from logreplay.core.record import SAMPLED_FROM, TRACE_ID, least_sampled, never_sent
from logreplay.core.rows import left_out
from logreplay.core.validity import LAG_US

_WINDOWS_S: Final = (10, 30, 60, 300, 600, 1800, 3600, 21_600, 86_400)
_MOST_WINDOWS: Final = 1000
_MOST_STEPS: Final = 10_000
"""Different values of column ``step``. The verdict takes time for each: with one for each row it would not end."""
_MICROS: Final = 1_000_000
SLOWEST: Final = 20
_ROOM: Final = 1 << 20
"""Rows for which there is room at first, where nothing is known of their number."""

_SHORTEST_ROW: Final = 64
"""Bytes: a row of a result log has its date and time, 21 commas, and more."""

_READERS: Final = 3
"""Threads: one more than two processors, since each waits for Polars and for the disk now and then."""

_AHEAD: Final = 4
"""Stretches read before their turn; each takes memory until it is put together."""

_SLOWEST_COLUMNS: Final = pl.Schema(
    {"url": pl.String, "op": pl.String, "rc": pl.Int64, "response": pl.UInt32, "scheduled": pl.Int64}
)
_KEPT: Final = {
    "scheduled": np.int64,
    "lag": np.uint32,
    "queued": np.uint32,
    "response": np.uint32,
    "connect": np.uint32,
    "latency": np.uint32,
    "kind": np.uint16,
    "good": np.bool_,
    "step": np.int32,
    "bytes": np.uint32,
    "route": np.uint16,
}


@dataclass(frozen=True)
class RequestArrays:
    """The measured values, one entry per request, in the order of the rows.

    Attributes:
        scheduled: (n,) int64, microseconds since the start of the run.
        lag: (n,) uint32, microseconds; times over 71 minutes count as 71 minutes.
        queued: (n,) uint32, microseconds: waits that an option or the target made necessary.
        response: (n,) uint32, microseconds from the scheduled instant to the end, as measured, whatever the outcome.
        connect: (n,) uint32, microseconds: opening a connection, 0 where one was reused.
        latency: (n,) uint32, microseconds: from the request to the first byte of the answer.
        kind: (n,) uint16, what became of it: the status, or the error as `FIRST_ERROR` + index in `ERROR_WORDS`.
        good: (n,) bool: answered as expected, so that it neither failed (`logreplay.core.record.failed`) nor was
            cancelled.
        step: (n,) int32, index into ``rates``.
        bytes: (n,) uint32, bytes of the body; more than 4 GiB count as 4 GiB.
        route: (n,) uint16, index into ``routes``.
        labels: the value of column ``step`` of each step.
        rates: requests/s asked of each step; NaN where the file does not say.
        routes: name of each route; the first one stands for all that are too many to be told apart.
        slowest: the slowest requests, slowest first: ``url``, ``op``, ``rc``, ``response`` and ``scheduled`` (seconds),
            with ``trace_id`` where the file has it.
        slowest_sampled: likewise, of those whose trace was sampled; empty where none was.
        started: instant 0 of the run, UTC; None where the file has no valid date.
        unreadable: number of rows that are left out, by reason.
        has_schedule: True if the file says when requests were due; without it lag is unknown and taken as 0.
        window_s: seconds that count as one step, where the file names none and none were found; else None.
        found_steps: True if the steps, which the file does not name, were found in the counts of its seconds.
    """

    scheduled: Ints
    lag: npt.NDArray[np.uint32]
    queued: npt.NDArray[np.uint32]
    response: npt.NDArray[np.uint32]
    connect: npt.NDArray[np.uint32]
    latency: npt.NDArray[np.uint32]
    kind: npt.NDArray[np.uint16]
    good: npt.NDArray[np.bool_]
    step: npt.NDArray[np.int32]
    bytes: npt.NDArray[np.uint32]
    route: npt.NDArray[np.uint16]
    labels: tuple[int, ...]
    rates: tuple[float, ...]
    routes: tuple[str, ...]
    slowest: pl.DataFrame
    slowest_sampled: pl.DataFrame
    started: datetime | None
    unreadable: Mapping[str, int] = field(default_factory=dict)
    has_schedule: bool = True
    window_s: int | None = None
    found_steps: bool = False

    def __len__(self) -> int:
        return len(self.scheduled)

    @property
    def is_step(self) -> npt.NDArray[np.bool_]:
        """(steps,) whether each is a step: of found ones, those below 0 are remnants and stragglers."""
        return np.array([label >= 0 or not self.found_steps for label in self.labels])

    def take(self, rows: Ints | slice) -> "RequestArrays":
        """The requests at these places only."""
        return replace(self, **{name: getattr(self, name)[rows] for name in _KEPT})

    @property
    def several_rates(self) -> bool:
        """Whether steps were sent at rates of their own, so that their times must not be pooled.

        Stretches of one run that stand for steps (``window_s``, ``found_steps``) belong to the same load: the run has
        common times.
        """
        return len(self.labels) > 1 and self.window_s is None and not self.found_steps

    def of_step(self, index: int) -> "RequestArrays":
        """The requests of one step, given by its index in ``labels``."""
        part = self.take(np.flatnonzero(self.step == index))
        label, rate = self.labels[index : index + 1], self.rates[index : index + 1]
        return replace(part, step=np.zeros(len(part), np.int32), labels=label, rates=rate)

    @property
    def service(self) -> npt.NDArray[np.uint32]:
        """(n,) microseconds: connect + latency + xfertime."""
        return self.response - self.lag - self.queued

    @property
    def failed(self) -> npt.NDArray[np.bool_]:
        """(n,) whether the request failed (`logreplay.core.record.failed`)."""
        return np.asarray(~self.good & (self.kind != CANCELLED))

    @cached_property
    def has_times(self) -> bool:
        """Whether the file says how long requests took: a log without these times has 0 in every row."""
        return self.has_schedule or bool(self.response.any())

    @property
    def finished(self) -> "RequestArrays":
        """The requests without those that the run cancelled as it stopped, of which no time is known."""
        finished = self.kind != CANCELLED
        return self if finished.all() else self.take(np.flatnonzero(finished))

    @property
    def judged(self) -> npt.NDArray[np.uint32]:
        """(n,) `response`, and `FAILED` where the request was not answered as expected."""
        return np.where(self.good, self.response, np.uint32(FAILED))

    @cached_property
    def has_late(self) -> bool:
        """Whether the generator sent any request late enough to make its response time another."""
        return any(bool((self.lag[rows] > LAG_US).any()) for rows in slices(len(self)))

    @property
    def judged_without_lag(self) -> npt.NDArray[np.uint32]:
        """(n,) `judged` without the generator's lag."""
        return np.where(self.good, self.response - self.lag, np.uint32(FAILED))

    @cached_property
    def outcome(self) -> npt.NDArray[np.uint8]:
        """(n,) `OK` (status below 400), `HTTP_ERROR`, `NET_ERROR` or `DROPPED` (never sent)."""
        return OUTCOMES[self.kind]

    @cached_property
    def kind_counts(self) -> Ints:
        """(kinds,) how often each `kind` came."""
        return np.bincount(self.kind, minlength=len(OUTCOMES))

    @property
    def kinds(self) -> Counter[str]:
        """How often each status or error word came, most frequent first."""
        return _named(self.kind_counts)

    def count(self, outcome: int) -> int:
        """How many requests had this `outcome`."""
        return int(self.kind_counts[outcome == OUTCOMES].sum())

    @cached_property
    def taken_up(self) -> npt.NDArray[np.bool_]:
        """(n,) whether the request was sent, or held back until the run was stopped: it was not dropped."""
        return np.asarray(self.outcome != DROPPED)

    @cached_property
    def sent(self) -> npt.NDArray[np.bool_]:
        """(n,) whether the request was sent at all: neither dropped nor held back until the run was stopped."""
        cancelled = np.flatnonzero(self.kind == CANCELLED)
        if not len(cancelled):
            return self.taken_up
        sent, of_them = self.taken_up.copy(), self.take(cancelled)
        sent[cancelled] = ~never_sent(of_them.service, of_them.response)
        return sent

    @cached_property
    def last_end(self) -> int:
        """Microseconds from the start of the run to the last end of a request."""
        return max(int((self.scheduled[rows] + self.response[rows]).max()) for rows in slices(len(self)))

    @cached_property
    def sending(self) -> tuple[int, int, int]:
        """Microseconds at which the first and the last request were taken up, and the last was over; 0 if none."""
        found = [
            (int(at.min()), int(at.max()), int(those(self.scheduled[rows] + self.response[rows], taken_up).max()))
            for rows in slices(len(self))
            if (taken_up := self.taken_up[rows]).any()
            for at in (those(self.scheduled[rows] + self.lag[rows], taken_up),)
        ]
        first, last, over = zip(*found, strict=True) if found else ((0,), (0,), (0,))
        return min(first), max(last), max(over)

    @property
    def ended(self) -> datetime | None:
        """Instant of the last end of a request, UTC."""
        if self.started is None:
            return None
        return self.started + timedelta(microseconds=self.last_end)


def read(source: Source, executor: Executor | None = None, sampled: float = 0.0) -> RequestArrays:
    """Read the requests of a result log, or of any normalized CSV.

    Where the file has no column ``scheduled``, the date and time of the start take its place, counted from the
    earliest, and the lag is unknown.

    Args:
        source: file or table to read.
        executor: reads stretches of a result log, in other processes or machines that see the same file.
        sampled: share of the requests whose traces were sampled, from 0 to 1.
    """
    cut = stretches(path) if (path := sources.path_of(source)) else []
    if cut:  # Polars and NumPy let other threads run meanwhile
        helpers: AbstractContextManager[Executor] = nullcontext(executor) if executor else ThreadPoolExecutor(_READERS)
        with suppress(NotApart), helpers as readers:
            return _gathered(source, _in_order(readers, cut), sampled, room=cut[-1].end // _SHORTEST_ROW)
    if not isinstance(source, str | Path):
        source = sources.typed(source)
    more = (TRACE_ID,) if TRACE_ID in sources.columns_of(source) else ()
    return _gathered(source, (compact(rows.lazy()).collect() for rows in sources.batches(source, *more)), sampled)


def _in_order(helpers: Executor, cut: Iterable[Stretch]) -> Iterator[pl.DataFrame]:
    """Yield the rows of stretches in order, while some of the next ones are read."""
    coming: deque[Future[pl.DataFrame]] = deque()
    for stretch in cut:
        coming.append(helpers.submit(_compacted, stretch))
        if len(coming) > _AHEAD:
            yield coming.popleft().result()
    while coming:
        yield coming.popleft().result()


def _compacted(stretch: Stretch) -> pl.DataFrame:
    more = (TRACE_ID,) if TRACE_ID in stretch.names else ()
    return compact(stretch.rows((*sources.COLUMNS, *more)).lazy()).collect()


def _gathered(source: Source, batches: Iterable[pl.DataFrame], sampled: float, room: int = _ROOM) -> RequestArrays:
    """Put the batches of `compact` rows of a source together; there will hardly be more than ``room``."""
    name = sources.name_of(source)
    columns, routes, rates = _Columns(room), Routes(), dict[int, float]()
    traces = {TRACE_ID: pl.String} if TRACE_ID in sources.columns_of(source) else {}
    slowest = traced = pl.DataFrame(schema={**_SLOWEST_COLUMNS, **traces})
    refused, was_sampled = Counter[str](), pl.col(TRACE_ID).str.slice(SAMPLED_FROM) >= f"{least_sampled(sampled):014x}"
    try:
        for batch in batches:
            numbers = routes.encode(batch["url"], batch["url_hash"].to_numpy())
            if batch["scheduled"].null_count() or batch["response"].null_count():
                refused += unreadable(batch)
                readable = batch.select(is_readable()).to_series().to_numpy()
                batch, numbers = batch.filter(readable), numbers[readable]
            columns.append(batch, numbers)
            rates |= _last_of_each(batch["step"].to_numpy(), batch["offered"].to_numpy())
            slowest = _slowest(slowest, batch)
            if traces and sampled:
                traced = _slowest(traced, batch.filter(was_sampled))
    except pl.exceptions.ComputeError as error:
        raise LogreplayError(f"{name}: cannot be read: {error}") from None
    if not len(columns):
        why = f"no row can be used: {left_out(refused)}" if refused else "no requests in it"
        raise LogreplayError(f"{name}: {why}")
    if len(rates) > _MOST_STEPS:
        raise LogreplayError(
            f"{name}: {len(rates):,} steps, expected at most {_MOST_STEPS:,}: number the steps in column step, or "
            "delete that column; in a log of Play-it-Again-Sam, the column of the rate"
        )
    labels = sorted(rates)
    requests = RequestArrays(
        **columns.of_requests(labels),
        labels=tuple(labels),
        rates=tuple(rates[label] for label in labels),
        routes=tuple(routes.names),
        slowest=slowest.with_columns(pl.col("response", "scheduled") / 1e6),
        slowest_sampled=traced.with_columns(pl.col("response", "scheduled") / 1e6),
        started=sources.started(source),
        unreadable=refused,
        has_schedule="scheduled" in sources.columns_of(source),
    )
    return _in_steps(requests) if len(labels) == 1 else requests


class _Columns:
    """Columns that grow to twice their length: the unwritten part takes no memory."""

    def __init__(self, room: int) -> None:
        self._arrays: dict[str, npt.NDArray[Any]] = {name: np.empty(room, dtype) for name, dtype in _KEPT.items()}
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def append(self, batch: pl.DataFrame, routes: npt.NDArray[np.uint16]) -> None:
        """Add the rows of a batch."""
        first, stop = self._length, self._length + batch.height
        for name, array in self._arrays.items():
            if stop > len(array):
                grown = np.empty(max(stop, 2 * len(array)), array.dtype)  # in large pages, unlike a resize
                grown[:first] = array[:first]
                self._arrays[name] = array = grown
            array[first:stop] = routes if name == "route" else batch[name].to_numpy()
        self._length = stop

    def of_requests(self, labels: list[int]) -> dict[str, Any]:
        """Return the columns as `RequestArrays` has them: ``step`` as the place of its label."""
        columns = {name: array[: self._length] for name, array in self._arrays.items()}
        if labels != list(range(len(labels))):
            columns["step"][:] = np.searchsorted(labels, columns["step"])
        return columns


def _last_of_each(labels: npt.NDArray[np.int32], values: npt.NDArray[np.float64]) -> dict[int, float]:
    """Label → its last value."""
    last = np.flatnonzero(np.diff(labels, append=labels[-1:] + 1))
    return dict(zip(labels[last].tolist(), values[last].tolist(), strict=True))


def _in_steps(requests: RequestArrays) -> RequestArrays:
    """Divide a run of one step, where its rate is not the same throughout: into steps, or windows."""
    if not np.isnan(requests.rates[0]) or requests.scheduled.max() > LONGEST_S * _MICROS:
        return _in_windows(requests)
    counts = np.bincount(requests.scheduled // _MICROS)
    if (of_second := steps_of_seconds(counts)) is None:
        return _in_windows(requests)
    busy = counts > 0
    labels = np.unique(of_second[busy]).tolist()
    index = np.searchsorted(labels, of_second).astype(np.int32)
    return replace(
        requests,
        step=index[requests.scheduled // _MICROS],
        labels=tuple(labels),
        rates=tuple(usual_rate(counts[busy & (of_second == label)]) if label >= 0 else np.nan for label in labels),
        found_steps=True,
    )


def _in_windows(requests: RequestArrays) -> RequestArrays:
    """Take stretches of time for steps, where the file names none and the rate is not the same throughout.

    A ramp names one rate, too: its mean.
    """
    seconds = window_s(int(requests.scheduled.max()) / 1e6)
    tenth = requests.scheduled // (seconds * _MICROS // 10)
    if not rate_varies(np.bincount(tenth)[:-1]):  # the last one may be cut off
        return requests
    window = tenth // 10
    used, step = np.unique(window, return_inverse=True)
    return replace(
        requests,
        step=step.astype(np.int32),
        labels=tuple(range(len(used))),
        rates=(np.nan,) * len(used),
        window_s=seconds,
    )


def window_s(length: float) -> int:
    """Return how many seconds of a run of that length are one step, where nothing names any: 1,000 of them at most."""
    return next((seconds for seconds in _WINDOWS_S if length <= _MOST_WINDOWS * seconds), _WINDOWS_S[-1])


def those(values: npt.NDArray[Any], chosen: npt.NDArray[np.bool_]) -> npt.NDArray[Any]:
    """The chosen values; the array itself where all are, which spares a copy of millions."""
    return values if chosen.all() else values[chosen]


def kind_name(kind: int) -> str:
    """A status as text, or an error word."""
    return str(kind) if kind < FIRST_ERROR else ERROR_WORDS[kind - FIRST_ERROR]


def name_kinds(kinds: npt.NDArray[np.uint16]) -> Counter[str]:
    """Count `RequestArrays.kind` by name: the status as text, or the error word."""
    return _named(np.bincount(kinds))


def _named(counts: Ints) -> Counter[str]:
    found = [(int(counts[kind]), int(kind)) for kind in np.flatnonzero(counts)]
    return Counter({kind_name(kind): count for count, kind in sorted(found, reverse=True)})


def _slowest(before: pl.DataFrame, batch: pl.DataFrame) -> pl.DataFrame:
    """The slowest of these requests that were sent and came to an end, slowest first."""
    enough = before["response"][-1] if before.height == SLOWEST else 0
    slow = batch[np.flatnonzero(batch["response"].to_numpy() >= enough)]
    slow = slow.filter(~pl.col("kind").is_in((CANCELLED, DROPPED_KIND))).select(before.columns)
    if slow.is_empty():
        return before
    found = pl.concat((before, slow)).sort("response", "scheduled", descending=[True, False]).head(SLOWEST)
    return pl.DataFrame(found.rows(), found.schema, orient="row")  # a copy, or each URL keeps its whole batch in memory
