"""Reads access logs as data frames, for notebooks and scripts."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from logreplay.core.bodies import REF
from logreplay.core.frames import to_pandas
from logreplay.parsers.conversion.ingest import LogReader
from logreplay.parsers.conversion.job import ConvertOptions, find_reading, open_logs, output_columns, with_date_and_time
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
    """A data frame has no reject file."""
