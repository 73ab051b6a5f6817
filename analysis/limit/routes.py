"""Finds the routes that slow down while others do not: a part that only they use is at its limit."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from logreplay.analysis.limit.observations import Observations
from logreplay.analysis.statistics.quantiles import Floats, Ints

LEAST: Final = 0.05
"""Smallest share of the requests of a route that is judged."""
SLOWER: Final = 4.0
"""A route slows down if its median is this many times its median at the lowest rates, …"""
AS_FAST: Final = 2.0
"""… and another does not if its median stays below this many times its own at the lowest rates, …"""
SMALL: Final = 0.25
"""… and its median grows by less than this share of the growth of the slow one: all wait alike in one queue."""
FEWEST: Final = 20


def slow_routes(seen: Observations, stable: Ints, overloaded: Sequence[int]) -> list[int]:
    """Return the indices of the routes that slow down while another does not; empty where all do, or none.

    Args:
        seen: the sweep.
        stable: indices of the stable steps.
        overloaded: steps that were not carried.
    """
    share = np.bincount(seen.route) / max(len(seen.route), 1)
    large = np.flatnonzero(share >= LEAST)
    if len(large) < 2:
        return []
    calm, busy = (
        np.array([_medians(seen, route, steps) for route in large.tolist()]) for steps in (stable, overloaded)
    )
    low = np.nanmin(calm, axis=1, initial=np.inf, where=~np.isnan(calm))
    high = np.nanmax(busy, axis=1, initial=0.0, where=~np.isnan(busy))
    grown = high - low
    slow = (high > SLOWER * low) & np.isfinite(low)
    if not slow.any():
        return []
    fast = (high < AS_FAST * low) & (high > 0) & np.isfinite(low) & (grown < SMALL * grown[slow].min())
    return large[slow].tolist() if fast.any() else []


def _medians(seen: Observations, route: int, steps: "Sequence[int] | Ints") -> Floats:
    """(steps,) median time of a route in each step; NaN where it has few requests."""
    own = (seen.route == route) & seen.good
    of_steps = (seen.took[own & (seen.step == step)] for step in steps)
    return np.array([np.median(times) if len(times) >= FEWEST else np.nan for times in of_steps])
