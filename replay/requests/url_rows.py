"""Turns urls into rows of normalized CSVs."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, urlsplit

import polars as pl

from logreplay.core.record import CORE_COLUMNS, to_csv

_PRINTABLE: Final = "".join(map(chr, range(0x21, 0x7F))).replace('"', "")
FIELDS: Final = ("url", "host", "op", "body")
"""Fields of a request that a URL line may give, all as text."""
_FIRST_US: Final = 946_684_800_000_000
"""2000-01-01: the first row's time; rows are a second apart, so that they can be replayed by log times, too."""


@dataclass(frozen=True, slots=True)
class UrlRow:
    """One request to be written: an origin-form url, and the host and the origin it was named with, if any."""

    url: str
    host: str | None = None
    op: str = "GET"
    body: str | None = None
    origin: str | None = None

    @classmethod
    def of(cls, text: str, op: str = "GET", body: str | None = None) -> "UrlRow":
        """Take ``/path``, or ``http://host/path`` apart; characters that a url cannot hold are percent-encoded.

        A fragment (``#…``) is not part of a request and is left out.
        """
        if text.startswith("/"):
            return cls(_quoted(text.partition("#")[0]), None, op, body)
        parts = urlsplit(text)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise ValueError(f"{text!r} is not a url; write /path or http://host/path")
        rest = text.split("://", 1)[1].removeprefix(parts.netloc)
        target = _quoted(rest.partition("#")[0])
        host = parts.netloc.rpartition("@")[2].encode("utf-8", "replace").decode()
        return cls(target if target.startswith("/") else f"/{target}", host, op, body, f"{parts.scheme}://{host}")

    def __str__(self) -> str:
        return f"{self.origin or ''}{self.url}"


def _quoted(text: str) -> str:
    return quote(text, safe=_PRINTABLE, errors="surrogateescape")


def from_rows(rows: Sequence[UrlRow | None]) -> pl.DataFrame:
    """Rows as a frame with the columns `FIELDS` and ``origin``; None becomes null."""
    texts = [(row.url, row.host, row.op, row.body, row.origin) if row else (None,) * 5 for row in rows]
    return pl.DataFrame(texts, schema=dict.fromkeys((*FIELDS, "origin"), pl.String), orient="row")


def timed(frames: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Add the other columns of a normalized CSV: ``date`` and ``time`` a second apart, zeros."""
    at = 0
    for frame in frames:
        instant = pl.int_range(at, at + pl.len(), dtype=pl.Int64) * 1_000_000 + _FIRST_US
        start = instant.cast(pl.Datetime("us"))
        zeros = (pl.lit(0).alias(name) for name in ("latency", "xfertime", "thinktime", "bytes", "rc"))
        yield frame.with_columns(
            start.dt.strftime("%Y-%m-%d").alias("date"), start.dt.strftime("%H:%M:%S%.6f").alias("time"), *zeros
        )
        at += frame.height


def write_frames(frames: Iterable[pl.DataFrame]) -> Iterator[bytes]:
    """Write rows with the columns `FIELDS` as the text of a normalized CSV, in pieces; the header line first."""
    yield (",".join((*CORE_COLUMNS, "host", "body")) + "\n").encode()
    for frame in timed(frames):
        yield to_csv(frame.select(*CORE_COLUMNS, "host", "body"), header=False)
