"""Clean lines of a text layout → lines of the CSV, by moving bytes: no value becomes an object.

Theory of operation. All lines of a block are read side by side, a value at a time: 64 bytes from where the value begins
are compared with the byte that ends it, and the comparison of each line becomes the bits of one number, whose lowest
bit tells the end of the value. In the strict pattern of a layout no value holds the byte that ends it, so this finds
what the pattern finds. A line is taken only if each value is proven to be as the pattern asks and to stand in the CSV
as it stands in the log, byte by byte. All other lines are left to `logreplay.parsers.conversion.parse`, which makes the
same of those taken here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np

from logreplay.parsers.fields import timestamps
from logreplay.parsers.fields.other_protocols import AGENT
from logreplay.parsers.formats.format import Format, TextLayout, Value
from logreplay.parsers.lines.csv_lines import CHUNK, Ints, Letters, Lines, octets, windows

Flags = np.ndarray[Any, np.dtype[np.bool_]]
Octets = np.ndarray[Any, np.dtype[np.uint64]]

_FRONT: Final = 8
"""Bytes in front of a block, so that the eight bytes before every place can be looked at."""

_CLF: Final = len("20/Nov/2026:23:30:37 +0530")
_DUMMY: Final = b"(internal dummy connection)"
_GRPC: Final = AGENT.encode()
_UPGRADE: Final = np.uint64(int.from_bytes(b"10100000", "little"))
"""The status 101 with zeros behind it."""
_PROTOCOLS: Final = [np.uint64(int.from_bytes(b"HTTP/" + v, "little")) for v in (b"1.1", b"2.0", b"1.0", b"3.0")]
_UNKNOWN: Final = np.uint64(int.from_bytes(b"unknown", "little"))
_ODD: Final = b' ,"['
"""Bytes that a value outside of quotes must not hold: it would be stripped or quoted, or is not a client."""
_MOST_LITERAL: Final = 8
_SHORT: Final = 40
"""Bytes of a line, on average, below which a block holds mostly other lines: clean ones have more than the stamp."""
_LONGEST: Final = 1 << 16
"""Bytes of a line; a longer one takes ten times as long as by the strict patterns, since it is read in small chunks."""
_AT_ONCE: Final = 1 << 14
"""Lines read side by side; more would not fit in the cache, fewer would take more calls of NumPy."""
_CHUNKS: Final = (16, 32, 64, 128)
"""Bytes moved or looked at at once."""

_KINDS: Final = {
    "time": ("clf",),
    "rc": ("status",),
    "bytes": ("int",),
    "request_bytes": ("int",),
    "request": ("request",),
    "total": ("seconds", "list"),
    "client": ("client",),
    **dict.fromkeys(("host", "user", "referer", "agent"), ("text", "user")),
    "": ("text", "user", "client", "int", "seconds", "list"),
}
"""Kinds of values that can go into the CSV as they stand in the log, by the raw field."""

_REQUEST: Final = (Value("op", "method"), " ", Value("url", "target"), " ", Value("protocol", "protocol"))

_ABSENT: Final = {"latency": "0", "xfertime": "0", "thinktime": "0", "bytes": "0"}
"""Values of columns that the log does not have; of the others the CSV has none."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A value and what stands around it.

    Attributes:
        before: literal in front of it.
        slot: the raw field; empty: it is skipped over.
        kind: kind of the value; ``end``: no value.
        stop: the byte behind it.
    """

    before: bytes
    slot: str
    kind: str
    stop: int


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of the clean lines of a block.

    Attributes:
        line: (n,) their indices in the block.
        us: (n,) their stamps, microseconds since 1970, UTC.
        ms: (n,) how long the requests took, milliseconds.
        lines: the columns of the CSV behind date and time.
        left: (m,) indices of the other lines.
        offsets: different offsets of the stamps from UTC, as they are written.
        http3: lines whose protocol is HTTP/3.
    """

    line: Ints
    us: Ints
    ms: Ints
    lines: Lines
    left: Ints
    offsets: tuple[str, ...]
    http3: int


