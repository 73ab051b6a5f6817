"""The listener of a Python program: keeps the notes, and calls the program's functions."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from logreplay.calling.progress_line import ProgressLine

if TYPE_CHECKING:
    from logreplay.options.parameters import ProgressFunction, StopFunction
    from logreplay.replay.monitor.snapshot import Snapshot


class StopWish:
    """A request by the program's functions to end the run. It may come from any thread; the latest loop hears it.

    Attributes:
        why: the reason; empty while no function has asked.
    """

    def __init__(self) -> None:
        self.why = ""
        self._tell: Callable[[], object] | None = None

    def ask(self, why: str) -> None:
        """Ask for the end of the run; the first reason counts."""
        self.why = self.why or why
        if tell := self._tell:
            tell()

    def bind(self, tell: "Callable[[], object]") -> None:
        """Call ``tell`` when a function asks, in the thread of that function; at once if one has asked."""
        self._tell = tell
        if self.why:
            tell()

    def __call__(self, _: object = None) -> str:
        """Return the reason. A `StopWish` can stand among the functions of ``stop``; `Callbacks` then uses it."""
        return self.why


class Callbacks:
    """Its functions are called in the thread that waits for the run; an exception in one ends the run.

    Args:
        progress: is given the state of the run about once a second, and at the end of each stage; True: shows it.
        stop: are given the same state about once a second; the first that returns a reason, or True, ends the run.

    Attributes:
        notes: sentences that were told.
        asked: wish of a function that the run end, with its reason.
    """

    def __init__(self, progress: "bool | ProgressFunction | None" = None, stop: "Sequence[StopFunction]" = ()) -> None:
        self.notes: list[str] = []
        self.asked = next((each for each in stop if isinstance(each, StopWish)), StopWish())
        self._progress = ProgressLine() if progress is True else progress or None
        self._stop = stop

    def note(self, text: str, *, always: bool = False) -> None:
        self.notes.append(text)

    def opened(self) -> None: ...

    def see(self, now: "Snapshot") -> None:
        if self._progress:
            try:
                self._progress(now)
            except BaseException:
                self._progress = None  # it is not asked again while the run ends
                raise
        for function in self._stop:
            if not self.asked.why and (why := reason(function, now)):
                self.asked.ask(why)

    def ended(self, now: "Snapshot", line: str = "") -> None:
        self.see(now)

    def closed(self) -> None: ...

    def fault(self, loop: object, context: dict[str, Any]) -> None:
        self.notes.append(f"error in the event loop: {context.get('exception') or context.get('message')}")


def reason(function: "StopFunction", now: "Snapshot") -> str:
    """Why a function of ``stop`` wants the run to end; empty if it does not."""
    why = function(now)
    return why if isinstance(why, str) else f"{getattr(function, '__name__', 'stop function')}: true" if why else ""
