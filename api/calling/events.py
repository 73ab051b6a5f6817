"""Events of a running call, and their listeners; the library prints nothing itself."""

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from logreplay.replay.monitor.snapshot import Snapshot


class CallListener(Protocol):
    """Whom a call tells.

    `logreplay.calling.mailbox.Mailbox` calls it in the thread that waits for the call, where it may take long.
    Without one, the thread that sends calls it, and it must not wait.
    """

    def note(self, text: str, *, always: bool = False) -> None:
        """Take a sentence besides the result, when it becomes known; ``always``: also if the user wants errors only."""

    def opened(self) -> None:
        """Snapshots follow."""

    def see(self, now: "Snapshot") -> None:
        """Take the state of the run, about once a second."""

    def ended(self, now: "Snapshot", line: str = "") -> None:
        """Take the state at the end of a stage: a run, a step, a trial; with a line on a step or a trial."""

    def closed(self) -> None:
        """No more snapshots come."""

    def fault(self, loop: object, context: dict[str, Any]) -> None:
        """Take what the event loop reports: an exception in a callback, or in a task that nobody awaits."""
