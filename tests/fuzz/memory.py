"""A file for an input, in memory on Linux, and the text of an input."""

import atexit
import os
import sys
from pathlib import Path
from tempfile import gettempdir


def file(name: str) -> Path:
    """Return the path of a new file of this process. It ends with the process, on Linux even if that is killed."""
    if sys.platform == "linux":
        return Path(f"/proc/self/fd/{os.memfd_create(name)}")
    path = Path(gettempdir()) / f"logreplay-fuzz-{os.getpid()}-{name}"
    atexit.register(path.unlink, missing_ok=True)
    return path


_OPEN = 2


def ended(data: bytes) -> bytes:
    """The text after the first byte, of which one bit leaves its last line open.

    An open line is a block of its own, which takes as long as all others: it has to be tried, not each time.
    """
    return data[1:] if data[0] & _OPEN else data[1:] + b"\n"
