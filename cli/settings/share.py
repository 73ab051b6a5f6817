"""``--share``: results that other users of this machine may read. Without it, results are for their owner alone."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

SHARE: Final = "share"
"""The parameter; `logreplay.cli.settings.configurable.Configurable` obeys it, and commands do not receive it."""
_USUAL: Final[list[int]] = []
"""The umask that the program was started with."""


def keep_private() -> None:
    """Let only the owner read and write the files and folders that this process and its children make."""
    _USUAL.append(os.umask(0o077))
    os.umask(_USUAL[0] | 0o077)


@contextmanager
def shared() -> Iterator[None]:
    """Make files and folders as the umask of the user says."""
    from logreplay.core import files

    before = os.umask(_USUAL[0]) if _USUAL else None
    try:
        with files.shared():
            yield
    finally:
        if before is not None:
            os.umask(before)
