"""Logins: the requests that a client sends before its first one, from a CSV or JSON lines.

The columns ``op``, ``url`` and ``body`` describe a request, ``client`` says whose it is; further columns are headers.
Rows of one client are sent in the order of the file. Rows without a client are a pool: each further client takes the
next one. Rows of the client ``*`` are sent by every client that logs in, before its own, such as a GET of a form.
"""

import csv
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import polars as pl

from logreplay.core.errors import LogreplayError
from logreplay.core.record import CORE_COLUMNS, is_text
from logreplay.replay.requests.header_columns import PAYLOAD, TOKEN, check_header, header_column
from logreplay.replay.sessions.client_key import ClientKey

if TYPE_CHECKING:
    import pandas as pd

EVERY: Final = "*"
"""The client whose rows are sent by all that log in."""
_COLUMNS: Final = ("client", "op", "url", "body")
_MOST_ROWS: Final = 1_000_000
_HEADINGS: Final = {*_COLUMNS, "method", "path", "uri", "user", "username", "password", "email"}
"""A first line with one of these names columns; any other may hold values, which must not be printed."""
_MOST_NAMES: Final = 20
_OTHER_NAMES: Final = {"method": "op", "verb": "op", "path": "url", "uri": "url", "data": "body", "payload": "body"}
"""Names, in lower case, that are meant as a column and not as a header."""
_URL: Final = re.compile(r"/[\x21-\x7e]*")


@dataclass(frozen=True, slots=True)
class LoginRequest:
    """One row of the file.

    Attributes:
        client: empty: of the pool.
        op, url: method and request target.
        headers: by name.
        body: None: no body.
    """

    client: str
    op: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None


@dataclass(frozen=True, slots=True)
class Logins:
    """The logins of all clients.

    Attributes:
        requests: in the order of the file.
        own: numbers of the requests of each client that is named.
        pool: numbers of those that are drawn.
        first: numbers of those that every client sends first.
        others_draw: other workers draw from the same pool.
    """

    requests: Sequence[LoginRequest]
    own: Mapping[str, Sequence[int]]
    pool: Sequence[int]
    first: Sequence[int]
    others_draw: bool = False

    @classmethod
    def of(cls, requests: Sequence[LoginRequest]) -> "Logins":
        own: dict[str, list[int]] = {}
        for number, request in enumerate(requests):
            own.setdefault(request.client, []).append(number)
        pool, first = own.pop("", []), own.pop(EVERY, [])
        return cls(requests, own, pool, first)

    def steps(self, client: str, turn: int) -> Sequence[int]:
        """The numbers of the requests with which a client logs in; empty: it does not.

        ``turn``: number of clients that have drawn from the pool before.
        """
        mine = self.own.get(client) or ([self.pool[turn % len(self.pool)]] if self.pool else [])
        if client in self.own or self.pool:
            return [*self.first, *mine]
        return [] if self.own else self.first

    def draws(self, client: str) -> bool:
        """Whether a client draws from the pool when it logs in."""
        return bool(self.pool) and client not in self.own

    def sent_by(self, clients: Iterable[str]) -> Counter[tuple[str, str]]:
        """Count the login requests of clients that send their first ones in this order, by method and path."""
        sent, drawn = Counter[tuple[str, str]](), 0
        for client in clients:
            steps = self.steps(client, drawn)
            drawn += self.draws(client)
            for login in (self.requests[step] for step in steps):
                sent[login.op, re.split("[?#]", login.url, maxsplit=1)[0]] += 1
        return sent

    def part(self, index: int, count: int) -> "Logins":
        """The logins for one of several workers: each draws from a part of the pool of its own, if that is enough.

        No worker knows how many clients the others have: one may need more rows than its part holds.
        """
        part = self.pool[index::count]
        return replace(self, pool=part or self.pool, others_draw=not part)

    def frame(self) -> pl.DataFrame:
        frame = pl.DataFrame(
            {"op": [each.op for each in self.requests], "url": [each.url for each in self.requests]},
            schema={"op": pl.String, "url": pl.String},
        )
        for name in dict.fromkeys(name for each in self.requests for name in each.headers):
            values = pl.Series([each.headers.get(name) for each in self.requests], dtype=pl.String)
            frame = frame.with_columns(values.alias(header_column(name, frame.columns)))
        return frame.with_columns(pl.Series(PAYLOAD, [each.body for each in self.requests], dtype=pl.Binary))


@dataclass(frozen=True, slots=True)
class LoginFile:
    """A file of logins: JSON lines if its name ends with ``.jsonl`` or ``.ndjson``, otherwise a CSV.

    Attributes:
        path: path of the file.
        key: tells clients apart; None: their addresses do.
        headers: headers of every login, except those that its row has.
        rows: table that a program gives instead, named ``path``; None: the rows are in the file.
    """

    path: Path
    key: ClientKey | None = None
    headers: Sequence[tuple[str, str]] = ()
    rows: tuple[Mapping[str, object], ...] | None = None

    @classmethod
    def parse(cls, text: str) -> "LoginFile":
        return cls(Path(text))

    @classmethod
    def of_table(cls, table: "pd.DataFrame | pl.DataFrame") -> "LoginFile":
        """The logins in a table; a missing value counts as not given."""
        from logreplay.core.frames import from_pandas, table_name

        rows = (table if isinstance(table, pl.DataFrame) else from_pandas(table, whole=True)).to_dicts()
        given = tuple({name: value for name, value in row.items() if value is not None} for row in rows)
        return cls(Path(table_name(table)), rows=given)

    def __str__(self) -> str:
        return str(self.path)

    def read(self) -> Logins:
        return Logins.of([self._for_run(each) for each in self._requests()])

    def _requests(self) -> list[LoginRequest]:
        if self.rows is None:
            return _read(self.path)
        return _requests_of(enumerate(self.rows), self.path, "row")

    def _for_run(self, login: LoginRequest) -> LoginRequest:
        named = login.client not in ("", EVERY)
        client = self.key.of(login.client) if self.key and named else login.client
        own = {name.lower() for name in login.headers}
        fixed = {name: value for name, value in self.headers if name.lower() not in own}
        return replace(login, client=client, headers={**fixed, **login.headers})


