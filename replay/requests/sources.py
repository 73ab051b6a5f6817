"""Sources of the rows of a plan. A custom source needs one method."""

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, Protocol

import polars as pl

from logreplay.core import record, stores
from logreplay.core.bodies import ADDRESS, REF, named
from logreplay.core.errors import LogreplayError
from logreplay.core.rows import column_names, is_parquet, names_in, read_batches, read_csv, read_parquet
from logreplay.replay.requests.filters import leave_out
from logreplay.replay.requests.header_columns import (
    PAYLOAD,
    PROTOCOL,
    RESERVED,
    SINGLE,
    TOKEN,
    header_column,
    header_name,
)

_REQUEST_LINE: Final = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([\x21-\x7e]+) (HTTP/1\.[01])\r?\n")


class RequestSource(Protocol):
    """Rows of a normalized CSV, or of anything with the same columns."""

    def batches(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Yield all rows once, in order, some thousands at a time.

        Args:
            columns: required ones, typed by `logreplay.core.record.SCHEMA`; unknown values are null. There may
                be one more, `logreplay.core.record.REASON`: why a row cannot be sent.

        Raises:
            LogreplayError: the rows cannot be read.
        """


@dataclass(frozen=True, slots=True)
class LogFile:
    """A normalized CSV or a result log, as `logreplay.core.rows.names_in` takes it."""

    path: Path

    def batches(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        frames = read_batches(self.path, columns)
        return _with_file(frames, str(self.path)) if REF in columns else frames

    def names(self) -> list[str]:
        return names_in(self.path)

    def __str__(self) -> str:
        return str(self.path)


@dataclass(frozen=True, slots=True)
class Stored:
    """A normalized CSV (also ``.gz``, ``.zst``) or a ``.parquet`` of logreplay in a store that all machines reach.

    Every worker reads the store for itself; only the address is sent to it.

    Attributes:
        address: ``scheme://…`` with one of `logreplay.core.stores.SCHEMES`.
    """

    address: str

    def batches(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        with self._open() as file:
            frames = read_parquet(file, columns) if is_parquet(self.address) else read_csv(file, columns)
            yield from _with_file(frames, self.address) if REF in columns else frames

    def names(self) -> list[str]:
        with self._open() as file:
            return column_names(file, parquet=is_parquet(self.address))

    def fingerprint(self) -> str:
        """The store's identity of this content (S3: the ETag)."""
        return stores.identity(self.address)

    @contextmanager
    def _open(self) -> Iterator[BinaryIO]:
        with stores.said(self.address), stores.open_seekable(self.address) as file:
            yield file

    def __str__(self) -> str:
        return self.address


def _with_file(frames: Iterator[pl.DataFrame], csv: str) -> Iterator[pl.DataFrame]:
    """Rows whose addresses of bodies also say the file, which stands beside the CSV.

    A row with a wrong address is not sent.
    """
    for frame in frames:
        wrong = pl.col(REF).is_not_null() & ~pl.col(REF).str.contains(ADDRESS)
        checked = leave_out(frame, wrong, "wrong address of a body") if frame.select(wrong.any()).item() else frame
        yield checked.with_columns(named(pl.col(REF), csv).alias(REF))


@dataclass(frozen=True, slots=True)
class RequestFile:
    """One raw HTTP/1.x request in a file: a single row, to be repeated.

    Its headers are sent unchanged, except for those that belong to the connection; its ``Host`` is only a name, the
    request goes to the target. Lines may end in LF; what follows the empty line is the body.
    """

    path: Path

    def batches(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        data = self._read()
        head, *body = re.split(rb"\r?\n\r?\n", data, maxsplit=1)
        match = _REQUEST_LINE.match(data)
        assert match
        fields: dict[str, pl.Series] = {"url": pl.Series([match[2].decode()]), "op": pl.Series([match[1].decode()])}
        for number, line in enumerate(re.split(rb"\r?\n", head)[1:], 2):
            if line.strip():
                name, value = self._header(number, line)
                if name.lower() in SINGLE and f"header:{name}".lower() in map(str.lower, fields):
                    raise LogreplayError(f"{self.path}: line {number} is a second {name}; keep one of the two")
                if name.lower() not in RESERVED:
                    fields[header_column(name, fields)] = pl.Series([value])
        if PROTOCOL in columns:
            fields[PROTOCOL] = pl.Series([match[3].decode()])
        if body and body[0]:
            fields[PAYLOAD] = pl.Series(body, dtype=pl.Binary)
        missing = [name for name in columns if name not in fields]
        nulls = {name: pl.Series([None], dtype=record.SCHEMA.get(name, pl.String)) for name in missing}
        yield pl.DataFrame({**fields, **nulls})

    def _read(self) -> bytes:
        try:
            data = self.path.read_bytes()
        except OSError as error:
            raise LogreplayError(f"{self.path}: {error.strerror}") from None
        if not _REQUEST_LINE.match(data):
            raise LogreplayError(f"{self.path}: not an HTTP request: it must begin with a line such as GET / HTTP/1.1")
        return data

    def _header(self, number: int, line: bytes) -> tuple[str, str]:
        name, colon, value = line.decode("utf-8", "replace").partition(":")
        if not colon or not TOKEN.fullmatch(name):
            raise LogreplayError(f"{self.path}: line {number} is not a header: {line[:80]!r}; write Name: value")
        return name, value.strip()

    def __str__(self) -> str:
        return str(self.path)


def lacking(
    source: RequestSource, columns: Sequence[str], rendered: str, methods: Collection[str], value: pl.Expr | None = None
) -> int:
    """Count the requests that would get a value from columns of the log, if not one of them has a value there.

    Args:
        source: read up to the first value.
        columns: columns of the log.
        rendered: the header, or `PAYLOAD`, that is made of it; a source may bring it along.
        methods: methods of the requests that get it.
        value: made of these columns; None: each column is one.
    """
    count = 0
    for frame in source.batches(("op", *columns)):
        sent = frame.filter(pl.col("op").is_in(methods))
        brought = {name for name in frame.columns if (header_name(name) or name).lower() == rendered.lower()}
        made = columns if value is None else (value.alias("value"),)
        values = sent.select(*(brought - {*columns}), *made)
        if any(column.is_not_null().any() for column in values):
            return 0
        count += sent.height
    return count


def without_body(source: RequestSource, methods: Collection[str]) -> tuple[int, int]:
    """Count the requests of some methods, and those of them whose body the log lacks although it has that of others.

    A size of 0 in ``request_bytes`` says that there was none.
    """
    count = lacking = known = 0
    for frame in source.batches(("op", "body", REF, "request_bytes")):
        sent = frame.filter(pl.col("op").is_in(methods))
        bare = sent.filter(pl.all_horizontal(pl.col("body", REF).is_null()))
        count, known = count + sent.height, known + sent.height - bare.height
        lacking += bare.filter(pl.col("request_bytes").fill_null(1) > 0).height
    return count, lacking if known else 0


def is_request_file(path: Path) -> bool:
    """Whether a file begins with an HTTP request line."""
    try:
        with path.open("rb") as file:
            return bool(_REQUEST_LINE.match(file.read(1 << 16)))
    except OSError:
        return False
