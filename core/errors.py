"""The errors and warnings that callers catch, and sentences on losses; this module loads nothing else.

`logreplay.LogreplayError` is the root. Texts name parameters as options of the command line; the Python functions
spell them again.
"""

from collections.abc import Sequence
from typing import Any


class LogreplayError(Exception):
    """An error whose text names the place, the fault and the remedy."""


class UsageError(LogreplayError, ValueError):
    """Parameters are wrong, or exclude each other; the text names them.

    Attributes:
        parameters: their names, if they were parameters of a function.
    """

    def __init__(self, text: str = "", parameters: Sequence[str] = ()) -> None:
        super().__init__(text)
        self.parameters = tuple(parameters)


class LogError(LogreplayError):
    """A log, or a row of it, cannot be read."""


class TargetError(LogreplayError):
    """The name of the target is not valid, or it cannot be reached, or it speaks another protocol."""


class NotPermitted(TargetError):
    """The target is another machine, and no permission to load it was given."""


class ClusterError(LogreplayError):
    """A Dask cluster does not start, does not answer, or lacks what a run needs."""


class TooManyRejects(LogreplayError):
    """More lines were rejected than the caller allows."""


class BusyError(LogreplayError):
    """Another run is under way in this process."""


class TakenError(LogreplayError):
    """A file of this name exists, or another process is writing it."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, or a signal of the command line, ended a call.

    Of its own kind, because the interpreter kills itself at its end (exit code -2) if a plain `KeyboardInterrupt` ever
    came up in `exec`, which dataclasses use while a module is loaded, though it was caught.

    Attributes:
        result: results measured before the error; None: nothing.
        late: True if all requests had ended before, and only the evaluation of their rows is missing.
    """

    result: Any = None
    late: bool = False

    def __str__(self) -> str:
        why = getattr(self.result, "stopped", "") or "interrupted"
        where = "`result` of this error holds the measurement"
        return super().__str__() or (why if self.result is None else f"{why}; {where}")


class LossWarning(UserWarning):
    """Rows of a log are left out; the command line prints it also with ``--quiet``."""


class Loss(str):
    """A sentence on rows or requests that are lost; the command line prints it also with ``--quiet``."""

    __slots__ = ()