@lru_cache(8)
def pieces_of(format: Format) -> tuple[Piece, ...] | None:
    """Return how to read the clean lines of a format; None if it has values that cannot be moved unchanged."""
    layout = format.layout
    if not isinstance(layout, TextLayout) or format.total_unit != 1.0 or format.agent_coding:
        return None
    parts: list[Value | str] = []
    for part in layout.parts:
        if part:
            parts += _REQUEST if isinstance(part, Value) and part.kind == "request" else (part,)
    pieces = []
    literal = ""
    for part, after in zip(parts, [*parts[1:], "\n"], strict=True):
        if isinstance(part, str):
            literal += part
            continue
        if not isinstance(after, str) or not after.isascii():
            return None
        if part not in _REQUEST and part.kind not in _KINDS.get(part.slot, ()):
            return None
        pieces.append(Piece(literal.encode("latin-1"), part.slot, part.kind, ord(after[0])))
        literal = ""
    pieces.append(Piece(literal.encode("latin-1"), "", "end", ord("\n")))
    told = {"time", "rc", "url"} <= {piece.slot for piece in pieces}
    return tuple(pieces) if told and all(len(piece.before) <= _MOST_LITERAL for piece in pieces) else None


def take(data: bytes, format: Format, columns: Sequence[str]) -> Taken | None:
    """Bring the clean lines of a block to lines of the CSV.

    None if few lines are clean, a line is very long, or the format has values that cannot be moved unchanged.
    """
    pieces = pieces_of(format)
    if pieces is None or not data or (format.server != "nginx" and _DUMMY in data) or _GRPC in data:
        return None
    block = _Bytes(data)
    if len(block.ends) * _SHORT > len(data) or np.diff(block.ends, prepend=_FRONT - 1).max() > _LONGEST:
        return None
    left = np.ones(len(block.ends), np.bool_)
    found = []
    offsets: dict[str, None] = {}
    http3 = 0
    for begin in range(0, len(block.ends), _AT_ONCE):
        reader = _Reader(block, slice(begin, begin + _AT_ONCE))
        for piece in pieces:
            reader.read(piece)
        us = reader.stamps()
        if len(us):
            ms = reader.milliseconds()
            found.append((reader.line, us, ms, reader.lines(columns)))
            left[reader.line] = False
            offsets |= dict.fromkeys(reader.offsets)
            http3 += reader.http3()
    if not found:
        return None
    line, us, ms = (np.concatenate([part[column] for part in found]) for column in range(3))
    return Taken(line, us, ms, Lines.concat([part[3] for part in found]), np.flatnonzero(left), tuple(offsets), http3)


class _Bytes:
    """The bytes of a block.

    Attributes:
        text: the block with `_FRONT` padding bytes before and `CHUNK` after it.
        octets: see `csv_lines.octets`.
        windows: see `csv_lines.windows`.
        ends: (n,) places of the newlines in the text.
        printable: (n,) which lines hold only printable ASCII and no backslash.
    """

    def __init__(self, data: bytes) -> None:
        size = len(data) + (not data.endswith(b"\n"))
        self.text = text = np.empty(_FRONT + size + CHUNK, np.uint8)
        text[:_FRONT] = text[_FRONT + size - 1 :] = ord("\n")
        text[_FRONT : _FRONT + len(data)] = np.frombuffer(data, np.uint8)
        self.octets = octets(text)
        self.windows = {size: windows(text, size) for size in _CHUNKS}
        block = text[_FRONT : _FRONT + size]
        shifted = block - np.uint8(32)
        odd = np.flatnonzero(np.greater(shifted, ord("~") - 32, out=shifted.view(np.bool_)))
        newline = block[odd] == ord("\n")
        ends = odd[newline]
        self.printable = np.ones(len(ends), np.bool_)
        self.printable[np.searchsorted(ends, odd[~newline])] = False
        if b"\\" in data:
            self.printable[np.searchsorted(ends, np.flatnonzero(block == ord("\\")))] = False
        self.ends = ends + _FRONT


