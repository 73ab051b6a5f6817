"""Reads logs as data frames: whole or part by part, without a file between."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from logreplay.core.bodies import REF
from logreplay.core.frames import to_pandas
from logreplay.parsers.conversion.advice import notes
from logreplay.parsers.conversion.captured_input import Captures
from logreplay.parsers.conversion.ingest import LogReader, Progress
from logreplay.parsers.conversion.job import (
    ConvertOptions,
    find_reading,
    open_input,
    open_logs,
    output_columns,
    with_date_and_time,
)
from logreplay.parsers.conversion.normalized_input import Tables
from logreplay.parsers.conversion.report import ConvertReport
from logreplay.parsers.fields import values
from logreplay.parsers.redaction.redact import Redactor

if TYPE_CHECKING:
    import pandas as pd

Paths = str | Path | Sequence[str | Path]


def read_log(paths: Paths, options: ConvertOptions | None = None) -> "pd.DataFrame":
    """Read access logs whole.

    Args:
        paths: one log or several, plain or compressed.
        options: how, as for `logreplay.parsers.conversion.job.convert`.

    Returns:
        One row a request that can be replayed, in order of start: the columns of the normalized CSV, and ``start``
        (``datetime64[us, UTC]``).

    Raises:
        LogreplayError: no such file, empty or not an access log.
    """
    frames = list(_normalized(paths, options))
    frame = pl.concat(frames) if frames else pl.DataFrame()
    if frame.height:
        frame = frame.sort("start", maintain_order=True)
    return to_pandas(frame)


def iter_log(paths: Paths, options: ConvertOptions | None = None) -> Iterator["pd.DataFrame"]:
    """Read access logs some thousand rows at a time, in flat memory.

    Args:
        paths: as for `read_log`.
        options: as for `read_log`.

    Yields:
        Rows as of `read_log`, in about the order of the log: order by start within a frame, not between frames.

    Raises:
        LogreplayError: no such file, empty or not an access log.
    """
    for frame in _normalized(paths, options):
        yield to_pandas(frame.sort("start", maintain_order=True))


def log_rows(
    paths: Sequence[str | Path],
    options: ConvertOptions,
    report: ConvertReport,
    progress: Progress | None = None,
) -> Iterator[pl.DataFrame]:
    """Yield the rows that a conversion would write, in the order of the input.

    Args:
        paths: as for `logreplay.parsers.conversion.job.convert`.
        options: how to read them, which rows to keep, how many lines may be rejected.
        report: counts every line; complete at the end.
        progress: called about once a block.

    Yields:
        Columns of the normalized record that the input has, and ``start``: microseconds since 1970, UTC.

    Raises:
        LogreplayError: a file cannot be read, or is not a log.
        TooManyRejects: more lines were rejected than the options allow.
    """
    keep = options.filter.condition(options.timezone)
    with ExitStack() as stack:
        for rows in _all_rows(paths, options, report, progress, stack):
            wanted = rows if keep is None else rows.filter(keep)
            report.filtered += rows.height - wanted.height
            report.converted -= rows.height - wanted.height
            yield wanted
    report.sentence()


def _all_rows(
    paths: Sequence[str | Path],
    options: ConvertOptions,
    report: ConvertReport,
    progress: Progress | None,
    stack: ExitStack,
) -> Iterator[pl.DataFrame]:
    tables, sources, formats = open_input(paths, options, stack)
    if tables:
        yield from Tables(tables, report, _ignore, options.limit, progress).rows()
        return
    if formats:
        yield from Captures(sources, formats, report, _ignore, options.timezone, options.limit, progress).rows()
        return
    reading = find_reading(sources, options)
    report.format, report.share, report.server = reading.name, reading.share, reading.server
    reader = LogReader(sources, reading, options.timezone, report, _ignore, options.limit, progress)
    yield from reader.rows()
    report.resolution_s = reader.fine
    zoned = bool(options.filter.since or options.filter.until)
    report.notes += notes(reader, sources, options.time_unit, options.timezone, zoned=zoned)


def _normalized(paths: Paths, options: ConvertOptions | None) -> Iterator[pl.DataFrame]:
    options = options or ConvertOptions()
    keep = options.filter.condition(options.timezone)
    redactor = Redactor() if options.redact else None
    with ExitStack() as stack:
        sources = open_logs([paths] if isinstance(paths, str | Path) else paths, options, stack)
        reading = find_reading(sources, options)
        columns = ["body" if name == REF else name for name in output_columns(reading.formats)]
        intake = LogReader(sources, reading, options.timezone, ConvertReport(), _ignore, options.limit)
        for rows in intake.rows():
            wanted = (rows if keep is None else rows.filter(keep)).with_columns(_as_text(rows["body"]))
            if redactor:
                wanted = redactor.rows(wanted)
            start = pl.from_epoch("start", "us").dt.replace_time_zone("UTC")
            yield with_date_and_time(wanted).select(*columns, start)


def _as_text(bodies: pl.Series) -> pl.Expr:
    """Bodies with one character a byte as texts."""
    if not bodies.len() - bodies.null_count():
        return pl.col("body")
    return pl.col("body").map_elements(values.free_text, return_dtype=pl.String)


def _ignore(name: str, number: int, reason: str, line: bytes, whole: bool) -> None:
    """A data frame has no reject file; a report counts each line."""
