"""Which format is a log in? Decided by what fits a sample of its lines, not by its name or its first line."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from logreplay.parsers.formats import FORMATS
from logreplay.parsers.layouts import Format
from logreplay.parsers.record import LogreplayError
from logreplay.parsers.rows import parse

ENOUGH: Final = 0.5
"""Share of the sample's lines that must fit, or the file is no access log."""


@dataclass(frozen=True, slots=True)
class Detection:
    """The formats found: the main one, then others that fit lines which it does not.

    Attributes:
        formats: the main one first.
        share: of the sample's lines that fit one of them.
        sample: number of lines looked at.
    """

    formats: tuple[Format, ...]
    share: float
    sample: int


def detect(lines: pl.Series, name: str, candidates: Sequence[Format] = FORMATS) -> Detection:
    """Choose the formats of a log by a sample of its lines.

    Raises:
        LogreplayError: fewer than half of the lines fit any format.
    """
    chosen: list[Format] = []
    rest = lines.filter(~lines.str.contains(r"^\s*(?:#|$)"))
    total = len(rest)
    while len(rest):
        best, left = None, rest
        for format in candidates:
            if format not in chosen and len(after := _misfits(rest, format)) < len(left):
                best, left = format, after
        if best is None:
            break
        chosen.append(best)
        rest = left
    share = 1 - len(rest) / total if total else 0.0
    if share < ENOUGH:
        first = rest[0] if len(rest) else ""
        raise LogreplayError(
            f"{name}: not an access log, or in an unknown format: {share:.0%} of {total} sample lines fit; "
            f"one that does not: {first[:120]!r}; say the format with -f"
        )
    return Detection(tuple(chosen), share, total)


def _misfits(lines: pl.Series, format: Format) -> pl.Series:
    refused = [refusal.line for refusal in parse(lines, [format]).refusals if refusal.kind == "rejected"]
    return lines.gather(refused)
