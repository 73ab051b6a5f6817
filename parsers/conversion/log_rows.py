"""Reads logs, captured requests or normalized CSVs as rows, some thousand at a time, without a file between."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import polars as pl

from logreplay.parsers.conversion.advice import notes
from logreplay.parsers.conversion.captured_input import Captures, captures_among
from logreplay.parsers.conversion.ingest import LogReader, Progress
from logreplay.parsers.conversion.job import ConvertOptions, find_reading, open_logs
from logreplay.parsers.conversion.normalized_input import Tables, normalized_among
from logreplay.parsers.conversion.report import ConvertReport


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
        LogreplayError: a file cannot be read, or is no log.
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
    if tables := normalized_among(paths):
        yield from Tables(tables, report, _ignore, options.limit, progress).rows()
        return
    sources = open_logs(paths, options, stack)
    if formats := captures_among(sources, options.format):
        yield from Captures(sources, formats, report, _ignore, options.timezone, options.limit, progress).rows()
        return
    reading = find_reading(sources, options)
    report.format, report.share, report.server = reading.name, reading.share, reading.server
    reader = LogReader(sources, reading, options.timezone, report, _ignore, options.limit, progress)
    yield from reader.rows()
    report.resolution_s = reader.fine
    zoned = bool(options.filter.since or options.filter.until)
    report.notes += notes(reader, sources, options.time_unit, options.timezone, zoned=zoned)


def _ignore(name: str, number: int, reason: str, line: bytes, whole: bool) -> None:
    """Rows in memory have no reject file; the report counts each line."""
