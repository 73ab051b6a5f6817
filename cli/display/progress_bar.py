"""The progress of reading logs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

from logreplay.cli.display.terminal import on_terminal

if TYPE_CHECKING:
    from rich.progress import Progress


@contextmanager
def bar(doing: str, *, quiet: bool) -> Iterator[Callable[[int, int, int], None]]:
    """A bar on the terminal, while logs are read for longer than a second; takes bytes read, all bytes, and lines."""
    begin, shown = monotonic(), not quiet and on_terminal()
    progress: Progress | None = None

    def update(done: int, total: int, lines: int) -> None:
        nonlocal progress
        if not shown or monotonic() - begin < 1:
            return
        if progress is None:
            progress = _started(doing)
            progress.add_task(doing, lines="")
        progress.update(progress.task_ids[0], completed=done, total=total or None, lines=f"{lines:,} lines")

    try:
        yield update
    finally:
        if progress:
            progress.stop()


def _started(doing: str) -> "Progress":
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn(doing), BarColumn(), TaskProgressColumn(), TextColumn("{task.fields[lines]}"))
    progress = Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True)
    progress.start()
    return progress
