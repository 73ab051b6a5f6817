"""Cuts a result log into stretches that other processes, or machines that see the same file, read apart.

Only the plain CSV of a run is cut, at line ends, and only where each row of each stretch is read whole. A file with a
line end in a value, or with a row that is refused, is read from its beginning on (`NotApart`): so the row's line is
known.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

import polars as pl

from logreplay.core.csv_blocks import clean_block
from logreplay.core.record import RESULT_COLUMNS
from logreplay.core.rows import typed

STRETCH: Final = 16 << 20
"""Bytes: to plan how a stretch is read takes a millisecond, whatever its length."""

_LONGEST_LINE: Final = 1 << 20


class NotApart(Exception):
    """A stretch cannot be understood without its neighbours."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Whole lines of a result log.

    Attributes:
        path: path of the file, absolute.
        begin, end: bytes of the file, from the first to the one after the last.
        names: names of the columns.
    """

    path: Path
    begin: int
    end: int
    names: Sequence[str] = RESULT_COLUMNS

    def rows(self, columns: Sequence[str]) -> pl.DataFrame:
        """Read some of its columns, by the types of the record.

        Raises:
            NotApart: a row is not read whole.
        """
        with self.path.open("rb") as file:
            file.seek(self.begin)
            data = file.read(self.end - self.begin)
        block = clean_block(data, len(self.names))
        if not block or len(block.text) < len(data):
            raise NotApart
        rows, refused = typed(block, self.names, columns)
        if refused.null_count() < block.rows:
            raise NotApart
        return rows


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
        names = header.rstrip(b"\r\n").decode("utf-8", "replace").split(",")
        if (*names[: len(RESULT_COLUMNS)],) != RESULT_COLUMNS or '"' in "".join(names) or len({*names}) < len(names):
            return []
        ends = [len(header)]
        total = path.stat().st_size
        while ends[-1] < total:
            file.seek(min(ends[-1] + size, total))
            rest = file.readline(_LONGEST_LINE)
            if rest and not rest.endswith(b"\n") and file.tell() < total:
                return []  # lines of such length are none of ours
            ends.append(file.tell())
    return [Stretch(path.absolute(), begin, end, names) for begin, end in pairwise(ends)]
