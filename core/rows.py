"""Reads the rows of normalized CSVs, result logs and their Parquet files: whole, or refused with a reason.

All readers of rows use this module. A line that became no row, or a value that is not of its type, refuses its row:
the row stays in its place with nothing but nulls, and `REASON` says why, and where the first such line is.
"""

import csv
import gzip
import shlex
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final, cast

import polars as pl
import polars.selectors as cs
from polars.io.plugins import register_io_source

from logreplay.core.csv_blocks import Refused, RowBlock, Types, blocks
from logreplay.core.errors import LogreplayError
from logreplay.core.plural import number_of
from logreplay.core.record import CORE_COLUMNS, REASON, SCHEMA
from logreplay.core.zstd import zstd

FORMS: Final = (".csv", ".csv.gz", ".csv.zst", ".parquet")
"""Endings of the names of files with rows."""

MOST_COLUMNS: Final = 1000
_ROW_BYTES: Final = 256
_ROWS: Final = 8192
_LONGEST_HEADER: Final = 1 << 20
_EXACT: Final = 2.0**53
"""Whole numbers up to this are exact as floats."""

_UNREADABLE: Final = (OSError, EOFError, zlib.error, zstd.ZstdError, pl.exceptions.PolarsError)
_KINDS: Final[Mapping[type[pl.DataType], str]] = {pl.Int64: "a whole number", pl.Float64: "a number", pl.String: "text"}


