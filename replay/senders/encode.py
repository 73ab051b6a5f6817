"""Renders the requests of a planned frame as bytes.

Requests are rendered here, and only here: no value, wherever it comes from, can add a header, end the head, or announce
another body than its own (see `logreplay.replay.requests.header_columns`).
"""

from collections.abc import Mapping
from typing import Final

import polars as pl

from logreplay.replay.requests.header_columns import BODILESS, PAYLOAD, cleaned, headers

USER_AGENT: Final = "logreplay"


def default_headers(authority: str, *, keep_alive: bool) -> dict[str, str]:
    """The headers of every request, unless overridden."""
    headers = {"Host": authority, "User-Agent": USER_AGENT, "Accept": "*/*"}
    return headers if keep_alive else {**headers, "Connection": "close"}


def render(frame: pl.DataFrame, defaults: Mapping[str, str]) -> list[bytes]:
    """Write each row of a planned frame as a whole HTTP/1.1 request, with the defaults that no column overrides.

    ``op`` and ``url`` are valid (see `logreplay.replay.requests.plan.Requests`).
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
    for row in frame.select(cleaned(value) for value in values).iter_rows():
        pairs = [(name, value) for name, value in zip(names, row, strict=True) if value is not None]
        given = {name.lower() for name, _ in pairs}
        rows.append([(name, value) for name, value in defaults.items() if name.lower() not in given] + pairs)
    return rows


def _split(frame: pl.DataFrame, defaults: Mapping[str, str]) -> tuple[str, list[pl.Expr]]:
    """The header lines that are the same for all rows, and those that a column decides."""
    names, values = headers(frame.columns)
    lower = [name.lower() for name in names]
    columns: list[pl.Expr] = []
    for name, value in zip(names, values, strict=True):
        line = pl.lit(f"{name}: ") + cleaned(value) + pl.lit("\r\n")
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


def _content_length(*, body: bool) -> pl.Expr:
    length = pl.col(PAYLOAD).bin.size().fill_null(0) if body else pl.lit(0)
    announced = pl.format("Content-Length: {}\r\n", length)
    return pl.when(~pl.col("op").is_in(BODILESS) | (length > 0)).then(announced).otherwise(pl.lit(""))
