"""Requests of a normalized CSV with their headers and bodies, for the writers of other tools' formats."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from logreplay.core.bodies import REF, StoredBodies, length, pieces
from logreplay.core.headers import HEADERS, header_pairs
from logreplay.core.record import start_time
from logreplay.core.rows import read_batches, whole

NO_HOST: Final = "localhost"
"""The host of the URLs of a log that names none."""

_COLUMNS: Final = (
    "date",
    "time",
    "latency",
    "xfertime",
    "bytes",
    "url",
    "rc",
    "op",
    "host",
    "referer",
    "agent",
    "protocol",
    "scheme",
    "body",
    HEADERS,
    REF,
)


@dataclass(frozen=True, slots=True)
class Exported:
    """A request to be written.

    Attributes:
        start: microseconds since 1970, UTC.
        op: method.
        target: path and query.
        url: the whole URL.
        host: host name of the URL.
        headers: as logged, with User-Agent and Referer of the columns where they are not among them.
        body: None if there is none.
        protocol: ``HTTP/1.1``; may be empty.
        rc: status; 0 where unknown.
        size: bytes of the response's body.
        latency, xfertime: seconds.
    """

    start: int
    op: str
    target: str
    url: str
    host: str
    headers: Sequence[tuple[str, str]]
    body: bytes | None
    protocol: str
    rc: int
    size: int
    latency: float
    xfertime: float


def exported(csv: Path, bodies: str) -> Iterator[Exported]:
    """Yield the requests of a normalized CSV.

    Args:
        csv: with or without the columns of headers and bodies.
        bodies: the file that the column ``body_ref`` points to.

    Raises:
        LogreplayError: one of the two cannot be read.
    """
    with StoredBodies() as reader:
        for batch in whole(read_batches(csv, _COLUMNS), csv):
            rows = batch.with_columns((pl.lit(bodies + "#") + pl.col(REF)).alias(REF), start_time().to_physical())
            for piece in pieces(rows, length(REF)):
                loaded = piece.with_columns(reader.load(piece[REF]).alias("payload"))
                yield from map(_exported, loaded.iter_rows(named=True))


def _exported(row: "dict[str, object]") -> Exported:
    def text(name: str) -> str:
        return str(row[name] or "")

    headers = header_pairs(text(HEADERS))
    have = {name.lower() for name, _ in headers}
    named = (("User-Agent", text("agent")), ("Referer", text("referer")))
    headers += [(name, value) for name, value in named if value and name.lower() not in have]
    host = text("host") or NO_HOST
    body = row["payload"] if row["payload"] is not None else text("body").encode() or None
    assert body is None or isinstance(body, bytes)
    target = text("url")
    url = f"{text('scheme') or 'http'}://{host}" + (target if target.startswith("/") else "/" + target)
    start, latency, xfertime = row["start"], row["latency"], row["xfertime"]
    assert isinstance(start, int)
    return Exported(
        start,
        text("op"),
        target,
        url,
        host,
        headers,
        body,
        text("protocol"),
        int(text("rc") or 0),
        int(text("bytes") or 0),
        float(str(latency or 0)),
        float(str(xfertime or 0)),
    )


def message(one: Exported) -> bytes:
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
