"""Requests that nobody recorded: lists of urls as normalized CSVs."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlsplit

import polars as pl

from logreplay.parsers.record import CORE_COLUMNS, LogreplayError, to_csv

_PRINTABLE: Final = "".join(map(chr, range(0x21, 0x7F))).replace('"', "")
_WITH_METHOD: Final = re.compile(r"(\S+)\s+([A-Z]+)(?:\s+(.*))?")
BATCH: Final = 65_536
"""Rows written at a time."""
_FIRST_US: Final = 946_684_800_000_000
"""2000-01-01: rows are a second apart from there, so that log times make sense of them too."""


@dataclass(frozen=True, slots=True)
class UrlRow:
    """One request to be written: an origin-form url, and the host it was named with, if any."""

    url: str
    host: str | None = None
    op: str = "GET"
    body: str | None = None

    @classmethod
    def of(cls, text: str, op: str = "GET", body: str | None = None) -> "UrlRow":
        """Take ``/path``, or ``http://host/path`` apart; what cannot be in a url is percent-encoded.

        Raises:
            ValueError: it is neither.
        """
        if text.startswith("/"):
            return cls(quote(text, safe=_PRINTABLE), None, op, body)
        parts = urlsplit(text)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise ValueError(f"{text!r} is no url; write /path or http://host/path")
        rest = text.split("://", 1)[1].removeprefix(parts.netloc)
        target = quote(rest.partition("#")[0], safe=_PRINTABLE)
        host = parts.netloc.rpartition("@")[2]
        return cls(target if target.startswith("/") else f"/{target}", host, op, body)


def is_url_list(path: Path) -> bool:
    """Whether the first line of a file that says anything is a url."""
    try:
        with path.open("rb") as file:
            lines = file.read(1 << 16).splitlines()
    except OSError:
        return False
    said = (line.strip() for line in lines if line.strip() and not line.lstrip().startswith(b"#"))
    return bool(re.match(rb"(https?://[^\s/]|/)\S*( (GET|POST|PUT)\b.*)?$", next(said, b"")))


def read_url_list(path: Path) -> Iterator[UrlRow]:
    """Read a list of urls, one a line, as siege takes them: ``URL`` or ``URL POST data``; ``#`` begins a comment.

    Raises:
        LogreplayError: the file cannot be read, or a line is no url.
    """
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file, 1):
                text = line.strip()
                if not text or text.startswith("#"):
                    continue
                with_method = _WITH_METHOD.fullmatch(text)
                url, op, body = with_method.groups() if with_method else (text, "GET", None)
                try:
                    yield UrlRow.of(url, op, body or None)
                except ValueError as error:
                    raise LogreplayError(f"{path}: line {number}: {error}") from None
    except OSError as error:
        raise LogreplayError(f"{path}: {error.strerror}") from None


def to_normalized(rows: Iterable[UrlRow]) -> Iterator[bytes]:
    """Write rows as the text of a normalized CSV with ``host`` and ``body``, in pieces; the header line first."""
    return write_frames(_frames(rows))


def _frames(rows: Iterable[UrlRow]) -> Iterator[pl.DataFrame]:
    rows = iter(rows)
    while batch := list(islice(rows, BATCH)):
        yield pl.DataFrame(batch, schema={"url": pl.String, "host": pl.String, "op": pl.String, "body": pl.String})


def write_frames(frames: Iterable[pl.DataFrame]) -> Iterator[bytes]:
    """As `to_normalized`, of rows with the columns ``url``, ``host``, ``op`` and ``body``."""
    at = 0
    yield (",".join((*CORE_COLUMNS, "host", "body")) + "\n").encode()
    for frame in frames:
        instant = pl.int_range(at, at + pl.len(), dtype=pl.Int64) * 1_000_000 + _FIRST_US
        start = instant.cast(pl.Datetime("us"))
        zeros = (pl.lit(0).alias(name) for name in ("latency", "xfertime", "thinktime", "bytes", "rc"))
        timed = frame.with_columns(
            start.dt.strftime("%Y-%m-%d").alias("date"), start.dt.strftime("%H:%M:%S%.6f").alias("time"), *zeros
        )
        yield to_csv(timed.select(*CORE_COLUMNS, "host", "body"), header=False)
        at += frame.height
