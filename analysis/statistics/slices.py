"""Divides arrays of millions into slices: what is computed of a slice stays in the cache and needs no fresh memory.

A temporary array of all requests is handed out by the system page by page, each cleared first: that takes longer than
the sum, or the comparison, for which it was made.
"""

from collections.abc import Iterator
from typing import Final

SLICE: Final = 1 << 17
"""Entries: a megabyte of 64-bit integers."""


def slices(count: int) -> Iterator[slice]:
    """Yield slices of up to `SLICE` entries that cover ``count`` of them."""
    for first in range(0, count, SLICE):
        yield slice(first, min(first + SLICE, count))
