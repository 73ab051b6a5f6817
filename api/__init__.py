"""Replays production access logs at rates you choose, and finds the rate at which a system saturates.

Each name is imported when it is first used: `import logreplay` loads no other library.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from logreplay import analysis, parsers
    from logreplay.core.errors import BusyError, Interrupted, LogreplayError, TakenError, UsageError
    from logreplay.functions import run
    from logreplay.results import RunResult

_HOMES: Final = {
    "BusyError": "core.errors",
    "Interrupted": "core.errors",
    "LogreplayError": "core.errors",
    "RunResult": "results",
    "TakenError": "core.errors",
    "UsageError": "core.errors",
    "run": "functions",
}
"""The module of each public name."""
_PACKAGES: Final = ("analysis", "parsers")

__all__ = [
    "BusyError",
    "Interrupted",
    "LogreplayError",
    "RunResult",
    "TakenError",
    "UsageError",
    "analysis",
    "parsers",
    "run",
]


def __getattr__(name: str) -> Any:
    if home := _HOMES.get(name):
        return getattr(import_module(f"{__name__}.{home}"), name)
    if name in _PACKAGES:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
