"""Opens what can be analysed, files and tables in memory, as lazy rows or in batches that fit in memory."""

import shlex
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias, TypeGuard

import polars as pl

from logreplay.analysis.input import pias
from logreplay.core.files import is_stream
from logreplay.core.record import SCHEMA, LogreplayError, read_batches, scan, start_time, to_the_end

if TYPE_CHECKING:
    import pandas as pd

Source: TypeAlias = "str | Path | pl.LazyFrame | pl.DataFrame | pd.DataFrame"
"""What can be analysed: a file (or the folder that holds its ``results.csv``), or a table of result rows."""

COLUMNS: Final = (
    *("scheduled", "lag", "queued", "connect", "latency", "xfertime", "rc", "error", "expected_rc"),
    *("step", "offered", "bytes", "url", "op"),
)
"""The columns needed of each request."""

_OF_A_DUET: Final = ("baseline", "candidate")
_BATCH: Final = 1 << 16
_HEAD: Final = 100


def locate(source: str | Path) -> Path:
    """Return the result log meant by a path: itself, or the one in that folder.

    Raises:
        LogreplayError: a folder without a result log; or a pipe, which cannot be read more than once.
    """
    path = Path(source)
    if is_stream(path):
        raise LogreplayError(f"{path}: is not a file, and is read more than once; write it to a file first")
    if not path.is_dir():
        return path
    if held := results_in(path):
        return held
    if len(pair := [str(held) for name in _OF_A_DUET if (held := results_in(path, name))]) == 2:
        raise LogreplayError(
            f"{path}: is the folder of a duet; name one of its two result logs, or compare both: "
            f"logreplay compare {shlex.join(pair)}"
        )
    raise LogreplayError(f"{path}: no results.csv in this folder; name the result log itself")


def results_in(folder: Path, name: str = "results") -> Path | None:
    """Return the result log of a name in a folder; None if there is none."""
    paths = (folder / f"{name}.{ending}" for ending in ("csv", "csv.gz", "csv.zst", "parquet"))
    return next((path for path in paths if path.exists()), None)


def reading(source: Source) -> AbstractContextManager[None]:
    """While the block reads a source, errors name its file.

    Raises:
        LogreplayError: the file breaks off, is damaged, or cannot be read.
    """
    return to_the_end(locate(source)) if isinstance(source, str | Path) else nullcontext()


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
            if path.exists() and (rows := pias.result_rows(path)) is not None:
                return rows
            raise
    if not isinstance(source, pl.LazyFrame):
        source = (source if isinstance(source, pl.DataFrame) else pl.from_pandas(source)).lazy()
    names = source.collect_schema().names()
    if missing := [name for name in ("latency", "xfertime", "rc") if name not in names]:
        raise ValueError(f"results: no column {', '.join(missing)}; pass what logreplay.analysis.load returned")
    return source.with_columns(pl.col(name).cast(SCHEMA[name]) for name in names if name in SCHEMA)


def rows(source: Source) -> pl.LazyFrame:
    """Open a source as lazy rows of `COLUMNS`, ``row`` and ``seq``; what it lacks is null.

    Where it has no column ``scheduled``, the time of the start takes its place, counted from the earliest.

    Raises:
        LogreplayError: no such file, or not a table of requests.
        ValueError: a table without the columns of a result log.
    """
    opened = open_rows(source)
    return _scheduled(source, _filled(opened, (*COLUMNS, "row", "seq")), opened)


def batches(source: Source, *more: str, size: int = _BATCH) -> Iterator[pl.DataFrame]:
    """Yield the rows of a source in order, some at a time; the next ones are read meanwhile.

    Args:
        source: file or table.
        more: columns besides `COLUMNS`.
        size: rows of a batch, about.

    Raises:
        LogreplayError: no such file, not a table of requests, or not readable to its end.
        ValueError: a table without the columns of a result log.
    """
    opened = open_rows(source)
    if _is_result_log(source, opened):
        return _ahead(source, read_batches(locate(source), (*COLUMNS, *more), rows=size))
    filled = _scheduled(source, _filled(opened, (*COLUMNS, *more)), opened)
    return _ahead(source, filled.select(*COLUMNS, *more).collect_batches(chunk_size=size, maintain_order=True))


