"""One sentence in place of a traceback for an exception that no other code handles."""

import platform
import sys
import threading
import traceback
from pathlib import Path
from typing import Any

from logreplay.cli.display.terminal import say
from logreplay.cli.signals import SIGNALS
from logreplay.core.errors import LogreplayError

_FRAMES = 4


def sentence(error: BaseException) -> str:
    """Say that logreplay has a bug: which version, the error, where it came up, innermost first, where to report it."""
    from logreplay.core.installation import version
    from logreplay.core.masking import masked, terminal_safe

    text = " ".join(terminal_safe(str(error)).split())
    frames = reversed(traceback.extract_tb(error.__traceback__)[-_FRAMES:])
    places = ", called by ".join(
        f"{'/'.join(Path(frame.filename).parts[-3:])}, line {frame.lineno}" for frame in frames
    )
    return (
        f"this is a bug of logreplay {version()}: {type(error).__name__} in {places or 'no file'}: "
        f"{masked(text)}\nPython {platform.python_version()}, {sys.platform}. Rows written so far are kept. "
        "Please report it on the issue page of the project, with these lines and the command"
    )


def no_tracebacks() -> None:
    """Let exceptions that nobody can catch, in threads and finalizers, end in such a sentence, too."""
    threading.excepthook = lambda failed: _tell(failed.exc_value)
    sys.unraisablehook = lambda failed: _tell(failed.exc_value)


def tell_of_loop(loop: object, context: dict[str, Any]) -> None:
    """Handle what an event loop reports: an exception in a callback, or in a task that nobody awaits."""
    _tell(context.get("exception") or RuntimeError(context.get("message", "no message")))


def of_interruption(error: BaseException) -> bool:
    """Whether a library took an interruption for an error of its own."""
    return SIGNALS.raised and not isinstance(error, LogreplayError)


def _tell(error: BaseException | None) -> None:
    if error and not isinstance(error, SystemExit | KeyboardInterrupt) and not of_interruption(error):
        say(f"Error: {sentence(error)}")