def _read(path: Path) -> list[LoginRequest]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = path.suffix.lower() in (".jsonl", ".ndjson")
            return _requests_of(_json_rows(file) if lines else _csv_rows(file, path), path, "line")
    except OSError as error:
        raise LogreplayError(f"--login {path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise LogreplayError(f"--login {path}: cannot be read: {error}; write it as UTF-8") from None


def _requests_of(rows: Iterable[tuple[int, object]], name: Path, unit: str) -> list[LoginRequest]:
    """The logins in rows, each of which comes after its number, that of a ``line`` or ``row``."""
    requests: list[LoginRequest] = []
    for place, row in rows:
        if len(requests) == _MOST_ROWS:
            raise LogreplayError(f"--login {name}: more than {_MOST_ROWS:,} rows; split it")
        try:
            requests.append(_request(row))
        except ValueError as error:
            raise LogreplayError(f"--login {name}, {unit} {place}: {error}") from None
    if not requests:
        raise LogreplayError(f"--login {name}: holds no login; write the columns client,op,url,body")
    return requests


def _csv_rows(file: Iterator[str], path: Path) -> Iterator[tuple[int, dict[str, object]]]:
    reader = csv.DictReader(file, strict=True)
    try:
        yield from _rows_of(reader, path)
    except csv.Error as error:
        raise LogreplayError(
            f'--login {path}, line {reader.line_num + 1}: {error}; close each quote ("), and double one in a value'
        ) from None


def _rows_of(reader: "csv.DictReader[str]", path: Path) -> Iterator[tuple[int, dict[str, object]]]:
    if not reader.fieldnames or "url" not in reader.fieldnames:
        names = [name for name in reader.fieldnames or () if name]
        if names and names[0].lstrip().startswith(("{", "[")):
            raise LogreplayError(f"--login {path}: is JSON; name it .jsonl, with one object on each line")
        are_names = not _HEADINGS.isdisjoint(name.strip().lower() for name in names)
        found = ",".join(names[:_MOST_NAMES]) if are_names else "none of these"
        raise LogreplayError(f"--login {path}: the first line must name the columns client,op,url,body; it has {found}")
    if set(CORE_COLUMNS) <= set(reader.fieldnames):
        raise LogreplayError(
            f"--login {path}: is a normalized CSV of a log, not a login file; a login file has the columns "
            "client,op,url,body and a row for each request that a client sends before its first one"
        )
    for row in reader:
        if None in row:
            raise LogreplayError(f"--login {path}, line {reader.line_num}: more values than columns; quote commas")
        yield reader.line_num, {name: value for name, value in row.items() if value}


def _json_rows(file: Iterator[str]) -> Iterator[tuple[int, object]]:
    for number, line in enumerate(file, 1):
        if line.strip():
            try:
                yield number, json.loads(line)
            except (ValueError, RecursionError):
                yield number, None


def _request(row: object) -> LoginRequest:
    """A row as a request; errors name no value of the body or of a header."""
    if not isinstance(row, dict):
        raise ValueError('expected an object such as {"client": "10.0.0.7", "op": "POST", "url": "/login"}')
    if not all(is_text(value) for value in row.values() if isinstance(value, str)):
        raise ValueError("half of a surrogate pair (\\ud800) stands for no character")
    client, op, url = ("" if (value := row.get(name)) is None else str(value) for name in _COLUMNS[:3])
    body = row.get("body")
    op = op or ("GET" if body is None else "POST")
    if not TOKEN.fullmatch(op) or op == "CONNECT":
        raise ValueError(f"{op!r} is not a method that can be sent")
    if not _URL.fullmatch(url):
        raise ValueError(f"{url[:80]!r}: expected a url that begins with /, such as /login")
    headers = {str(name): str(value) for name, value in row.items() if name not in _COLUMNS and value is not None}
    for name, value in headers.items():
        if meant := _OTHER_NAMES.get(name.lower()):
            raise ValueError(f"{name!r} would be sent as a header; name it {meant!r}, or leave it out")
        check_header(name, value)
    kinds = {name.lower() for name in headers}
    if isinstance(body, dict | list):
        body = json.dumps(body, allow_nan=False)
    if body is not None and "content-type" not in kinds:
        kind = "application/json" if str(body).lstrip()[:1] in ("{", "[") else "application/x-www-form-urlencoded"
        headers["Content-Type"] = kind
    sent = body if body is None or isinstance(body, bytes) else str(body).encode()
    return LoginRequest(client, op, url, headers, sent)
