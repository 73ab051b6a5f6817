"""Replays production access logs at rates you choose, and finds the rate at which a system saturates.

Each name is imported when it is first used: `import logreplay` loads no other library.
"""

from logreplay.core.lazy_names import lazy_names

TYPE_CHECKING = False  # for type checkers; `typing` takes 10 ms, in which Ctrl-C would end the command line badly
if TYPE_CHECKING:
    from logreplay import analysis, parsers
    from logreplay.core.errors import BusyError, Interrupted, LogError, LogreplayError, TakenError, UsageError
    from logreplay.duet_result import DuetResult
    from logreplay.functions import duet, run, serve
    from logreplay.inputs.python_logs import Request
    from logreplay.options.parameters import (
        DuetOptions,
        FindOptions,
        ProgressOptions,
        RequestOptions,
        RunOptions,
        SenderOptions,
        SessionOptions,
        SweepOptions,
    )
    from logreplay.readings import analyze, capacity, compare
    from logreplay.results import Result, RunResult

_HOMES = {
    **dict.fromkeys(
        ("BusyError", "Interrupted", "LogError", "LogreplayError", "TakenError", "UsageError"), "logreplay.core.errors"
    ),
    "Request": "logreplay.inputs.python_logs",
    "DuetResult": "logreplay.duet_result",
    "Result": "logreplay.results",
    "RunResult": "logreplay.results",
    **dict.fromkeys(("analyze", "capacity", "compare"), "logreplay.readings"),
    "analysis": "logreplay.analysis",
    "parsers": "logreplay.parsers",
    **dict.fromkeys(("duet", "run", "serve"), "logreplay.functions"),
    **dict.fromkeys(
        (
            *("RunOptions", "SweepOptions", "FindOptions", "DuetOptions"),
            *("RequestOptions", "SenderOptions", "SessionOptions", "ProgressOptions"),
        ),
        "logreplay.options.parameters",
    ),
}
"""The module of each public name."""

__all__ = [
    "BusyError",
    "DuetOptions",
    "DuetResult",
    "FindOptions",
    "Interrupted",
    "LogError",
    "LogreplayError",
    "ProgressOptions",
    "Request",
    "RequestOptions",
    "Result",
    "RunOptions",
    "RunResult",
    "SenderOptions",
    "SessionOptions",
    "SweepOptions",
    "TakenError",
    "UsageError",
    "analysis",
    "analyze",
    "capacity",
    "compare",
    "duet",
    "parsers",
    "run",
    "serve",
]

if not TYPE_CHECKING:  # a type checker takes the names from above, and refuses others
    __getattr__, __dir__ = lazy_names(__name__, _HOMES)
