"""Replays an access log, and finds the highest rate that a server sustains.

Each name is imported when it is first used: `import logreplay` loads no other library.
"""

from logreplay.core.lazy_names import lazy_names

TYPE_CHECKING = False  # for type checkers; `typing` takes 10 ms, in which Ctrl-C would end the command line badly
if TYPE_CHECKING:
    from logreplay import aio, analysis, parsers
    from logreplay.controlling import control
    from logreplay.conversion import convert
    from logreplay.convert_result import ConvertResult
    from logreplay.core.errors import (
        BusyError,
        ClusterError,
        Interrupted,
        LogError,
        LogreplayError,
        NotPermitted,
        TakenError,
        TargetError,
        TooManyRejects,
        UsageError,
    )
    from logreplay.duet_result import DuetResult
    from logreplay.folder_results import FindResult, SweepResult
    from logreplay.functions import duet, find, run, serve, sweep
    from logreplay.inputs.python_logs import Request
    from logreplay.inspect_result import InspectResult
    from logreplay.log_inspection import inspect
    from logreplay.options.parameters import (
        DuetOptions,
        FindOptions,
        PlanOptions,
        ProgressOptions,
        RequestOptions,
        RunOptions,
        SenderOptions,
        SessionOptions,
        SweepOptions,
    )
    from logreplay.plan_result import PlanResult
    from logreplay.planning import plan
    from logreplay.readings import analyze, capacity, compare
    from logreplay.results import Result, RunResult
    from logreplay.settings_files.reading import settings

_HOMES = {
    **dict.fromkeys(
        (
            *("BusyError", "ClusterError", "Interrupted", "LogError", "LogreplayError", "NotPermitted", "TakenError"),
            *("TargetError", "TooManyRejects", "UsageError"),
        ),
        "logreplay.core.errors",
    ),
    "Request": "logreplay.inputs.python_logs",
    "control": "logreplay.controlling",
    "ConvertResult": "logreplay.convert_result",
    "DuetResult": "logreplay.duet_result",
    **dict.fromkeys(("FindResult", "SweepResult"), "logreplay.folder_results"),
    "convert": "logreplay.conversion",
    "InspectResult": "logreplay.inspect_result",
    "inspect": "logreplay.log_inspection",
    "PlanResult": "logreplay.plan_result",
    "plan": "logreplay.planning",
    "Result": "logreplay.results",
    "RunResult": "logreplay.results",
    **dict.fromkeys(("analyze", "capacity", "compare"), "logreplay.readings"),
    "aio": "logreplay.aio",
    "analysis": "logreplay.analysis",
    "parsers": "logreplay.parsers",
    **dict.fromkeys(("duet", "find", "run", "serve", "sweep"), "logreplay.functions"),
    "settings": "logreplay.settings_files.reading",
    **dict.fromkeys(
        (
            *("RunOptions", "SweepOptions", "FindOptions", "DuetOptions", "PlanOptions"),
            *("RequestOptions", "SenderOptions", "SessionOptions", "ProgressOptions"),
        ),
        "logreplay.options.parameters",
    ),
}
"""The module of each public name."""

__all__ = [
    "BusyError", "ClusterError", "ConvertResult", "DuetOptions", "DuetResult", "FindOptions", "FindResult",
    "InspectResult", "Interrupted", "LogError", "LogreplayError", "NotPermitted", "PlanOptions", "PlanResult",
    "ProgressOptions", "Request", "RequestOptions", "Result", "RunOptions", "RunResult", "SenderOptions",
    "SessionOptions", "SweepOptions", "SweepResult", "TakenError", "TargetError", "TooManyRejects", "UsageError",
    "aio", "analysis", "analyze", "capacity", "compare", "control", "convert", "duet", "find", "inspect", "parsers",
    "plan", "run", "serve", "settings", "sweep",
]  # fmt: skip

if not TYPE_CHECKING:  # a type checker takes the names from above, and refuses others
    __getattr__, __dir__ = lazy_names(__name__, _HOMES)
