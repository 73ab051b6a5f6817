"""Unpacks gzip, bzip2, xz and zstd, also files of several members; the first bytes tell the compression."""

import bz2
import gzip
import io
import lzma
from collections.abc import Callable
from typing import Any, Final

from logreplay.core.zstd import zstd

_MAGIC: Final = ((b"\x1f\x8b", "gzip"), (b"BZh", "bzip2"), (b"\xfd7zXZ\x00", "xz"), (b"\x28\xb5\x2f\xfd", "zstd"))


def compression_of(head: bytes) -> str:
    """``gzip``, ``bzip2``, ``xz``, ``zstd`` or, for any other first bytes, empty."""
    return next((name for magic, name in _MAGIC if head.startswith(magic)), "")


MEMORY: Final = 256 << 20
"""Bytes that unpacking may need. ``xz -9`` and ``zstd --ultra -22`` need half of it or less; a file may ask for any
amount."""


_PIECE: Final = 1 << 12
"""Packed bytes that are unpacked at a time. If they are damaged, all of them are lost."""


class TooMuchMemory(Exception):
    """Unpacking would need more than `MEMORY`, or for zstd more than half of it."""


_Unpacker = bz2.BZ2Decompressor | lzma.LZMADecompressor | zstd.ZstdDecompressor


class _Streams:
    """Streams of bzip2 or xz, or frames of zstd, one after the other.

    The library's own reader of bzip2 takes a damaged stream for the end of the file; that of xz has no memory limit.

    Args:
        stream: packed.
        fresh: makes what unpacks the next stream.
        padding: letters that may stand between two streams.
    """

    def __init__(self, stream: "io.BufferedReader[Any]", fresh: Callable[[], _Unpacker], padding: bytes = b"") -> None:
        self._stream, self._fresh, self._padding = stream, fresh, padding
        self._unpacker = fresh()

    def read1(self, size: int) -> bytes:
        """Return some bytes, at most `size`; none at the end."""
        data = b""
        while not data:
            packed = b""
            if self._unpacker.eof:
                packed = self._unpacker.unused_data.lstrip(self._padding)
                while not packed:
                    if not (more := self._stream.read1(_PIECE)):
                        return b""
                    packed = more.lstrip(self._padding)
                self._unpacker = self._fresh()
            elif self._unpacker.needs_input and not (packed := self._stream.read1(_PIECE)):
                raise EOFError
            try:
                data = self._unpacker.decompress(packed, size)
            except (OSError, lzma.LZMAError, zstd.ZstdError) as error:
                raise (TooMuchMemory if "memory" in str(error).lower() else EOFError) from error
        return data


Decompressed = gzip.GzipFile | _Streams


def decompressed(stream: "io.BufferedReader[Any]", compression: str) -> Decompressed:
    match compression:
        case "gzip":
            return gzip.GzipFile(fileobj=stream)  # reads several members
        case "bzip2":
            return _Streams(stream, bz2.BZ2Decompressor, padding=b"\0")
        case "xz":
            return _Streams(stream, lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MEMORY), padding=b"\0")
        case _:
            return _Streams(stream, zstd.ZstdDecompressor)
