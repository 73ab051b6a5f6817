"""Opens what can be analysed, files and tables in memory, in batches that fit in memory."""

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias, cast

import polars as pl

from logreplay.analysis.input import pias
from logreplay.core import FORKED_THREADS
from logreplay.core.errors import LogreplayError, UsageError
from logreplay.core.files import is_stream, path_given
from logreplay.core.frames import from_pandas
from logreplay.core.record import REASON, SCHEMA, start_time
from logreplay.core.rows import FORMS, names_in, read_batches, to_the_end

if TYPE_CHECKING:
    import pandas as pd

Table: TypeAlias = "pl.LazyFrame | pl.DataFrame | pd.DataFrame"
Source: TypeAlias = "str | Path | pl.LazyFrame | pl.DataFrame | pd.DataFrame"
"""Results that can be analysed: a file, the folder of its ``results.csv``, or a table of result rows."""

COLUMNS: Final = (
    *("scheduled", "lag", "queued", "connect", "latency", "xfertime", "rc", "error", "expected_rc"),
    *("step", "offered", "bytes", "url", "op"),
)
"""The columns needed of each request."""

_MEASURED: Final = ("date", "time", "scheduled", "lag", "latency", "xfertime", "rc")
_BATCH: Final = 1 << 16
_HEAD: Final = 100


def source_given(value: object, argument: str = "results") -> Source:
    """Return the source that a program gives for an argument: a path, a result, which stands for its files, or a table.

    Raises:
        UsageError: it is none of these, or not a name that a file can have.
    """
    if isinstance(value, str | PathLike):
        path = path_given(value, argument)
        return value if isinstance(value, str) else path
    if not hasattr(type(value), "columns"):
        expected = "expected the path of a result log, a result, or a table of its rows"
        raise UsageError(f"{argument}={type(value).__name__}: {expected}", (argument,))
    return cast(Source, value)


def pairs_given(runs: Iterable[object]) -> list[Source]:
    """Return the sources that a program gives for pairs of runs, baseline first; see `source_given`."""
    return [source_given(run, ("baseline", "candidate")[at % 2]) for at, run in enumerate(runs)]


def locate(source: str | Path) -> Path:
    """Return the result log meant by a path: itself, or the one in that folder."""
    path = Path(source)
    if is_stream(path):
        raise LogreplayError(f"{path}: is not a file, and is read more than once; write it to a file first")
    if not path.is_dir():
        return path
    if held := results_in(path):
        return held
    if pair := duet_in(path):
        raise LogreplayError(
            f"{path}: is the folder of a duet; name one of its two result logs, or compare both: "
            f"logreplay compare {shlex.join(map(str, pair))}"
        )
    raise LogreplayError(f"{path}: no results.csv in this folder; name the result log itself")


def path_of(source: Source) -> Path | None:
    """The result log of a source; None for a table."""
    return locate(source) if isinstance(source, str | Path) else None


def name_of(source: Source) -> str:
    """The name of a source for messages."""
    return str(source) if isinstance(source, str | Path) else "results"


def results_in(folder: Path, name: str = "results") -> Path | None:
    """Return the result log of a name in a folder; None if there is none."""
    paths = (folder / f"{name}{ending}" for ending in FORMS)
    return next((path for path in paths if path.exists()), None)


def duet_in(folder: Path) -> tuple[Path, Path] | None:
    """Return the result logs of the baseline and the candidate in a folder; None if it does not hold both."""
    baseline, candidate = results_in(folder, "baseline"), results_in(folder, "candidate")
    return (baseline, candidate) if baseline and candidate else None


def reading(source: Source) -> AbstractContextManager[None]:
    """While the block reads a source, errors name its file."""
    FORKED_THREADS.check()
    return to_the_end(locate(source)) if isinstance(source, str | Path) else nullcontext()


@dataclass(frozen=True, slots=True)
class OpenedRows:
    """A source of rows with the columns of a normalized CSV or a result log.

    Attributes:
        names: its columns.
        rows: table of result rows; None: the rows are in the file ``path``.
        path: path of the file.
    """

    names: Sequence[str]
    rows: pl.LazyFrame | None = None
    path: Path = Path()

    @classmethod
    def of(cls, source: Source) -> "OpenedRows":
        """Open a source."""
        if isinstance(source, str | Path):
            path = locate(source)
            try:
                return cls(names_in(path), path=path)
            except LogreplayError:
                if path.exists() and (rows := pias.result_rows(path)) is not None:
                    return cls([name for name in rows.columns if name != REASON], rows.lazy())
                raise
        source = typed(source)
        source = source.lazy() if isinstance(source, pl.DataFrame) else source
        names = source.collect_schema().names()
        if missing := [name for name in ("latency", "xfertime", "rc") if name not in names]:
            raise UsageError(f"results: no column {', '.join(missing)}; pass what logreplay.analysis.load returned")
        return cls(names, source.with_columns(pl.col(name).cast(SCHEMA[name]) for name in names if name in SCHEMA))

    def frames(self, columns: Sequence[str], size: int = _BATCH) -> Iterator[pl.DataFrame]:
        """Yield columns of its rows, about ``size`` at a time; those that it lacks are null.

        A file's rows that are refused have a `logreplay.core.record.REASON`.
        """
        if self.rows is None:
            return read_batches(self.path, columns, size)
        missing = (pl.lit(None, SCHEMA[name]).alias(name) for name in columns if name not in self.names)
        wanted = self.rows.with_columns(missing).select(*columns, pl.col(f"^{re.escape(REASON)}$"))
        return wanted.collect_batches(chunk_size=size, maintain_order=True)

    def first_start(self) -> datetime | None:
        """Its earliest start, UTC without a zone; None where no row has one."""
        starts = (rows.select(start_time().min()).item() for rows in self.frames(("date", "time")))
        return min((start for start in starts if start), default=None)


