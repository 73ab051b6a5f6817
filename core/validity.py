"""Says up to which quantile response times are the target's: those above it hold too much of the generator's lag.

A response time counts from the scheduled send time, so a generator that is late makes it longer. Sorted apart, the
response times and the same times without their lag show at each rank what the lag adds to that quantile: a late request
does no harm to a percentile that slower requests decide, and lifts one below which all others lie.
"""

from math import floor
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

LAG_US: Final = 5_000
LAG_SHARE: Final = 0.1
"""Lag of `LAG_US` and more, and of more than this share of a time, makes that time the generator's."""
_RARE: Final = (0.999, 0.99)
"""Percentiles that are given only of so many requests that a 95 % interval of them exists."""
_USUAL: Final = 0.95
_DOUBT: Final = 0.025

Times = NDArray[np.integer[Any]] | NDArray[np.floating[Any]]


def holds_lag(response: Times, without_lag: Times) -> NDArray[np.bool_]:
    """Return whether each time holds too much lag.

    Args:
        response: (n,) microseconds.
        without_lag: (n,) microseconds, the same figure without the generator's lag.
    """
    found: NDArray[np.bool_] = response - without_lag > np.maximum(LAG_US, LAG_SHARE * response)
    return found


def deepest(count: int) -> float:
    """Return the highest percentile that is given of so many requests."""
    known = _DOUBT ** (1 / max(count, 1))
    return next((p for p in _RARE if p <= known), _USUAL)


def percentile(share: float) -> str:
    """Write a quantile as people do, rounded down: p96, p99.8."""
    return f"p{floor(1000 * share + 1e-9) / 10:g}"


def valid_up_to(response: Times, without_lag: Times) -> int:
    """Return up to which rank, from 1, sorted response times are the target's; 0: none.

    Args:
        response: (n,) ascending, microseconds.
        without_lag: (n,) ascending, microseconds: the same times without the generator's lag.
    """
    held = holds_lag(response, without_lag)
    return int(held.argmax()) if held.any() else len(response)
