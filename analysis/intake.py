"""Result rows → what the statistics need of each request, in one pass over a file that is scanned, not loaded.

Theory of operation: text is parsed in batches; of each request 37 bytes stay, in whole microseconds and in the
order of the rows (that of completion). All tables and verdicts are computed from these arrays, so 20 million
requests fit in well under 1.5 GB, and a quantile is an observed value.
"""

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from logreplay.analysis import sources
from logreplay.analysis.partition import NotApart, Stretch, stretches
from logreplay.analysis.quantiles import FAILED, LONGEST, Ints
from logreplay.analysis.routes import Routes
from logreplay.analysis.sources import Source
from logreplay.parsers.record import ERRORS, LogreplayError

OK: Final = 0
HTTP_ERROR: Final = 1
NET_ERROR: Final = 2
DROPPED: Final = 3

LONGEST_RUN_S: Final = 100 * 86_400
"""Rows scheduled later than this are taken for damaged: a table has a row for every second."""

FIRST_ERROR: Final = 1000
ERROR_WORDS: Final = (*ERRORS, "no_status", "other")

_OUTCOMES: Final = np.full(FIRST_ERROR + len(ERROR_WORDS), NET_ERROR, np.uint8)
_OUTCOMES[1:400] = OK
_OUTCOMES[400:FIRST_ERROR] = HTTP_ERROR
_OUTCOMES[FIRST_ERROR + ERROR_WORDS.index("dropped")] = DROPPED
WINDOW_S: Final = 10
SLOWEST: Final = 20
_SLOWEST_COLUMNS: Final = pl.Schema(
    {"url": pl.String, "op": pl.String, "rc": pl.Int64, "response": pl.UInt32, "scheduled": pl.Int64}
)
_KEPT: Final = {
    "scheduled": np.int64,
    "lag": np.uint32,
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
class Requests:
    """What was measured, one entry per request, in the order of the rows.

    Attributes:
        scheduled: (n,) int64, microseconds since the start of the run.
        lag: (n,) uint32, microseconds; times over 71 minutes count as 71 minutes.
        response: (n,) uint32, microseconds from the scheduled instant to the end, as measured, whatever the outcome.
        connect: (n,) uint32, microseconds: opening a connection, 0 where one was reused.
        latency: (n,) uint32, microseconds: from the request to the first byte of the answer.
        kind: (n,) uint16, what became of it: the status, or the error as `FIRST_ERROR` + index in `ERROR_WORDS`.
        good: (n,) bool: answered as expected, that is below 400, or 4xx where the log had a 4xx as well.
        step: (n,) int32, index into ``rates``.
        bytes: (n,) uint32, bytes of the body; more than 4 GiB count as 4 GiB.
        route: (n,) uint16, index into ``routes``.
        labels: the value of column ``step`` of each step.
        rates: requests/s asked of each step; NaN where the file does not say.
        routes: name of each route; the first one stands for all that are too many to be told apart.
        slowest: the slowest requests, slowest first: ``url``, ``op``, ``rc``, ``response`` and ``scheduled`` (seconds).
        started: instant 0 of the run, UTC; None where the file has no valid date.
        unreadable: rows left out for want of a time.
        has_schedule: whether the file says when requests were due; without it lag is unknown and taken as 0.
        windowed: whether the file names no steps, so that each `WINDOW_S` seconds count as one.
    """

    scheduled: Ints
    lag: npt.NDArray[np.uint32]
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
    started: datetime | None
    unreadable: int = 0
    has_schedule: bool = True
    windowed: bool = False

    def __len__(self) -> int:
        return len(self.scheduled)

    @property
    def service(self) -> npt.NDArray[np.uint32]:
        """(n,) microseconds: connect + latency + xfertime."""
        return self.response - self.lag

    @property
    def judged(self) -> npt.NDArray[np.uint32]:
        """(n,) `response`, and `FAILED` where the request was not answered as expected."""
        return np.where(self.good, self.response, np.uint32(FAILED))

    @cached_property
    def outcome(self) -> npt.NDArray[np.uint8]:
        """(n,) `OK` (status below 400), `HTTP_ERROR`, `NET_ERROR` or `DROPPED` (never sent)."""
        return _OUTCOMES[self.kind]

    @property
    def kinds(self) -> Counter[str]:
        """How often each status or error word came, most frequent first."""
        return name_kinds(self.kind)

    @cached_property
    def sent(self) -> npt.NDArray[np.bool_]:
        """(n,) whether the request was sent at all."""
        return np.asarray(self.outcome != DROPPED)

    @property
    def ended(self) -> datetime | None:
        """Instant of the last end of a request, UTC."""
        if self.started is None:
            return None
        return self.started + timedelta(microseconds=int((self.scheduled + self.response).max()))


def _batches(source: Source, executor: Executor | None) -> Iterator[pl.DataFrame]:
    """Yield the rows of a source in order, as `compact` makes them; made by an executor where that can be."""
    cut = stretches(sources.locate(source)) if executor and isinstance(source, str | Path) else []
    if executor and cut:
        yield from executor.map(_compacted, cut)
    else:
        for rows in sources.batches(source):
            yield compact(rows.lazy()).collect()


def _compacted(stretch: Stretch) -> pl.DataFrame:
    return compact(stretch.rows()).collect()


def read(source: Source, executor: Executor | None = None) -> Requests:
    """Read the requests of a result log, or of any normalized CSV.

    Where the file has no column ``scheduled``, the date and time of the start take its place, counted from the
    earliest, and the lag is unknown.

    Args:
        source: what to read.
        executor: reads stretches of a result log, in other processes or machines that see the same file.

    Raises:
        LogreplayError: no such file, not a table of requests, or no row of it can be read.
        ValueError: a table without the columns of a result log.
    """
    if executor:
        with suppress(NotApart):
            return _read(source, executor)
    return _read(source, None)


def _read(source: Source, executor: Executor | None) -> Requests:
    name = str(source) if isinstance(source, str | Path) else "results"
    columns, routes, rates = _Columns(), Routes(), dict[int, float]()
    slowest, unreadable = _SLOWEST_COLUMNS.to_frame(), 0
    try:
        for batch in _batches(source, executor):
            batch = batch.with_columns(route=pl.Series(routes.encode(batch["url"]), dtype=pl.UInt16))
            readable = batch.filter(pl.col("scheduled").is_not_null(), pl.col("response").is_not_null())
            unreadable += batch.height - readable.height
            columns.append(readable)
            rates |= dict(readable.group_by("step").agg(pl.col("offered").last()).iter_rows())
            slowest = _slowest(slowest, readable)
    except pl.exceptions.ComputeError as error:
        raise LogreplayError(f"{name}: cannot be read: {error}") from None
    if not len(columns):
        why = f"none of its {unreadable} rows has a time that can be read" if unreadable else "no requests in it"
        raise LogreplayError(f"{name}: {why}")
    labels = sorted(rates)
    requests = Requests(
        **columns.of_requests(labels),
        labels=tuple(labels),
        rates=tuple(rates[label] for label in labels),
        routes=tuple(routes.names),
        slowest=slowest.with_columns(pl.col("response", "scheduled") / 1e6),
        started=sources.started(source),
        unreadable=unreadable,
        has_schedule=sources.has_schedule(source),
    )
    return _in_windows(requests) if len(labels) == 1 else requests


class _Columns:
    """Columns that grow in place: 20 million requests are never in memory twice."""

    def __init__(self) -> None:
        self._arrays: dict[str, npt.NDArray[Any]] = {name: np.empty(0, dtype) for name, dtype in _KEPT.items()}

    def __len__(self) -> int:
        return len(self._arrays["scheduled"])

    def append(self, batch: pl.DataFrame) -> None:
        """Add the rows of a batch."""
        for name, array in self._arrays.items():
            size = len(array)
            array.resize(size + batch.height, refcheck=False)  # the system moves the pages, not their contents
            array[size:] = batch[name].to_numpy()

    def of_requests(self, labels: list[int]) -> dict[str, Any]:
        """Return the columns as `Requests` has them: ``step`` as the place of its label."""
        step = self._arrays["step"]
        if labels != list(range(len(labels))):
            step[:] = np.searchsorted(labels, step)
        return self._arrays


def _in_windows(requests: Requests) -> Requests:
    """Take each `WINDOW_S` for a step, where the file names none and the rate is not the same throughout."""
    window = requests.scheduled // (WINDOW_S * 1_000_000)
    rates = np.bincount(window)[:-1] / WINDOW_S  # the last one may be cut off
    if len(rates) < 5 or rates.max() < 1.5 * max(rates.min(), 1 / WINDOW_S):
        return requests
    used, step = np.unique(window, return_inverse=True)
    return replace(
        requests,
        step=step.astype(np.int32),
        labels=tuple(range(len(used))),
        rates=(np.nan,) * len(used),
        windowed=True,
    )


def those(values: npt.NDArray[Any], chosen: npt.NDArray[np.bool_]) -> npt.NDArray[Any]:
    """The chosen values; the array itself where all are, which spares a copy of millions."""
    return values if chosen.all() else values[chosen]


def kind_name(kind: int) -> str:
    """A status as text, or an error word."""
    return str(kind) if kind < FIRST_ERROR else ERROR_WORDS[kind - FIRST_ERROR]


def name_kinds(kinds: npt.NDArray[np.uint16]) -> Counter[str]:
    """Count `Requests.kind` by name: the status as text, or the error word."""
    counts = np.bincount(kinds)
    found = [(int(counts[kind]), int(kind)) for kind in np.flatnonzero(counts)]
    return Counter({kind_name(kind): count for count, kind in sorted(found, reverse=True)})


def _micros(seconds: pl.Expr) -> pl.Expr:
    return (seconds * 1e6).round()


def _in_time() -> pl.Expr:
    return pl.col("scheduled").is_between(0, LONGEST_RUN_S)


def _compact(seconds: pl.Expr) -> pl.Expr:
    """Seconds → microseconds in 32 bits; null where there is no such time."""
    return pl.when(seconds.is_finite()).then(_micros(seconds).clip(0, LONGEST)).cast(pl.UInt32)


def compact_rows(source: Source) -> pl.LazyFrame:
    """Open a source as `compact` rows, lazily.

    Raises:
        LogreplayError: no such file, or not a table of requests.
        ValueError: a table without the columns of a result log.
    """
    return compact(sources.rows(source))


def compact(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Reduce rows of `sources.COLUMNS` to small types: whole microseconds, kinds, flags; keep ``row`` and ``seq``."""
    names = rows.collect_schema().names()
    error, rc = pl.col("error").fill_null(""), pl.col("rc").fill_null(0)
    words = {word: FIRST_ERROR + index for index, word in enumerate(ERROR_WORDS)}
    kind = (
        pl.when(error != "")
        .then(error.replace_strict(words, default=words["other"], return_dtype=pl.UInt16))
        .when(rc.is_between(1, 999))
        .then(rc.cast(pl.UInt16, strict=False))
        .otherwise(words["no_status"])
        .cast(pl.UInt16)
    )
    expected = pl.col("expected_rc").is_between(400, 499) & rc.is_between(400, 499)
    service = pl.sum_horizontal(
        pl.col("connect").fill_null(0.0), pl.col("latency"), pl.col("xfertime").fill_null(0.0), ignore_nulls=False
    )
    return rows.select(
        *(name for name in ("row", "seq") if name in names),
        scheduled=pl.when(_in_time()).then(_micros(pl.col("scheduled"))).cast(pl.Int64),
        lag=_compact(pl.col("lag")).fill_null(0),
        response=_compact(service + pl.max_horizontal(pl.col("lag").fill_nan(None).fill_null(0.0), 0.0)),
        connect=_compact(pl.col("connect")).fill_null(0),
        latency=_compact(pl.col("latency")).fill_null(0),
        kind=kind,
        good=(kind < 400) | ((kind < 500) & expected.fill_null(False)),
        step=pl.col("step").fill_null(0).cast(pl.Int32, strict=False).fill_null(-1),
        offered=pl.col("offered").cast(pl.Float32).fill_null(float("nan")),
        bytes=pl.col("bytes").fill_null(0).clip(0, 2**32 - 1).cast(pl.UInt32),
        url="url",
        op="op",
        rc=rc,
    )


def _slowest(before: pl.DataFrame, batch: pl.DataFrame) -> pl.DataFrame:
    """The slowest of these requests that were sent and have a time, slowest first."""
    enough = before["response"][-1] if before.height == SLOWEST else 0
    sent = pl.col("kind") != FIRST_ERROR + ERROR_WORDS.index("dropped")
    slow = batch.filter(sent, pl.col("response") >= enough).select(before.columns)
    if slow.is_empty():
        return before
    found = pl.concat((before, slow)).sort("response", "scheduled", descending=[True, False]).head(SLOWEST)
    return pl.DataFrame(found.rows(), found.schema, orient="row")  # a copy, or each URL keeps its whole batch in memory
