"""Compressed data, told by their first bytes: gzip, bzip2, xz and zstd, of several members too."""

import bz2
import gzip
import io
import lzma
from typing import Any, Final, Protocol

import zstandard

_MAGIC: Final = ((b"\x1f\x8b", "gzip"), (b"BZh", "bzip2"), (b"\xfd7zXZ\x00", "xz"), (b"\x28\xb5\x2f\xfd", "zstd"))


def compression_of(head: bytes) -> str:
    """``gzip``, ``bzip2``, ``xz``, ``zstd`` or, where the first bytes are of none, empty."""
    return next((name for magic, name in _MAGIC if head.startswith(magic)), "")


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
            data = self._frame.decompress(packed)
            self._rest = b""
            if self._frame.eof:
                self._rest, self._inside = self._frame.unused_data, False
            if data:
                return data
        if self._inside:
            raise EOFError
        return b""


class Stream(Protocol):
    """Decompressed bytes."""

    def read1(self, size: int, /) -> bytes:
        """Return some bytes, about as many; none at the end."""


def decompressed(stream: "io.BufferedReader[Any]", compression: str) -> Stream:
    match compression:
        case "gzip":
            return gzip.GzipFile(fileobj=stream)  # reads several members
        case "bzip2":
            return bz2.BZ2File(stream)
        case "xz":
            return lzma.LZMAFile(stream)
        case _:
            return _Zstd(stream)
