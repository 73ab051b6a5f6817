"""Writes the sentence that names the conditions which the evidence of an answer does not cover."""

from collections.abc import Iterable
from typing import Final

from logreplay.analysis.format_time import show_lengths

OTHER_LOAD: Final = "other load on the same machines"


def not_tested(tested: str, seconds: Iterable[float], answer: str, *others: str) -> str:
    """Say for how long a load was tested, and that the answer covers neither longer loads nor other conditions.

    ``tested``: the sentence up to the word before the length; ``answer``: ``number``, ``verdict`` or the like.
    """
    lengths = list(seconds)
    *first, last = others
    listed = ", ".join(("what takes longer, such as leaks and slow scaling", *first, f"or {last}"))
    return f"{tested} {show_lengths(min(lengths), max(lengths))}: the {answer} does not cover {listed}"


def another_mix(routes: int | None = None) -> str:
    """Name requests to the same routes in other shares; to other routes if there is one. None: of unknown number."""
    if routes == 1:
        return "requests to other routes"
    return "another mix of routes" if routes is None else f"another mix of the {routes:,} routes"
