"""Reads normalized CSVs to merge or re-write them: all of their columns, and every row checked."""

import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import polars as pl

from logreplay.core.bodies import ADDRESS, REF, named
from logreplay.core.csv_blocks import Refused
from logreplay.core.errors import LogreplayError
from logreplay.core.record import CORE_COLUMNS, SCHEMA, start_time, to_csv
from logreplay.core.rows import BadColumns, column_names, converted, is_parquet, names_in, read_texts
from logreplay.core.zstd import zstd
from logreplay.parsers.conversion.report import Account
from logreplay.parsers.fields import values
from logreplay.parsers.lines.repeated_lines import RepeatedLines

NORMALIZED: Final = "normalized CSV"
"""The name of the format in reports."""
_BELOW: Final = {
    "rc": 1000,
    "bytes": values.MOST_BYTES,
    **dict.fromkeys(("latency", "xfertime", "thinktime"), values.LONGEST_S),
}
"""Numbers that lie between 0 and this; 0 where nothing stands."""


def normalized_among(paths: Sequence[str | Path]) -> list[Path]:
    """The paths, if they are normalized CSVs; none if they are logs."""
    tables = [Path(path) for path in paths if str(path) != "-" and Path(path).is_file() and _is_table(Path(path))]
    if tables and len(tables) < len(paths):
        log = next(path for path in paths if str(path) == "-" or Path(path) not in tables)
        name = "standard input" if str(log) == "-" else log
        raise LogreplayError(
            f"{name} and {tables[0]}: a log and a normalized CSV cannot be converted together; convert the log first, "
            "then merge the two"
        )
    return tables


def _is_table(path: Path) -> bool:
    if is_parquet(path):
        return True
    try:
        with path.open("rb") as file:
            column_names(file, parquet=False)
    except BadColumns:
        return True  # a table: the error on its columns is raised where it is read
    except (LogreplayError, OSError, EOFError, zlib.error, zstd.ZstdError):
        return False
    return True


def table_columns(paths: Sequence[Path]) -> tuple[str, ...]:
    """The columns of all files: the core, then the others in order of appearance."""
    names = [(name, path) for path in paths for name in names_in(path)]
    for name, path in names:
        if name == "start" or {*'"\n'} & {*name}:
            why = "logreplay has another" if name == "start" else "its name has a quote or a line break"
            raise LogreplayError(f"{path}: column {name!r}: {why}; rename the column")
    return tuple(dict.fromkeys((*CORE_COLUMNS, *(name for name, _ in names))))


def table_rows(paths: Sequence[Path], account: Account) -> Iterator[pl.DataFrame]:
    """Yield the rows of normalized CSVs and result logs, one after the other; their headers are not counted.

    The columns are those of `table_columns`, and ``start``: microseconds since 1970, UTC.
    """
    report, repeated, columns = account.report, RepeatedLines(len(paths)), table_columns(paths)
    report.format, report.share, report.resolution_s = NORMALIZED, 1.0, 1e-6
    total, done = sum(path.stat().st_size for path in paths), 0
    for path in paths:
        for texts, refused, first in read_texts(path):
            good = _good(texts, refused, path, first, account)
            repeated.add_rows(str(path), good)
            absent = [column for column in columns if column not in texts.columns]
            yield good.with_columns(
                *(pl.col(column).fill_null(0) for column in _BELOW),
                *(pl.lit(None, SCHEMA.get(column, pl.String)).alias(column) for column in absent),
                *([named(pl.col(REF), str(path)).alias(REF)] if REF in texts.columns else []),
            ).select("start", *columns)
            if account.progress:
                account.progress(done, total, report.lines)
        done += path.stat().st_size
    sizes = {path: path.stat().st_size for path in paths if report.per_file.get(str(path))}
    alike = Counter(sizes.values())
    sums = {str(path): (size, _sum(path)) for path, size in sizes.items() if alike[size] > 1}
    remedy = "mend the table, or convert its log again"
    account.finish(sums, repeated, [(str(path), NORMALIZED, remedy) for path in paths])


def _good(texts: pl.DataFrame, refused: Sequence[Refused], path: Path, first: int, account: Account) -> pl.DataFrame:
    """The rows of a block that begins in this line of a file, without those that are refused."""
    name, report = str(path), account.report
    typed = pl.DataFrame([converted(column, SCHEMA.get(column.name, pl.String)) for column in texts])
    blank = texts.select(pl.all_horizontal(pl.all().is_null())).to_series()
    blank = blank.scatter([line.row for line in refused], False)
    breaks = pl.sum_horizontal(pl.all().str.count_matches("\n", literal=True)).cast(pl.Int64)
    broken = texts.select(breaks).to_series()
    heights = broken * (not is_parquet(path)) + 1
    lines = first + heights.cum_sum() - heights
    reasons = _reasons(texts, typed, broken > 0)
    reasons = reasons.scatter([line.row for line in refused], [line.why for line in refused])
    originals = {line.row: line.text for line in refused}
    bad = reasons.is_not_null() & ~blank
    report.lines += texts.height
    report.blank += int(blank.sum())
    for at in bad.arg_true():
        original = originals[at] if at in originals else to_csv(texts[at], header=False)[:-1]
        account.refuse(name, lines[at], "rejected", reasons[at], original)
    account.check_limit()
    good = typed.filter(~bad & ~blank).with_columns(start_time().to_physical())
    report.accept(name, good.height)
    report.count_minutes(name, good["start"].to_numpy())
    return good


def _sum(path: Path) -> int:
    """The CRC-32 of a file."""
    found = 0
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            found = zlib.crc32(piece, found)
    return found


def _reasons(texts: pl.DataFrame, typed: pl.DataFrame, broken: pl.Series) -> pl.Series:
    """Why each row is rejected; null if it is not."""
    unread = {
        name: texts[name].is_not_null() & typed[name].is_null()
        for name in texts.columns
        if SCHEMA.get(name, pl.String) != pl.String
    }
    tests: tuple[tuple[str, pl.Expr | pl.Series], ...] = (
        ("line break in a value", broken),
        ("time stamp", start_time().is_null()),
        ("no request", pl.col("url").is_null() | pl.col("op").is_null()),
        ("url", ~pl.col("url").str.contains(r"^(?:/[!-~]*|\*)$")),
        ("method", ~pl.col("op").str.contains(r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")),
        *((name, ~pl.col(name).is_between(0, most, closed="left")) for name, most in _BELOW.items()),
        *unread.items(),
        *([(REF, ~pl.col(REF).str.contains(ADDRESS))] if REF in texts.columns else []),
    )
    return typed.select(pl.coalesce(pl.when(test).then(pl.lit(reason)) for reason, test in tests)).to_series()
