"""The normalized record: one request of an access log, or of a replay of it.

This is the contract between the packages: names, order, types and units of the columns, and the functions that read
and write them. Columns are found by name; unknown columns are kept as text.

A result log is a normalized CSV with more columns, so it can be replayed, too.
"""

import csv
import gzip
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, TypeVar, cast

import polars as pl

from logreplay.core.errors import LogreplayError as LogreplayError
from logreplay.core.zstd import zstd

if TYPE_CHECKING:
    from numpy.typing import NDArray

CORE_COLUMNS: Final = ("date", "time", "latency", "xfertime", "thinktime", "bytes", "url", "rc", "op")
"""The core columns: present in each file, first, in this order.

``date`` ``YYYY-MM-DD`` and ``time`` ``HH:MM:SS.ffffff``: start of the request, UTC. ``latency`` (written to
first byte), ``xfertime`` (first to last byte), ``thinktime``: seconds, 0 where unknown. ``bytes``: body of the
response. ``url``: the request target byte for byte, other bytes than printable ASCII percent-encoded. ``rc``:
status, 0 where no status line came. ``op``: method.
"""

LOGGED_COLUMNS: Final = (
    "client",
    "host",
    "referer",
    "agent",
    "protocol",
    "request_bytes",
    "scheme",
    "headers",
    "body",
    "body_ref",
)
"""Columns that follow the core where the log has them.

``headers``: see `logreplay.core.headers`. ``body``: a body that is text, in CSVs of other makers; ``body_ref``:
where one is in the file beside the CSV, see `logreplay.core.bodies`.
"""

RESULT_COLUMNS: Final = (
    *CORE_COLUMNS,
    "seq",
    "row",
    "step",
    "offered",
    "scheduled",
    "lag",
    "connect",
    "error",
    "expected_rc",
    "expected_bytes",
    "expected_latency",
    "client",
    "queued",
    "protocol",
    "connection",
    "digest",
)
"""Columns of a result log.

``seq``: number of the request in the run, from 0. ``row``: its row in the input, from 0; repeats when the log is
looped. ``step``: index of the step. ``offered``: its offered rate, requests/s. ``scheduled``: seconds since the start
of the run. ``lag`` (actual start - scheduled), ``queued`` (from the start until a limit let it go and a connection was
free) and ``connect``: seconds. ``protocol``: of the connection that the request was given to, empty if it was given to
none; ``connection``: its number in the run, from 1, with HTTP/2. ``digest``: hash of the decoded body and of chosen
headers, empty without ``--digest`` or an answer. ``error``: empty or one of `ERRORS`. A dropped request was
never sent: ``lag + queued`` is its delay when it was dropped, its other times are 0, its date and time the scheduled
instant. A failed request's times end at the failure; a timed-out one's ``connect + latency + xfertime`` is the
time-out.
"""

RESPONSE_PARTS: Final = ("lag", "queued", "connect", "latency", "xfertime")
"""The columns whose sum is the response time."""

ERRORS: Final = (
    "timeout",
    "refused",
    "reset",
    "closed",
    "connect_timeout",
    "tls",
    "protocol",
    "short_body",
    "dropped",
    "cancelled",
)

_CANCELLED: Final = 1 + ERRORS.index("cancelled")
_Values = TypeVar("_Values", pl.Expr, "NDArray[Any]")

SCHEMA: Final[dict[str, type[pl.DataType]]] = {
    **dict.fromkeys(("date", "time", "url", "op", "error"), pl.String),
    **dict.fromkeys(("client", "host", "referer", "agent", "protocol", "scheme"), pl.String),
    **dict.fromkeys(("headers", "body", "body_ref", "digest"), pl.String),
    **dict.fromkeys(("bytes", "rc", "seq", "row", "step", "connection"), pl.Int64),
    **dict.fromkeys(("request_bytes", "expected_rc", "expected_bytes"), pl.Int64),
    **dict.fromkeys(("latency", "xfertime", "thinktime", "offered", "scheduled"), pl.Float64),
    **dict.fromkeys(("lag", "queued", "connect", "expected_latency"), pl.Float64),
}
"""Type of each known column; any other is text."""

