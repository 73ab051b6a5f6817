"""The zstd module of the standard library, or its backport before Python 3.14."""

import sys
from collections.abc import Callable
from functools import partial

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

__all__ = ["frame_compressor", "zstd"]


def frame_compressor(level: int = zstd.COMPRESSION_LEVEL_DEFAULT) -> Callable[[bytes], bytes]:
    """A function that compresses each piece of data to a frame; a negative level is faster than level 1."""
    return partial(zstd.ZstdCompressor(level).compress, mode=zstd.ZstdCompressor.FLUSH_FRAME)
