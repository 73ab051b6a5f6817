"""Reads files as blocks of whole lines: compression by content, any line length, flat memory."""

import io
import os
import re
import shlex
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal, cast

import numpy as np
import polars as pl

from logreplay.core.errors import LogreplayError
from logreplay.core.files import is_stream
from logreplay.core.masking import masked
from logreplay.core.stores import StoredFile, is_address, size_of
from logreplay.parsers.captures.json_stream import object_lines
from logreplay.parsers.conversion.compression import (
    MEMORY,
    Decompressed,
    TooMuchMemory,
    compression_of,
    decompressed,
)

BLOCK: Final = 2 << 20
"""Bytes read at a time; a block is a little longer or shorter, as its last line ends."""

LONGEST: Final = 128 << 20
"""Bytes of a line that are held in memory. Longer lines are damage or an attack, as a few megabytes of gzip can unpack
to any length; they are rejected, and go to the reject file piece by piece."""

_SAMPLES: Final = (24 << 10, 256 << 10)
"""Bytes looked at in each of three places; the larger if the smaller holds too few lines."""

ENOUGH_LINES: Final = 200
"""Lines of a sample; fewer if the log is shorter."""

_HEAD: Final = 1 << 14
_LOOK: Final = 1 << 16

_UNPACK: Final = {"xz": "xz -dc", "zstd": "zstd -dc --long=31"}

_UTF8_MARK: Final = b"\xef\xbb\xbf"

_ARRAY: Final = re.compile(rb"\s*\[\s*(?:\{|\]?\s*\Z)")
"""The first bytes of an array of JSON objects, as tools of clouds write one; each object is read as a line."""


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


class _DiskFile(io.RawIOBase):
    """A file of this machine, open only while bytes are read from it: any number of them can be read side by side.

    Attributes:
        size: bytes when it was first looked at.
    """

    def __init__(self, path: str) -> None:
        """Name a file."""
        self._path, self._at = path, 0
        self._seen: tuple[int, int] | None = None
        with self._opened() as file:
            self.size = os.fstat(file).st_size

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        data = self.pread(size, self._at)
        if not data and self._at < self.size:
            raise LogreplayError(f"{self._path}: was truncated while it was read; convert a copy of it")
        self._at += len(data)
        return data

    def readinto(self, buffer: Any, /) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def tell(self) -> int:
        return self._at

    def put_back(self) -> None:
        """Begin at the beginning with the next read."""
        self._at = 0

    def pread(self, size: int, place: int) -> bytes:
        """Read bytes from a place."""
        with self._opened() as file:
            return os.pread(file, size, place)

    def grown(self) -> int:
        """How many bytes were added to the file since it was first looked at."""
        with suppress(LogreplayError), self._opened() as file:
            return os.fstat(file).st_size - self.size
        return self._at - self.size  # another file has its name by now

    @contextmanager
    def _opened(self) -> Iterator[int]:
        try:
            file = os.open(self._path, os.O_RDONLY)
        except FileNotFoundError:
            gone = "was renamed or removed while it was read; convert again" if self._seen else "no such file"
            raise LogreplayError(f"{self._path}: {gone}") from None
        except OSError as error:
            raise LogreplayError(f"{self._path}: cannot be read: {error.strerror}") from None
        try:
            status = os.fstat(file)
            before, self._seen = self._seen, (status.st_dev, status.st_ino)
            if before and before != self._seen:
                raise LogreplayError(f"{self._path}: another file took its name while it was read; convert again")
            yield file
        except OSError as error:
            raise LogreplayError(f"{self._path}: cannot be read: {error.strerror}") from None
        finally:
            os.close(file)


def _raw(path: str) -> "_DiskFile | StoredFile | BinaryIO":
    """The bytes of a log; ``-`` is standard input."""
    if path == "-":
        return sys.stdin.buffer
    if is_address(path):
        return StoredFile(path)
    if Path(path).is_dir():
        raise LogreplayError(f"{path}: is a folder; name the log files in it")
    if not is_stream(Path(path)):
        return _DiskFile(path)
    try:
        return open(path, "rb")
    except OSError as error:
        raise LogreplayError(f"{path}: cannot be read: {error.strerror}") from None