def has_schedule(source: Source) -> bool:
    """Whether a source says when requests were due."""
    return "scheduled" in open_rows(source).collect_schema().names()


def started(source: Source) -> datetime | None:
    """Return the instant at which the clock of column ``scheduled`` stood at 0, UTC; None where no date is valid."""
    opened = open_rows(source)
    names = opened.collect_schema().names()
    if "date" not in names or "time" not in names:
        return None
    if "scheduled" not in names:
        return _utc(_first_start(source, opened))
    lag = pl.col("lag").fill_null(0.0) if "lag" in names else 0.0
    offset = ((pl.col("scheduled") + lag) * 1e6).round().cast(pl.Int64, strict=False)
    try:
        known = _head(source, opened).filter(pl.col("scheduled").is_between(0, 1e9))
        starts = known.select(start=start_time() - pl.duration(microseconds=offset))
        first = starts.filter(pl.col("start").is_between(datetime.min, datetime.max)).head(1)
    except pl.exceptions.ComputeError:
        return None  # quotes that do not add up; the rows themselves are read all the same
    return _utc(first.item()) if first.height else None


def first_sends(source: Source) -> pl.Series:
    """Return when the requests of the first rows were sent, in seconds of the clock of column ``scheduled``."""
    head = _head(source, open_rows(source))
    return head.select(
        pl.col("scheduled") + (pl.col("lag").fill_null(0.0) if "lag" in head.columns else 0.0)
    ).to_series()


def _is_result_log(source: Source, opened: pl.LazyFrame) -> TypeGuard[str | Path]:
    """Whether it is a result log in a file."""
    return isinstance(source, str | Path) and {"scheduled", "seq"} <= set(opened.collect_schema().names())


def _head(source: Source, opened: pl.LazyFrame) -> pl.DataFrame:
    """The first rows; of a file no more is read than they take, while Polars would read a hundred megabytes ahead."""
    if _is_result_log(source, opened):
        return next(read_batches(locate(source), ("date", "time", "scheduled", "lag"), rows=_HEAD))
    return opened.head(_HEAD).collect()


def _utc(instant: datetime | None) -> datetime | None:
    return instant.replace(tzinfo=UTC) if instant else None


def _first_start(source: Source, opened: pl.LazyFrame) -> datetime | None:
    with reading(source):
        found: datetime | None = opened.select(start_time().min()).collect(engine="streaming").item()
    return found


def _filled(opened: pl.LazyFrame, wanted: tuple[str, ...]) -> pl.LazyFrame:
    """The rows with the wanted columns that are missing, as nulls."""
    names = opened.collect_schema().names()
    return opened.with_columns(pl.lit(None, SCHEMA[name]).alias(name) for name in wanted if name not in names)


def _scheduled(source: Source, filled: pl.LazyFrame, opened: pl.LazyFrame) -> pl.LazyFrame:
    """The rows with ``scheduled`` from the time of the start, where the source has none."""
    names = opened.collect_schema().names()
    if "scheduled" in names or "date" not in names:
        return filled
    first = pl.lit(_first_start(source, opened), pl.Datetime("us"))
    return filled.with_columns(scheduled=(start_time() - first).dt.total_microseconds() / 1e6)


def _ahead(source: Source, batches: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Yield the batches of a source, each fetched while the one before is worked on."""
    with reading(source), ThreadPoolExecutor(1) as thread:
        coming = thread.submit(next, batches, None)
        while (batch := coming.result()) is not None:
            coming = thread.submit(next, batches, None)
            yield batch
