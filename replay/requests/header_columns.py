"""From the columns of a planned frame to the bytes of requests.

What a shape or a hook wants sent is in columns: ``header:NAME`` holds a header's values (null: not sent; a second
header of that name is ``header:NAME:2``), ``payload`` the bodies (`Binary`; null: none). They are rendered here, and
only here: no value, wherever it comes from, can add a header, end the head, or announce another body than its own.
Case does not matter in names. Of a header that may stand once only, the last column that has a value is sent.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import polars as pl

from logreplay.parsers.masking import masked
from logreplay.replay.senders.contract import USER_AGENT

PAYLOAD: Final = "payload"
_PREFIX: Final = "header:"

BODILESS: Final = ("GET", "HEAD", "OPTIONS", "TRACE")
"""Methods without a body; all others announce theirs, be it empty."""

_CONTROLS: Final = r"[\x00-\x08\x0a-\x1f\x7f]+"


@dataclass(frozen=True, slots=True)
class HeaderRules:
    """What may be a header.

    Attributes:
        name: a token (RFC 9110, 5.6.2).
        reserved: names, in lower case, that would change where a message ends or a connection goes: they are written
            by the sender alone.
        single: names, in lower case, that a request has once at most: servers refuse a second one, or ignore it.
    """

    name: re.Pattern[str]
    reserved: frozenset[str]
    single: frozenset[str]


HEADER: Final = HeaderRules(
    re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"),
    frozenset(
        {"content-length", "transfer-encoding", "connection", "keep-alive", "upgrade", "expect", "te", "trailer"}
    ),
    frozenset(
        {"host", "user-agent", "referer", "content-type", "authorization", "proxy-authorization", "from", "origin"}
    ),
)


def default_headers(authority: str, *, keep_alive: bool) -> dict[str, str]:
    """What every request has, unless it was asked for otherwise."""
    headers = {"Host": authority, "User-Agent": USER_AGENT, "Accept": "*/*"}
    return headers if keep_alive else {**headers, "Connection": "close"}


def check_header(name: str, value: str) -> None:
    """Refuse what cannot be a header.

    Raises:
        ValueError: the name is no token or reserved, or the value holds control bytes.
    """
    if not HEADER.name.fullmatch(name):
        raise ValueError(f"{name!r} is not the name of a header")
    if name.lower() in HEADER.reserved:
        raise ValueError(f"{name!r} is written by the sender alone; it cannot be set")
    if re.search(_CONTROLS, value):
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


def is_sent(column: str) -> bool:
    """Whether a column is rendered into requests."""
    return column == PAYLOAD or column.startswith(_PREFIX)


def render(frame: pl.DataFrame, defaults: Mapping[str, str]) -> list[bytes]:
    """Write requests.

    Args:
        frame: planned requests; ``op`` and ``url`` are valid (see `logreplay.replay.requests.plan.Requests`).
        defaults: headers of every request, unless a column gives another value.

    Returns:
        For each row a whole HTTP/1.1 request.
    """
    fixed, columns = _split(frame, defaults)
    parts: list[pl.Expr | str] = ["op", pl.lit(" "), "url", pl.lit(" HTTP/1.1\r\n"), *columns]
    body = PAYLOAD in frame.columns
    if body or not frame["op"].is_in(BODILESS).all():
        parts.append(_content_length(body=body))
    head = pl.concat_str(*parts, pl.lit(fixed + "\r\n")).cast(pl.Binary)
    if not body:
        return frame.select(head.alias("bytes"))["bytes"].to_list()
    both = frame.select(head.alias("head"), PAYLOAD)
    return [head if body is None else head + body for head, body in both.iter_rows()]


def header_rows(frame: pl.DataFrame, defaults: Mapping[str, str]) -> list[list[tuple[str, str]]]:
    """The headers of each request as pairs, for senders that write requests themselves; without Content-Length."""
    names, values = headers(frame.columns)
    if not names:
        return [list(defaults.items())] * frame.height
    rows = []
    for row in frame.select(_clean(value) for value in values).iter_rows():
        pairs = [(name, value) for name, value in zip(names, row, strict=True) if value is not None]
        given = {name.lower() for name, _ in pairs}
        rows.append([(name, value) for name, value in defaults.items() if name.lower() not in given] + pairs)
    return rows


def headers(columns: Iterable[str]) -> tuple[list[str], list[pl.Expr]]:
    """The headers that columns hold: their names, and for each its values, null where it is not sent.

    Values are as in the columns, not yet safe to send. A name may come several times, but for `HeaderRules.single`.
    """
    found: dict[str, tuple[str, list[str]]] = {}
    for column in columns:
        if name := header_name(column):
            lower = name.lower()
            found.setdefault(lower if lower in HEADER.single else column, (name, []))[1].insert(0, column)
    names = [name for name, _ in found.values()]
    return names, [pl.coalesce(latest_first).alias(key) for key, (_, latest_first) in found.items()]


def _split(frame: pl.DataFrame, defaults: Mapping[str, str]) -> tuple[str, list[pl.Expr]]:
    """The header lines that are the same for all rows, and those that a column decides."""
    names, values = headers(frame.columns)
    lower = [name.lower() for name in names]
    columns: list[pl.Expr] = []
    for name, value in zip(names, values, strict=True):
        line = pl.lit(f"{name}: ") + _clean(value) + pl.lit("\r\n")
        columns.append(pl.coalesce(line, pl.lit("")))
    fixed = ""
    for name, default in defaults.items():
        own = f"{name}: {default}\r\n"
        same = [value for value, key in zip(values, lower, strict=True) if key == name.lower()]
        if same:
            columns.append(pl.when(pl.coalesce(same).is_null()).then(pl.lit(own)).otherwise(pl.lit("")))
        else:
            fixed += own
    return fixed, columns


def _clean(value: pl.Expr) -> pl.Expr:
    """A value without control bytes: they become blanks."""
    return value.str.replace_all(_CONTROLS, " ").str.strip_chars(" \t")


def _content_length(*, body: bool) -> pl.Expr:
    length = pl.col(PAYLOAD).bin.size().fill_null(0) if body else pl.lit(0)
    announced = pl.format("Content-Length: {}\r\n", length)
    return pl.when(~pl.col("op").is_in(BODILESS) | (length > 0)).then(announced).otherwise(pl.lit(""))
