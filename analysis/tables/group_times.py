"""Computes the response times of groups of requests, and leaves out those figures that are the generator's."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from logreplay.analysis.input.arrays import RequestArrays, those
from logreplay.analysis.statistics.quantiles import SHARES, SMALLEST_SAMPLE, Bools, Floats, Grouped, Ints, ranks
from logreplay.analysis.statistics.quantiles import Part as TimesPart
from logreplay.analysis.statistics.slices import slices
from logreplay.core.validity import LAG_US, harmless, holds_lag, is_reached

LADDER: Final = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}

RequestsPart = tuple[npt.NDArray[np.integer], RequestArrays]
"""The group of each of some requests, and these requests."""


@dataclass(frozen=True)
class GroupTimes:
    """Response times of groups.

    Attributes:
        judged: response times as measured; of a request that failed `FAILED`.
        without_lag: the same without the generator's lag, of the groups in which a request was late.
        lag: the generator's lag of the requests that it sent late.
        valid: (groups,) up to which rank no time holds too much lag.
    """

    judged: Grouped
    without_lag: Grouped
    lag: Grouped
    valid: Ints

    @classmethod
    def of(cls, parts: Callable[[], Iterable[RequestsPart]], number: int, room: int) -> "GroupTimes":
        """Sort the times of parts, of which there are at most ``room`` requests in ``number`` groups."""
        late = np.zeros(number, np.bool_)

        def judged_parts() -> Iterable[TimesPart]:
            for groups, part in parts():
                late[those(groups, part.lag > LAG_US)] = True
                yield groups, part.judged

        def late_parts() -> Iterable[TimesPart]:
            for groups, part in parts() if late.any() else ():
                chosen = late[groups]
                yield those(groups, chosen), those(part.judged_without_lag, chosen)

        def lag_parts() -> Iterable[TimesPart]:
            for groups, part in parts() if late.any() else ():
                yield those(groups, part.lag > LAG_US), part.lag[part.lag > LAG_US]

        judged = Grouped.of_parts(judged_parts(), number, room)
        room = int(judged.counts[late].sum())
        without_lag = Grouped.of_parts(late_parts(), number, room)
        lag = Grouped.of_parts(lag_parts(), number, room)
        return cls(judged, without_lag, lag, judged.valid_up_to(without_lag))

    @classmethod
    def by(cls, requests: RequestArrays, name: Literal["step", "route"], number: int) -> "GroupTimes":
        """The times of steps or routes, without those of cancelled requests."""

        def parts() -> Iterable[RequestsPart]:
            finished = (requests.take(rows).finished for rows in slices(len(requests)))
            return ((getattr(part, name), part) for part in finished)

        return cls.of(parts, number, len(requests))

    def figures(self, **more: float) -> dict[str, Floats]:
        """Percentiles of all; mean and longest time of those answered as expected: seconds, NaN where not known."""
        _, mean, longest = self.judged.answered()
        _, mean_without_lag, longest_without_lag = self.without_lag.answered()
        return {
            "mean": _valid(mean, mean_without_lag),
            **{name: self.quantile(p) for name, p in {**LADDER, **more}.items()},
            "max": _valid(longest, longest_without_lag),
        }

    def quantile(self, p: float, *, answered: bool = False) -> Floats:
        """Each group's p-quantile as `Grouped.quantile`; NaN where too few requests support it or lag reaches it."""
        times = self.judged.quantile(p, SMALLEST_SAMPLE[p] if p >= 0.99 else 1, answered=answered)
        counts = self.judged.answered()[0] if answered else self.judged.counts
        reached = self._reached(p, times, self.without_lag.quantile(p, answered=answered), counts)
        return np.where(reached, np.nan, times)

    def at_shares(self) -> Floats:
        """Each group's quantiles as `Grouped.at_shares`; NaN where the lag reaches them."""
        times = self.judged.at_shares()
        reached = self._reached(SHARES, times, self.without_lag.at_shares(), self.judged.counts)
        return np.where(reached, np.nan, times)

    def added(self, p: float) -> Floats:
        """How much the lag adds to each group's p-quantile: (groups,) seconds, NaN where it does not reach it."""
        times, without_lag = self.judged.quantile(p), self.without_lag.quantile(p)
        reached = self._reached(p, times, without_lag, self.judged.counts)
        added = np.full(len(times), np.nan)
        added[reached] = times[reached] - without_lag[reached]  # others may be those of failures, infinite
        return added

    def _reached(self, p: float | Floats, times: Floats, without_lag: Floats, counts: Ints) -> Bools:
        """Whether the lag reaches p-quantiles of ``counts`` (groups,) times: (groups, …) as ``times``, seconds."""
        apart = (-1, *(1,) * (times.ndim - 1))
        known = np.where(np.isfinite(times), 1e6 * times, 0.0)
        later = self.lag.longer(harmless(known)) / np.maximum(self.judged.counts, 1).reshape(apart)
        reached = is_reached(p, known, 1e6 * without_lag, later) & np.isfinite(times)
        result: Bools = reached & (ranks(counts.reshape(apart), p) > self.valid.reshape(apart))
        return result

    @property
    def valid_up_to(self) -> Floats:
        """(groups,) the share of the times, the shortest, to which the lag adds too little; 1 for an empty group."""
        return np.where(self.judged.counts > 0, self.valid / np.maximum(self.judged.counts, 1), 1.0)


def _valid(times: Floats, without_lag: Floats) -> Floats:
    """Figures in seconds (groups,), NaN where they hold too much of the generator's lag."""
    return np.where(holds_lag(1e6 * times, 1e6 * without_lag), np.nan, times)


def service(requests: RequestArrays, by: Literal["step", "route"], number: int) -> Grouped:
    """The service times of steps or routes, without those of cancelled and of dropped requests."""
    parts = (requests.take(rows).finished for rows in slices(len(requests)))
    sent = ((those(getattr(part, by), part.sent), those(part.service, part.sent)) for part in parts)
    return Grouped.of_parts(sent, number, len(requests))
