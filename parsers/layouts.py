"""How a line of a format splits into raw fields, whole blocks of lines at a time.

A layout answers with one row for each line: columns named by `RAW_COLUMNS`, all text. A line that the strict rules
do not fit is a row of nulls; `split_carefully` then tries wider rules on just those lines.
"""

from dataclasses import dataclass
from typing import Final, Protocol

import polars as pl

from logreplay.parsers.clock import Stamp

RAW_COLUMNS: Final = (
    "time",
    "request",
    "op",
    "url",
    "query",
    "args",
    "protocol",
    "rc",
    "bytes",
    "total",
    "first",
    "client",
    "forwarded",
    "host",
    "user",
    "referer",
    "agent",
    "request_bytes",
    "body",
)
"""Raw fields. ``request`` is the whole request line; without it ``op``, ``url`` and ``query`` (with its ``?``) or
``args`` (without). ``total``: duration of the whole exchange; ``first``: up to the first byte of the response."""


class Layout(Protocol):
    """Splits lines."""

    @property
    def fields(self) -> frozenset[str]:
        """The raw columns it can deliver."""

    def split(self, lines: pl.Series) -> pl.DataFrame:
        """Split clean lines: ``op``, ``url`` and ``protocol`` come apart, and nothing needs decoding.

        Returns:
            One row a line; all null where the line does not fit.
        """

    def split_carefully(self, lines: pl.Series) -> pl.DataFrame:
        """Split lines that `split` refused; values still carry the log's escapes.

        Returns:
            One row a line; all null where the line does not fit.
        """


@dataclass(frozen=True, slots=True)
class TextLayout:
    """Fields between literals, as one regular expression (Rust: time linear in the line, whatever it holds).

    Attributes:
        fast: fits clean lines only: printable ASCII, no escapes, a path as target.
        careful: wider and wider, the first that fits counts.
        fields: the names of the groups of ``careful``.
    """

    fast: str
    careful: tuple[str, ...]
    fields: frozenset[str]

    def split(self, lines: pl.Series) -> pl.DataFrame:
        return lines.str.extract_groups(self.fast).struct.unnest()

    def split_carefully(self, lines: pl.Series) -> pl.DataFrame:
        found = [lines.str.extract_groups(pattern).struct.unnest() for pattern in self.careful]
        # every group of a wide pattern takes part in each match: a row has all of its fields or none
        return pl.DataFrame(
            [pl.select(pl.coalesce(frame[name] for frame in found)).to_series() for name in self.fields]
        )


@dataclass(frozen=True, slots=True)
class Format:
    """How to read one kind of access log.

    Attributes:
        name: as ``-f`` takes it.
        layout: how a line splits.
        stamp: how and when the server stamps a request.
        total_unit: seconds in one unit of the raw field ``total``; None where each value says it (``25ms``).
        first_unit: likewise of ``first``.
        escaped: texts carry the log escapes of nginx or Apache.
        server: who writes it.
        source: address of its specification.
        samples: lines that it must fit.
    """

    name: str
    layout: Layout
    stamp: Stamp
    total_unit: float | None = 1.0
    first_unit: float | None = 1.0
    escaped: bool = True
    server: str = "unknown"
    source: str = ""
    samples: tuple[str, ...] = ()
