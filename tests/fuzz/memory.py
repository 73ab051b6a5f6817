"""Where a harness puts the file of an input: in memory, if there is such a place; each process has its own."""

import os
from pathlib import Path
from tempfile import gettempdir

_SHM = Path("/dev/shm")


def file(name: str) -> Path:
    """A file's path that no other process uses."""
    folder = _SHM if os.access(_SHM, os.W_OK) else Path(gettempdir())
    return folder / f"logreplay-fuzz-{os.getpid()}-{name}"
