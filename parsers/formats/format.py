"""Formats, and the layouts that split their lines into raw fields, whole blocks at a time.

A layout answers with one row for each line: raw fields, all text. A line that the strict rules do not fit is a row of
nulls; `split_carefully` then tries wider rules on just those lines.

Raw fields are ``time``, or ``day`` and ``time``; ``request`` (the whole request line) or ``op``, ``url``, ``protocol``
and ``query`` (with its ``?``) or ``args`` (without); ``rc``, ``bytes``, ``total`` (duration of the whole exchange),
``first`` (up to the first byte of the response), ``client``, ``host``, ``user``, ``referer``, ``agent``,
``request_bytes`` and ``body``.
"""

from collections.abc import Set
from dataclasses import dataclass, replace
from typing import Protocol

import polars as pl

from logreplay.parsers.fields.timestamps import Stamp


class Layout(Protocol):
    """Splits lines."""

    @property
    def fields(self) -> frozenset[str]:
        """The raw columns it can deliver."""

    @property
    def tiers(self) -> int:
        """How many times `split_carefully` can be tried, wider each time."""

    def split(self, lines: pl.Series) -> pl.DataFrame:
        """Split clean lines: ``op``, ``url`` and ``protocol`` come apart, and nothing needs decoding."""

    def split_carefully(self, lines: pl.Series, tier: int) -> pl.DataFrame:
        """Split lines that `split` refused; a higher tier has wider rules. Values carry the log's escapes."""


@dataclass(frozen=True, slots=True)
class Value:
    """A value in a line: the raw field it fills, empty if it is skipped over; and the kind of text it is."""

    slot: str
    kind: str


@dataclass(frozen=True, slots=True)
class TextLayout:
    """Fields between literals, as one regular expression (Rust: time linear in the line, whatever it holds).

    Attributes:
        fast: fits clean lines only: printable ASCII, no escapes, a path as target.
        careful: from strict to wide.
        fields: the names of the groups of ``careful``.
        parts: literals and values in turn.
    """

    fast: str
    careful: tuple[str, ...]
    fields: frozenset[str]
    parts: tuple[str | Value, ...] = ()

    def split(self, lines: pl.Series) -> pl.DataFrame:
        return lines.str.extract_groups(self.fast).struct.unnest()

    @property
    def tiers(self) -> int:
        return len(self.careful)

    def split_carefully(self, lines: pl.Series, tier: int) -> pl.DataFrame:
        return lines.str.extract_groups(self.careful[tier]).struct.unnest()

    def without(self, slots: Set[str]) -> "TextLayout":
        """The layout with these fields skipped over."""

        def ungrouped(pattern: str) -> str:
            for slot in slots:
                pattern = pattern.replace(f"(?P<{slot}>", "(?:")
            return pattern

        parts = (replace(p, slot="") if isinstance(p, Value) and p.slot in slots else p for p in self.parts)
        careful = tuple(ungrouped(pattern) for pattern in self.careful)
        return TextLayout(ungrouped(self.fast), careful, self.fields - slots, tuple(parts))


@dataclass(frozen=True, slots=True)
class Format:
    """The rules for reading one kind of access log.

    Attributes:
        name: as ``-f`` takes it.
        layout: splits a line into fields.
        stamp: notation and moment of the server's time stamps.
        total_unit: seconds in one unit of the raw field ``total``; None where each value says it (``25ms``).
        first_unit: likewise of ``first``.
        named: those of ``total`` and ``first`` whose own names tell their units; ``--time-unit`` does not change them.
        server: that writes it.
        escaped: texts carry the log escapes of nginx or Apache.
        rooted: targets are written without their leading slash.
        agent_coding: ``plus``: blanks of the user agent are written ``+``; ``percent``: it is percent-encoded.
        comments: every line that begins with ``#`` is a comment or a directive; otherwise only one that does not fit.
        skipped: patterns of lines that belong to the format but hold no request of their own, each with the reason.
        note: for the user.
        source: address of its specification.
    """

    name: str
    layout: Layout
    stamp: Stamp
    total_unit: float | None = 1.0
    first_unit: float | None = 1.0
    named: frozenset[str] = frozenset()
    server: str = "unknown"
    escaped: bool = True
    rooted: bool = False
    agent_coding: str = ""
    comments: bool = False
    skipped: tuple[tuple[str, str], ...] = ()
    note: str = ""
    source: str = ""