_CSV: Final[dict[str, Any]] = {"infer_schema": False, "truncate_ragged_lines": True, "encoding": "utf8-lossy"}
_TYPED: Final[dict[str, Any]] = {**_CSV, "schema_overrides": SCHEMA, "ignore_errors": True}  # twice as fast as a cast
_ROW_BYTES: Final = 256
_LONGEST_ROW: Final = 1 << 26
_NO_YEAR: Final = r"^\s*(?:[-+]|0+-|9999)"
"""Years that Polars reads and Python's `datetime` does not hold, if only by a leap second."""
_FORMS: Final = ("%Y-%m-%dT%H:%M:%S.%6f", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S%.f")
_OPEN_QUOTE: Final = (b',"', b'\n"')


def failed(error: _Values, status: _Values, expected: _Values) -> _Values:
    """Whether each request failed: the one rule of all counts, percentiles and verdicts.

    It failed if it ended with an error or without a status, or with a status of 400 or above where the log has no
    status of that class (4xx, 5xx). So a response that the log expects did not fail. Nor did a request that the run
    cancelled as it stopped: how it would have ended is unknown. A dropped request failed, but not due to the target.

    Args:
        error: (n,) 0: none; else 1 + the place of the word in `ERRORS`, or any larger number.
        status: (n,) of the response; 0: none.
        expected: (n,) status in the log; 0: none.
    """
    bad = (status < 1) | ((status >= 400) & (status // 100 != expected // 100))
    found: _Values = (error != _CANCELLED) & ((error != 0) | bad)
    return found


def check_name(path: Path) -> None:
    """Check that Polars can open a file of this name.

    Raises:
        LogreplayError: the name is not UTF-8.
    """
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise LogreplayError(f"{path}: the name is not UTF-8; choose another, or rename the file") from None


def is_parquet(path: str | Path) -> bool:
    """Whether a file is a Parquet by its name, in any case: ``.parquet``, ``.PARQUET``."""
    return Path(path).suffix.lower() == ".parquet"


def scan(path: str | Path) -> pl.LazyFrame:
    """Scan a normalized CSV or a result log without loading it.

    Args:
        path: ``.csv``, ``.csv.gz``, ``.csv.zst`` or ``.parquet``, with a header line.

    Returns:
        All columns of the file, the known ones typed by `SCHEMA`; a value that does not fit its type is null,
        so that one hostile row never ends the reading of the others.

    Raises:
        LogreplayError: no such file, not readable, or a core column is missing.
    """
    path = Path(path)
    check_name(path)
    try:
        frame = pl.scan_parquet(path) if is_parquet(path) else pl.scan_csv(path, **_TYPED)
        names = frame.collect_schema().names()
    except FileNotFoundError:
        raise LogreplayError(f"{path}: no such file") from None
    except pl.exceptions.NoDataError:
        raise LogreplayError(f"{path}: empty file: a normalized CSV begins with a header line") from None
    except (OSError, pl.exceptions.PolarsError) as error:
        raise LogreplayError(f"{path}: cannot be read: {error}") from None
    try:
        _known(names)
    except LogreplayError as error:
        raise LogreplayError(f"{path}: {error} {path}") from None
    return frame.with_columns(pl.col(name).cast(SCHEMA[name], strict=False) for name in names if name in SCHEMA)


def read_batches(path: str | Path, columns: Sequence[str], rows: int = 8192) -> Iterator[pl.DataFrame]:
    """Yield the rows of a file in order, some thousands at a time, in flat memory.

    Args:
        path: as for `scan`.
        columns: the wanted ones; those the file lacks come as nulls.
        rows: rows in a batch, about.

    Raises:
        LogreplayError: as for `scan`.
    """
    path = Path(path)
    frame = scan(path)
    if is_parquet(path):
        wanted = _wanted(columns, frame.collect_schema().names())
        with to_the_end(path):
            yield from frame.with_columns(wanted).select(columns).collect_batches(chunk_size=rows, maintain_order=True)
        return
    with to_the_end(path), path.open("rb") as file:
        yield from read_csv(file, columns, rows)


def read_texts(path: str | Path, rows: int = 8192) -> Iterator[pl.DataFrame]:
    """`read_batches` of all columns, each value as the text in the file; null where it is empty.

    Raises:
        LogreplayError: as for `scan`.
    """
    path = Path(path)
    names = scan(path).collect_schema().names()
    with to_the_end(path), path.open("rb") as file:
        if is_parquet(path):
            texts = pl.scan_parquet(path).select(map(_as_text, names))
            yield from texts.collect_batches(chunk_size=rows, maintain_order=True)
            return
        for block in _csv_blocks(_decompressed(file), rows * _ROW_BYTES):
            yield _parsed(block, names, _CSV)


def _as_text(name: str) -> pl.Expr:
    """A column of a Parquet file as text; 200.0 as 200 where the record has whole numbers."""
    text = pl.col(name).cast(pl.String)
    return pl.coalesce(pl.col(name).cast(SCHEMA.get(name, pl.String), strict=False).cast(pl.String), text)


@contextmanager
def to_the_end(path: Path) -> Iterator[None]:
    """While the block runs, errors of reading a file name it.

    Raises:
        LogreplayError: the file breaks off, is damaged, or cannot be read.
    """
    try:
        yield
    except (OSError, EOFError, zlib.error, zstd.ZstdError, pl.exceptions.PolarsError) as error:
        raise LogreplayError(f"{path}: cannot be read to its end: {str(error).partition(chr(10))[0]}") from None


def read_csv(file: BinaryIO, columns: Sequence[str], rows: int = 8192) -> Iterator[pl.DataFrame]:
    """`read_batches` of an open file that holds a normalized CSV, plain or compressed.

    Raises:
        LogreplayError: it is not a normalized CSV.
        OSError, EOFError, zlib.error, zstd.ZstdError, polars.exceptions.PolarsError: it breaks off, or cannot be read.
    """
    names: list[str] = []
    for block in _csv_blocks(_decompressed(file), rows * _ROW_BYTES):
        names = names or _header_names(block[: block.find(b"\n") + 1])
        # one column at least: a missing one still needs a row for each of the file's
        present = [name for name in columns if name in names] or names[:1]
        yield _parsed(block, present).with_columns(_wanted(columns, names)).select(columns)


def read_parquet(file: BinaryIO, columns: Sequence[str], rows: int = 8192) -> Iterator[pl.DataFrame]:
    """`read_batches` of an open Parquet file that logreplay wrote.

    Raises:
        LogreplayError: it holds another table.
        ValueError: it is not a Parquet file.
    """
    from pyarrow.parquet import ParquetFile

    table = ParquetFile(file)
    names = _known(table.schema_arrow.names)
    present = [name for name in columns if name in names] or names[:1]
    for batch in table.iter_batches(rows, columns=present):
        yield cast(pl.DataFrame, pl.from_arrow(batch)).with_columns(_wanted(columns, names)).select(columns)


def column_names(file: BinaryIO, *, parquet: bool) -> list[str]:
    """The columns of an open normalized CSV or Parquet file.

    Raises:
        LogreplayError: it is not a normalized file.
        ValueError: its name says Parquet, its content does not.
    """
    if parquet:
        from pyarrow.parquet import ParquetFile

        return _known(ParquetFile(file).schema_arrow.names)
    return _header_names(_header(_decompressed(file)))


def _header_names(line: bytes) -> list[str]:
    try:
        return _known(next(csv.reader([line.decode("utf-8-sig", "replace")]), []))
    except csv.Error as error:
        raise LogreplayError(f"its header line cannot be read: {error}") from None


def _known(names: list[str]) -> list[str]:
    missing = [name for name in CORE_COLUMNS if name not in names]
    if missing:
        raise LogreplayError(f"not a normalized CSV: no column {', '.join(missing)}; make one with: logreplay convert")
    return names


def _wanted(columns: Sequence[str], names: Collection[str]) -> list[pl.Expr]:
    """The wanted columns, typed, of a table; missing ones are null."""
    return [
        (pl.col(name) if name in names else pl.lit(None)).cast(SCHEMA.get(name, pl.String), strict=False).alias(name)
        for name in columns
    ]


def _parsed(block: bytes, columns: Sequence[str], how: Mapping[str, Any] = _TYPED) -> pl.DataFrame:
    """Parse a text with a header line; unbalanced quotes are read as letters."""
    end = block[-_ROW_BYTES:].rstrip() or block.rstrip()
    if not (end.endswith(_OPEN_QUOTE) and _quotes(block) % 2):  # on such an end Polars 2.1 panics
        with suppress(pl.exceptions.ComputeError, pl.exceptions.PanicException):
            return pl.read_csv(block, columns=list(columns), **how)
    return pl.read_csv(block, columns=list(columns), quote_char=None, **how)


def _csv_blocks(file: BinaryIO, size: int) -> Iterator[bytes]:
    """Cut a CSV into texts of about ``size`` bytes, each with the header line and whole rows.

    Polars' own readers of long files keep hundreds of megabytes in flight. A line end ends a row where the quotes
    before it are even in number (RFC 4180); a file whose quotes do not add up is cut at a line end anyway.
    """
    header = _header(file)
    rest = b""
    while data := file.read(size):
        data = rest + data
        cut = data.rfind(b"\n") + 1
        whole = cut
        while cut and _quotes(memoryview(data)[:cut]) % 2:
            cut = data.rfind(b"\n", 0, cut - 1) + 1
        if not cut and len(data) > _LONGEST_ROW:
            cut = whole or len(data)
        if cut:
            yield b"".join((header, memoryview(data)[:cut]))
        rest = data[cut:]
    if rest:
        yield header + rest


def _quotes(text: bytes | memoryview) -> int:
    """Count the quotes, five times as fast as `bytes.count`."""
    import numpy as np

    return int(np.count_nonzero(np.frombuffer(text, np.uint8) == ord('"')))


def _header(file: BinaryIO) -> bytes:
    """The first line that is not blank, as Polars takes it, or a beginning of it that no header is as long as."""
    line = file.readline(_LONGEST_ROW)
    while line and not line.strip():
        line = file.readline(_LONGEST_ROW)
    return line


def _decompressed(file: BinaryIO) -> BinaryIO:
    """The content of an open file, decompressed; the first bytes tell the compression, as in Polars."""
    magic = file.read(4)
    file.seek(0)
    if magic[:2] == b"\x1f\x8b":
        return cast(BinaryIO, gzip.open(file, "rb"))
    if magic == b"\x28\xb5\x2f\xfd":
        return cast(BinaryIO, zstd.ZstdFile(file))
    return file


def start_time() -> pl.Expr:
    """``date`` and ``time`` as one instant: ``Datetime[us]``, UTC, null where they are not valid."""
    date = pl.when(~pl.col("date").str.contains(_NO_YEAR)).then("date")
    text = date + "T" + pl.col("time")
    return text.map_batches(_instants, return_dtype=pl.Datetime("us"), is_elementwise=True).alias("start")


def _instants(texts: pl.Series) -> pl.Series:
    """Texts as instants. Those as logreplay writes them are read by position, which takes a third of the time."""
    start, left = pl.repeat(None, len(texts), dtype=pl.Datetime("us"), eager=True), texts
    for form in _FORMS:
        read = left.str.to_datetime(form, time_unit="us", strict=False, cache=form == _FORMS[-1])
        start = start.zip_with(start.is_not_null(), read)
        if start.null_count() == texts.null_count():
            break
        left = texts.set(start.is_not_null(), None)
    return start


def to_csv(frame: pl.DataFrame, *, header: bool, exact: Collection[str] = ()) -> bytes:
    """Write rows as the text of a normalized CSV: RFC 4180, UTF-8, ``\\n``, seconds with up to 6 decimals.

    Args:
        frame: the rows.
        header: write the names of the columns first.
        exact: columns written with all their decimals, so that they are read back unchanged, such as rates.
    """
    return csv_text(frame, header=header, exact=exact).getvalue()


def csv_text(frame: pl.DataFrame, *, header: bool, exact: Collection[str] = ()) -> BytesIO:
    """`to_csv`, as a buffer."""
    floats = [name for name, dtype in frame.schema.items() if dtype == pl.Float64 and name not in exact]
    sink = BytesIO()
    frame.with_columns(pl.col(floats).round(6)).write_csv(
        sink, include_header=header, float_scientific=False, quote_style="necessary"
    )
    return sink
