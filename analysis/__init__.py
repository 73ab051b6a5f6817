"""The analysis of result logs: tables, verdicts and pictures.

The names of `logreplay.analysis.api` are the public API. Each is imported when it is first used, so that asking for
one does not load the libraries of the others.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from logreplay.analysis.api import (
        capacity,
        changes,
        compare,
        differences,
        duet,
        hockey_stick,
        load,
        overlay,
        pairs,
        picture,
        saturation,
        seconds,
        steps,
    )
    from logreplay.analysis.verdict.comparison import Comparison
    from logreplay.analysis.verdict.machines import Capacity
    from logreplay.analysis.verdict.saturation import SaturationVerdict

__all__ = [
    "Capacity",
    "Comparison",
    "SaturationVerdict",
    "capacity",
    "changes",
    "compare",
    "differences",
    "duet",
    "hockey_stick",
    "load",
    "overlay",
    "pairs",
    "picture",
    "saturation",
    "seconds",
    "steps",
]

_RETURNED = {"Capacity": "machines", "Comparison": "comparison", "SaturationVerdict": "saturation"}
"""Modules of the classes that the functions return."""


def __getattr__(name: str) -> Any:
    if name in __all__:
        home = f"verdict.{_RETURNED[name]}" if name in _RETURNED else "api"
        return getattr(import_module(f"logreplay.analysis.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
