"""Exact quantiles: an observed value by its rank, never interpolated, never averaged; and how sure it is.

Times are whole microseconds, so ranks and ties are exact. A request that failed has no time in which it was
answered: it counts as `FAILED`, later than any other, so that fast refusals cannot make a percentile look good.
"""

import math
from collections.abc import Iterable
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from logreplay.analysis.statistics.slices import slices
from logreplay.core.validity import harmless, is_reached, valid_up_to

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Micros: TypeAlias = "npt.NDArray[np.uint32] | Ints"
"""Times in microseconds."""

Part: TypeAlias = tuple[npt.NDArray[np.integer], npt.NDArray[np.integer]]
"""Groups, and a value of each."""

FAILED: Final = (1 << 32) - 1
"""Microseconds standing for "never answered": above any time that is told apart (`LONGEST`)."""

LONGEST: Final = FAILED - 1
"""Microseconds, 71 minutes: longer times count as this, so that a time takes 32 bits."""

PERCENTILES: Final = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999}
"""Percentiles by name."""

SMALLEST_SAMPLE: Final = {0.5: 6, 0.9: 36, 0.95: 72, 0.99: 368, 0.995: 736, 0.999: 3688, 0.9999: 36887, 0.99999: 368887}
"""Fewest requests for a two-sided 95 % interval of that quantile: ceil(ln 0.025 / ln p)."""

SHARES: Final = np.concatenate([np.linspace(0, 0.9, 181), 1 - np.geomspace(0.1, 1e-5, 250)[1:], [1.0]])
"""Shares whose quantiles describe a distribution; the longest times in most detail."""


def rank(count: int, p: float) -> int:
    """Rank of the p-quantile among ``count`` sorted values, from 1: ceil(p * count), safe from float error."""
    return min(max(math.ceil(p * count - 1e-9 * max(count, 1)), 1), max(count, 1))


def ranks(counts: Ints, p: float | Floats) -> Ints:
    """`rank` for each of many counts, or many p."""
    raw = np.ceil(p * counts - 1e-9 * np.maximum(counts, 1)).astype(np.int64)
    result: Ints = np.clip(raw, 1, np.maximum(counts, 1))
    return result


def seconds(micros: Micros) -> Floats:
    """Microseconds → seconds; `FAILED` → inf."""
    return np.where(micros >= FAILED, np.inf, micros / 1e6)


def average(micros: Micros) -> float:
    """Mean of microseconds; exact, and several times as fast as NumPy's of small integers."""
    return int(micros.sum(dtype=np.int64)) / len(micros)


def deviation(micros: Micros) -> float:
    """Standard deviation of a sample; some at a time, since differences from the mean take twice the room."""
    if len(micros) < 2:
        return 0.0
    mean, squares = average(micros), 0.0
    for part in slices(len(micros)):
        difference = micros[part] - mean
        squares += float(np.square(difference, out=difference).sum())  # a product of vectors would start BLAS's threads
    return math.sqrt(squares / (len(micros) - 1))


def quantile(values: Micros, p: float) -> float:
    """Return the p-quantile of sorted microseconds in seconds: inf if that request failed, NaN if there is none."""
    if len(values) == 0:
        return math.nan
    micros = int(values[rank(len(values), p) - 1])
    return math.inf if micros >= FAILED else micros / 1e6


def valid_rank(parts: Iterable[tuple[Micros, Micros]]) -> int:
    """Return up to which rank sorted response times are the target's: `validity.valid_up_to`, one part after another.

    A part holds response times, and the same times without the generator lag, each of both sorted.
    """
    rank = 0
    for response, without_lag in parts:
        rank += (found := valid_up_to(response, without_lag))
        if found < len(response):
            break
    return rank


def lag_in(
    p: float, response: "Micros | Floats", without_lag: "Micros | Floats", lag: Micros, valid: int
) -> float | None:
    """Return the microseconds that the generator's lag adds to the p-quantile; None if it does not reach it.

    All times are sorted; ``valid`` is `valid_rank` of them, ``lag`` of all requests.
    """
    if (at := rank(len(response), p)) <= valid:
        return None
    time, free = float(response[at - 1]), float(without_lag[at - 1])
    later = 1 - float(np.searchsorted(lag, harmless(time), "right")) / len(lag)
    return time - free if is_reached(p, time, free, later) else None


def interval_ranks(count: int, p: float) -> tuple[int, int] | None:
    """Return the ranks, from 1, between which the p-quantile of ``count`` values lies (95 %); None for too few.

    Each tail is at most 2.5 %, so p99 needs 368 values (`SMALLEST_SAMPLE`). It holds for
    independent requests whatever their distribution.

    Source: order statistics; the number of values below a quantile is binomial.
    """
    tail = 0.025
    if p**count > tail or (1 - p) ** count > tail:
        return None
    spread = 9 * math.sqrt(count * p * (1 - p)) + 20  # the binomial outside is below 1e-15
    least, most = max(int(count * p - spread), 0), min(int(count * p + spread), count)
    k = np.arange(least, most + 1)
    ratios = np.log(count - k[:-1]) - np.log(k[1:]) + math.log(p) - math.log1p(-p)
    logs = np.concatenate(([0.0], np.cumsum(ratios)))
    mass = np.exp(logs - logs.max())
    below = np.cumsum(mass / mass.sum())  # below[i] = P(B <= k[i])
    low = int(k[np.searchsorted(below, tail, side="right")])  # P(B <= low - 1) <= tail
    high = int(k[np.searchsorted(below, 1 - tail, side="left")]) + 1  # P(B >= high) <= tail
    return max(low, 1), min(high, count)


