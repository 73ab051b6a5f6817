"""Replays an access log, and finds the highest rate that a server sustains.

Each name is imported when it is first used: `import logreplay` loads no other library.
"""

from logreplay.core.lazy_names import lazy_names

TYPE_CHECKING = False  # for type checkers; `typing` takes 10 ms, in which Ctrl-C would end the command line badly
if TYPE_CHECKING:
    from logreplay import aio, analysis, parsers
    from logreplay.controlling import control
    from logreplay.conversion import ConvertResult, convert
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
    from logreplay.folder_results import DuetResult, FindResult, SweepResult
    from logreplay.functions import duet, find, run, serve, sweep
    from logreplay.inputs.python_logs import Request
    from logreplay.log_inspection import InspectResult, inspect
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
    from logreplay.replay.monitor.snapshot import Snapshot
    from logreplay.results import Result, RunResult
    from logreplay.settings_files.reading import settings

__all__ = [
    "BusyError", "ClusterError", "ConvertResult", "DuetOptions", "DuetResult", "FindOptions", "FindResult",
    "InspectResult", "Interrupted", "LogError", "LogreplayError", "NotPermitted", "PlanOptions", "PlanResult",
    "ProgressOptions", "Request", "RequestOptions", "Result", "RunOptions", "RunResult", "SenderOptions",
    "SessionOptions", "Snapshot", "SweepOptions", "SweepResult", "TakenError", "TargetError", "TooManyRejects",
    "UsageError", "aio", "analysis", "analyze", "capacity", "compare", "control", "convert", "duet", "find", "inspect",
    "parsers", "plan", "run", "serve", "settings", "sweep",
]  # fmt: skip

_HOMES = {
    "": ("aio", "analysis", "parsers"),
    "controlling": ("control",),
    "conversion": ("ConvertResult", "convert"),
    "folder_results": ("DuetResult", "FindResult", "SweepResult"),
    "functions": ("duet", "find", "run", "serve", "sweep"),
    "inputs.python_logs": ("Request",),
    "log_inspection": ("InspectResult", "inspect"),
    "options.parameters": tuple(name for name in __all__ if name.endswith("Options")),
    "plan_result": ("PlanResult",),
    "planning": ("plan",),
    "readings": ("analyze", "capacity", "compare"),
    "replay.monitor.snapshot": ("Snapshot",),
    "results": ("Result", "RunResult"),
    "settings_files.reading": ("settings",),
}
"""The public names by the module that holds them; those of a package are modules; the others are errors."""

if not TYPE_CHECKING:  # a type checker takes the names from above, and refuses others
    __getattr__, __dir__ = lazy_names(
        __name__,
        dict.fromkeys(__all__, "logreplay.core.errors")
        | {name: f"logreplay.{home or name}" for home, names in _HOMES.items() for name in names},
    )