class _Reader:
    """Some lines of a block, and how far they are read.

    Attributes:
        line: (n,) indices of those that are taken to be clean.
        begin, end: (n,) places of the values, by slot.
        quoted: (n,) which of them need quotes in the CSV.
        offsets: offsets of the stamps from UTC, as they are written; known when these are read.
    """

    def __init__(self, block: _Bytes, some: slice) -> None:
        self._text, self._octets, self._windows = block.text, block.octets, block.windows
        self._ends = block.ends[some]
        self.line = np.arange(some.start, some.start + len(self._ends))
        first = block.ends[some.start - 1] + 1 if some.start else _FRONT
        self._at = np.concatenate(([first], self._ends[:-1] + 1))
        self._good = block.printable[some].copy()
        self._seconds: Octets | None = None
        self.begin: dict[str, Ints] = {}
        self.end: dict[str, Ints] = {}
        self.quoted: dict[str, Flags] = {}
        self.offsets: list[str] = []

    def read(self, piece: Piece) -> None:
        """Read a literal and a value of all lines."""
        begin = np.minimum(self._at, self._ends)
        if piece.before:
            self._says(begin, piece.before)
            begin = np.minimum(begin + len(piece.before), self._ends)
        match piece.kind:
            case "end":
                end = begin
            case "clf":
                end = begin + _CLF
            case "status":
                end = begin + 3
                code = self._octets[begin] & _LOWER[3] | _all("0") & ~_LOWER[3]
                self._good &= _are_digits(code) & (self._text[begin] != ord("0")) & (code != _UPGRADE)
            case "protocol":
                end = begin + 8
                found = self._octets[begin]
                known = found == _PROTOCOLS[0]
                if not known.all():
                    for protocol in _PROTOCOLS[1:]:
                        known |= found == protocol
                self._good &= known
            case _:
                self._at = self._read_text(piece, begin)
                return
        self._at = end
        if piece.slot:
            self.begin[piece.slot], self.end[piece.slot] = begin, end

    def _read_text(self, piece: Piece, begin: Ints) -> Ints:
        stop = bytes([piece.stop])
        match piece.kind:
            case "method":
                end, _ = self._until(begin, stop)
                self._good &= self._is_method(begin, end)
            case "target":
                end, self.quoted["url"] = self._until(begin, stop + b'"', long=True)
                self._good &= self._text[begin] == ord("/")
            case "int":
                end, _ = self._until(begin, stop)
                self._good &= self._is_number(begin, end) | self._is_dash(begin, end)
            case "seconds" | "list":
                end, _ = self._until(begin, stop)
                digits, good = self._milliseconds(begin, end)
                self._good &= good if piece.slot else good | self._is_dash(begin, end)
                if piece.slot:
                    self._seconds = digits
            case _ if stop == b'"' and piece.kind != "client":
                end, commas = self._until(begin, stop, long=True)
                if piece.slot:
                    first, width = self._text[begin], end - begin
                    self._good &= (first != ord(" ")) & (self._text[end - 1] != ord(" "))
                    commas |= width == 0
                    self.quoted[piece.slot] = commas
                    begin = begin + ((first == ord("-")) & (width == 1))
            case _ if self._are_all(begin, b"-" + stop):  # mostly nobody logs in
                end = begin + 1
                begin = end
            case _:
                stops = stop + _ODD.replace(stop, b"")
                end = self._end_of_client(begin, stops) if piece.slot == "client" else self._until(begin, stops)[0]
                self._good &= end > begin
                begin = begin + self._is_dash(begin, end)
        self._good &= self._text[end] == piece.stop
        if piece.slot:
            self.begin[piece.slot], self.end[piece.slot] = begin, end
        return end

    def _end_of_client(self, begin: Ints, stops: bytes) -> Ints:
        """The ends of clients. Lines with a port, or with an unknown client, are left to the careful path."""
        self._good &= self._octets[begin] & _LOWER[7] != _UNKNOWN
        end, _ = self._until(begin, stops + b":")
        colon = np.flatnonzero(self._text[end] == ord(":"))
        if len(colon) and b":" not in stops:
            after = np.minimum(end[colon] + 1, self._ends[colon])
            second, _ = self._look(after, 16, stops + b":", False)
            second = np.minimum(second, self._ends[colon])
            self._good[colon] &= self._text[second] == ord(":")  # an address of IPv6 has several
            end[colon] = np.minimum(self._look(second, 64, stops, False)[0], self._ends[colon])
        return end

    def _narrow(self, good: Flags) -> None:
        if good.all():
            return
        kept = np.flatnonzero(good)
        self.line = self.line[kept]
        self._seconds = None if self._seconds is None else self._seconds[kept]
        self.begin = {slot: place[kept] for slot, place in self.begin.items()}
        self.end = {slot: place[kept] for slot, place in self.end.items()}
        self.quoted = {slot: flags[kept] for slot, flags in self.quoted.items()}

    def _says(self, place: Ints, literal: bytes) -> None:
        found = self._octets[place]
        if len(literal) < 8:
            found &= np.uint64((1 << 8 * len(literal)) - 1)
        self._good &= found == np.uint64(int.from_bytes(literal, "little"))

    def _are_all(self, place: Ints, text: bytes) -> bool:
        """Whether the same two bytes stand in all lines."""
        return all(bool((self._text[place + n] == byte).all()) for n, byte in enumerate(text))

    def _until(self, begin: Ints, stops: bytes, *, long: bool = False) -> tuple[Ints, Flags]:
        """Find the first of some bytes from each place on, and whether there is a comma before it.

        Where there is none in the line, the end of the line is found, or a place behind it. ``long``: the value has
        mostly more than 15 bytes, and may hold commas.
        """
        size = 64 if long else 16
        end, comma = self._look(begin, size, stops, long)
        over = np.flatnonzero(end - begin == size)
        while len(over):
            more, found = self._look(end[over], 64, stops, long)
            wide = more - end[over] == 64
            end[over] = more
            if long:
                comma[over] |= found
            over = over[wide & (more < self._ends[over])]
        return np.minimum(end, self._ends, out=end), comma

    def _look(self, begin: Ints, size: int, stops: bytes, commas: bool) -> tuple[Ints, Flags]:
        """`_until` in so many bytes; their end where there is none."""
        seen = self._windows[size][begin].view(np.uint8)
        hit = seen == stops[0]
        for stop in stops[1:]:
            hit |= seen == stop
        before = _before_first(_bits(hit, size))
        comma = _bits(seen == ord(","), size) & before != 0 if commas else np.zeros(0, np.bool_)
        return begin + np.bitwise_count(before), comma

    def _is_dash(self, begin: Ints, end: Ints) -> Flags:
        dash: Flags = (end - begin == 1) & (self._text[begin] == ord("-"))
        return dash

    def _is_number(self, begin: Ints, end: Ints) -> Flags:
        """Up to eight digits as one writes a number: no leading zeros."""
        width = end - begin
        keep = _UPPER[width.clip(0, 8)]
        digits = _are_digits(self._octets[end - 8] & keep | _all("0") & ~keep)
        number: Flags = digits & (width >= 1) & (width <= 8) & ((width == 1) | (self._text[begin] != ord("0")))
        return number

    def _is_method(self, begin: Ints, end: Ints) -> Flags:
        """Up to eight letters from A to Z; CONNECT is a matter of the careful path."""
        width = end - begin
        keep = _LOWER[width.clip(0, 8)]
        letters = self._octets[begin] & keep | _all("A") & ~keep
        low, high = letters + np.uint64(0x3F * _EACH), letters + np.uint64(0x25 * _EACH)
        method: Flags = (low & ~high & _TOP == _TOP) & (width >= 1) & (width <= 8) & (letters != _CONNECT)
        return method

    def _milliseconds(self, begin: Ints, end: Ints) -> tuple[Octets, Flags]:
        """Seconds with three decimals and up to four digits before, as eight digits; and where they are that."""
        width = end - begin
        keep = _UPPER[width.clip(0, 8)]
        seen = self._octets[end - 8] & keep | _all("0") & ~keep
        digits = (seen & _LOWER[4]) << np.uint64(8) | seen & _UPPER[3] | np.uint64(ord("0"))
        good = (seen >> np.uint64(32) & np.uint64(0xFF) == ord(".")) & _are_digits(digits)
        good &= (width >= 5) & (width <= 8) & ((width == 5) | (self._text[begin] != ord("0")))
        return digits, good

    def http3(self) -> int:
        """Lines whose protocol is HTTP/3."""
        if "protocol" not in self.begin:
            return 0
        return int((self._octets[self.begin["protocol"]] == _PROTOCOLS[-1]).sum())

    def milliseconds(self) -> Ints:
        """How long the requests took; 0 where the log does not say it."""
        return np.zeros(len(self.line), np.int64) if self._seconds is None else _number(self._seconds)

    def stamps(self) -> Ints:
        """Read the stamps of the clean lines, and leave all others; mostly a line has the stamp of the line before."""
        self._narrow(self._good & (self._at == self._ends))
        if not len(self.line):
            return np.zeros(0, np.int64)
        found = self._windows[32][self.begin["time"]].view("<u8").reshape(-1, 4)
        found[:, 3] &= _LOWER[_CLF - 24]
        new = np.ones(len(found), np.bool_)
        new[1:] = np.logical_or.reduce([found[1:, column] != found[:-1, column] for column in range(4)])
        runs = np.flatnonzero(new)
        letters = found[runs].view(np.uint8)[:, :_CLF]
        us, good = timestamps.read_clf(letters)
        written = np.ascontiguousarray(letters[good, _CLF - len("+0530") :]).view("S5")
        self.offsets = [text.decode() for text in np.unique(written).tolist()]
        counts = np.diff(runs, append=len(found))
        if not good.all():
            self._narrow(np.repeat(good, counts))
        return np.repeat(us[good], counts[good])

    def _end_of_seconds(self) -> Ints:
        """Places behind the durations as the CSV has them: without zeros at the end of the decimals."""
        end: Ints = self.end["total"]
        zero = self._text[end - 1] == ord("0")
        zeros = zero.astype(np.int64)
        zero &= self._text[end - 2] == ord("0")
        zeros += zero
        zero &= self._text[end - 3] == ord("0")
        zeros += zero
        zeros += zero
        end = end - zeros
        return end

    def lines(self, columns: Sequence[str]) -> Lines:
        """Join the values to lines of the CSV."""
        if "total" in self.begin:
            self.begin["latency"], self.end["latency"] = self.begin["total"], self._end_of_seconds()
        absent = (len(_ABSENT.get(column, "")) for column in columns if column not in self.begin)
        width = np.full(len(self.line), len(columns) + sum(absent))
        quotes = {column: self.quoted[column].astype(np.int64) for column in columns if column in self.quoted}
        for column in columns:
            if column in self.begin:
                width += self.end[column]
                width -= self.begin[column]
            if column in quotes:
                width += quotes[column]
                width += quotes[column]
        place = np.cumsum(width + _GAP) - width - _GAP
        out = _Written(np.empty(int(place[-1] + width[-1]) + CHUNK, np.uint8), place.copy())
        literal = ""
        for column in columns:
            if column not in self.begin:
                literal += _ABSENT.get(column, "") + ","
                continue
            out.literal(literal)
            literal = ","
            begin, end, quoted = self.begin[column], self.end[column], quotes.get(column)
            if column in ("bytes", "request_bytes"):
                out.number(self._windows, begin, end, self._is_dash(begin, end))
            elif quoted is None:
                out.value(self._windows, begin, end)
            else:
                out.text(self._windows, begin, end, quoted)
        out.literal(literal[:-1] + "\n")
        return Lines.of(out.text_, place, width)


