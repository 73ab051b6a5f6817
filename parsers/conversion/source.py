"""Reads files as blocks of whole lines: compression by content, any line length, flat memory."""

import io
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, Literal, cast

import numpy as np
import polars as pl

from logreplay.core.masking import masked
from logreplay.core.record import LogreplayError
from logreplay.core.stores import StoredFile, is_address, size_of
from logreplay.parsers.conversion.compression import MEMORY, TooMuchMemory, compression_of, decompressed

BLOCK: Final = 2 << 20
"""Bytes read at a time; a block is a little longer or shorter, as its last line ends."""

LONGEST: Final = 128 << 20
"""Bytes of a line that are held in memory. Longer lines are damage or an attack, as a few megabytes of gzip can unpack
to any length; they are rejected, and go to the reject file piece by piece."""

_SAMPLES: Final = (24 << 10, 256 << 10)
"""Bytes looked at in each of three places; the larger if the smaller holds too few lines."""

ENOUGH_LINES: Final = 200
"""Lines of a sample, if the log has so many."""

_HEAD: Final = 1 << 14
_LOOK: Final = 1 << 16

_UNPACK: Final = {"xz": "xz -dc", "zstd": "zstd -dc --long=31"}

_UTF8_MARK: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Block:
    """Whole lines of a file.

    Attributes:
        data: the bytes, each line with its line end but perhaps the last of the file.
        first: number of the first line in the file, from 1.
        read: bytes of the file (compressed, if it is) consumed so far, for progress.
        part: empty, or the data are a part of one line longer than `LONGEST`: its ``first``, its ``last``, or ``more``.
    """

    data: bytes
    first: int
    read: int
    part: Literal["", "first", "more", "last"] = ""

    def lines(self) -> pl.Series:
        """The lines, see `text_lines`."""
        return text_lines(self.data)

    def raw_lines(self) -> list[bytes]:
        """The same lines as they stand in the file, without the newline."""
        lines = self.data.split(b"\n")
        return lines[:-1] if self.data.endswith(b"\n") else lines


def text_lines(data: bytes) -> pl.Series:
    """The lines of a block without their line ends, one character a byte (Latin-1), so that no byte is lost."""
    data = data if data.endswith(b"\n") else data + b"\n"
    if not data.isascii():
        data = data.decode("latin-1").encode()
    lines = split_lines(data)
    if b"\0" in data:  # a log cut by copying and truncating begins with NULs where its old lines were
        lines = lines.str.strip_chars_start("\0")
    return lines


def count_lines(data: bytes) -> int:
    """Count newlines; `bytes.count` takes several times as long."""
    return int(np.count_nonzero(np.frombuffer(data, np.uint8) == 10))


def split_lines(data: bytes) -> pl.Series:
    """Cut UTF-8 text that ends with a newline into lines, without their ``\\n`` or ``\\r\\n``."""
    return pl.read_lines(data, name="text").to_series()


def compact(rows: pl.DataFrame) -> pl.DataFrame:
    """Copy rows selected from others, so that the texts of the others can be freed."""
    texts = [name for name, kind in rows.schema.items() if kind == pl.String]
    return rows.with_columns(pl.concat_str(name, pl.lit("")).alias(name) for name in texts)


