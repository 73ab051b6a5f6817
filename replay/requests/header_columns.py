"""From the columns of a planned frame to the bytes of requests.

What a shape or a hook wants sent is in columns: ``header:NAME`` holds a header's values (null: not sent; a second
header of that name is ``header:NAME:2``), ``payload`` the bodies (`Binary`; null: none). They are rendered here, and
only here: no value, wherever it comes from, can add a header, end the head, or announce another body than its own.
"""

import re
from collections.abc import Collection, Mapping
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
    """

    name: re.Pattern[str]
    reserved: frozenset[str]


HEADER: Final = HeaderRules(
    re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"),
    frozenset(
        {"content-length", "transfer-encoding", "connection", "keep-alive", "upgrade", "expect", "te", "trailer"}
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
    names = [(column, name) for column in frame.columns if (name := header_name(column))]
    if not names:
        return [list(defaults.items())] * frame.height
    given = {name.lower() for _, name in names}
    clean = frame.select(_clean(column).alias(column) for column, _ in names)
    rows = []
    for values in clean.iter_rows():
        pairs = [(name, value) for (_, name), value in zip(names, values, strict=True) if value is not None]
        set_ = {name.lower() for name, _ in pairs}
        rows.append([(k, v) for k, v in defaults.items() if k.lower() not in given or k.lower() not in set_] + pairs)
    return rows


def _split(frame: pl.DataFrame, defaults: Mapping[str, str]) -> tuple[str, list[pl.Expr]]:
    """The header lines that are the same for all rows, and those that a column decides."""
    columns: list[pl.Expr] = []
    decided: set[str] = set()
    for column in frame.columns:
        name = header_name(column)
        if not name:
            continue
        line = pl.lit(f"{name}: ") + _clean(column) + pl.lit("\r\n")
        default = next((value for key, value in defaults.items() if key.lower() == name.lower()), None)
        fallback = f"{name}: {default}\r\n" if default is not None and name.lower() not in decided else ""
        decided.add(name.lower())
        columns.append(pl.coalesce(line, pl.lit(fallback)))
    fixed = "".join(f"{name}: {value}\r\n" for name, value in defaults.items() if name.lower() not in decided)
    return fixed, columns


def _clean(column: str) -> pl.Expr:
    """A value without control bytes: they become blanks."""
    return pl.col(column).str.replace_all(_CONTROLS, " ").str.strip_chars(" \t")


def _content_length(*, body: bool) -> pl.Expr:
    length = pl.col(PAYLOAD).bin.size().fill_null(0) if body else pl.lit(0)
    announced = pl.format("Content-Length: {}\r\n", length)
    return pl.when(~pl.col("op").is_in(BODILESS) | (length > 0)).then(announced).otherwise(pl.lit(""))
