"""Shows on standard error how a run goes: notes, the live line, the curve, JSON lines."""

import atexit
import sys
from typing import TYPE_CHECKING, Any

from logreplay.analysis.json_text import json_text
from logreplay.cli.display.async_output import Outlet
from logreplay.cli.display.bug_report import tell_of_loop
from logreplay.cli.display.live_curve import GrowingCurve
from logreplay.cli.display.live_line import LiveLine
from logreplay.cli.display.terminal import can_redraw, say
from logreplay.core.errors import Loss

if TYPE_CHECKING:
    from logreplay.replay.monitor.snapshot import Snapshot


class Terminal:
    """The listener of the command line.

    While a run goes on, an `Outlet` writes for it: a halted terminal must not hold up the requests, and may take the
    rest until the program ends.

    Args:
        progress: ``auto``, ``json`` or ``none``.
        quiet: show errors only.
        bound: bound of the response time, seconds; drawn with the curve.
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
