"""The program ``logreplay``: a signal that comes while its modules are loaded ends it without a traceback.

Nothing is imported before it listens, except what the interpreter has loaded already.
"""

import _signal  # type: ignore[import-not-found]  # `signal` loads others
import os

_INTERRUPTED = 130
"""`logreplay.cli.exit_codes.Exit.INTERRUPTED`, whose module takes milliseconds to load."""


def _end(*_: object) -> None:
    try:
        os.write(2, b"interrupted\n")
    finally:
        os._exit(_INTERRUPTED)


def main() -> None:
    """Load the command line and run it."""
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _end)  # until the command line hears signals itself
    from logreplay.cli.main import main as command_line

    command_line()
