"""Counts the machines that carry a load, each the same rate, by one rule for every answer; words for a reserve."""

import math
from typing import Final

from logreplay.core.plural import number_of
from logreplay.core.quantities import percent

_ROUNDING: Final = 1e-9
"""A quotient this little above a whole number is that number: 1.1 / 0.1 is a little more than 11."""


def machines_for(load: float, one: float, headroom: float = 0.0) -> int:
    """The fewest machines, at least 1, for a load in requests/s; each carries ``one``, less the headroom (a share)."""
    return max(math.ceil(load / (one * (1 - headroom)) - _ROUNDING), 1)


def spare_words(headroom: float, survive: int, none: str = "") -> str:
    """Words for the reserve; ``none``: those for no headroom."""
    lost = f", {number_of(survive, 'machine')} lost" if survive else ""
    return (f", {percent(headroom)} of each kept free" if headroom else none) + lost
