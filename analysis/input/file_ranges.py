"""Cuts a result log into stretches that other processes, or machines that see the same file, read apart.

Only the plain CSV of a run is cut: at line ends, which its fields do not contain. Should one do so all the same, and
a cut fall into it, then the quotes of a stretch are odd in number, and the file is read as a whole (`NotApart`).
"""

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import polars as pl

from logreplay.core.record import RESULT_COLUMNS, SCHEMA

STRETCH: Final = 16 << 20
"""Bytes: to plan how a stretch is read takes a millisecond, whatever its length."""

_LONGEST_LINE: Final = 1 << 20
_AS_SCANNED: Final[dict[str, Any]] = {
    "schema": {name: SCHEMA[name] for name in RESULT_COLUMNS},
    "ignore_errors": True,
    "truncate_ragged_lines": True,
    "encoding": "utf8-lossy",
}


class NotApart(Exception):
    """A stretch cannot be understood without its neighbours."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Whole lines of a result log.

    Attributes:
        path: of the file, absolute.
        begin, end: bytes of the file, from the first to the one after the last.
    """

    path: Path
    begin: int
    end: int

    def rows(self) -> pl.LazyFrame:
        """The rows, typed as `logreplay.core.record.scan` does.

        Raises:
            NotApart: it begins or ends in the middle of a field.
        """
        with self.path.open("rb") as file:
            file.seek(self.begin)
            data = file.read(self.end - self.begin)
        if b'"' in data and data.count(b'"') % 2:  # seldom one; to find none is faster than to count
            raise NotApart
        first = data[: data.find(b"\n")]
        damaged = b'"' in first or first.count(b",") != len(RESULT_COLUMNS) - 1
        if damaged:  # Polars learns from the first line how many columns there are
            data = ",".join(RESULT_COLUMNS).encode() + b"\n" + data
        return pl.scan_csv(data, has_header=damaged, **_AS_SCANNED)


def stretches(path: Path, size: int = STRETCH) -> list[Stretch]:
    """Cut a result log into stretches of about this many bytes; empty if it is none that can be cut."""
    if path.suffix != ".csv" or not path.is_file():
        return []
    try:
        file = path.open("rb")
    except OSError:
        return []  # whoever reads it as a whole says why it cannot be read
    with file:
        header = file.readline(_LONGEST_LINE)
        if header.rstrip(b"\r\n").decode("utf-8", "replace") != ",".join(RESULT_COLUMNS):
            return []
        ends = [len(header)]
        total = path.stat().st_size
        while ends[-1] < total:
            file.seek(min(ends[-1] + size, total))
            rest = file.readline(_LONGEST_LINE)
            if rest and not rest.endswith(b"\n") and file.tell() < total:
                return []  # lines of such length are none of ours
            ends.append(file.tell())
    return [Stretch(path.absolute(), begin, end) for begin, end in pairwise(ends)]
