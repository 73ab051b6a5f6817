"""Shows on standard error how a run goes: notes, the live line, JSON lines."""

import atexit
import json
import sys
from typing import TYPE_CHECKING, Any

from logreplay.cli.display.bug_report import tell_of_loop
from logreplay.cli.display.live_line import LiveLine
from logreplay.cli.display.outlet import Outlet
from logreplay.cli.display.terminal import can_redraw, say

if TYPE_CHECKING:
    from logreplay.replay.monitor.snapshot import Snapshot


class Terminal:
    """The listener of the command line.

    While a run goes on, an `Outlet` writes for it: a halted terminal must not hold up the requests, and may take the
    rest until the program ends.
    """

    def __init__(self, *, progress: str = "auto", quiet: bool = False) -> None:
        self.quiet, self.progress = quiet, progress
        self._outlet: Outlet | None = None
        self._line: LiveLine | None = None

    def note(self, text: str, *, always: bool = False) -> None:
        if always or not self.quiet:
            self.write(f"{text}\n")

    def write(self, text: str) -> None:
        """Write to standard error; while a run goes on, without waiting for the terminal."""
        if self._outlet:
            self._outlet.write(text)
        else:
            say(text.removesuffix("\n"))

    def opened(self) -> None:
        self._outlet = Outlet(sys.stderr)
        self._line = LiveLine(self._outlet, enabled=self.progress == "auto" and can_redraw() and not self.quiet)

    def see(self, now: "Snapshot") -> None:
        if self._line:
            self._line.show(now)
        self._as_json(now)

    def ended(self, now: "Snapshot") -> None:
        if self._line:
            self._line.clear()
        self._as_json(now)

    def closed(self) -> None:
        outlet, self._outlet, self._line = self._outlet, None, None
        assert outlet
        if not outlet.drain():
            atexit.register(outlet.drain)
        outlet.close()

    def fault(self, loop: object, context: dict[str, Any]) -> None:
        tell_of_loop(loop, context)

    def _as_json(self, now: "Snapshot") -> None:
        if self.progress == "json":
            self.write(json.dumps(now.as_dict()) + "\n")
