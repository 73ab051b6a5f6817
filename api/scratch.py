"""The temporary folder of a result that nobody gave a place."""

import os
import weakref
from contextlib import ExitStack
from pathlib import Path

from logreplay.core.errors import LogreplayError
from logreplay.core.files import Closing, in_scratch, scratch_folder


class Scratch:
    """A temporary folder that goes with the last result that holds it, with `close`, or with the process.

    What the process leaves behind when it is killed, the next call removes.
    """

    def __init__(self) -> None:
        stack = ExitStack()
        self.path: Path = stack.enter_context(scratch_folder())
        self._remove = weakref.finalize(self, _close, stack, os.getpid())

    def close(self) -> None:
        """Remove the folder; once more does nothing."""
        self._remove()


def _close(stack: ExitStack, owner: int) -> None:
    if os.getpid() == owner:  # a forked child ends without taking the folder of its parent along
        stack.close()


class HoldsScratch(Closing):
    """A result whose files may lie in a temporary folder, which goes with it."""

    scratch: Scratch | None

    def close(self) -> None:
        """Remove the files, if they go with this result."""
        if self.scratch:
            self.scratch.close()


def rows_gone(path: Path, remedy: str) -> LogreplayError:
    """The error for a file of rows that is gone; ``remedy``: how to keep the rows of a temporary folder.

    A result that was pickled no longer knows whether its place was temporary; the name of the folder tells.
    """
    if in_scratch(path):
        return LogreplayError(
            f"the rows are gone: they lay in a temporary folder, which went with the result or its process; {remedy}"
        )
    return LogreplayError(f"the rows are gone: {path} was moved or deleted; put it back, or make the call again")
