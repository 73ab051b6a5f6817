"""Draws the curve of a sweep or a search on the terminal, anew after each step, below the lines about the steps."""

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from logreplay.cli.display.curve import CurvePoint, draw
from logreplay.cli.display.terminal import can_redraw, terminal_size

if TYPE_CHECKING:
    from logreplay.replay.results.outcome import Outcome

_HIGHEST: Final = 18
_DRAWN: Final = 0.99
_ROOM: Final = 6
"""Lines of the terminal left to earlier lines, and to the live line."""


class GrowingCurve:
    """Says on stderr what became of each step, and draws the curve of all of them below that, in place.

    To be used between the steps only, when nothing is in flight: drawing takes milliseconds. The last curve stays.
    """

    def __init__(
        self,
        write: Callable[[str], object],
        *,
        quiet: bool,
        drawn: bool = True,
        unit: str = "req/s",
        bound: float | None = None,
    ) -> None:
        """Begin without points.

        Args:
            write: takes the text for stderr.
            quiet: say and draw nothing.
            drawn: draw, if there is a terminal.
            unit: of the rates, in at most 8 signs.
            bound: of the response time, seconds; drawn with the curve.
        """
        self._write, self._quiet, self._unit, self._bound = write, quiet, unit, bound
        self._draws = drawn and not quiet and can_redraw() and sys.stderr.encoding.lower() == "utf-8"
        self._points: list[CurvePoint] = []
        self._height = 0

    def say(self, text: str, point: CurvePoint | None = None) -> None:
        """Say something, of a step with its point; None: there is none, or it says nothing of the target."""
        if point:
            self._points.append(point)
        if self._quiet:
            return
        back = f"\x1b[{self._height}A\x1b[J" if self._height else ""
        curve = self._curve() if self._draws else []
        self._height = len(curve)
        self._write("".join((back, *(f"{line}\n" for line in (text, *curve)))))

    def _curve(self) -> list[str]:
        columns, lines = terminal_size()
        colour, height = "NO_COLOR" not in os.environ, min(_HIGHEST, lines - _ROOM)
        return draw(self._points, width=columns - 1, height=height, unit=self._unit, bound=self._bound, colour=colour)


def point_of(rate: float, outcome: "Outcome", *, good: bool) -> CurvePoint | None:
    """The point of a step on the curve; None where nothing was answered, or p99 holds this machine's lag."""
    from logreplay.replay.results.verdict import RunVerdict

    p50, p99 = (outcome.counters.response.quantile(share) for share in (0.5, 0.99))
    late = outcome.health.verdict is RunVerdict.GENERATOR_BOUND or outcome.counters.valid_up_to < _DRAWN
    if p50 is None or p99 is None or late:
        return None
    return CurvePoint(rate, p50, p99, good)
