"""The main program of a process that makes one call of the library for `logreplay.aio`."""

import os
import pickle
import signal
import tempfile
import threading
import time
from _thread import interrupt_main
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

from logreplay.calling.callbacks import StopWish
from logreplay.core.errors import LogreplayError
from logreplay.core.installation import OWN_PROCESS
from logreplay.replay.child_process import connection_to_parent

_PATIENCE_S: Final = 10.0
"""Seconds that a run may take to end after its caller has ended."""
CANCEL: Final = ""
"""Down: end the call in good order. Any other text is the reason of a function of ``stop``."""


@dataclass(frozen=True, slots=True)
class ChildCall:
    """Down, first: a call.

    Attributes:
        function: its name in `logreplay`.
        given, named: its parameters, without functions of the caller.
        folder: takes its temporary files; the caller removes it.
        watched: functions of the caller want to see the state of the run; ``stops``: and may end it.
    """

    function: str
    given: tuple[object, ...]
    named: dict[str, Any]
    folder: Path
    watched: bool
    stops: bool


@dataclass(frozen=True, slots=True)
class ChildEnded:
    """Up, last: what became of the call; snapshots come before it.

    Attributes:
        result, error: one of them.
        in_folder: the rows are in the folder of the call.
    """

    result: Any = None
    error: BaseException | None = None
    in_folder: bool = False


@dataclass(slots=True)
class _Caller:
    """The process that wants to know the result.

    Attributes:
        connection: to it.
        asked: wish of its ``stop`` functions that the run end, with its reason.
        kept: temporary folders that it removes.
    """

    connection: "Connection[Any, Any]"
    asked: StopWish = field(default_factory=StopWish)
    kept: list[object] = field(default_factory=list)

    def listen(self) -> None:
        """In a thread of its own: take what the caller wants, and end the call when it wants that, or has ended."""
        try:
            while True:
                if (reason := self.connection.recv()) == CANCEL:
                    interrupt_main()
                else:
                    self.asked.ask(reason)
        except (EOFError, OSError):
            interrupt_main()
            time.sleep(_PATIENCE_S)
            os._exit(1)

    def keeps(self, result: object) -> bool:
        """Leave the temporary folder of a result to the caller, if it has one."""
        self.kept.append(scratch := getattr(result, "scratch", None))
        return bool(scratch)


def _made(call: ChildCall, caller: _Caller) -> bytes:
    """Make the call; return a `ChildEnded` as it is sent."""
    named: dict[str, Any] = {"progress": caller.connection.send} if call.watched else {}
    named |= {"stop": [*call.named.get("stop", ()), caller.asked]} if call.stops else {}
    try:
        result = getattr(import_module("logreplay"), call.function)(*call.given, **(call.named | named))
        return pickle.dumps(ChildEnded(result, in_folder=caller.keeps(result)))
    except BaseException as error:
        return pickle.dumps(ChildEnded(error=_portable(error), in_folder=caller.keeps(getattr(error, "result", None))))


def _portable(error: BaseException) -> BaseException:
    """An error that another process can read."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # it holds objects that cannot be sent, or its class has a signature of its own
        return LogreplayError(f"{type(error).__name__}: {error}")
    return error


def main() -> None:
    """Make one call."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # also if it is ignored here
    parent = connection_to_parent()
    OWN_PROCESS.claimed = True
    with suppress(EOFError, OSError, KeyboardInterrupt):  # the caller has ended, or does not wait for a result
        packed, caller = parent.recv_bytes(), _Caller(parent)
        threading.Thread(target=caller.listen, daemon=True).start()
        ended = _received(packed, caller)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        parent.send_bytes(ended)
    os._exit(0)  # whose handlers would remove the temporary folder


def _received(packed: bytes, caller: _Caller) -> bytes:
    try:
        call: ChildCall = pickle.loads(packed)
    except Exception as error:  # of a class of the caller's that cannot be imported here
        text = f"a parameter cannot be read by another process: {type(error).__name__}: {error}"
        return pickle.dumps(ChildEnded(error=LogreplayError(f"{text}; give paths, numbers and texts")))
    tempfile.tempdir = str(call.folder)
    return _made(call, caller)


if __name__ == "__main__":
    from logreplay.calling import child  # whose classes the caller knows

    child.main()