def share_interval(quantiles: Floats, p: float, independent: int) -> tuple[float, float]:
    """Return the 95 % interval of the p-quantile from those at `SHARES`; NaN for too few values (`interval_ranks`).

    ``independent`` is the number of independent values that would tell as much.
    """
    if (found := interval_ranks(independent, p)) is None:
        return math.nan, math.nan
    low, high = (share / independent for share in found)
    below, above = np.searchsorted(SHARES, low, "right") - 1, np.searchsorted(SHARES, high, "left")
    return float(quantiles[below]), float(quantiles[above])


class Grouped:
    """Values of many groups, sorted within each: one sort answers every quantile of every group.

    Attributes:
        counts: (groups,) values in each group.
    """

    def __init__(self, groups: npt.NDArray[np.integer], values: npt.NDArray[np.integer], number: int) -> None:
        """Sort ``values`` (n,), microseconds up to `FAILED`, by their ``groups`` (n,), indices below ``number``."""
        self._sort(((groups[part], values[part]) for part in slices(len(values))), number, len(values))

    @classmethod
    def of_parts(cls, parts: Iterable[Part], number: int, room: int) -> "Grouped":
        """Sort the values of parts, (groups, values) each as above, of which there are at most ``room``."""
        grouped = cls.__new__(cls)
        grouped._sort(parts, number, room)
        return grouped

    def _sort(self, parts: Iterable[Part], number: int, room: int) -> None:
        keys, length = np.empty(room, np.int64), 0
        for groups, values in parts:
            some = keys[length : length + len(values)]
            np.left_shift(groups, 32, out=some, dtype=np.int64)
            np.bitwise_or(some, values, out=some)
            length += len(values)
        self._keys: Ints = keys[:length]
        self._keys.sort()
        self._ends: Ints = np.searchsorted(self._keys, np.arange(1, number + 1, dtype=np.int64) << 32)
        self.counts: Ints = np.diff(self._ends, prepend=0)

    def quantile(self, p: float, at_least: int = 1, *, answered: bool = False) -> Floats:
        """Return each group's p-quantile in seconds: (groups,), NaN where it has under ``at_least`` values.

        With ``answered`` the values that are `FAILED` are left out, as if they were not there.
        """
        answer = np.full(len(self.counts), np.nan)
        counts = self.answered()[0] if answered else self.counts
        enough = counts >= max(at_least, 1)
        position = self._ends[enough] - self.counts[enough] + ranks(counts[enough], p) - 1
        answer[enough] = seconds(self._keys[position] & FAILED)
        return answer

    def at_shares(self) -> Floats:
        """Return each group's quantiles at `SHARES`: (groups, shares) seconds, NaN of an empty group."""
        begin, counts = (self._ends - self.counts)[:, None], self.counts[:, None]
        table = np.full((len(self.counts), len(SHARES)), np.nan)
        some = self.counts > 0
        position = begin[some] + ranks(counts[some], SHARES) - 1
        table[some] = seconds(self._keys[position] & FAILED)
        return table

    def answered(self) -> tuple[Ints, Floats, Floats]:
        """Return per group how many values are not `FAILED`, and the mean and the largest of them in seconds."""
        starts = self._ends - self.counts
        limits = (np.arange(len(self.counts), dtype=np.int64) << 32) | FAILED
        number = np.searchsorted(self._keys, limits) - starts
        some = number > 0
        mean, largest = np.full((2, len(self.counts)), np.nan)
        if some.any():
            last = starts[some] + number[some]
            edges = np.column_stack([starts[some], last]).ravel()
            inner = edges[:-1] if edges[-1] == len(self._keys) else edges  # the end of all is no place to begin
            sums = np.add.reduceat(self._keys, inner)[::2]  # group and value together; what overflows comes back
            sums -= number[some] * (np.flatnonzero(some) << 32)
            mean[some] = sums / number[some] / 1e6
            largest[some] = (self._keys[last - 1] & FAILED) / 1e6
        return number.astype(np.int64), mean, largest

    def valid_up_to(self, without_lag: "Grouped") -> Ints:
        """Return up to which rank each group's response times are the target's: (groups,), see `validity.valid_up_to`.

        ``without_lag`` has the same times without the generator's lag; groups of which it has none had no lag.
        """
        valid = self.counts.copy()
        for group in np.flatnonzero(without_lag.counts).tolist():
            valid[group] = valid_rank(
                (self.values(group, part), without_lag.values(group, part)) for part in slices(int(valid[group]))
            )
        return valid

    def longer(self, limits: Floats) -> Ints:
        """Return how many of each group's values exceed its limits: (groups, …) as ``limits``, microseconds."""
        apart = (-1, *(1,) * (limits.ndim - 1))
        groups = np.arange(len(self.counts), dtype=np.int64).reshape(apart)
        keys = (groups << 32) | np.clip(limits, 0, FAILED).astype(np.int64)
        result: Ints = self._ends.reshape(apart) - np.searchsorted(self._keys, keys, "right")
        return result

    def values(self, group: int, part: slice = slice(None)) -> Ints:
        """Return one group's values, sorted, microseconds; or a part of them."""
        end = int(self._ends[group])
        result: Ints = self._keys[end - int(self.counts[group]) : end][part] & FAILED
        return result
