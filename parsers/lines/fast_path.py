"""Clean lines of a format of words and quoted texts → lines of the CSV, by moving bytes: no value becomes an object.

Theory of operation. A line is taken only if its marks prove what the strict pattern of the format asks:

- as many quotes as the format has: so none stands in a value, and each tells inside from outside;
- outside of quotes as many blanks as the format has, so none stands in a value; in the request two;
- what is left, byte by byte: literals, digits, the stamp; and nowhere a backslash, or what is not printable ASCII.

Then the pieces of the lines, in the order of the CSV, are joined by one ``take`` of Arrow. All other lines are left to
`rows.parse`, which would make the same of those taken here, to the byte; only not as fast.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from logreplay.parsers.fields import timestamps
from logreplay.parsers.lines.byte_marks import BLANK, NEWLINE, QUOTE, ZERO, Flags, Ints, Marks, Piece
from logreplay.parsers.lines.word_layout import Word, Wording

STAMP: Final = "0000-00-00,00:00:00.000000"
"""Stands in a line of the CSV for date and time until the start is known."""

_CLF: Final = "20/Nov/2026:23:30:37 +0530"
_PROTOCOLS: Final = np.frombuffer(b"HTTP/1.0HTTP/1.1HTTP/2.0HTTP/3.0", "<u8")
_DUMMY: Final = b"(internal dummy connection)"
_NUMBERS: Final = ("bytes", "rc", "request_bytes")
_TEXTS: Final = ("client", "host", "user", "referer", "agent", "body")
_ABSENT: Final = {"latency": "0", "xfertime": "0", "thinktime": "0", "bytes": "0"}
"""What the CSV has where the log says nothing."""
_LITERALS: Final = ("", ",", "\n", '"', f"{STAMP},", "0,")


def take_shortcut(data: bytes, wording: Wording, columns: Sequence[str]) -> tuple[pl.DataFrame, Ints] | None:
    """Bring the clean lines of a block to lines of the CSV.

    Args:
        data: whole lines.
        wording: of their format.
        columns: of the CSV, behind date and time.

    Returns:
        Their rows as an `intake.Pack` makes them, with ``line``; and the numbers of the lines left. None if all are.
    """
    if wording.server != "nginx" and _DUMMY in data:
        return None
    return _Cut(data if data.endswith(b"\n") else data + b"\n", wording).rows(columns)


class _Cut:
    """The lines of a block that are still taken to be clean."""

    def __init__(self, data: bytes, way: Wording) -> None:
        self._way = way
        self._marks = marks = Marks(data, "".join(_LITERALS).encode())
        ends, quotes = np.flatnonzero(marks.kinds == NEWLINE), np.flatnonzero(marks.kinds == QUOTE)
        before = np.cumsum(marks.kinds == QUOTE, dtype=np.int32)[ends]
        clean = np.diff(before) == len(way.blanks) - 1
        clean[np.searchsorted(marks.places[ends], marks.dirty()) - 1] = False
        self._count = len(clean)
        lines = np.flatnonzero(clean)
        edges = [ends[lines], *(quotes[before[lines] + n] for n in range(len(way.blanks) - 1)), ends[lines + 1]]
        good = np.ones(len(lines), np.bool_)
        for number, blanks in enumerate(way.blanks):
            begin, end = edges[number : number + 2]
            if number == way.request:  # commas may stand in its target
                good &= end - begin == 3 + marks.commas(begin, end)
                good &= (marks.kinds[begin + 1] == BLANK) & (marks.kinds[end - 1] == BLANK)
            elif blanks is not None:
                good &= (end - begin == blanks + 1) & (marks.commas(begin, end) == 0)
        if not good.all():
            taken = np.flatnonzero(good)
            lines, edges = lines[taken], [edge[taken] for edge in edges]
        self._lines = lines
        self._numbers = list[Ints]()
        for number, blanks in enumerate(way.blanks):
            begin, end = edges[number : number + 2]
            self._numbers += [begin, *(begin + 1 + n for n in range(blanks or 0))]
            if number == way.request:
                self._numbers[-1] = end - 1
        self._numbers.append(edges[-1])
        self._places = [marks.places[number] for number in self._numbers]
        self._good: Flags = np.ones(len(lines), np.bool_)
        self._pieces: dict[str, Piece] = {}

    def rows(self, columns: Sequence[str]) -> tuple[pl.DataFrame, Ints] | None:
        """See `take_shortcut`."""
        for word in self._way.words:
            self._look_at(word)
        self._narrow()
        us = self._stamps()
        if not len(us):
            return None
        latency = self._latency()
        at_end = self._way.stamp.at == "end"
        left = np.ones(self._count, np.bool_)
        left[self._lines] = False
        frame = {
            "line": self._lines.astype(np.uint32),
            "us": us,
            "whole": np.ones(len(us), np.bool_),
            "fold": np.zeros(len(us), np.int64),
            "back": latency * 1000 if at_end else np.zeros(len(us), np.int64),
            "latency": latency / 1000,
            "rest": _joined(self._marks, self._pieces, columns, len(us)),
        }
        return pl.DataFrame(frame), np.flatnonzero(left)

    def _narrow(self) -> None:
        """Go on with the good lines only."""
        if not self._good.all():
            taken = np.flatnonzero(self._good)
            self._lines = self._lines[taken]
            self._pieces = {slot: piece.at(taken) for slot, piece in self._pieces.items()}

    def _look_at(self, word: Word) -> None:
        marks, after = self._marks, self._places[word.begin] + 1
        piece = Piece(after, self._places[word.end])
        if word.before or word.after:
            self._good &= piece.width >= len(word.before) + len(word.after)
            piece.start = np.minimum(after + len(word.before), piece.end)
            piece.end = np.maximum(piece.end - len(word.after), after)
            self._good &= marks.says(after, word.before) & marks.says(piece.end, word.after)
        match word.kind:
            case "literal":
                self._good &= piece.width == 0
            case "clf":
                self._good &= piece.width == len(_CLF)
            case "status":
                self._good &= marks.is_dash(piece) | (marks.is_whole(piece) & (piece.width == 3))
            case "int":
                self._good &= marks.is_dash(piece) | marks.is_whole(piece)
            case "seconds" | "list":
                self._good &= marks.milliseconds(piece)[1]
            case "method":
                self._good &= marks.is_method(piece)
            case "target":
                self._good &= marks.at(piece.start) == ord("/")
                piece.odd = marks.commas(self._numbers[word.begin], self._numbers[word.end]) > 0
            case "protocol":
                self._good &= (piece.width == 8) & np.isin(marks.octets(piece.start), _PROTOCOLS)
            case "client":
                self._good &= marks.lacks(piece, ord("["))
        if word.kind in ("text", "user", "client") and word.slot:
            if word.quoted:
                commas = marks.commas(self._numbers[word.begin], self._numbers[word.end])
                piece.quoted, piece.odd = True, (commas > 0) | (piece.width == 0)
                self._good &= (marks.at(piece.start) != BLANK) & (marks.at(piece.end - 1) != BLANK)
            else:
                self._good &= piece.width > 0
            piece.start = np.where(marks.is_dash(piece), piece.end, piece.start)
        if word.slot:
            self._pieces[word.slot] = piece

    def _stamps(self) -> Ints:
        """Read the stamps; mostly a line has that of the line before."""
        start = self._pieces["time"].start
        octets = [self._marks.octets(start + offset) for offset in (0, 8, 16, len(_CLF) - 8)]
        new = np.ones(len(start), np.bool_)
        new[1:] = np.logical_or.reduce([one[1:] != one[:-1] for one in octets])
        runs = np.flatnonzero(new)
        us, fits = timestamps.read_clf(self._marks.text[start[runs][:, None] + np.arange(len(_CLF))])
        counts = np.diff(runs, append=len(start))
        self._good = np.repeat(fits, counts)
        self._narrow()
        return np.repeat(us[fits], counts[fits])

    def _latency(self) -> Ints:
        """Read the durations, milliseconds; in the CSV they have no zeros at their end."""
        piece = self._pieces.pop("total", None)
        if piece is None:
            return np.zeros(len(self._lines), np.int64)
        milliseconds, _ = self._marks.milliseconds(piece)
        zeros = (milliseconds % 10 == 0).astype(np.int64) + (milliseconds % 100 == 0) + 2 * (milliseconds % 1000 == 0)
        self._pieces["latency"] = Piece(piece.start, piece.end - zeros)
        return milliseconds


def _joined(marks: Marks, pieces: Mapping[str, Piece], columns: Sequence[str], count: int) -> pl.Series:
    """Join pieces to lines of the CSV, with their newlines.

    In the text each piece is closed by the comma or newline that the CSV has behind it; the byte there is a mark, which
    nobody needs any more. So a text between two places is a field; between these fields lie texts that nobody takes.
    """
    slots = sorted((name for name in columns if name in pieces), key=lambda name: int(pieces[name].start[0]))
    bounds = np.empty((count, 2 * len(slots)), np.int32)
    fields: dict[str, list[Ints | int]] = {}
    literals = {literal: count * 2 * len(slots) + number for number, literal in enumerate(_LITERALS)}
    for number, name in enumerate(slots):
        piece, closing = pieces[name], "\n" if name == columns[-1] else ","
        start, end, odd = piece.start, piece.end, piece.odd
        field = np.arange(2 * number, count * 2 * len(slots), 2 * len(slots), dtype=np.int32)
        fields[name] = [field]
        if name in _NUMBERS:
            marks.text[start[marks.is_dash(piece)]] = ZERO
        if odd is not None and piece.quoted:
            start, end = start - odd, end + odd
        marks.text[end] = ord(closing)
        if odd is not None and not piece.quoted and odd.any():
            marks.text[end[odd]] = QUOTE
            before, after = (np.where(odd, literals[sign], literals[""]) for sign in ('"', closing))
            fields[name] = [before, field, after]
        bounds[:, 2 * number], bounds[:, 2 * number + 1] = start, end + 1
    order: list[Ints | int] = [literals[f"{STAMP},"]]
    for name in columns:
        order += fields.get(name) or [literals[_ABSENT.get(name, "") + ("\n" if name == columns[-1] else ",")]]
    chosen = np.empty((count, len(order)), np.int32)
    for number, places in enumerate(order):
        chosen[:, number] = places
    ends = np.cumsum([0, *map(len, _LITERALS)]) + marks.more
    offsets = np.concatenate((bounds.ravel(), ends)).astype(np.int32, copy=False)
    texts = pa.BinaryArray.from_buffers(
        pa.binary(), len(offsets) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(marks.text)]
    )
    which = pa.Int32Array.from_buffers(pa.int32(), chosen.size, [None, pa.py_buffer(chosen)])
    taken = pc.take(texts, which, boundscheck=False)
    lines = np.frombuffer(taken.buffers()[1], np.int32)[: chosen.size + 1 : len(order)].astype(np.int64)
    return pl.Series("rest", pa.LargeStringArray.from_buffers(count, pa.py_buffer(lines), taken.buffers()[2]))
