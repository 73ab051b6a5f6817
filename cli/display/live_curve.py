"""Draws the curve of a sweep or a search on the terminal, again after each step, below the lines about the steps."""

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from logreplay.cli.display.curve import CurvePoint, draw
from logreplay.cli.display.terminal import can_redraw, terminal_size
from logreplay.core.masking import terminal_safe_lines

if TYPE_CHECKING:
    from logreplay.replay.monitor.snapshot import Snapshot

_HIGHEST: Final = 18
_ROOM: Final = 6
"""Lines of the terminal left to earlier lines, and to the live line."""


class GrowingCurve:
    """Says on stderr what became of each step, and draws the curve of all of them below that, in place.

    The last curve stays.

    Args:
        write: takes the text for stderr.
        drawn: draw, if there is a terminal.
        bound: bound of the response time, seconds; drawn with the curve.
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