def check_name(path: Path) -> None:
    """Check that the name of a file, read or written, is UTF-8: Polars writes Parquet to no other."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise LogreplayError(f"{path}: the name is not UTF-8; choose another, or rename the file") from None


def is_parquet(path: str | Path) -> bool:
    """Whether a file is a Parquet by its name, in any case: ``.parquet``, ``.PARQUET``."""
    return Path(path).suffix.lower() == ".parquet"


class BadColumns(LogreplayError):
    """A normalized file whose columns cannot be read: they are too many, or two have one name."""


def names_in(path: str | Path) -> list[str]:
    """The columns of a normalized CSV, a result log or its Parquet file."""
    path = Path(path)
    with _named_in_errors(path), path.open("rb") as file:
        if is_parquet(path):
            return _known(list(pl.read_parquet_schema(file)), str(path))
        return _header(_decompressed(file), str(path))[0]


def column_names(file: BinaryIO, *, parquet: bool) -> list[str]:
    """The columns of an open normalized CSV or Parquet file.

    Raises:
        LogreplayError: it is not a normalized file.
        ValueError: its name says Parquet, its content does not.
    """
    if parquet:
        from pyarrow.parquet import ParquetFile

        return _known(ParquetFile(file).schema_arrow.names)
    return _header(_decompressed(file))[0]


def scan(path: str | Path) -> pl.LazyFrame:
    """Open a file of which each row must be read, such as one that logreplay has just written, without loading it.

    Returns:
        All columns of the file, the known ones typed by `SCHEMA`. Collecting it raises LogreplayError at the first
        row that cannot be read.
    """
    names = names_in(path)

    def batches(
        columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, _: int | None
    ) -> Iterator[pl.DataFrame]:
        for frame in whole(read_batches(path, columns or names), path):
            frame = frame if rows is None else frame.head(rows)
            rows = None if rows is None else rows - frame.height
            yield frame if predicate is None else frame.filter(predicate)
            if rows == 0:
                return

    return register_io_source(batches, schema=schema_of(names))


def schema_of(names: Iterable[str]) -> dict[str, type[pl.DataType]]:
    """The types of columns: those of `SCHEMA`, any other is text."""
    return {name: SCHEMA.get(name, pl.String) for name in names}


def whole(frames: Iterable[pl.DataFrame], name: str | Path) -> Iterator[pl.DataFrame]:
    """Yield frames; raise LogreplayError at the first row that could not be read."""
    for frame in frames:
        if REASON in frame.columns:
            raise LogreplayError(f"{name}: {frame[REASON].drop_nulls()[0]}; correct the line, or delete it")
        yield frame


def read_batches(path: str | Path, columns: Sequence[str], rows: int = _ROWS) -> Iterator[pl.DataFrame]:
    """Yield the rows of a file in order, some thousands at a time, in flat memory.

    Args:
        columns: the wanted ones; those the file lacks come as nulls.

    Returns:
        The wanted columns, the known ones typed by `SCHEMA`, and `REASON` where a row of the batch is refused.
    """
    path = Path(path)
    names = names_in(path)
    with to_the_end(path), path.open("rb") as file:
        if not is_parquet(path):
            yield from read_csv(file, columns, rows)
            return
        table = pl.scan_parquet(file).select(_present(columns, names))
        yield from _typed_batches(table.collect_batches(chunk_size=rows, maintain_order=True), columns)


def read_csv(file: BinaryIO, columns: Sequence[str], rows: int = _ROWS) -> Iterator[pl.DataFrame]:
    """`read_batches` of an open file that holds a normalized CSV, plain or compressed.

    Raises:
        LogreplayError: it is not a normalized CSV.
        OSError, EOFError, zlib.error, zstd.ZstdError, polars.exceptions.PolarsError: it breaks off, or cannot be read.
    """
    file = _decompressed(file)
    names, line = _header(file)
    present, shown = _present(columns, names), _Reasons("line")
    for block in blocks(file, len(names), line + 1, rows * _ROW_BYTES):
        frame, refused = typed(block, names, present)
        yield shown.in_frame(_wanted(frame, columns), refused, block.line_of)


def read_parquet(file: BinaryIO, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
    """`read_batches` of an open Parquet file that logreplay wrote.

    Raises:
        LogreplayError: it holds another table.
        ValueError: it is not a Parquet file.
    """
    from pyarrow.parquet import ParquetFile

    table = ParquetFile(file)
    present = _present(columns, _known(table.schema_arrow.names))
    batches = table.iter_batches(_ROWS, columns=present)
    yield from _typed_batches((cast(pl.DataFrame, pl.from_arrow(batch)) for batch in batches), columns)


def read_texts(path: str | Path) -> Iterator[tuple[pl.DataFrame, Sequence[Refused], int]]:
    """Yield all columns of a file in blocks: texts, the lines that became no row, and the number of the first line.

    Empty values, and those of the refused rows, are null.
    """
    path = Path(path)
    names = names_in(path)
    with to_the_end(path), path.open("rb") as file:
        if is_parquet(path):
            texts = pl.scan_parquet(file).select(pl.all().cast(pl.String))
            first = 1
            for frame in texts.collect_batches(chunk_size=_ROWS, maintain_order=True):
                yield frame, (), first
                first += frame.height
            return
        text = _decompressed(file)
        line = _header(text)[1]
        for block in blocks(text, len(names), line + 1, _ROWS * _ROW_BYTES):
            yield block.parsed(names, names, {}), block.refused, block.line


def read_table(path: Path, types: Types) -> pl.DataFrame:
    """Read columns of a CSV that holds something other than requests; blank lines do not count as rows."""
    frames = [pl.DataFrame(schema=dict(types))]
    with _named_in_errors(path), path.open("rb") as file:
        names, line = _first_row(file)
        if missing := {*types} - {*names}:
            raise LogreplayError(f"no column {', '.join(sorted(missing))}; it needs {','.join(types)}")
        names = _each_once(names)
        for block in blocks(file, len(names), line + 1, _ROWS * _ROW_BYTES):
            frame, refused = typed(block, names, names, types)
            for row in refused.is_not_null().arg_true():
                raise LogreplayError(f"line {block.line_of(row):,}: {refused[row]}; correct the line, or delete it")
            frames.append(frame.filter(pl.any_horizontal(pl.all().is_not_null())).select(list(types)))
    return pl.concat(frames)


def _cause(error: BaseException) -> str:
    """The text of an error; of one of the system without its number and the name of the file."""
    return getattr(error, "strerror", None) or str(error)


def left_out(reasons: Mapping[str, int]) -> str:
    """Say how many rows are left out and why; ``reasons`` has the number of rows for each reason."""
    why = ", ".join(f"{count:,} x {reason}" for reason, count in reasons.items())
    return f"{number_of(sum(reasons.values()), 'row is', 'rows are')} left out: {why}"


@contextmanager
def _named_in_errors(path: Path) -> Iterator[None]:
    """While the block runs, errors of opening and reading a file name it."""
    check_name(path)
    try:
        yield
    except FileNotFoundError:
        raise LogreplayError(f"{path}: no such file") from None
    except LogreplayError as error:
        raise LogreplayError(f"{path}: {error}") from None
    except _UNREADABLE as error:
        raise LogreplayError(f"{path}: cannot be read: {_cause(error)}") from None


@contextmanager
def to_the_end(path: Path) -> Iterator[None]:
    """While the block runs, errors of reading a file name it."""
    try:
        yield
    except _UNREADABLE as error:
        raise LogreplayError(f"{path}: cannot be read to its end: {str(error).partition(chr(10))[0]}") from None


def typed(
    block: RowBlock, names: Sequence[str], columns: Sequence[str], types: Types = SCHEMA
) -> tuple[pl.DataFrame, pl.Series]:
    """Read columns of a block by their types; also tell why each row is refused, null where it is not."""
    refused = _no_reasons(block.rows)
    if not block.refused:
        try:
            frame = block.parsed(names, columns, types)
        except pl.exceptions.ComputeError:
            pass  # some value is not of its type
        else:
            if all(column.is_finite().all() for column in frame.select(cs.float())):
                return frame, refused
    refused = refused.scatter([line.row for line in block.refused], [line.why for line in block.refused])
    return _typed(block.parsed(names, columns, {}), refused, types)


def _no_reasons(rows: int) -> pl.Series:
    return pl.repeat(None, rows, dtype=pl.String, eager=True)


def _typed_batches(frames: Iterable[pl.DataFrame], columns: Sequence[str]) -> Iterator[pl.DataFrame]:
    """Rows of a Parquet file as `read_batches` yields them."""
    before, shown = 0, _Reasons("row")
    for frame in frames:
        read, refused = _typed(frame, _no_reasons(frame.height))
        yield shown.in_frame(_wanted(read, columns), refused, (before + 1).__add__)
        before += frame.height


def _typed(frame: pl.DataFrame, refused: pl.Series, types: Types = SCHEMA) -> tuple[pl.DataFrame, pl.Series]:
    """Give columns their types; a row with a value that is not of its type is refused as well."""
    columns = list(frame)
    for place, column in enumerate(columns):
        kind = types.get(column.name, pl.String)
        columns[place] = converted(column, kind)
        unread = columns[place].is_null() & _has_value(column) & refused.is_null()
        if unread.any():
            refused = refused.set(unread, f"{column.name} is not {_KINDS[kind]}")
    return pl.DataFrame(columns), refused


def _has_value(column: pl.Series) -> pl.Series:
    if column.dtype == pl.String:
        return column.str.strip_chars() != ""
    return (column.fill_nan(None) if column.dtype.is_float() else column).is_not_null()  # pandas: NaN is no value


def converted(column: pl.Series, kind: type[pl.DataType]) -> pl.Series:
    """Values of a type of `SCHEMA`; null where they are not. 200.0 is a whole number, 200.5 is not."""
    if column.dtype == kind and not kind.is_float():  # inf and NaN are not numbers of a log
        return column
    values = column.str.strip_chars() if column.dtype == pl.String else column
    if kind != pl.Int64:
        found = values.cast(kind, strict=False)
        return found.set(~found.is_finite().fill_null(True), None) if kind.is_float() else found
    numbers = values.cast(pl.Float64, strict=False)
    exact = (numbers.is_between(-_EXACT, _EXACT) & (numbers == numbers.floor())).fill_null(False)
    from_floats = numbers.set(~exact, None).cast(pl.Int64)
    if values.dtype.is_float():
        return from_floats
    found = values.cast(pl.Int64, strict=False)
    return found.zip_with(found.is_not_null(), from_floats)


class _Reasons:
    """The reasons why rows of one file are refused: few texts, each with the first place."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._texts: dict[str, str] = {}

    def in_frame(self, frame: pl.DataFrame, refused: pl.Series, place_of: Callable[[int], int]) -> pl.DataFrame:
        """Empty the refused rows, and say why in `REASON`."""
        if refused.null_count() == len(refused):
            return frame
        for why in refused.unique(maintain_order=True).drop_nulls():
            if why not in self._texts:
                first = place_of(int(refused.index_of(why) or 0))
                self._texts[why] = f"{why} (first in {self._place} {first:,})"
        emptied = frame.with_columns(pl.when(pl.lit(refused.is_null())).then(pl.all()))
        return emptied.with_columns(refused.replace_strict(self._texts, default=None).alias(REASON))


