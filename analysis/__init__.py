"""From result rows to where the latency curve bends, and whether to believe it.

What a notebook needs is here by name; each name is imported when it is first used, so that asking for one does not
load the libraries of the others.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from logreplay.analysis.api import (
        capacity,
        changes,
        compare,
        hockey_stick,
        load,
        overlay,
        picture,
        saturation,
        seconds,
        steps,
    )

__all__ = [
    "capacity",
    "changes",
    "compare",
    "hockey_stick",
    "load",
    "overlay",
    "picture",
    "saturation",
    "seconds",
    "steps",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module("logreplay.analysis.api"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
