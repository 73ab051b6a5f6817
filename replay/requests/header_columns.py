"""The columns of a planned frame that hold the headers and the body of a request.

Shapes and hooks add columns: ``header:NAME`` holds a header's values (null: not sent; a second
header of that name is ``header:NAME:2``), ``payload`` the bodies (`Binary`; null: none), ``protocol`` the version of
HTTP (`HTTP1`, `HTTP2`). ``stored`` holds the addresses of bodies that are read from their file shortly before they are
sent, ``filler`` the sizes of those that are made then (`logreplay.replay.requests.bodies`).
Case does not matter in names. Of a header that may stand once only, the last column that has a value is sent.
`logreplay.replay.senders.encode` renders them.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Final

import polars as pl

from logreplay.core.headers import OF_CONNECTION
from logreplay.core.masking import masked

PAYLOAD: Final = "payload"
PROTOCOL: Final = "protocol"
HTTP1: Final = "HTTP/1.1"
HTTP2: Final = "HTTP/2.0"
"""The versions of HTTP that are sent, as logs name them."""
STORED: Final = "stored"
FILLER: Final = "filler"
"""Columns of bodies that are not in memory yet: their addresses, or their sizes."""
_PREFIX: Final = "header:"

BODILESS: Final = ("GET", "HEAD", "OPTIONS", "TRACE")
"""Methods without a body; all others announce theirs, even an empty one."""

WITH_BODY: Final = frozenset({"POST", "PUT", "PATCH"})
"""Methods whose requests usually have one that is not empty."""

CONTROLS: Final = r"[\x00-\x08\x0a-\x1f\x7f]+"


TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""Names of headers, and methods (RFC 9110, 5.6.2)."""
RESERVED: Final = OF_CONNECTION - {"proxy-connection", "http2-settings"}
"""Headers, in lower case, that would change where a message ends or a connection goes: only the sender writes them."""
SINGLE: Final = frozenset(
    {
        *("host", "user-agent", "referer", "content-type", "content-encoding", "authorization"),
        *("proxy-authorization", "from", "origin", "cookie"),
    }
)
"""Headers, in lower case, that a request has once at most: servers refuse a second one, or ignore it."""


def check_header(name: str, value: str) -> None:
    if not TOKEN.fullmatch(name):
        raise ValueError(f"{name!r} is not the name of a header")
    if name.lower() in RESERVED:
        raise ValueError(f"{name!r} is written by the sender; it cannot be set")
    if re.search(CONTROLS, value):
        raise ValueError(f"the value of header {name!r} holds a control byte: {masked(f'{name}: {value}')!r}")


def header_column(name: str, columns: Collection[str]) -> str:
    """The column for one more header of this name."""
    column, count = f"{_PREFIX}{name}", 1
    while column in columns:
        count += 1
        column = f"{_PREFIX}{name}:{count}"
    return column


def header_name(column: str) -> str | None:
    """The header that a column holds; None if it holds none."""
    return column.removeprefix(_PREFIX).partition(":")[0] if column.startswith(_PREFIX) else None


def with_headers(frame: pl.DataFrame, values: Mapping[str, pl.Series]) -> pl.DataFrame:
    """Set headers, a value for each row, null: not sent; columns with headers of these names are replaced."""
    replaced = {name.lower() for name in values}
    kept = frame.drop(name for name in frame.columns if (header_name(name) or "").lower() in replaced)
    return kept.with_columns(value.alias(f"{_PREFIX}{name}") for name, value in values.items())


def cleaned(value: pl.Expr) -> pl.Expr:
    """The value of a header as it is sent, without control bytes: they become blanks."""
    return value.str.replace_all(CONTROLS, " ").str.strip_chars(" \t")


def is_sent(column: str) -> bool:
    """Whether a column is rendered into requests."""
    return column in (PAYLOAD, STORED, FILLER, PROTOCOL) or column.startswith(_PREFIX)


def headers(columns: Iterable[str]) -> tuple[list[str], list[pl.Expr]]:
    """The headers that columns hold: their names, and for each its values, null where it is not sent.

    Values are as in the columns, not yet safe to send. A name may come several times, except for `SINGLE` ones.
    """
    found: dict[str, tuple[str, list[str]]] = {}
    for column in columns:
        if name := header_name(column):
            lower = name.lower()
            found.setdefault(lower if lower in SINGLE else column, (name, []))[1].insert(0, column)
    names = [name for name, _ in found.values()]
    return names, [pl.coalesce(latest_first).alias(key) for key, (_, latest_first) in found.items()]