class BlockSource:
    """One log, opened.

    Attributes:
        name: for messages.
        size: bytes of the file; 0 where it is not known (a pipe).
        compression: ``gzip``, ``bzip2``, ``xz``, ``zstd`` or empty.
        truncated: the compressed data ended too soon.
        read: bytes of the file of which the lines are accounted for.
    """

    def __init__(self, path: str | Path) -> None:
        """Open a log; ``-`` is standard input.

        Raises:
            LogreplayError: no such file, or not readable.
        """
        self._path = str(path)
        self.name = "standard input" if self._path == "-" else masked(self._path)
        self.size = 0
        self._stored: StoredFile | None = None
        try:
            if str(path) == "-":
                self._raw: BinaryIO = sys.stdin.buffer
            elif is_address(str(path)):
                self.size = size_of(str(path))
                self._stored = StoredFile(str(path))
                self._raw = cast(BinaryIO, self._stored)
            else:
                if Path(path).is_dir():
                    raise LogreplayError(f"{path}: is a folder; name the log files in it")
                self._raw = open(path, "rb")  # noqa: SIM115  # closed by close()
                self.size = Path(path).stat().st_size
            head = self._raw.read(6)
        except FileNotFoundError:
            raise LogreplayError(f"{path}: no such file") from None
        except OSError as error:
            raise LogreplayError(f"{path}: cannot be read: {error.strerror}") from None
        if head.startswith(_UTF8_MARK):
            head = head[3:]
        self.compression = compression_of(head)
        self._begin(head)
        self._pushed = self._looked_at = b""
        self.truncated = False
        self.read = 0
        if head.startswith((b"\xff\xfe", b"\xfe\xff")):
            self.close()
            raise LogreplayError(f"{self.name}: is UTF-16; convert it first: iconv -f UTF-16 -t UTF-8 {path}")

    def again(self) -> "BlockSource | None":
        """The same log, opened once more; None if it can be read only once."""
        return BlockSource(self._path) if self.size else None

    def _begin(self, head: bytes) -> None:
        """Read on from the beginning, of which these bytes are read already."""
        self._counted = _Counted(self._raw, head)
        packed = io.BufferedReader(self._counted, 1 << 16)
        self._stream = decompressed(packed, self.compression) if self.compression else None

    @property
    def _has_places(self) -> bool:
        """Whether any part of the file can be read at once: it is one of this machine."""
        return bool(self.size) and self._stored is None

    def grown(self) -> int:
        """How many bytes were added to the file since it was opened."""
        return os.fstat(self._raw.fileno()).st_size - self.size if self._has_places else 0

    def head(self) -> bytes:
        """Return some whole lines from the beginning."""
        data = (self._pushed or self._looked_at)[:_HEAD]
        if not data and self._has_places:
            data = os.pread(self._raw.fileno(), _HEAD, 0)
        return data[: data.rfind(b"\n") + 1] or data

    def sample(self) -> bytes:
        """Return whole lines from all over the log, or from the beginning of a compressed log or a pipe."""
        if known := self._pushed or self._looked_at:
            return known[: known.rfind(b"\n") + 1] or known
        if self._stored is not None:  # closed until its time comes: there may be thousands
            self._looked_at = self._read(_SAMPLES[0])
            self._stored.put_back()
            self._begin(b"")
            return self.sample() if self._looked_at else b""
        if self.compression or not self.size:
            self._pushed = self._read(_SAMPLES[-1])
            while self._pushed and self._pushed == bytes(
                len(self._pushed)
            ):  # see `text_lines`; a file of gigabytes may be all NUL
                self._pushed = self._read(_SAMPLES[-1])
            return self._pushed[: self._pushed.rfind(b"\n") + 1] or self._pushed
        for size in _SAMPLES:
            places = (0,) if self.size <= size else (0, self.size // 2, self.size - size)
            sample = b"".join(self._lines_at(place, size) for place in places)
            if sample.count(b"\n") >= ENOUGH_LINES:
                break
        return sample

    def _lines_at(self, place: int, size: int) -> bytes:
        piece = os.pread(self._raw.fileno(), size, max(place, 0))
        if place > 0:
            piece = piece[piece.find(b"\n") + 1 :]
        return piece[: piece.rfind(b"\n") + 1] or piece + b"\n"

    def stream(self) -> BinaryIO:
        """The bytes of the log, unpacked, as a file to be read once; `truncated` says whether they end too soon."""
        return cast(BinaryIO, io.BufferedReader(_Unpacked(self._next), BLOCK))

    def _next(self, size: int) -> bytes:
        data, self._pushed = self._pushed or self._read(size), b""
        self.read = self._counted.count
        return data

    def close(self) -> None:
        """Close the file."""
        if self._raw is not sys.stdin.buffer:
            self._raw.close()

    def blocks(self, size: int = BLOCK) -> Iterator[Block]:
        """Yield the rest of the log, whole lines at a time.

        Of a compressed file that ends too soon or is damaged, the readable part is yielded; `truncated` says so.
        """
        first, line, endless = 1, _Line(), False
        while data := self._pushed or self._read(size):
            self._pushed = b""
            if endless:
                end = data.find(b"\n") + 1
                yield Block(data[:end] or data, first, self._counted.count, "last" if end else "more")
                if not end:
                    continue
                first, endless, data = first + 1, False, data[end:]
            if cut := data.rfind(b"\n") + 1:
                whole = data if cut == len(data) and not line.length else line.taken(memoryview(data)[:cut])
                block = Block(whole, first, self._counted.count)
                line = _Line()
                yield block
                first += count_lines(block.data)
            line.add(data[cut:])
            if line.length > LONGEST:
                yield Block(line.taken(), first, self._counted.count, "first")
                line, endless = _Line(), True
        if endless:
            yield Block(b"", first, self._counted.count, "last")
        elif last := line.taken():
            yield Block(last, first, self._counted.count)

    def _to_line_end(self, size: int) -> int:
        """How much to read of a file so that it ends with a line, and needs no copy to be cut there."""
        if not self._has_places or size <= _LOOK:
            return size
        look = os.pread(self._raw.fileno(), _LOOK, self._raw.tell() + size - _LOOK)
        return size - _LOOK + (look.rfind(b"\n") + 1 or _LOOK)

    def _read(self, size: int) -> bytes:
        if self._stream is None:
            try:
                return self._counted.read_plain(self._to_line_end(size))
            except OSError as error:
                raise LogreplayError(f"{self.name}: cannot be read: {error.strerror}") from None
        pieces: list[bytes] = []
        missing = size
        try:  # piece by piece: what came before the damage must not go with it
            while missing > 0 and not self.truncated and (piece := self._stream.read1(missing)):
                pieces.append(piece)
                missing -= len(piece)
        except TooMuchMemory:
            unpack = _UNPACK[self.compression]
            raise LogreplayError(
                f"{self.name}: unpacking needs more than {MEMORY >> 20} MB of memory; unpack it with another program: "
                f"{unpack} {self.name} | logreplay convert -"
            ) from None
        except (EOFError, OSError, zlib.error, ValueError):
            self.truncated = True
        return b"".join(pieces)


class _Unpacked(io.RawIOBase):
    """What a function returns piece by piece, as a file."""

    def __init__(self, more: Callable[[int], bytes]) -> None:
        self._more, self._rest = more, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "memoryview | bytearray") -> int:  # type: ignore[override]
        data = self._rest or self._more(len(buffer))
        data, self._rest = data[: len(buffer)], data[len(buffer) :]
        buffer[: len(data)] = data
        return len(data)


