"""Shows on standard error how a run goes: notes, the live line, the curve, JSON lines."""

import atexit
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from logreplay.analysis.json_text import json_text
from logreplay.calling.progress_line import text as one_line
from logreplay.cli.display.async_output import Outlet
from logreplay.cli.display.bug_report import tell_of_loop
from logreplay.cli.display.curve import CurvePoint, draw
from logreplay.cli.display.terminal import can_redraw, say, terminal_size
from logreplay.core.errors import Loss
from logreplay.core.masking import terminal_safe_lines

if TYPE_CHECKING:
    from logreplay.replay.monitor.snapshot import Snapshot

_HIGHEST: Final = 18
_ROOM: Final = 6
"""Lines of the terminal left to earlier lines, and to the live line."""


class LiveLine:
    """The state of a run in one line on stderr, written once a second.

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
            self._outlet.write(f"\r\x1b[K{one_line(now)[: columns - 1]}")

    def clear(self) -> None:
        """Leave no line behind."""
        if self._shown:
            self._shown = False
            self._outlet.write("\r\x1b[K")


class GrowingCurve:
    """Says on stderr what became of each step, and draws the curve of all of them below that, in place.

    The last curve stays. A bound of the response time, seconds, is drawn with it.
    """

    def __init__(self, write: Callable[[str], object], *, drawn: bool = True, bound: float | None = None) -> None:
        self._write, self._bound = write, bound
        self._draws = drawn and can_redraw() and sys.stderr.encoding.lower() == "utf-8"
        self._points: list[CurvePoint] = []
        self._unit, self._height = "", 0

    def say(self, text: str, now: "Snapshot | None" = None) -> None:
        """Say something, at the end of a step with the state of the run; what could steer a terminal becomes ``?``."""
        if now:
            self._unit = "users" if now.stage.users else "req/s"
            self._points = [
                CurvePoint(each.level, each.p50, each.p99, each.state == "carried")
                for each in now.curve
                if each.state != "void" and each.p50 is not None and each.p99 is not None
            ]
        back = f"\x1b[{self._height}A\x1b[J" if self._height else ""
        curve = self._curve() if self._draws else []
        self._height = len(curve)
        self._write("".join((back, *(f"{line}\n" for line in (terminal_safe_lines(text), *curve)))))

    def _curve(self) -> list[str]:
        columns, lines = terminal_size()
        colour, height = "NO_COLOR" not in os.environ, min(_HIGHEST, lines - _ROOM)
        return draw(self._points, width=columns - 1, height=height, unit=self._unit, bound=self._bound, colour=colour)


class Terminal:
    """The listener of the command line.

    While a run goes on, an `Outlet` writes for it: a halted terminal must not hold up the requests, and may take the
    rest until the program ends.
    """

    def __init__(self, *, progress: str = "auto", quiet: bool = False, bound: float | None = None) -> None:
        self._quiet, self._progress, self._bound = quiet, progress, bound
        self._outlet: Outlet | None = None
        self._line: LiveLine | None = None
        self._curve: GrowingCurve | None = None

    def note(self, text: str, *, always: bool = False) -> None:
        if always or not self._quiet or isinstance(text, Loss):
            self._say(text)

    def opened(self) -> None:
        self._outlet = Outlet(sys.stderr)
        drawn = self._progress == "auto" and not self._quiet
        self._line = LiveLine(self._outlet, enabled=drawn and can_redraw())
        self._curve = GrowingCurve(self._outlet.write, drawn=drawn, bound=self._bound)

    def see(self, now: "Snapshot") -> None:
        if self._line:
            self._line.show(now)
        self._as_json(now)

    def ended(self, now: "Snapshot", line: str = "") -> None:
        if self._line:
            self._line.clear()
        self._as_json(now)
        if line and not self._quiet:
            self._say(line, now)

    def closed(self) -> None:
        outlet, self._outlet, self._line, self._curve = self._outlet, None, None, None
        assert outlet
        if not outlet.drain():
            atexit.register(outlet.drain)
        outlet.close()

    def fault(self, loop: object, context: dict[str, Any]) -> None:
        tell_of_loop(loop, context)

    def _say(self, text: str, now: "Snapshot | None" = None) -> None:
        """Write to standard error; while a run goes on, above the curve, and without waiting for the terminal."""
        if self._line and self._curve:
            self._line.clear()
            self._curve.say(text, now)
        else:
            say(text)

    def _as_json(self, now: "Snapshot") -> None:
        if self._progress == "json" and self._outlet:
            self._outlet.write(json_text(now.as_dict(), indent=None) + "\n")
