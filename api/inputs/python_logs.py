"""Logs of a Python program as sources of rows: tables, collections of requests, and functions that make requests."""

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from io import IOBase
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any, Final, cast

import polars as pl

from logreplay.core import record
from logreplay.core.bodies import REF
from logreplay.core.errors import LogError, UsageError
from logreplay.core.files import writing
from logreplay.core.frames import from_pandas, table_name
from logreplay.core.plural import number_of
from logreplay.core.quantities import naive_utc
from logreplay.core.rows import converted
from logreplay.parsers.fields.timestamps import sized_epoch
from logreplay.replay.requests.header_columns import CONTROLS, PAYLOAD, check_header, header_column, header_name
from logreplay.replay.requests.plan import CHUNK_ROWS

_TOGETHER: Final = 64
"""Requests taken from a program together: few, so that one that makes them as time goes by is not waited for long."""
_TEXT: Final = "expected a text"
_STRANGE: Final = "make one of a URL with logreplay.Request(url); make one log of several with logreplay.convert(a, b)"
_HALF: Final = "half of a surrogate pair stands for no character; leave it out, or write its bytes as %80 or as body"
_INSTANT: Final = {"date": "%Y-%m-%d", "time": "%H:%M:%S%.6f"}
_EXPECTED: Final = "expected an instant, such as 2026-01-01T12:00:00Z, or a number: seconds, ms, µs or ns since 1970"


@dataclass(slots=True)
class Request:
    """A request of a log that a program makes.

    Attributes:
        url: request target as it will be on the wire: ``/path?query``.
        op: method.
        body: a text is sent as UTF-8; None: no body.
        headers: by name; they replace those that options set.
        time: time of the request, for ``speed``; without a time zone: UTC.
        client: for options that tell clients apart.
        rc: the status that is expected; None: any.
    """

    url: str
    op: str = "GET"
    body: bytes | str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    time: datetime | None = None
    client: str | None = None
    rc: int | None = None


