"""The temporary folder of a result that nobody gave a place."""

import os
import weakref
from contextlib import ExitStack
from pathlib import Path

from logreplay.core.files import Closing, scratch_folder


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


class HoldsScratch(Closing):
    """A result whose files may lie in a temporary folder, which goes with it."""

    scratch: Scratch | None

    def close(self) -> None:
        """Remove the files, if they go with this result."""
        if self.scratch:
            self.scratch.close()


def _close(stack: ExitStack, owner: int) -> None:
    if os.getpid() == owner:  # a forked child ends without taking the folder of its parent along
        stack.close()