def _present(columns: Sequence[str], names: Sequence[str]) -> list[str]:
    """The wanted columns that a file has; one at least, as a missing one needs a row for each of the file's."""
    return [name for name in columns if name in names] or list(names[:1])


def _wanted(frame: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """The wanted columns in their order; missing ones are null."""
    missing = (pl.lit(None, SCHEMA.get(name, pl.String)).alias(name) for name in columns if name not in frame.columns)
    return frame.with_columns(missing).select(columns)


def _header(file: BinaryIO, name: str = "LOG") -> tuple[list[str], int]:
    """Read the header line; return the columns that it names, and the lines read."""
    names, lines = _first_row(file)
    return _each_once(_known(names, name)), lines


def _first_row(file: BinaryIO) -> tuple[list[str], int]:
    """Read the first row that is not blank; return its values, and the lines read."""
    reader = csv.reader(_first_lines(file), strict=True)
    try:
        names = next((names for names in reader if "".join(names).strip()), None)
    except csv.Error as error:
        raise LogreplayError(f"its header line cannot be read: {error}") from None
    if names is None:
        raise LogreplayError("empty file: expected a header line that names the columns")
    return names, reader.line_num


def _first_lines(file: BinaryIO) -> Iterator[str]:
    left = _LONGEST_HEADER
    while line := file.readline(left):
        left -= len(line)
        if not left:
            raise LogreplayError(f"its header line is longer than {_LONGEST_HEADER >> 20} MB")
        yield line.decode("utf-8-sig", "replace")


def _each_once(names: Sequence[str]) -> list[str]:
    """Names of columns; of equal ones that the record does not know, the later ones are renamed."""
    found: dict[str, None] = {}
    for number, name in enumerate(names):
        unique = f"{name}_{number}" if (name in found and name not in SCHEMA) or name == REASON else name
        if unique in found:
            raise BadColumns(f"two columns are named {name!r}; rename or delete one")
        found[unique] = None
    return list(found)


def _known(names: list[str], name: str = "LOG") -> list[str]:
    missing = [column for column in CORE_COLUMNS if column not in names]
    if missing:
        what = f"not a normalized CSV: no column {', '.join(missing)}"
        to_do = f"make a CSV of an access log: logreplay convert {shlex.quote(name)}"
        raise LogreplayError(f"{what}; name a result log, or {to_do}")
    if len(names) > MOST_COLUMNS:
        raise BadColumns(f"has {len(names):,} columns; {MOST_COLUMNS:,} are the most: delete those without use")
    return names


def _decompressed(file: BinaryIO) -> BinaryIO:
    """The content of an open file, decompressed; the first bytes tell the compression."""
    magic = file.read(4)
    file.seek(0)
    if magic[:2] == b"\x1f\x8b":
        return cast(BinaryIO, gzip.open(file, "rb"))
    if magic == b"\x28\xb5\x2f\xfd":
        return cast(BinaryIO, zstd.ZstdFile(file))
    return file
