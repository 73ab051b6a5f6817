"""Events of a running call, and their way to a listener in the thread that waits for it; the library prints nothing."""

import threading
from collections.abc import Callable
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from logreplay.replay.monitor.snapshot import Snapshot


class CallListener(Protocol):
    """Whom a call tells.

    `Mailbox` calls it in the thread that waits for the call, where it may take long.
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


class Mailbox:
    """A `CallListener` for any thread; the other one is called in the thread that made this, where it may take long.

    A listener that is slow misses states of the run and delays nothing; it misses no note and no end of a stage.

    Args:
        listener: receives the messages.
    """

    def __init__(self, listener: CallListener) -> None:
        self._listener, self._owner = listener, threading.get_ident()
        self._letters = SimpleQueue[Callable[[], object]]()  # safe where Ctrl-C interrupts it, unlike a Condition
        self._lock = threading.Lock()
        self._newest: list[Snapshot] | None = None

    def note(self, text: str, *, always: bool = False) -> None:
        self._hand_over(partial(self._listener.note, text, always=always))

    def opened(self) -> None:
        self._hand_over(self._listener.opened)

    def see(self, now: "Snapshot") -> None:
        with self._lock:
            if self._newest:
                self._newest[0] = now
                return
            newest = self._newest = [now]
        self._letters.put(partial(self._see, newest))
        self._if_owner()

    def ended(self, now: "Snapshot", line: str = "") -> None:
        self._hand_over(partial(self._listener.ended, now, line))

    def closed(self) -> None:
        self._hand_over(self._listener.closed)

    def fault(self, loop: object, context: dict[str, Any]) -> None:
        self._hand_over(partial(self._listener.fault, loop, context))

    def wake(self) -> None:
        """Let a `deliver` that waits return."""
        self._letters.put(lambda: None)

    def deliver(self, timeout: float = 0.0) -> None:
        """Call the listener with all that has come; without anything, wait for it, in seconds.

        What came after an exception of the listener waits for the next call.
        """
        while letter := self._next(timeout):
            timeout = 0.0
            letter()

    def _next(self, timeout: float) -> Callable[[], object] | None:
        try:
            return self._letters.get(timeout=timeout) if timeout else self._letters.get_nowait()
        except Empty:
            return None

    def _hand_over(self, letter: Callable[[], object]) -> None:
        with self._lock:
            self._newest = None  # a state that comes now stands behind this
        self._letters.put(letter)
        self._if_owner()

    def _if_owner(self) -> None:
        if threading.get_ident() == self._owner:
            self.deliver()

    def _see(self, newest: "list[Snapshot]") -> None:
        with self._lock:
            if self._newest is newest:
                self._newest = None
            now = newest[0]
        self._listener.see(now)
