"""Result rows → what the statistics need of each request, in one pass over a file that is scanned, not loaded.

Theory of operation: text is parsed in batches; of each request some 30 bytes stay, in whole microseconds and in the
order of the rows (that of completion). All tables and verdicts are computed from these arrays, so 20 million
requests fit in well under 1.5 GB, and a quantile is an observed value.
"""

from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from logreplay.analysis import foreign
from logreplay.analysis.quantiles import FAILED, Ints
from logreplay.analysis.routes import Routes
from logreplay.parsers.record import ERRORS, SCHEMA, LogreplayError, scan, start_time

if TYPE_CHECKING:
    import pandas as pd

Source: TypeAlias = "str | Path | pl.LazyFrame | pl.DataFrame | pd.DataFrame"
"""What can be analysed: a file (or the folder that holds its ``results.csv``), or a table of result rows."""

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
_WANTED: Final = (
    *("error", "expected_rc", "lag", "connect", "bytes", "url", "op", "step", "offered", "date", "time", "xfertime"),
    *("row", "seq"),
)
_KEPT: Final = ("scheduled", "lag", "service", "connect", "latency", "kind", "good", "step", "offered", "bytes")
_LONGEST_TIME: Final = 2**32 - 1
_BATCH: Final = 1 << 18


@dataclass(frozen=True)
class Requests:
    """What was measured, one entry per request, in the order of the rows.

    Attributes:
        scheduled: (n,) int64, microseconds since the start of the run.
        lag: (n,) uint32, microseconds; times over 71 minutes count as 71 minutes.
        service: (n,) uint32, microseconds: connect + latency + xfertime.
        connect: (n,) uint32, microseconds: opening a connection, 0 where one was reused.
        latency: (n,) uint32, microseconds: from the request to the first byte of the answer.
        kind: (n,) uint16, what became of it: the status, or the error as `FIRST_ERROR` + index in `ERROR_WORDS`.
        good: (n,) bool: answered as expected, that is below 400, or 4xx where the log had a 4xx as well.
        step: (n,) int32, index into ``rates``.
        bytes: (n,) int64, bytes of the body.
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
    service: npt.NDArray[np.uint32]
    connect: npt.NDArray[np.uint32]
    latency: npt.NDArray[np.uint32]
    kind: npt.NDArray[np.uint16]
    good: npt.NDArray[np.bool_]
    step: npt.NDArray[np.int32]
    bytes: Ints
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
    def response(self) -> Ints:
        """(n,) microseconds from the scheduled instant to the end, as measured, whatever the outcome."""
        return self.lag.astype(np.int64) + self.service

    @property
    def judged(self) -> Ints:
        """(n,) `response`, and `FAILED` where the request was not answered as expected."""
        return np.where(self.good, self.response, FAILED)

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


def rows_of(source: Source) -> pl.LazyFrame:
    """Open a result log as `compact` rows, lazily; ``row`` and ``seq`` are null where the file does not have them.

    Raises:
        LogreplayError: no such file, or not a table of requests.
        ValueError: a table without the columns of a result log.
    """
    return compact(_completed(open_rows(source)))


def locate(source: str | Path) -> Path:
    """Return the result log meant by a path: itself, or the one in that folder.

    Raises:
        LogreplayError: a folder without a result log.
    """
    path = Path(source)
    if not path.is_dir():
        return path
    for name in ("results.csv", "results.csv.gz", "results.csv.zst", "results.parquet"):
        if (path / name).exists():
            return path / name
    raise LogreplayError(f"{path}: no results.csv in this folder; name the result log itself")


def open_rows(source: Source) -> pl.LazyFrame:
    """Open what can be analysed as lazy rows of the columns of a normalized CSV or a result log.

    Raises:
        LogreplayError: no such file, or not a table of requests.
        ValueError: a table without the columns of a result log.
    """
    if isinstance(source, str | Path):
        path = locate(source)
        try:
            return scan(path)
        except LogreplayError:
            if path.exists() and (rows := foreign.result_rows(path)) is not None:
                return rows
            raise
    if not isinstance(source, pl.LazyFrame):
        source = (source if isinstance(source, pl.DataFrame) else pl.from_pandas(source)).lazy()
    names = source.collect_schema().names()
    if missing := [name for name in ("latency", "xfertime", "rc") if name not in names]:
        raise ValueError(f"results: no column {', '.join(missing)}; pass what logreplay.analysis.load returned")
    return source.with_columns(pl.col(name).cast(SCHEMA[name]) for name in names if name in SCHEMA)


def read(source: Source) -> Requests:
    """Read the requests of a result log, or of any normalized CSV.

    Where the file has no column ``scheduled``, the date and time of the start take its place, counted from the
    earliest, and the lag is unknown.

    Raises:
        LogreplayError: no such file, not a table of requests, or no row of it can be read.
        ValueError: a table without the columns of a result log.
    """
    rows = open_rows(source)
    name = str(source) if isinstance(source, str | Path) else "results"
    has_schedule = "scheduled" in rows.collect_schema().names()
    rows = _completed(rows)
    routes = Routes()
    parts, slowest = [], []
    wanted = compact(rows).select(*_KEPT, "url", "op", "rc")
    try:
        for batch in wanted.collect_batches(chunk_size=_BATCH, maintain_order=True):
            parts.append(batch.select(*_KEPT, route=routes.encode(batch["url"])))
            slowest.append(_slowest(batch))
    except pl.exceptions.ComputeError as error:
        raise LogreplayError(f"{name}: cannot be read: {error}") from None
    frame = pl.concat(parts)
    del parts
    if frame.is_empty():
        raise LogreplayError(f"{name}: no requests in it")
    readable = frame["scheduled"].is_not_null() & frame["service"].is_not_null()
    unreadable = frame.height - int(readable.sum())
    if unreadable == frame.height:
        raise LogreplayError(f"{name}: none of its {frame.height} rows has a time that can be read")
    if unreadable:
        frame = frame.filter(readable)
    offered = frame.drop_in_place("offered").to_numpy()
    labels, step = np.unique(frame.drop_in_place("step").to_numpy(), return_inverse=True)
    rates = np.full(len(labels), np.nan)
    rates[step] = offered
    columns: dict[str, Any] = {
        name: frame.drop_in_place(name).to_numpy() for name in frame.columns
    }  # never twice in memory
    requests = Requests(
        **columns,
        step=step.astype(np.int32),
        labels=tuple(labels.tolist()),
        rates=tuple(rates.tolist()),
        routes=tuple(routes.names),
        slowest=_slowest(pl.concat(slowest)).select(
            "url",
            "op",
            "rc",
            response=(pl.col("lag").cast(pl.Int64) + pl.col("service")) / 1e6,
            scheduled=pl.col("scheduled") / 1e6,
        ),
        started=_started(rows),
        unreadable=unreadable,
        has_schedule=has_schedule,
    )
    return _in_windows(requests) if len(labels) == 1 else requests


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


def kind_name(kind: int) -> str:
    """A status as text, or an error word."""
    return str(kind) if kind < FIRST_ERROR else ERROR_WORDS[kind - FIRST_ERROR]


def name_kinds(kinds: npt.NDArray[np.uint16]) -> Counter[str]:
    """Count `Requests.kind` by name: the status as text, or the error word."""
    counts = np.bincount(kinds)
    found = [(int(counts[kind]), int(kind)) for kind in np.flatnonzero(counts)]
    return Counter({kind_name(kind): count for count, kind in sorted(found, reverse=True)})


def _completed(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Add the columns a foreign table may lack, as nulls; `scheduled` from the time of the start."""
    names = rows.collect_schema().names()
    rows = rows.with_columns(pl.lit(None, SCHEMA[name]).alias(name) for name in _WANTED if name not in names)
    if "scheduled" in names:
        return rows
    start = start_time()
    return rows.with_columns(scheduled=(start - start.min()).dt.total_microseconds() / 1e6)


