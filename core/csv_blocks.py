"""Reads the rows of a CSV: each line of the file is in a row that is read whole, or is refused with its number.

Theory of operation. The file is cut into blocks of whole rows (RFC 4180: a line end within quotes ends no row). In a
clean block each quote begins or ends a value, and each row has a value for each column; NumPy counts both, so that
Polars has nothing to guess. The rows of any other block are split by Python's csv module, one by one, and written
again. There a quote inside an unquoted value is a letter. A row whose quote is not closed, or that has more or fewer
values than there are columns, is refused; the lines that its quote would have swallowed are then read one by one. So
no line is looked at more than a few times, whatever the file holds.
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, Final, NamedTuple

import numpy as np
import polars as pl

LONGEST_ROW: Final = 1 << 24
"""Bytes. A longer row is refused, so that a quote that is never closed does not bring a whole file into memory."""

_QUOTE, _COMMA, _LINE_END, _RETURN = b'",\n\r'
_BEFORE_A_VALUE: Final = np.isin(np.arange(256), list(b',\n"'))
_BEHIND_A_VALUE: Final = np.isin(np.arange(256), list(b',\n\r"'))
_UNCLOSED: Final = "a quote is not closed"
_WHY: Final = {
    "unexpected end of data": _UNCLOSED,
    "expected after": "a quote is not closed, or not doubled",
    "new-line character": "a carriage return within the line",
}
"""The fault of a row, by a part of the message of Python's csv module."""

_WRAPS: Final = 256
_PIECE: Final = 1 << 18
_SHOWN: Final = 1 << 16
"""Bytes of a refused line that are kept, where it is too long."""

Places = np.ndarray[Any, np.dtype[np.intp]]
Marks = np.ndarray[Any, np.dtype[np.bool_]]
Letters = np.ndarray[Any, np.dtype[np.uint8]]
Types = Mapping[str, type[pl.DataType]]

csv.field_size_limit(max(csv.field_size_limit(), 2 * LONGEST_ROW))  # its own is 128 kB, less than a body may have


class Refused(NamedTuple):
    """A line that became no row.

    Attributes:
        row: its place among the rows of its block, where an empty row stands for it.
        why: one of few texts.
        text: the line, without its end.
    """

    row: int
    why: str
    text: bytes


@dataclass(frozen=True, slots=True)
class RowBlock:
    """Whole rows of a CSV, each with a value for each column.

    Attributes:
        text: the rows, without a header line.
        rows: number of rows.
        line: number of its first line in the file, from 1.
        refused: the lines of the file that became no row.
    """

    text: bytes
    rows: int
    line: int = 1
    refused: Sequence[Refused] = ()

    def parsed(self, names: Sequence[str], columns: Sequence[str], types: Types) -> pl.DataFrame:
        """Read columns; an empty value is null.

        Raises:
            polars.exceptions.ComputeError: a value is not of its type.
        """
        frame = pl.read_csv(
            self.text,
            has_header=False,
            schema={name: types.get(name, pl.String) for name in names},
            columns=[names.index(name) for name in columns],
            encoding="utf8" if self.text.isascii() else "utf8-lossy",  # lossy takes a tenth longer
            quote_char='"' if b'"' in self.text else None,
        )
        assert frame.height == self.rows, f"{frame.height} of {self.rows} rows were read from line {self.line} on"
        return frame

    def line_of(self, row: int) -> int:
        """The line of the file in which a row begins, from 1."""
        letters = np.frombuffer(self.text, np.uint8)
        ends = np.flatnonzero(letters == _LINE_END)
        before = _outside(ends, np.flatnonzero(letters == _QUOTE))[row - 1] + 1 if row else 0
        return self.line + int(np.searchsorted(ends, before))


def clean_block(text: bytes, columns: int, line: int = 1) -> RowBlock | None:
    """Take the whole rows at the beginning of a text; None if there are none, or they are not clean.

    The text begins with a row; ``line`` is the number of its first line.
    """
    letters, quoted, returns = np.frombuffer(text, np.uint8), b'"' in text, b"\r" in text
    rows = used = 0
    marks = np.empty(0, np.bool_)
    for stop in _piece_ends(text, len(text) if quoted else _PIECE):
        if len(marks) < stop - used:
            marks = np.empty(stop - used, np.bool_)
        if not (found := _clean_rows(letters[used:stop], marks, columns - 1, quoted=quoted, returns=returns)):
            return None
        rows, used = rows + found[0], used + found[1]
    return RowBlock(text[:used], rows, line) if rows else None


def _piece_ends(text: bytes, size: int) -> Iterator[int]:
    """Cut the lines of a text into pieces of about this many bytes: masks of larger ones do not stay in the cache."""
    begin = 0
    while stop := text.rfind(b"\n", begin, begin + size) + 1 or text.find(b"\n", begin + size) + 1:
        yield stop
        begin = stop


def _clean_rows(letters: Letters, marks: Marks, wanted: int, *, quoted: bool, returns: bool) -> tuple[int, int] | None:
    """The number of whole rows at the beginning of some lines, and their bytes; None if they are not clean.

    Args:
        marks: room for as many; new memory for each piece would take longer than the work.
    """
    quotes = np.flatnonzero(letters == _QUOTE) if quoted else np.zeros(0, np.intp)
    ends = _outside(np.flatnonzero(np.equal(letters, _LINE_END, out=marks[: len(letters)])), quotes)
    if not len(ends):
        return None
    stop = int(ends[-1]) + 1
    letters, quotes = letters[:stop], quotes[: np.searchsorted(quotes, stop)]
    if not _each_has(np.equal(letters, _COMMA, out=marks[:stop]), ends, quotes, wanted) or not _proper(letters, quotes):
        return None
    if returns:
        places = _outside(np.flatnonzero(letters == _RETURN), quotes)
        if (letters[places + 1] != _LINE_END).any():
            return None
    return len(ends), stop