class BlockSource:
    """One log. A pipe stays open until it is closed; a file, and one in a store, only while its bytes are read.

    Attributes:
        name: for messages.
        size: bytes of the file; 0 where it is not known (a pipe).
        compression: ``gzip``, ``bzip2``, ``xz``, ``zstd`` or empty.
        truncated: the compressed data ended too soon.
        summed: count `sum`, which takes time.
        sum: bytes of the log that were read, unpacked, and their CRC-32: the same log may have two names.
        read: bytes of the file of which the lines are accounted for.
        block: bytes read at a time from now on.
    """

    def __init__(self, path: str | Path, *, summed: bool = False) -> None:
        """Look at the first bytes of a log; ``-`` is standard input."""
        self._path, self.summed = str(path), summed
        self.name = "standard input" if self._path == "-" else masked(self._path)
        self._raw = _raw(self._path)
        self._disk = self._raw if isinstance(self._raw, _DiskFile) else None
        self._stored = self._raw if isinstance(self._raw, StoredFile) else None
        self.size = self._disk.size if self._disk else size_of(self._path) if self._stored else 0
        head = self._raw.read(6) or b""
        if head.startswith((b"\xff\xfe", b"\xfe\xff")):
            self.close()
            raise LogreplayError(
                f"{self.name}: is UTF-16; convert it first: {self.command('iconv -f UTF-16 -t UTF-8')}"
            )
        self._mark = len(_UTF8_MARK) if head.startswith(_UTF8_MARK) else 0
        self.compression = compression_of(head[self._mark :])
        self._begin(head)
        self._pushed = self._looked_at = b""
        self.read, self.block = 0, BLOCK
        if self._stored:
            self._look()  # while it is open

    def command(self, program: str) -> str:
        """A command to be copied to a shell: another program reads the log, and its output is converted."""
        return f"{program} {'FILE' if self._path == '-' else shlex.quote(self.name)} | logreplay convert -"

    def again(self) -> "BlockSource | None":
        """The same log from its beginning; None if it can be read only once."""
        return BlockSource(self._path) if self.size else None

    def _begin(self, head: bytes = b"") -> None:
        """Read the log from its beginning, of which these bytes are read already."""
        self.truncated = False
        self.sum = (0, 0)
        self._counted = _Counted(cast(BinaryIO, self._raw), head, self._mark)
        packed = io.BufferedReader(self._counted, 1 << 16)
        self._stream = decompressed(packed, self.compression) if self.compression else None
        self._objects: Iterator[bytes] | None = None
        self._begins = True

    def grown(self) -> int:
        """How many bytes were added to the file since it was first looked at."""
        return self._disk.grown() if self._disk else 0

    def head(self) -> bytes:
        """Return some whole lines from the beginning."""
        data = (self._pushed or self._looked_at or self._look())[:_HEAD]
        return data[: data.rfind(b"\n") + 1] or data

    def sample(self) -> bytes:
        """Return whole lines from all over the log; of a compressed one, an array or a pipe, from the beginning."""
        if self._disk is None or self.compression or not self.size or _ARRAY.match(self._disk.pread(_HEAD, self._mark)):
            known = self._pushed or self._looked_at or self._look()
            return known[: known.rfind(b"\n") + 1] or known
        for size in _SAMPLES:
            places = (0,) if self.size <= size else (0, self.size // 2, self.size - size)
            sample = b"".join(self._lines_at(self._disk, place, size) for place in places)
            if sample.count(b"\n") >= ENOUGH_LINES:
                break
        return sample

    def _look(self) -> bytes:
        """Read the beginning of the log; it is read again later, and that of a pipe is kept until then."""
        data = b""
        for size in _SAMPLES[:1] if self._stored else _SAMPLES if self._disk else _SAMPLES[1:]:
            data += self._read(size - len(data))
            while data and not data.strip(b"\0"):  # see `text_lines`; a file of gigabytes may be all NUL
                data = self._read(size)
            if data.count(b"\n") >= ENOUGH_LINES:
                break
        if isinstance(self._raw, _DiskFile | StoredFile):
            damaged = self.truncated
            self._raw.put_back()
            self._begin()
            self.truncated = damaged and not data
        if self._stored:
            self._looked_at = data
        elif not self._disk:
            self._pushed = data
        return data

    def _lines_at(self, disk: _DiskFile, place: int, size: int) -> bytes:
        piece = disk.pread(size, max(place, self._mark))
        if place > 0:
            piece = piece[piece.find(b"\n") + 1 :]
        return piece[: piece.rfind(b"\n") + 1] or piece + b"\n"

    def stream(self) -> BinaryIO:
        """The bytes of the log, unpacked, as a file to be read once; `truncated` says whether they end too soon."""
        return cast(BinaryIO, io.BufferedReader(_Unpacked(self._next), BLOCK))

    def _next(self, size: int) -> bytes:
        data = self._taken(size)
        self.read = self._counted.count
        return data

    def _taken(self, size: int) -> bytes:
        """The next bytes of the log, unpacked; those of a pipe that were looked at come first."""
        data, self._pushed = self._pushed or self._read(size), b""
        if self.summed:
            self.sum = self.sum[0] + len(data), zlib.crc32(data, self.sum[1])
        return data

    def close(self) -> None:
        """Close the file."""
        if self._raw is not sys.stdin.buffer:
            self._raw.close()

    def blocks(self) -> Iterator[Block]:
        """Yield the rest of the log, whole lines at a time.

        Of a compressed file that ends too soon or is damaged, the readable part is yielded; `truncated` says so.
        """
        first, line, endless = 1, _Line(), False
        while data := self._taken(self.block):
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
        if self._disk is None or size <= _LOOK:
            return size
        look = self._disk.pread(_LOOK, self._disk.tell() + size - _LOOK)
        return size - _LOOK + (look.rfind(b"\n") + 1 or _LOOK)

    def _read(self, size: int) -> bytes:
        """The next bytes, unpacked; of an array whole lines."""
        if self._objects is None:
            begins, self._begins = self._begins, False
            data = self._unpacked(size, begins=begins)
            if not (begins and _ARRAY.match(data)):
                return data
            rest = iter([data])
            file = io.BufferedReader(_Unpacked(lambda size: next(rest, b"") or self._unpacked(size)))
            self._objects = object_lines(cast(BinaryIO, file), LONGEST)
        lines: list[bytes] = []
        while size > 0 and (line := next(self._objects, b"")):
            lines.append(line)
            size -= len(line)
        return b"".join(lines)

    def _unpacked(self, size: int, *, begins: bool = False) -> bytes:
        if self._stream is None:
            try:
                return self._counted.read_plain(self._to_line_end(size))
            except OSError as error:
                raise LogreplayError(f"{self.name}: cannot be read: {error.strerror}") from None
        pieces: list[bytes] = []
        missing = size
        try:  # piece by piece: what came before the damage must not go with it
            if begins:
                pieces.append(_without_mark(self._stream))
            while missing > 0 and not self.truncated and (piece := self._stream.read1(missing)):
                pieces.append(piece)
                missing -= len(piece)
        except TooMuchMemory:
            raise LogreplayError(
                f"{self.name}: unpacking needs more than {MEMORY >> 20} MB of memory; unpack it with another program: "
                f"{self.command(_UNPACK[self.compression])}"
            ) from None
        except (EOFError, OSError, zlib.error, ValueError):
            self.truncated = True
        return b"".join(pieces)


def _without_mark(stream: Decompressed) -> bytes:
    """The first bytes of a stream, without a mark of UTF-8."""
    data = b""
    while len(data) < len(_UTF8_MARK) and (piece := stream.read1(len(_UTF8_MARK) - len(data))):
        data += piece
    return data.removeprefix(_UTF8_MARK)


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
    """A stream that returns its peeked bytes again, leaves out a mark at its beginning, and counts the bytes read."""

    def __init__(self, stream: BinaryIO, head: bytes, mark: int) -> None:
        self._stream, self._head, self._mark, self.count = stream, head, mark, 0

    def readable(self) -> bool:
        return True

    def read_plain(self, size: int) -> bytes:
        """Read without a buffer."""
        head = self._behind_mark()
        data = head + self._stream.read(size) if head else self._stream.read(size)
        self._head = b""
        self.count += len(data)
        return data

    def _behind_mark(self) -> bytes:
        """The peeked bytes; they are read up to the mark, if they are shorter."""
        if self._mark:
            self._head = (self._head or self._stream.read(self._mark))[self._mark :]
            self._mark = 0
        return self._head

    def readinto(self, buffer: "memoryview | bytearray") -> int:  # type: ignore[override]
        data = self._behind_mark() or self._stream.read(len(buffer))
        self._head = b""
        data, self._head = data[: len(buffer)], data[len(buffer) :]
        buffer[: len(data)] = data
        self.count += len(data)
        return len(data)