_GAP: Final = 128
"""Free bytes between two written lines: values are moved in chunks of at most this size."""


class _Written:
    """Lines of the CSV, written a column of all lines at a time; each chunk may reach beyond its value."""

    def __init__(self, text: Letters, at: Ints) -> None:
        self.text_, self._at = text, at
        self._octets = octets(text)
        self._into = {size: windows(text, size) for size in _CHUNKS}

    def literal(self, text: str) -> None:
        """Write the same in all lines."""
        if len(text) == 1:
            self.text_[self._at] = ord(text)
        for begin in range(0, len(text) if len(text) > 1 else 0, 8):
            self._octets[self._at + begin] = int.from_bytes(text[begin : begin + 8].encode(), "little")
        self._at += len(text)

    def value(self, source: Any, begin: Ints, end: Ints) -> None:
        """Write a value."""
        width = end - begin
        most = int(width.max())
        if not most:
            return
        size = next((size for size in _CHUNKS if most <= size), 0) or (32 if width.mean() < 32 else 128)
        self._into[size][self._at] = source[size][begin]
        done = size
        over = np.flatnonzero(width > done)
        while len(over):
            self._into[size][self._at[over] + done] = source[size][begin[over] + done]
            done += size
            over = over[width[over] > done]
        self._at += width

    def number(self, source: Any, begin: Ints, end: Ints, dash: Flags) -> None:
        """Write a number, 0 for ``-``."""
        place = self._at[dash]
        self.value(source, begin, end)
        self.text_[place] = ord("0")

    def text(self, source: Any, begin: Ints, end: Ints, quoted: Ints) -> None:
        """Write a text, some of them in quotes: those with a 1."""
        some = np.flatnonzero(quoted)
        if len(some):
            self.text_[self._at[some]] = ord('"')
            self._at += quoted
        self.value(source, begin, end)
        if len(some):
            self.text_[self._at[some]] = ord('"')
            self._at += quoted


