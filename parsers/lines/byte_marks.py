"""The bytes of a block, looked at all at once: the places of its marks, and what stands between them.

A mark is a newline, a quote, a blank or a comma. Values are looked at eight bytes at a time, as one number; what is
longer than the tests here can tell is no number to them, and no method.
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

Ints = np.ndarray[Any, np.dtype[np.signedinteger[Any]]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]
Letters = np.ndarray[Any, np.dtype[np.uint8]]
Octets = np.ndarray[Any, np.dtype[np.uint64]]

NEWLINE, BLANK, QUOTE, COMMA, DASH, ZERO = b'\n ",-0'
BACKSLASH: Final = ord("\\")
LAST: Final = ord("~")
"""Of the printable ones."""

_FRONT: Final = b"xxxxxxx\n"
_BACK: Final = bytes(8)


def _all(byte: int) -> np.uint64:
    return np.uint64(byte * 0x0101_0101_0101_0101)


_TOP: Final = _all(0x80)
_UPPER: Final = np.array([(1 << 64) - (1 << 64 - 8 * width) for width in range(9)], np.uint64)
"""The last bytes of eight, by their count."""
_LOWER: Final = np.array([(1 << 8 * width) - 1 for width in range(9)], np.uint64)
"""The first bytes of eight, by their count."""


@dataclass(slots=True)
class Piece:
    """Where a value stands in each line.

    Attributes:
        start: places of its first bytes.
        end: places of the bytes behind it.
        odd: it needs quotes in the CSV; None: in no line.
        quoted: it has quotes in the log.
    """

    start: Ints
    end: Ints
    odd: Flags | None = None
    quoted: bool = False

    @property
    def width(self) -> Ints:
        """Bytes."""
        return self.end - self.start

    def at(self, lines: Ints) -> "Piece":
        """In some of the lines."""
        return Piece(self.start[lines], self.end[lines], None if self.odd is None else self.odd[lines], self.quoted)


class Marks:
    """A block and its marks.

    Attributes:
        text: its bytes, with something in front and behind, so that eight can be looked at from every place. All
            places are those in here.
        more: place of what follows behind.
        places: of the marks, from the newline before the first line on.
        kinds: their bytes.
    """

    def __init__(self, data: bytes, more: bytes = b"") -> None:
        """Find the marks of whole lines; ``more`` follows behind in `text`."""
        self.text = np.frombuffer(bytearray().join((_FRONT, data, _BACK, more)), np.uint8)
        self._size = len(_FRONT) + len(data)
        self.more = self._size + len(_BACK)
        self._octets: Octets = np.ndarray(len(self.text) - 7, "<u8", self.text, 0, (1,))
        block = self.text[: self._size]
        found = block <= BLANK
        found |= block == QUOTE
        found |= block == COMMA
        self.places = np.flatnonzero(found)
        self.kinds = block[self.places]
        self._commas = np.cumsum(self.kinds == COMMA, dtype=np.int32)

    def dirty(self) -> Ints:
        """Places of what is not printable ASCII, and of backslashes."""
        block = self.text[: self._size]
        found = [self.places[(self.kinds < BLANK) & (self.kinds != NEWLINE)]]
        if block.max() > LAST:
            found.append(np.flatnonzero(block > LAST))
        escapes = block == BACKSLASH
        if escapes.any():
            found.append(np.flatnonzero(escapes))
        return np.concatenate(found)

    def commas(self, begin: Ints, end: Ints) -> Ints:
        """How many commas stand between two marks of each line, given by their numbers."""
        return self._commas[end] - self._commas[begin]

    def at(self, places: Ints) -> Letters:
        """The bytes there."""
        return self.text.take(places, mode="clip")

    def says(self, places: Ints, literal: str) -> Flags:
        """Whether a literal stands there."""
        same = np.ones(len(places), np.bool_)
        for offset, letter in enumerate(literal):
            same &= self.at(places + offset) == ord(letter)
        return same

    def lacks(self, piece: Piece, byte: int) -> Flags:
        """A byte is not in a value, of up to 40 bytes."""
        width = piece.width
        found = np.zeros(len(width), np.uint64)
        for offset in range(0, min(int(width.max(initial=0)), 40), 8):
            keep = _LOWER[(width - offset).clip(0, 8)]
            octets = (self.octets(piece.start + offset) ^ _all(byte)) | ~keep
            found |= (octets - _all(1)) & ~octets & _TOP
        lacks: Flags = (found == 0) & (width <= 40)
        return lacks

    def octets(self, places: Ints) -> Octets:
        """Eight bytes from each place on; the first is the lowest byte of the number."""
        octets: Octets = self._octets[places]
        return octets

    def is_dash(self, piece: Piece) -> Flags:
        """Where a value is ``-``."""
        dash: Flags = (piece.width == 1) & (self.at(piece.start) == DASH)
        return dash

    def is_whole(self, piece: Piece) -> Flags:
        """Digits as one writes a number: no leading zeros."""
        width = piece.width
        keep = _UPPER[width.clip(0, 8)]
        digits = _are_digits(self.octets(piece.end - 8) & keep | _all(ZERO) & ~keep)
        whole: Flags = digits & (width >= 1) & (width <= 8) & ((width == 1) | (self.at(piece.start) != ZERO))
        return whole

    def is_method(self, piece: Piece) -> Flags:
        """Letters from A to Z."""
        width = piece.width
        keep = _LOWER[width.clip(0, 8)]
        octets = self.octets(piece.start) & keep | _all(ord("A")) & ~keep
        low, high = octets + _all(0x80 - ord("A")), octets + _all(0x7F - ord("Z"))
        method: Flags = (low & ~high & _TOP == _TOP) & (width >= 1) & (width <= 8)
        return method

    def milliseconds(self, piece: Piece) -> tuple[Ints, Flags]:
        """Read seconds with three decimals, up to four digits before; and where they are that."""
        width = piece.width
        keep = _UPPER[width.clip(0, 8)]
        octets = self.octets(piece.end - 8) & keep | _all(ZERO) & ~keep
        point = octets >> np.uint64(32) & np.uint64(0xFF) == ord(".")
        digits = (octets & _LOWER[4]) << np.uint64(8) | octets & _UPPER[3] | np.uint64(ZERO)
        fits = point & _are_digits(digits) & (width >= 5) & (width <= 8)
        return _number(digits), fits & ((width == 5) | (self.at(piece.start) != ZERO))


def _are_digits(octets: Octets) -> Flags:
    high = _all(0xF0)
    digits: Flags = (octets & high) | ((octets + _all(6)) & high) >> np.uint64(4) == _all(0x33)
    return digits


def _number(digits: Octets) -> Ints:
    """The number that eight digits write: they are added up in pairs, then these, then those.

    Source: https://kholdstare.github.io/technical/2020/05/26/faster-integer-parsing.html
    """
    pairs = (digits & _all(0x0F)) * np.uint64(10 * 256 + 1) >> np.uint64(8)
    fours = (pairs & np.uint64(0x00FF_00FF_00FF_00FF)) * np.uint64(100 * 65536 + 1) >> np.uint64(16)
    eights = (fours & np.uint64(0x0000_FFFF_0000_FFFF)) * np.uint64((10_000 << 32) + 1) >> np.uint64(32)
    return eights.astype(np.int64)