def _micros(seconds: pl.Expr) -> pl.Expr:
    return (seconds * 1e6).round()


def _in_time() -> pl.Expr:
    return pl.col("scheduled").is_between(0, LONGEST_RUN_S)


def _compact(seconds: pl.Expr) -> pl.Expr:
    """Seconds → microseconds in 32 bits; null where there is no such time."""
    return pl.when(seconds.is_finite()).then(_micros(seconds).clip(0, _LONGEST_TIME)).cast(pl.UInt32)


def compact(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Reduce completed rows to what is needed of each request, in small types: whole microseconds, kinds, flags."""
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
        scheduled=pl.when(_in_time()).then(_micros(pl.col("scheduled"))).cast(pl.Int64),
        lag=_compact(pl.col("lag")).fill_null(0),
        service=_compact(service),
        connect=_compact(pl.col("connect")).fill_null(0),
        latency=_compact(pl.col("latency")).fill_null(0),
        kind=kind,
        good=(kind < 400) | ((kind < 500) & expected.fill_null(False)),
        step=pl.col("step").fill_null(0).cast(pl.Int32, strict=False).fill_null(-1),
        offered=pl.col("offered").cast(pl.Float32).fill_null(float("nan")),
        bytes=pl.col("bytes").fill_null(0).clip(lower_bound=0),
        url="url",
        op="op",
        rc=rc,
        row="row",
        seq="seq",
    )


def _slowest(batch: pl.DataFrame) -> pl.DataFrame:
    """The slowest of these requests that were sent and have a time, slowest first."""
    sent = batch.filter(pl.col("kind") != FIRST_ERROR + ERROR_WORDS.index("dropped"), pl.col("service").is_not_null())
    response = pl.col("lag").cast(pl.Int64) + pl.col("service")
    order = [response, -pl.col("scheduled")]  # of equally slow ones the first
    return sent.top_k(SLOWEST, by=order).sort(order, descending=True)


def _started(rows: pl.LazyFrame) -> datetime | None:
    """The instant at which the clock of column ``scheduled`` stood at 0, from the first rows."""
    offset = _micros(pl.col("scheduled") + pl.col("lag").fill_null(0.0)).cast(pl.Int64, strict=False)
    instant = start_time() - pl.duration(microseconds=offset)
    first = rows.filter(_in_time()).head(1).select(instant).drop_nulls().collect()
    if first.is_empty():
        return None
    found: datetime = first.item()
    return found.replace(tzinfo=UTC)
