"""The file of an input: what is in it, and where it is, in memory if there is such a place."""

import os
from pathlib import Path
from tempfile import gettempdir

_SHM = Path("/dev/shm")


def file(name: str) -> Path:
    """A file's path that no other process uses."""
    folder = _SHM if os.access(_SHM, os.W_OK) else Path(gettempdir())
    return folder / f"logreplay-fuzz-{os.getpid()}-{name}"


_OPEN = 2


def ended(data: bytes) -> bytes:
    """The text after the first byte, of which one bit leaves its last line open.

    An open line is a block of its own, which takes as long as all others: it has to be tried, not each time.
    """
    return data[1:] if data[0] & _OPEN else data[1:] + b"\n"