def typed(source: Table) -> pl.LazyFrame | pl.DataFrame:
    """A table in memory with the types of a result log: to be opened more than once, it is converted once."""
    if isinstance(source, pl.LazyFrame):
        return source
    return _typed(source if isinstance(source, pl.DataFrame) else from_pandas(source))


def _typed(table: pl.DataFrame) -> pl.DataFrame:
    made = []
    for column in (each for each in table if SCHEMA.get(each.name, each.dtype) != each.dtype):
        values = pl.Series(column.name, map(str, column)) if column.dtype == pl.Object else column
        made.append(converted := values.cast(SCHEMA[column.name], strict=False))
        for row in (converted.is_null() & column.is_not_null()).arg_true().head(1):
            raise UsageError(f"results: row {row}, column {column.name}: {column[row]!r}: expected a number")
    return table.with_columns(made)


def batches(source: Source, *more: str, size: int = _BATCH) -> Iterator[pl.DataFrame]:
    """Yield the rows of a source in order, about ``size`` at a time; the next ones are read meanwhile.

    They have `COLUMNS` and ``more``, null where the source lacks them; with `logreplay.core.record.REASON` where rows
    are refused. Where it has no column ``scheduled``, the time of the start takes its place, counted from the earliest.
    """
    opened = OpenedRows.of(source)
    wanted = tuple(dict.fromkeys((*COLUMNS, *more)))
    if "scheduled" in opened.names or "date" not in opened.names:
        return _ahead(source, opened.frames(wanted, size))
    with reading(source):
        first = pl.lit(opened.first_start(), pl.Datetime("us"))
    scheduled = ((start_time() - first).dt.total_microseconds() / 1e6).alias("scheduled")
    needed = tuple(dict.fromkeys((*wanted, "date", "time")))
    unwanted = {"date", "time"} - {*wanted}
    return _ahead(source, (rows.with_columns(scheduled).drop(unwanted) for rows in opened.frames(needed, size)))


def columns_of(source: Source) -> Sequence[str]:
    """The names of the columns of a source."""
    return OpenedRows.of(source).names


def started(source: Source) -> datetime | None:
    """Return the instant at which the clock of column ``scheduled`` stood at 0, UTC; None where no date is valid."""
    opened = OpenedRows.of(source)
    if "date" not in opened.names or "time" not in opened.names:
        return None
    with reading(source):
        if "scheduled" not in opened.names:
            return _utc(opened.first_start())
        head = next(opened.frames(("date", "time", "scheduled", "lag"), _HEAD), None)
    if head is None:
        return None
    offset = ((pl.col("scheduled") + pl.col("lag").fill_null(0.0)) * 1e6).round().cast(pl.Int64, strict=False)
    known = head.filter(pl.col("scheduled").is_between(0, 1e9))
    starts = known.select(start=start_time() - pl.duration(microseconds=offset))
    first = starts.filter(pl.col("start").is_between(datetime.min, datetime.max)).head(1)
    return _utc(first.item()) if first.height else None


def first_sends(source: Source) -> pl.Series:
    """Return when the requests of the first rows were sent, in seconds of the clock of column ``scheduled``."""
    with reading(source):
        head = next(OpenedRows.of(source).frames(("scheduled", "lag"), _HEAD), None)
    if head is None:
        return pl.Series(dtype=pl.Float64)
    return head.select(pl.col("scheduled") + pl.col("lag").fill_null(0.0)).to_series()


def same_rows(one: Source, other: Source) -> bool:
    """Whether the requests of two sources have the same times and statuses, in the columns that both have."""
    heads = [first_sends(each) for each in (one, other)]
    known = min(map(len, heads))
    if not heads[0].head(known).equals(heads[1].head(known)):
        return False
    both = {*columns_of(one)} & {*columns_of(other)}
    columns = [name for name in _MEASURED if name in both]
    return _hashes(one, columns).equals(_hashes(other, columns))


def _hashes(source: Source, columns: Sequence[str]) -> pl.Series:
    with reading(source):
        hashes = (rows.select(columns).hash_rows() for rows in OpenedRows.of(source).frames(columns))
        return pl.concat([pl.Series(dtype=pl.UInt64), *hashes])


def _utc(instant: datetime | None) -> datetime | None:
    return instant.replace(tzinfo=UTC) if instant else None


def _ahead(source: Source, batches: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Yield the batches of a source, each fetched while the one before is worked on."""
    with reading(source), ThreadPoolExecutor(1) as thread:
        coming = thread.submit(next, batches, None)
        while (batch := coming.result()) is not None:
            coming = thread.submit(next, batches, None)
            yield batch