_EACH: Final = 0x0101_0101_0101_0101
_TOP: Final = np.uint64(0x80 * _EACH)
_UPPER: Final = np.array([(1 << 64) - (1 << 64 - 8 * width) for width in range(9)], np.uint64)
"""The last bytes of eight, by their count."""
_LOWER: Final = np.array([(1 << 8 * width) - 1 for width in range(9)], np.uint64)
"""The first bytes of eight, by their count."""
_CONNECT: Final = np.uint64(int.from_bytes(b"CONNECTA", "little"))


def _all(letter: str) -> np.uint64:
    return np.uint64(ord(letter) * _EACH)


def _bits(flags: Flags, size: int) -> np.ndarray[Any, np.dtype[np.unsignedinteger[Any]]]:
    """Each 16 or 64 flags as one number; the first is its low bit."""
    return np.packbits(flags, bitorder="little").view(f"<u{size // 8}")


def _before_first(
    bits: np.ndarray[Any, np.dtype[np.unsignedinteger[Any]]],
) -> np.ndarray[Any, np.dtype[np.unsignedinteger[Any]]]:
    """The bits below the lowest one that is set; all if none is."""
    return ~bits & (bits - bits.dtype.type(1))


def _are_digits(seen: Octets) -> Flags:
    high = np.uint64(0xF0 * _EACH)
    digits: Flags = (seen & high) | ((seen + np.uint64(6 * _EACH)) & high) >> np.uint64(4) == np.uint64(0x33 * _EACH)
    return digits


def _number(digits: Octets) -> Ints:
    """The number that eight digits write: they are added up in pairs, then these, then those.

    Source: https://kholdstare.github.io/technical/2020/05/26/faster-integer-parsing.html
    """
    pairs = (digits & np.uint64(0x0F * _EACH)) * np.uint64(10 * 256 + 1) >> np.uint64(8)
    fours = (pairs & np.uint64(0x00FF_00FF_00FF_00FF)) * np.uint64(100 * 65536 + 1) >> np.uint64(16)
    eights = (fours & np.uint64(0x0000_FFFF_0000_FFFF)) * np.uint64((10_000 << 32) + 1) >> np.uint64(32)
    return eights.astype(np.int64)
