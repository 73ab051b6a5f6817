"""Holds lines of the CSV as bytes in buffers, so that they can be selected, sorted and joined without becoming objects.

Lines are moved in chunks of fixed size, one chunk of all lines at a time. A chunk may reach beyond the end of its line,
into the place of the following one, which is written later.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl

from logreplay.core.record import csv_text

Ints = np.ndarray[Any, np.dtype[np.signedinteger[Any]]]
Letters = np.ndarray[Any, np.dtype[np.uint8]]
Numbers = np.ndarray[Any, np.dtype[np.integer[Any]]]
Index = Ints | slice

CHUNK: Final = 256
"""Bytes of a line that are moved at a time; each buffer has as many free bytes after its last line."""

_LONG: Final = 1 << 12
"""Bytes of a line that is moved alone."""

_MANY: Final = 64
"""Buffers that are looked through one by one; more are joined first."""


_NONE: Final = np.zeros(0, np.intp)


def windows(text: Letters, size: int) -> np.ndarray[Any, np.dtype[np.void]]:
    """Every stretch of ``size`` bytes of a text, by the place of its first byte."""
    return np.ndarray(len(text) - size + 1, f"V{size}", text, 0, (1,))


def octets(text: Letters) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """Every eight bytes of a text as one number, whose low byte is the first."""
    return np.ndarray(len(text) - 7, "<u8", text, 0, (1,))


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines in any order.

    Attributes:
        texts: the buffers.
        text: (n,) index of the buffer of each line.
        place: (n,) of its first byte.
        width: (n,) bytes, with the newline.
    """

    texts: tuple[Letters, ...]
    text: Numbers
    place: Ints
    width: Ints

    @classmethod
    def of(cls, text: Letters, place: Ints, width: Ints) -> "Lines":
        """Lines in one buffer that has `CHUNK` bytes behind them."""
        return cls((text,), np.zeros(len(place), np.uint8), place, width)

    @classmethod
    def split(cls, text: "bytes | memoryview") -> "Lines":
        """The lines of a text in which each newline ends one."""
        buffer = np.zeros(len(text) + CHUNK, np.uint8)
        buffer[: len(text)] = np.frombuffer(text, np.uint8)
        ends = np.flatnonzero(buffer[: len(text)] == ord("\n")) + 1
        place = np.concatenate((np.zeros(min(len(ends), 1), np.intp), ends[:-1]))
        return cls.of(buffer, place, ends - place)

    @classmethod
    def concat(cls, parts: Sequence["Lines"]) -> "Lines":
        """Several together, in this order."""
        parts = [part for part in parts if len(part)]
        if len(parts) == 1:
            return parts[0]
        if sum(len(part.texts) for part in parts) > _MANY:
            parts = [part.compact() for part in parts]
        while len(parts) > _MANY:  # the number of a buffer is one byte
            parts = [cls.concat(parts[at : at + _MANY]).compact() for at in range(0, len(parts), _MANY)]
        texts = tuple(text for part in parts for text in part.texts)
        before = np.cumsum([0, *(len(part.texts) for part in parts)])
        text = [part.text + np.uint8(shift) for part, shift in zip(parts, before, strict=False)]
        place, width = ([part.place for part in parts], [part.width for part in parts]) if parts else ([_NONE], [_NONE])
        return cls(texts, np.concatenate(text or [_NONE]), np.concatenate(place), np.concatenate(width))

    def __len__(self) -> int:
        return len(self.place)

    def take(self, chosen: Index) -> "Lines":
        """Some of them."""
        return Lines(self.texts, self.text[chosen], self.place[chosen], self.width[chosen])

    def compact(self, most: int = 0) -> "Lines":
        """The same, so that other buffers can be freed: in up to so many of them, or in a buffer of their own."""
        used = np.flatnonzero(np.bincount(self.text, minlength=1))
        if len(used) <= most:
            number = np.zeros(256, np.uint8)
            number[used] = np.arange(len(used))
            return Lines(tuple(self.texts[text] for text in used), number[self.text], self.place, self.width)
        text, place = self.joined()
        return Lines.of(text, place, self.width)

    def joined(self, room: int = 0) -> tuple[Letters, Ints]:
        """Join the lines, with room in front of each and `CHUNK` bytes behind all; tell where each room begins."""
        ends = np.cumsum(self.width + room)
        place = ends - self.width
        joined = np.empty(int(ends[-1]) + CHUNK if len(ends) else CHUNK, np.uint8)
        into = windows(joined, CHUNK)
        into[place] = self._chunks(self.place, self.text)
        over = np.flatnonzero(self.width > CHUNK)
        for line in over[self.width[over] > _LONG].tolist():
            begin, width, end = self.place[line], self.width[line], ends[line]
            joined[end - width : end] = self.texts[self.text[line]][begin : begin + width]
        over, done = over[self.width[over] <= _LONG], CHUNK
        while len(over):  # the last chunk ends with its line
            shift = np.minimum(done, self.width[over] - CHUNK)
            into[place[over] + shift] = self._chunks(self.place[over] + shift, self.text[over])
            done += CHUNK
            over = over[self.width[over] > done]
        return joined, place - room

    def _chunks(self, place: Ints, text: Numbers) -> np.ndarray[Any, np.dtype[np.void]]:
        if len(self.texts) == 1:
            return windows(self.texts[0], CHUNK)[place]
        chunks = np.empty(len(place), f"V{CHUNK}")
        for number, buffer in enumerate(self.texts):
            here = np.flatnonzero(text == number)
            chunks[here] = windows(buffer, CHUNK)[place[here]]
        return chunks


def rendered(rows: pl.DataFrame, columns: Sequence[str]) -> Lines:
    """Write rows as lines of a CSV with these columns; missing durations are 0."""
    zeros = (pl.lit(0).alias(name) for name in ("xfertime", "thinktime") if _is_zero(rows, name))
    return Lines.split(csv_text(rows.with_columns(zeros).select(columns), header=False).getbuffer())


def _is_zero(rows: pl.DataFrame, name: str) -> bool:
    """Whether durations are all 0, or not there: as whole numbers they are written faster."""
    return name not in rows.columns or bool((rows[name] == 0).all())
