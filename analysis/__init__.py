"""The analysis of result logs: tables, verdicts and pictures.

The names of `logreplay.analysis.api` are the public API. Each is imported when it is first used, so that asking for
one does not load the libraries of the others.
"""

from typing import TYPE_CHECKING, Final

from logreplay.core.lazy_names import lazy_names

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
    from logreplay.analysis.verdict.capacity import Capacity
    from logreplay.analysis.verdict.comparison import Comparison
    from logreplay.analysis.verdict.saturation import SaturationVerdict

__all__ = [
    "Capacity", "Comparison", "SaturationVerdict", "capacity", "changes", "compare", "differences", "duet",
    "hockey_stick", "load", "overlay", "pairs", "picture", "saturation", "seconds", "steps",
]  # fmt: skip

_RETURNED: Final = {"Capacity": "capacity", "Comparison": "comparison", "SaturationVerdict": "saturation"}
"""Modules of the classes that the functions return."""
_ADVISING: Final = ("capacity", "compare", "saturation")
"""The functions whose texts name options: a module of `api/`, which is above this package, spells them."""

if not TYPE_CHECKING:  # a type checker takes the names from above, and refuses others
    __getattr__, __dir__ = lazy_names(
        __name__,
        dict.fromkeys(__all__, "logreplay.analysis.api")
        | dict.fromkeys(_ADVISING, "logreplay.analysis_functions")
        | {name: f"logreplay.analysis.verdict.{module}" for name, module in _RETURNED.items()},
    )
