"""Shows the state of a run in one line on the terminal, once a second."""

from typing import TYPE_CHECKING

from logreplay.calling.progress_line import text
from logreplay.cli.display.async_output import Outlet
from logreplay.cli.display.terminal import terminal_size

if TYPE_CHECKING:
    from logreplay.replay.monitor.snapshot import Snapshot


class LiveLine:
    """One line on stderr, written once a second.

    Written by hand in some microseconds: a library that draws would hold up the loop for milliseconds, and the run
    would measure its own display.
    """

    def __init__(self, outlet: Outlet, *, enabled: bool = True) -> None:
        self._outlet, self._enabled, self._shown = outlet, enabled, False

    def show(self, now: "Snapshot") -> None:
        """Write the line, unless the terminal still has to take the one before."""
        if self._enabled and self._outlet.idle:
            self._shown = True
            columns, _ = terminal_size()
            self._outlet.write(f"\r\x1b[K{text(now)[: columns - 1]}")

    def clear(self) -> None:
        """Leave no line behind."""
        if self._shown:
            self._shown = False
            self._outlet.write("\r\x1b[K")
