"""The command line in a process of its own, and waiting for what it does."""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

COMMAND: Final = (sys.executable, "-m", "logreplay.cli.main")
MEASURED: Final = (0, 3)
"""Exit codes of a run that came to its end; a busy machine may make it no measurement: not the question here."""
PATIENCE: Final = 60.0


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.005)  # a file tells nobody that it grows: ask again


def wait_for_rows(path: Path, size: int = 1000) -> None:
    """Wait until a file holds some rows."""
    wait_until(lambda: path.exists() and path.stat().st_size > size)


def children(pid: int) -> list[int]:
    """Processes that a process has begun and that run, in order."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sorted(int(child) for task in tasks for child in (task / "children").read_text().split())


def workers_of(pid: int) -> list[int]:
    """Of the children of a process the workers of ``--workers``."""
    return [child for child in children(pid) if b"worker_main" in Path(f"/proc/{child}/cmdline").read_bytes()]
