"""Measures how true a replay was to its schedule, from due times and send lag."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from logreplay.analysis.format_time import show, signed
from logreplay.analysis.input.chunks import SECOND
from logreplay.analysis.statistics.quantiles import Ints
from logreplay.analysis.statistics.slices import slices

_MOST_GAPS = 1_000_000
"""Most requests that gaps (of the first ones) and drift (of evenly chosen ones) are from, as sorting takes memory."""


@dataclass(frozen=True)
class Punctuality:
    """The shape that was sent beside the one that was scheduled.

    Attributes:
        misplaced: share of requests sent in another second than they were due. 0 is perfect.
        gap_distance_s: seconds by which the gaps between requests differ: the 1-Wasserstein distance between the
            distributions of scheduled and actual inter-arrival times, the mean difference of the sorted gaps; of the
            first million requests.
        gap_distance: the same as a share of the mean gap.
        drift_s: median lag in the last tenth of the requests less that in the first tenth, seconds.
    """

    misplaced: float
    gap_distance_s: float
    gap_distance: float
    drift_s: float

    def sentence(self) -> str:
        """The figures in words."""
        return (
            f"{self.misplaced:.2%} of the requests were sent in another second than scheduled; gaps between requests "
            f"are off by {show(self.gap_distance_s)} on average ({self.gap_distance:.1%}); lag changed by "
            f"{signed(self.drift_s)} from start to end"
        )


def punctuality(scheduled: Ints, lag: npt.NDArray[np.integer]) -> Punctuality | None:
    """Compare when requests were sent with when they were due, in any order; None for fewer than two.

    ``scheduled``, ``lag``: (n,) microseconds, of the requests that were sent.
    """
    if len(scheduled) < 2:
        return None
    due, late = _ordered(scheduled, lag, slice(0, _MOST_GAPS))
    gaps, sent_gaps = np.sort(np.diff(due)), np.sort(np.diff(np.sort(due + late)))
    distance = float(np.abs(gaps - sent_gaps).mean()) / SECOND
    mean_gap = float(gaps.mean()) / SECOND
    _, late = _ordered(scheduled, lag, slice(None, None, -(-len(lag) // _MOST_GAPS)))
    tenth = max(1, len(late) // 10)
    return Punctuality(
        misplaced=sum(_moved(scheduled[part], lag[part]) for part in slices(len(scheduled))) / len(scheduled),
        gap_distance_s=distance,
        gap_distance=distance / mean_gap if mean_gap else 0.0,
        drift_s=float(np.median(late[-tenth:]) - np.median(late[:tenth])) / SECOND,
    )


def _ordered(scheduled: Ints, lag: npt.NDArray[np.integer], part: slice) -> tuple[Ints, Ints]:
    """Due times and lags of some requests, in the order of their due times."""
    order = np.argsort(scheduled[part], kind="stable")
    return scheduled[part][order], lag[part][order].astype(np.int64)


def _moved(scheduled: Ints, lag: npt.NDArray[np.integer]) -> int:
    """How many requests were sent in another second than they were due."""
    return int(np.count_nonzero(scheduled // SECOND != (scheduled + lag) // SECOND))
