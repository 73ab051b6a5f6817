"""Takes durations of the header Server-Timing from responses, by the number of the request.

In the loop only the bytes of the header are kept; they are read when the row of the request is written.

Source: https://www.w3.org/TR/server-timing/#the-server-timing-header-field. The unit is milliseconds.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite, nan
from typing import Final

import polars as pl

from logreplay.core.headers import NAME

Counts = Mapping[str, tuple[int, int]]
"""By name of a metric: number of responses that had it, and of those of them whose duration cannot be read."""
_LONGEST: Final = 4096
"""Bytes of the headers of a response that are read."""
_MOST: Final = 50
_HEADER: Final = re.compile(rb"\r\nserver-timing:([^\r]*)", re.IGNORECASE)
_METRIC: Final = re.compile(rb'(?:[^",]|"(?:[^"\\]|\\.)*+"?)++')
"""A metric with its parameters; a comma within quotes belongs to it."""
_DURATION: Final = re.compile(
    rb';[ \t]*dur[ \t]*=[ \t]*"?(\+?(?:\d++(?:\.\d*+)?|\.\d++)(?:e[+-]?\d++)?)"?[ \t]*(?:;|$)', re.IGNORECASE
)
"""The parts of the number give nothing back: the target sends them, and the time stays linear in their length."""
_GIVEN: Final = re.compile(rb";[ \t]*dur[ \t]*(?:=|;|$)", re.IGNORECASE)
_QUOTED: Final = re.compile(rb'desc[ \t]*=[ \t]*"(?:[^"\\]|\\.)*+"', re.IGNORECASE)


def column_of(name: str) -> str:
    """The column of the result log for a metric."""
    return "server_" + re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def metrics(text: str) -> tuple[str, ...]:
    """Read the names of metrics, with commas between."""
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    for name in names:
        if not NAME.fullmatch(name) or column_of(name) == "server_":
            raise ValueError(f"{name!r} is not the name of a metric: expected names such as db,cache")
    if len({*map(column_of, names)}) < len(names):
        raise ValueError(f"{text!r}: two names have the same column; name one of them")
    if len(names) > _MOST:
        raise ValueError(f"{text[:60]!r}…: these are more than {_MOST} names; name fewer")
    return names


def durations(header: bytes, names: Sequence[str]) -> list[float | None]:
    """The duration of each metric of a header, in seconds; None where it has none, NaN where it cannot be read.

    Those of one name are added up.
    """
    found: dict[str, float] = {}
    for metric in _METRIC.findall(header[:_LONGEST]):
        name = metric.partition(b";")[0].strip(b" \t").decode("latin-1").lower()
        plain = _QUOTED.sub(b"", metric)
        match = _DURATION.search(plain)
        if match or _GIVEN.search(plain):
            found[name] = found.get(name, 0.0) + (float(match[1]) / 1000 if match else nan)
    known = [found.get(name.lower()) for name in names]
    return [seconds if seconds is None or isfinite(seconds) else nan for seconds in known]


def counts_of_all(parts: Iterable[Counts]) -> Counts:
    """The counts of several senders or steps together."""
    found: dict[str, tuple[int, int]] = {}
    for part in parts:
        for name, (having, unreadable) in part.items():
            before = found.get(name, (0, 0))
            found[name] = before[0] + having, before[1] + unreadable
    return found


class ServerTimings:
    """The headers of the responses of one sender whose rows are not written yet."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self._headers: dict[int, bytes] = {}
        self._counts: dict[str, tuple[int, int]] = dict.fromkeys(names, (0, 0))

    def keep(self, seq: int, head: bytes | tuple[tuple[bytes, bytes], ...]) -> None:
        if isinstance(head, bytes):
            values = _HEADER.findall(head)
        else:
            values = [value for name, value in head if name.lower() == b"server-timing"]
        if values:
            self._headers[seq] = b",".join(values)[:_LONGEST]

    def take(self, seq: int) -> bytes | None:
        """The header of a response, once; None: it had none."""
        return self._headers.pop(seq, None)

    def count(self, rows: Sequence[Sequence[float | None]]) -> None:
        """Count the responses that had each metric, and those of them whose duration could not be read."""
        for name, values in zip(self.names, zip(*rows, strict=True), strict=False):
            having, unreadable = self._counts[name]
            had = [value for value in values if value is not None]
            self._counts[name] = having + len(had), unreadable + sum(value != value for value in had)

    def take_counts(self) -> Counts:
        """The counts since the last call, by the name of the metric."""
        counts, self._counts = self._counts, dict.fromkeys(self.names, (0, 0))
        return counts


def timing_columns(kept: Sequence[ServerTimings], seqs: Sequence[int]) -> list[pl.Series]:
    """Durations of requests as columns, seconds; null where there is none. ``kept``: the headers of each sender."""
    names = kept[0].names
    rows = [durations(next(filter(None, (one.take(seq) for one in kept)), b""), names) for seq in seqs]
    kept[0].count(rows)
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    return [
        pl.Series(column_of(name), values, dtype=pl.Float64).fill_nan(None)
        for name, values in zip(names, columns, strict=True)
    ]
