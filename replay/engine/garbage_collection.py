"""Keeps pauses of the garbage collector out of a run while memory stays flat.

The senders make no cycles, so reference counts free what an exchange leaves behind. A library, a TLS layer or a hook
may make some: the interpreter counts the objects that were made and not freed, and once there are many, the young
ones alone are gone through.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_MANY: Final = 50_000
"""Young objects: going through them takes some milliseconds."""


@contextmanager
def no_collection() -> Iterator[None]:
    """Turn the collector off within the block; present objects become old, which `collect_young` leaves alone."""
    was_enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def collect_young() -> None:
    """Free the cycles among the objects made since the last call, if these are many."""
    if gc.get_count()[0] > _MANY:
        gc.collect(0)
