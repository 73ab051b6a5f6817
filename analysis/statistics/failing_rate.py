"""Estimates the rate from which too many requests fail, and its range, from the failures of all steps.

Here ``rate``, ``failed`` and ``sent`` are (n,) requests/s, requests that failed and all requests, in order of the rate,
up to the first one at which too many fail. ``may_fail`` is the share of failures up to which a rate is carried.

Source: a parametric bootstrap: the share of failures rises with the rate, and grows exponentially between two rates.
"""

import math
from typing import Final

import numpy as np

from logreplay.analysis.statistics.failures import ERROR_SHARE, GROWS_Z, LIKELY_Z
from logreplay.analysis.statistics.isotonic import isotonic
from logreplay.analysis.statistics.quantiles import Floats, Ints
from logreplay.core.validity import wilson

CURVES: Final = 400
ENDS: Final = (0.05, 0.95)
"""Share of the curves below the lower end of the range, and below the upper end."""
_SEED: Final = 1
_TOGETHER: Final = 3.0
"""Failures that count as one, as those of a limiter in a burst of arrivals."""
_UNSEEN: Final = 0.1
"""Clusters of failures added to the count of each step: a step without failures does not prove a share of 0."""


def share_that_may_fail(failed: Ints, sent: Ints, base: float) -> float:
    """Share of failures up to which a rate is carried: `ERROR_SHARE` beyond the base.

    The base, the share at the lowest rates, is no more than that at the lowest one if the share rises with the rate.
    """
    number = np.maximum(sent, 1.0)
    return float(min(base, isotonic(failed / number, number)[0])) + ERROR_SHARE


def rises(failed: Ints, sent: Ints) -> bool:
    """Whether the share of failures rises with the rate, or is higher at some rates, beyond chance.

    Source: likelihood ratio of Poisson rates, of clusters of failures.
    """
    number, clusters = np.maximum(sent, 1.0) / _TOGETHER, failed / _TOGETHER
    some = clusters > 0
    ratio = isotonic(clusters / number, number)[some] * number.sum() / max(clusters.sum(), 1e-9)
    return bool(2 * clusters[some] @ np.log(ratio) > GROWS_Z**2)


def last_below(failed: Ints, sent: Ints, may_fail: float) -> int:
    """Index of the highest rate at which surely fewer fail than may; 0 if there is none.

    Failures at lower rates passed, and do not tell from which rate on too many fail.
    """
    number = np.maximum(sent, 1.0) / _TOGETHER
    below = np.flatnonzero(wilson(failed / np.maximum(sent, 1.0), number, LIKELY_Z)[1] < may_fail)
    return int(below[-1]) if len(below) else 0


def failing_rates(rate: Floats, failed: Ints, sent: Ints, may_fail: float) -> Floats:
    """(3, curves) requests/s: the highest rate that was carried, the rate at which too many fail, the next rate.

    0 where not even the lowest rate is carried, infinite where all are. The target carries no more than it answered at
    the next rate.
    """
    rng = np.random.default_rng(_SEED)
    number = sent / _TOGETHER
    share = rng.gamma(failed / _TOGETHER + _UNSEEN, 1 / number, (CURVES, len(rate)))
    found = np.empty((3, CURVES))
    for curve, each in enumerate(share):
        rising = isotonic(each, number)
        above = int(np.searchsorted(rising, may_fail))
        if above == 0:
            found[:, curve] = 0.0, 0.0, rate[0]
        elif above == len(rate):
            found[:, curve] = rate[-1], math.inf, math.inf
        else:
            low, high = rate[above - 1 : above + 1]
            logs = np.log(np.maximum(rising[above - 1 : above + 1], 0.5 / sent[above - 1]))
            grown = float(np.interp(math.log(may_fail), logs, (low, high)))
            answered = high * (1 - rising[above]) / (1 + ERROR_SHARE - may_fail)
            found[:, curve] = low, min(grown, answered) if answered > low else grown, high
    return found


def bracket(low: Floats, likely: Floats, high: Floats) -> tuple[float, float, float]:
    """Lower end, median and upper end of a rate, requests/s: each a quantile of its own curves."""
    found = zip((low, likely, high), (ENDS[0], 0.5, ENDS[1]), strict=True)
    return tuple(float(np.quantile(rates, share, method="inverted_cdf")) for rates, share in found)  # type: ignore[return-value]