class _Line:
    """The beginning of a line whose end is still to be read."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self.length = 0

    def add(self, data: bytes) -> None:
        """Add the next bytes; many NULs before the line are ignored (see `text_lines`)."""
        if not self.length and data.startswith(b"\0" * _HEAD):
            data = data.lstrip(b"\0")
        self.length += len(data)
        self._pieces.append(data)

    def taken(self, *rest: "memoryview[int]") -> bytes:
        """All of it, and the rest."""
        return b"".join((*self._pieces, *rest))


class _Counted(io.RawIOBase):
    """A stream that returns its peeked bytes again, and counts the bytes read."""

    def __init__(self, stream: BinaryIO, head: bytes) -> None:
        self._stream, self._head, self.count = stream, head, 0

    def readable(self) -> bool:
        return True

    def read_plain(self, size: int) -> bytes:
        """Read without a buffer."""
        head, self._head = self._head, b""
        data = head + self._stream.read(size) if head else self._stream.read(size)
        self.count += len(data)
        return data

    def readinto(self, buffer: "memoryview | bytearray") -> int:  # type: ignore[override]
        data = self._head or self._stream.read(len(buffer))
        self._head = b""
        data, self._head = data[: len(buffer)], data[len(buffer) :]
        buffer[: len(data)] = data
        self.count += len(data)
        return len(data)
