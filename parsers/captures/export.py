"""Requests of a normalized CSV with their headers and bodies, for the writers of other tools' formats."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import polars as pl

from logreplay.core.bodies import REF, StoredBodies, length, pieces
from logreplay.core.headers import HEADERS, header_pairs
from logreplay.core.record import CORE_COLUMNS, LOGGED_COLUMNS, start_time
from logreplay.core.rows import read_batches, whole
from logreplay.parsers.captures.capture import PAYLOAD, Capture

NO_HOST: Final = "localhost"
"""The host of the URLs of a log that names none."""


def exported(csv: Path, bodies: str) -> Iterator[Capture]:
    """Yield the requests of a normalized CSV, each with a host; ``bodies`` is the file for its column ``body_ref``."""
    with StoredBodies() as reader:
        for batch in whole(read_batches(csv, (*CORE_COLUMNS, *LOGGED_COLUMNS)), csv):
            rows = batch.with_columns((pl.lit(bodies + "#") + pl.col(REF)).alias(REF), start_time().to_physical())
            for piece in pieces(rows, length(REF)):
                loaded = piece.with_columns(reader.load(piece[REF]).alias(PAYLOAD))
                yield from map(_exported, loaded.iter_rows(named=True))


def _exported(row: dict[str, Any]) -> Capture:
    """User-Agent and Referer of the columns are added to the headers where they are not among them."""
    headers = header_pairs(row[HEADERS])
    have = {name.lower() for name, _ in headers}
    named = (("User-Agent", row["agent"]), ("Referer", row["referer"]))
    headers += [(name, value) for name, value in named if value and name.lower() not in have]
    return Capture(
        row["op"] or "",
        row["url"] or "",
        row["start"],
        headers,
        row[PAYLOAD] if row[PAYLOAD] is not None else (row["body"] or "").encode() or None,
        row["scheme"] or "http",
        row["host"] or NO_HOST,
        protocol=row["protocol"] or "",
        rc=row["rc"] or 0,
        size=row["bytes"] or 0,
        latency=row["latency"] or 0.0,
        xfertime=row["xfertime"] or 0.0,
    )


def url_of(one: Capture) -> str:
    """The whole URL of an exported request."""
    return f"{one.scheme}://{one.host}" + (one.target if one.target.startswith("/") else "/" + one.target)


def message(one: Capture) -> bytes:
    """A request as an HTTP/1.1 message."""
    names = {name.lower() for name, _ in one.headers}
    lines = [f"{one.op} {one.target} HTTP/1.1"]
    lines += [] if "host" in names else [f"Host: {one.host}"]
    lines += [f"{name}: {value}" for name, value in one.headers]
    lines += [f"Content-Length: {len(one.body)}"] if one.body is not None else []
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + (one.body or b"")


def only_text(body: bytes) -> str | None:
    """A body as text; None if it is not UTF-8."""
    try:
        return body.decode()
    except UnicodeDecodeError:
        return None
