"""The progress of reading logs."""

from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress


class Bar:
    """A bar on the terminal, for the reading of logs that takes longer than a second.

    Args:
        doing: the work, such as ``converting``.
        shown: True if it is shown.
    """

    def __init__(self, doing: str, *, shown: bool) -> None:
        self._doing, self._shown = doing, shown
        self._begin = monotonic()
        self._progress: Progress | None = None

    def __enter__(self) -> "Bar":
        return self

    def __exit__(self, *_: object) -> None:
        if self._progress:
            self._progress.stop()

    def update(self, done: int, total: int, lines: int) -> None:
        """Show bytes read of all bytes, and lines."""
        if not self._shown or monotonic() - self._begin < 1:
            return
        if self._progress is None:
            self._progress = _started(self._doing)
            self._progress.add_task(self._doing, lines="")
        self._progress.update(self._progress.task_ids[0], completed=done, total=total or None, lines=f"{lines:,} lines")


def _started(doing: str) -> "Progress":
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn(doing), BarColumn(), TaskProgressColumn(), TextColumn("{task.fields[lines]}"))
    progress = Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True)
    progress.start()
    return progress
