"""Unpacks gzip, bzip2, xz and zstd, also files of several members; the first bytes tell the compression."""

import bz2
import gzip
import io
import lzma
from typing import Any, Final, Protocol

import zstandard

_MAGIC: Final = ((b"\x1f\x8b", "gzip"), (b"BZh", "bzip2"), (b"\xfd7zXZ\x00", "xz"), (b"\x28\xb5\x2f\xfd", "zstd"))


def compression_of(head: bytes) -> str:
    """``gzip``, ``bzip2``, ``xz``, ``zstd`` or, for any other first bytes, empty."""
    return next((name for magic, name in _MAGIC if head.startswith(magic)), "")


MEMORY: Final = 256 << 20
"""Bytes that unpacking may need. ``xz -9`` and ``zstd --ultra -22`` need half of it or less; a file may ask for any
amount."""


_PIECE: Final = 1 << 16


class TooMuchMemory(Exception):
    """Unpacking would need more than `MEMORY`, or for zstd more than half of it."""


class _Xz:
    """Streams of xz one after the other; the library's own reader of files has no memory limit."""

    def __init__(self, stream: "io.BufferedReader[Any]") -> None:
        self._stream = stream
        self._unpacker = self._fresh()

    def _fresh(self) -> lzma.LZMADecompressor:
        return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MEMORY)

    def read1(self, size: int) -> bytes:
        """Return some bytes, at most `size`; none at the end."""
        data = b""
        while not data:
            packed = b""
            if self._unpacker.eof:
                packed = self._unpacker.unused_data.lstrip(b"\0")  # streams may be padded
                while not packed:
                    if not (more := self._stream.read1(_PIECE)):
                        return b""
                    packed = more.lstrip(b"\0")
                self._unpacker = self._fresh()
            elif self._unpacker.needs_input and not (packed := self._stream.read1(_PIECE)):
                raise EOFError
            try:
                data = self._unpacker.decompress(packed, size)
            except lzma.LZMAError as error:
                raise (TooMuchMemory if "Memory usage limit" in str(error) else EOFError) from error
        return data


class _Zstd:
    """Frames of zstd one after the other; unlike the library's own reader it notices a frame that ends too soon."""

    def __init__(self, stream: "io.BufferedReader[Any]") -> None:
        self._stream = stream
        self._frame = zstandard.ZstdDecompressor().decompressobj()
        self._inside = True
        self._rest = b""

    def read1(self, size: int) -> bytes:
        """Return some bytes, `size` or somewhat more or less; none at the end."""
        while packed := self._rest or self._stream.read1(1 << 10):  # may unpack to 30,000 times as much
            if not self._inside:
                self._frame, self._inside = zstandard.ZstdDecompressor().decompressobj(), True
            try:
                data = self._frame.decompress(packed)
            except zstandard.ZstdError as error:
                raise (TooMuchMemory if "too much memory" in str(error) else EOFError) from error
            self._rest = b""
            if self._frame.eof:
                self._rest, self._inside = self._frame.unused_data, False
            if data:
                return data
        if self._inside:
            raise EOFError
        return b""


class DecompressedStream(Protocol):
    """Decompressed bytes."""

    def read1(self, size: int, /) -> bytes:
        """Return some bytes, about as many; none at the end."""


def decompressed(stream: "io.BufferedReader[Any]", compression: str) -> DecompressedStream:
    match compression:
        case "gzip":
            return gzip.GzipFile(fileobj=stream)  # reads several members
        case "bzip2":
            return bz2.BZ2File(stream)
        case "xz":
            return _Xz(stream)
        case _:
            return _Zstd(stream)
