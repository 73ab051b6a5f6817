"""Reads logs as data frames: whole or part by part, without a file between."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from logreplay.core.bodies import REF
from logreplay.core.frames import to_pandas
from logreplay.parsers.conversion.captured_input import captured_rows
from logreplay.parsers.conversion.filters import wanted
from logreplay.parsers.conversion.job import (
    ConvertOptions,
    check_given,
    log_reader,
    open_input,
    open_logs,
    output_columns,
    with_date_and_time,
)
from logreplay.parsers.conversion.normalized_input import table_rows
from logreplay.parsers.conversion.report import Account, ConvertReport, Progress
from logreplay.parsers.fields import values
from logreplay.parsers.redaction.redact import Redactor

if TYPE_CHECKING:
    import pandas as pd

Paths = str | Path | Sequence[str | Path]


def read_log(paths: Paths, options: ConvertOptions | None = None) -> "pd.DataFrame":
    """Read access logs whole.

    Args:
        paths: one log or several, plain or compressed.
        options: options of `logreplay.parsers.conversion.job.convert`.

    Returns:
        One row a request that can be replayed, in order of start: the columns of the normalized CSV, and ``start``
        (``datetime64[us, UTC]``). Warnings tell how many lines became no row, and each note of the conversion.

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
        Rows as of `read_log`, in about the order of the log: order by start within a frame, not between frames. The
        warnings come after the last frame.

    Raises:
        LogreplayError: no such file, empty or not an access log.
    """
    for frame in _normalized(paths, options):
        yield to_pandas(frame.sort("start", maintain_order=True))


def log_rows(
    paths: Sequence[str | Path], options: ConvertOptions, report: ConvertReport, progress: Progress | None = None
) -> Iterator[pl.DataFrame]:
    """Yield the rows that a conversion would write, in the order of the input; ``start``: microseconds since 1970."""
    account = Account(report, options.limit, progress=progress)
    with ExitStack() as stack:
        tables, sources, formats = open_input(paths, options, stack)
        if tables:
            rows = table_rows(tables, account)
        elif formats:
            rows = captured_rows(sources, formats, account, options.idle_zone)
        else:
            rows = stack.enter_context(log_reader(sources, options, account)).rows()
        yield from wanted(rows, options.filter, options.timezone, report)
    report.sentence()


def _normalized(paths: Paths, options: ConvertOptions | None) -> Iterator[pl.DataFrame]:
    paths, options = check_given(paths, options), options or ConvertOptions()
    redactor, report = Redactor() if options.redact else None, ConvertReport()
    with ExitStack() as stack:
        sources = open_logs(paths, options, stack)
        intake = stack.enter_context(log_reader(sources, options, Account(report, options.limit)))
        columns = ["body" if name == REF else name for name in output_columns(intake.readings)]
        for kept in wanted(intake.rows(), options.filter, options.timezone, report):
            rows = kept.with_columns(_as_text(kept["body"]))
            if redactor:
                rows = redactor.rows(rows)
            start = pl.from_epoch("start", "us").dt.replace_time_zone("UTC")
            yield with_date_and_time(rows).select(*columns, start)
    for text in _said(report):
        warnings.warn(text, stacklevel=3)


def _said(report: ConvertReport) -> Iterator[str]:
    """The texts of the warnings: the count and the first of the lines that are in no frame, and the notes."""
    for name, number, reason in report.first_bad[:1]:
        yield f"{report.sentence()}; {name}: line {number}: {reason}"
    yield from report.notes


def _as_text(bodies: pl.Series) -> pl.Expr:
    """Bodies with one character a byte as texts."""
    if not bodies.len() - bodies.null_count():
        return pl.col("body")
    return pl.col("body").map_elements(values.free_text, return_dtype=pl.String)