def blocks(file: BinaryIO, columns: int, line: int, size: int) -> Iterator[RowBlock]:
    """Cut a CSV into blocks of about ``size`` bytes; ``file`` stands behind its header, before this line."""
    rest = b""
    while True:
        more = file.read(max(size, len(rest)))
        text = rest + more
        if not more and text and not text.endswith(b"\n"):
            text += b"\n"
        if not text:
            return
        whole = not more or len(text) > LONGEST_ROW
        if whole and b"\n" not in text:
            yield _overlong(file, text, columns, line)
            rest, line = b"", line + 1
            continue
        if block := clean_block(text, columns, line):
            used = len(block.text)
        else:
            block, used = _mended(text, columns, line, whole=whole)
        if block.rows:
            yield block
        line += text.count(b"\n", 0, used)
        rest = text[used:]


def _overlong(file: BinaryIO, text: bytes, columns: int, line: int) -> RowBlock:
    """Pass over the rest of a line that is too long."""
    while (rest := file.readline(LONGEST_ROW)) and not rest.endswith(b"\n"):
        pass
    refused = Refused(0, f"longer than {LONGEST_ROW >> 20} MB", text[:_SHOWN])
    return RowBlock(b"," * (columns - 1) + b"\n", 1, line, [refused])


def _mended(text: bytes, columns: int, line: int, *, whole: bool) -> tuple[RowBlock, int]:
    """Split rows one by one, and write them again; also return the bytes that they took.

    Args:
        whole: no more can come that closes the last quote.
    """
    *lines, _ = text.split(b"\n")
    written, refused = list[str](), list[Refused]()
    at = alone = rows = 0  # lines before `alone` are read one by one: a quote before them was not closed
    while at < len(lines):
        stop = at + 1 if at < alone else len(lines)
        values, taken, why = _row(lines, at, stop, columns)
        if why == _UNCLOSED and not whole and at >= alone and at + taken == len(lines):
            break
        if why:
            refused.append(Refused(rows, why, lines[at]))
            at, alone = at + 1, max(alone, at + taken)
            written.append("," * (columns - 1))
        else:
            row = b"\n".join(lines[at : at + taken]).decode("utf-8", "replace")
            written.append(_written(values, row) if values else "," * (columns - 1))
            at += taken
        rows += 1
    used = sum(map(len, lines[:at])) + at
    return RowBlock("".join(f"{row}\n" for row in written).encode(), rows, line, refused), used


def _written(values: Sequence[str], row: str) -> str:
    """Write the values of a row so that the block is clean; of the empty ones those stay quoted that were.

    Args:
        values: texts of the row's fields, as the csv module read them, which does not show which were quoted.
    """
    parts, at, texts = row.split(","), 0, list[str]()
    for value in values:
        quoted = any(letter in value for letter in ',"\r\n') or (not value and parts[at].startswith('"'))
        texts.append('"' + value.replace('"', '""') + '"' if quoted else value)
        at += 1 + value.count(",")  # a value without quotes has no comma
    return ",".join(texts)


def _row(lines: Sequence[bytes], at: int, stop: int, columns: int) -> tuple[list[str], int, str]:
    """The values of the row that begins in a line, the number of its lines, and its fault; no values with a fault."""
    if not lines[at].strip():
        return [], 1, ""
    reader = csv.reader((lines[each].decode("utf-8", "replace") + "\n" for each in range(at, stop)), strict=True)
    try:
        values = next(reader)
    except csv.Error as error:
        why = next((why for known, why in _WHY.items() if known in str(error)), str(error))
        return [], reader.line_num, why if reader.line_num == 1 else _UNCLOSED
    if len(values) == columns:
        return values, reader.line_num, ""
    return [], reader.line_num, f"{'more' if len(values) > columns else 'fewer'} values than columns"


def _each_has(commas: Marks, ends: Places, quotes: Places, wanted: int) -> bool:
    """Whether each row has as many commas outside of its quotes as wanted.

    Args:
        ends: (rows,) places of the line ends; the last letter is one.
    """
    if len(quotes):
        inside = np.zeros(len(commas) + 1, np.int8)
        inside[quotes[::2]], inside[quotes[1::2]] = 1, -1
        commas = commas & (np.cumsum(inside[:-1], dtype=np.int8) == 0)
    if np.count_nonzero(commas) != wanted * len(ends):
        return False
    # Bytes wrap at 256, and add up fast. No row has fewer commas than its byte says, and so none has more.
    kind = np.uint8 if wanted < _WRAPS else np.int64
    begins = np.append(0, ends[:-1] + 1)
    return bool((np.add.reduceat(commas.view(np.uint8), begins, dtype=kind) == wanted).all())


def _proper(letters: Letters, quotes: Places) -> bool:
    """Whether each quote begins or ends a value, or is one of the two that stand for a quote in a value."""
    begin, end = quotes[::2], quotes[1::2]
    before, behind = letters[begin[begin > 0] - 1], letters[end + 1]
    return bool(_BEFORE_A_VALUE[before].all() and _BEHIND_A_VALUE[behind].all())


def _outside(places: Places, quotes: Places) -> Places:
    """The places that do not stand within quotes."""
    if not len(quotes):
        return places
    counts = np.diff(np.searchsorted(places, quotes), prepend=0, append=len(places))
    outside: Places = places[np.repeat(np.arange(len(counts)) % 2 == 0, counts)]
    return outside
