"""Logs that nobody recorded: lists of urls, and the cross product of lists, as normalized CSVs."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlsplit

import polars as pl

from logreplay.parsers.record import CORE_COLUMNS, LogreplayError, to_csv

_NAME: Final = re.compile(r"\{(\w+)\}")
_PRINTABLE: Final = "".join(map(chr, range(0x21, 0x7F))).replace('"', "")
_WITH_METHOD: Final = re.compile(r"(\S+)\s+([A-Z]+)(?:\s+(.*))?")
_RANGE: Final = re.compile(r"(-?\d+)\.\.(-?\d+)")
_BATCH: Final = 65_536
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


def expand(template: str, variables: Mapping[str, Sequence[str]]) -> Iterator[UrlRow]:
    """Fill every combination of values into a template; the last variable changes fastest.

    Args:
        template: ``/path/{name}`` or ``http://{host}/path/{name}``.
        variables: the values of each name.

    Raises:
        ValueError: a name has no values, or is not in the template; or the result is no url.
    """
    names = set(_NAME.findall(template))
    if lacking := sorted(names - set(variables)):
        raise ValueError(f"no values for {{{lacking[0]}}}; give them with --var {lacking[0]}=a,b,c")
    if unused := sorted(set(variables) - names):
        raise ValueError(f"{{{unused[0]}}} is not in the template {template!r}")
    for values in product(*variables.values()):
        chosen = dict(zip(variables, values, strict=True))
        yield UrlRow.of(_NAME.sub(lambda found: chosen[found[1]], template))  # noqa: B023  used at once


def values(text: str) -> Sequence[str]:
    """Read the values of a variable: ``@file`` (one a line), ``1..9``, or ``a,b,c``.

    Raises:
        ValueError: there are none.
        LogreplayError: the file cannot be read.
    """
    if text.startswith("@"):
        try:
            lines = Path(text[1:]).read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError as error:
            raise LogreplayError(f"{text[1:]}: {error.strerror}") from None
        found = [line.strip() for line in lines if line.strip()]
    elif match := _RANGE.fullmatch(text):
        first, last = int(match[1]), int(match[2])
        step = 1 if first <= last else -1
        width = len(match[1]) if match[1].startswith("0") else 0
        found = [f"{number:0{width}}" for number in range(first, last + step, step)]
    else:
        found = [part for part in text.split(",") if part]
    if not found:
        raise ValueError(f"{text!r} holds no values; write a,b,c or 1..9 or @file")
    return found


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
    rows, at = iter(rows), 0
    yield (",".join((*CORE_COLUMNS, "host", "body")) + "\n").encode()
    while batch := list(islice(rows, _BATCH)):
        instant = pl.int_range(at, at + pl.len(), dtype=pl.Int64) * 1_000_000 + _FIRST_US
        start = instant.cast(pl.Datetime("us"))
        frame = pl.DataFrame(batch, schema={"url": pl.String, "host": pl.String, "op": pl.String, "body": pl.String})
        zeros = (pl.lit(0).alias(name) for name in ("latency", "xfertime", "thinktime", "bytes", "rc"))
        frame = frame.with_columns(
            start.dt.strftime("%Y-%m-%d").alias("date"), start.dt.strftime("%H:%M:%S%.6f").alias("time"), *zeros
        )
        yield to_csv(frame.select(*CORE_COLUMNS, "host", "body"), header=False)
        at += len(batch)
