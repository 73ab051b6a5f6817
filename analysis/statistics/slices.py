"""Divides arrays of millions of entries into slices, so that temporary arrays fit in the cache.

The system clears each page of a large temporary array before it hands it out. That takes longer than the sum, or the
comparison, for which the array was made.
"""

from collections.abc import Iterator
from typing import Final

SLICE: Final = 1 << 17
"""Entries: a megabyte of 64-bit integers."""


def slices(count: int) -> Iterator[slice]:
    """Yield slices of up to `SLICE` entries that cover ``count`` of them."""
    for first in range(0, count, SLICE):
        yield slice(first, min(first + SLICE, count))