@dataclass(frozen=True, slots=True)
class TableLog:
    """Requests in a table.

    Attributes:
        name: for messages.
        table: columns of a normalized CSV, and those that are rendered into requests.
        untimed: why its times cannot be read, so that it has none; empty: they are read.
    """

    name: str
    table: pl.DataFrame
    untimed: str = ""

    def batches(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        for frame in self.table.iter_slices(CHUNK_ROWS):
            yield _chosen(frame, columns)

    def names(self) -> list[str]:
        """Its columns."""
        return self.table.columns

    def fingerprint(self) -> str:
        """A hash of its rows."""
        return sha256(self.table.hash_rows(seed=0).to_numpy().tobytes()).hexdigest()

    def write_normalized(self, path: Path) -> Path:
        """Write its core columns as a normalized CSV, for the built-in target; return ``path``."""
        with writing(path), path.open("wb") as file:
            file.write((",".join(record.CORE_COLUMNS) + "\n").encode())
            for rows in self.batches(record.CORE_COLUMNS):  # with columns that are rendered
                file.write(record.to_csv(rows.select(record.CORE_COLUMNS), header=False))
        return path

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class RequestsFrom:
    """Requests that a program makes while they are sent; nothing is known of them before.

    Attributes:
        name: for messages.
        make: returns them, again for each pass.
        once: it cannot be called again.
    """

    name: str
    make: Callable[[], Iterable[object]]
    once: bool = False

    def batches(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        made, first = self.make(), 0
        if not isinstance(made, Iterable):
            raise LogError(f"{self.name}: returned {type(made).__name__}, not requests; return a list, or use yield")
        requests = iter(made)
        while block := list(islice(requests, _TOGETHER)):
            yield _chosen(_frame(self.name, block, first), columns)
            first += len(block)

    def fingerprint(self) -> str:
        """The name of the function, because its requests are not known before they are made."""
        return self.name

    def __str__(self) -> str:
        return self.name


PythonLog = TableLog | RequestsFrom


def python_log(log: object) -> PythonLog:
    """A source of rows from what a program gives as log."""
    if isinstance(log, PythonLog):
        return log
    pandas = sys.modules.get("pandas")
    if pandas and isinstance(log, pandas.DataFrame):
        log = _from_pandas(cast(Any, log))
    if isinstance(log, pl.DataFrame):
        name = table_name(log)
        checked = _checked(name, log)
        try:
            return TableLog(name, checked.with_columns(**_times(name, log)))
        except LogError as error:
            return TableLog(name, checked, str(error))
    if isinstance(log, IOBase):
        raise UsageError(f"log {getattr(log, 'name', type(log).__name__)!r}: is an open file; give its path")
    if callable(log):
        return RequestsFrom(f"{getattr(log, '__name__', type(log).__name__)}()", log)
    if isinstance(log, Collection):
        name = f"{type(log).__name__} of {number_of(len(log), 'request')}"
        return TableLog(name, _frame(name, list(log), 0))
    if isinstance(log, Iterable):
        again = log
        name = getattr(log, "__name__", type(log).__name__)
        return RequestsFrom(name, lambda: again, once=isinstance(log, Iterator))
    raise UsageError(
        f"a log of type {type(log).__name__}: expected a path, a table, requests, or a function that returns them"
    )


def _from_pandas(table: Any) -> pl.DataFrame:
    """A table of Polars."""
    try:
        return from_pandas(table, whole=True)
    except UnicodeEncodeError as error:
        raise LogError(f"{table_name(table)}: {error.object[:80]!r}: {_HALF}") from None


def made_here(log: object) -> str:
    """The name of a log whose requests a program makes in this process; empty for any other."""
    return str(log) if isinstance(log, RequestsFrom) else ""


def _chosen(frame: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """The columns that are asked for, null where there are none, and those that are rendered into requests."""
    rendered = [name for name in frame.columns if name == PAYLOAD or name.startswith("header:")]
    asked = (
        (pl.col(name) if name in frame.columns else pl.lit(None)).cast(record.SCHEMA.get(name, pl.String)).alias(name)
        for name in columns
    )
    return frame.select(*asked, *(name for name in rendered if name not in columns))


def _frame(name: str, requests: Sequence[object], first: int) -> pl.DataFrame:
    """The rows of requests; ``first``: the number of the first one."""
    fields: dict[str, list[Any]] = {key: [] for key in ("url", "op", "client", "rc", *_INSTANT, PAYLOAD)}
    headers: dict[str, tuple[str, list[str | None]]] = {}
    for at, request in enumerate(requests):
        where = f"{name}: request {first + at}"
        if not isinstance(request, Request):
            advice = f"; {_STRANGE}" if isinstance(request, str | PathLike) else ""
            raise LogError(f"{where}: expected logreplay.Request, got {type(request).__name__}{advice}")
        _check(where, request)
        started = request.time and naive_utc(request.time)
        fields["url"].append(request.url)
        fields["op"].append(request.op)
        fields["client"].append(request.client)
        fields["rc"].append(request.rc)
        fields["date"].append(started and f"{started:%Y-%m-%d}")
        fields["time"].append(started and f"{started:%H:%M:%S.%f}")
        fields[PAYLOAD].append(request.body.encode() if isinstance(request.body, str) else request.body)
        for header, value in request.headers.items():
            _, values = headers.setdefault(header.lower(), (header, [None] * len(requests)))
            values[at] = value
    schema = {key: pl.Binary if key == PAYLOAD else record.SCHEMA[key] for key in fields}
    columns = {header_column(header, ()): pl.Series(values, dtype=pl.String) for header, values in headers.values()}
    return pl.DataFrame(fields, schema=schema).with_columns(**columns)


def _check(where: str, request: Request) -> None:
    """Check the types of a request."""
    kinds: dict[str, Any] = {"url": str, "op": str, "body": bytes | str | None, "headers": Mapping}
    kinds |= {"time": datetime | None, "client": str | None, "rc": int | None}
    for name, kind in kinds.items():
        if not isinstance(value := getattr(request, name), kind) or (name == "time" and _unknown(value)):
            raise LogError(f"{where}: {name}={value!r}: expected {getattr(kind, '__name__', kind)}")
    for name in ("url", "op", "client", "body"):
        if isinstance(text := getattr(request, name), str) and not record.is_text(text):
            raise LogError(f"{where}: {name}={text[:80]!r}: {_HALF}")
    _check_once(where, request.headers)
    for header, value in request.headers.items():
        if not (isinstance(header, str) and isinstance(value, str)):
            raise LogError(f"{where}: header {header!r}: {value!r}: {_TEXT}")
        if not record.is_text(value):
            raise LogError(f"{where}: header {header!r}: {_HALF}")
        try:
            check_header(header, value)
        except ValueError as error:
            raise LogError(f"{where}: {error}") from None


def _unknown(time: datetime | None) -> bool:
    """Whether a time is NaT of pandas, which is a datetime without a date, or is out of range in UTC."""
    try:
        return time is not None and naive_utc(time).isoformat() == "NaT"
    except OverflowError:
        return True


def _check_once(where: str, headers: Iterable[object]) -> None:
    """Check that no header comes twice."""
    seen: dict[str, object] = {}
    for header in headers:
        if (known := seen.setdefault(str(header).lower(), header)) is not header:
            raise LogError(f"{where}: {known} and {header} are one header; leave one of them out")


def _checked(name: str, table: pl.DataFrame) -> pl.DataFrame:
    """A table of requests with the types of a normalized CSV, without their times."""
    if "url" not in table.columns:
        have = ", ".join(table.columns[:8]) or "none"
        raise UsageError(f"{name}: there is no column url (columns: {have}); give the request targets this name")
    other = next((column for column in table.columns if column.lower() in ("method", "op")), "")
    if other and "op" not in table.columns:  # else each would be sent as GET
        raise UsageError(f"{name}: column {other}: methods are read from the column op; give it this name")
    if REF in table.columns and table[REF].null_count() < table.height:
        raise LogError(
            f"{name}: column {REF} points into a file beside a CSV, which a table does not know; give the path of the "
            "CSV, or a column body"
        )
    _check_once(name, [column for column in table.columns if header_name(column)])
    made_of_others = (*_INSTANT, "start", "body", REF, PAYLOAD)
    made = {each.name: _typed(name, each) for each in table if each.name not in made_of_others}
    for column in table.columns:
        if header := header_name(column):
            _check_headers(name, header, made[column])
    made["op"] = made.get("op", pl.repeat("GET", table.height, eager=True))
    for column in ("url", "op"):
        if made[column].null_count():
            row = made[column].is_null().arg_true()[0]
            raise LogError(f"{name}: row {row}, column {column}: the value is missing")
    if "body" in table.columns:
        body = table["body"]
        made[PAYLOAD] = body if body.dtype == pl.Binary else _text(name, body).cast(pl.Binary)
    return pl.DataFrame(made)


def _check_headers(name: str, header: str, values: pl.Series) -> None:
    """Check the column of a header."""
    wrong = values.fill_null("").str.contains(CONTROLS).arg_true()
    for row in [*wrong.head(1), 0][: len(values)]:
        try:
            check_header(header, values[row] or "")
        except ValueError as error:
            raise LogError(f"{name}: row {row}, column {values.name}: {error}") from None


def _times(name: str, table: pl.DataFrame) -> dict[str, pl.Series]:
    """The start of requests as date and time: from a column of instants, ``start`` or ``time``; or as it stands."""
    dated = _INSTANT.keys() <= {*table.columns}
    for instant in (table[column] for column in ("start", "time") if column in table.columns):
        if not dated:
            instant = _instants(name, instant)
        if instant.dtype.base_type() == pl.Datetime:
            if getattr(instant.dtype, "time_zone", None):
                instant = instant.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
            return {key: instant.dt.strftime(form) for key, form in _INSTANT.items()}
    return {column: _time_text(name, table[column]) for column in _INSTANT if column in table.columns}


def _time_text(name: str, column: pl.Series) -> pl.Series:
    """A column ``date`` or ``time`` as text, with fractions of seconds; a date may be the instant of its midnight."""
    if column.name == "date" and column.dtype.base_type() == pl.Datetime:
        _refuse(name, column, column.set(column != column.dt.truncate("1d"), None), "expected a date, or a midnight")
        column = column.dt.date()
    kind = pl.Date if column.name == "date" else pl.Time
    return column.dt.strftime(_INSTANT[column.name]) if column.dtype == kind else _text(name, column)


def _instants(name: str, column: pl.Series) -> pl.Series:
    """A column of instants from one of texts, dates, or numbers since 1970."""
    kind, made = column.dtype, pl.Series(column.name, [None] * len(column), dtype=pl.Datetime("us"))
    if kind in (pl.String, pl.Categorical, pl.Enum):
        made = pl.Series(column.name, [_instant(text) for text in column], dtype=pl.Datetime("us"))
    elif kind.is_numeric():
        made = column.to_frame().select(sized_epoch(pl.col(column.name))).to_series().cast(pl.Datetime("us"))
    elif kind in (pl.Date, pl.Datetime):
        made = column if kind == pl.Datetime else column.cast(pl.Datetime("us"))
    _refuse(name, column, made, _EXPECTED)
    return made


def _instant(text: str | None) -> datetime | None:
    """The instant in a text, UTC; None if the text is not an instant."""
    try:
        return naive_utc(datetime.fromisoformat(text)) if text else None
    except (ValueError, OverflowError):
        return None


def _typed(name: str, column: pl.Series) -> pl.Series:
    kind = record.SCHEMA.get(column.name, pl.String)
    if kind == pl.String and column.name in record.SCHEMA:
        return _text(name, column)
    if column.dtype == pl.Object:  # Polars cannot cast it
        values = [None if each is None else str(each) for each in column]
        column = pl.Series(column.name, values, pl.String)
    if kind == pl.String:
        return column.cast(pl.String, strict=False)
    if column.dtype == pl.Duration and kind == pl.Float64:
        column = column.dt.total_nanoseconds() / 1e9
    made = pl.Series(column.name, [None] * len(column), kind) if column.dtype.is_temporal() else converted(column, kind)
    _refuse(name, column, made, "expected a whole number" if kind == pl.Int64 else "expected a number")
    return made


def _text(name: str, column: pl.Series) -> pl.Series:
    if column.dtype in (pl.String, pl.Categorical, pl.Enum, pl.Null):
        return column.cast(pl.String)
    made = pl.Series(column.name, [each if isinstance(each, str) else None for each in column], dtype=pl.String)
    _refuse(name, column, made, _TEXT)
    return made


def _refuse(name: str, column: pl.Series, made: pl.Series, expected: str) -> None:
    """Refuse a column some of whose values became null."""
    for row in (made.is_null() & column.is_not_null()).arg_true().head(1):
        raise LogError(f"{name}: row {row}, column {column.name}: {column[row]!r:.80}: {expected}")
