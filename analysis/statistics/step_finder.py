"""Finds the steps of a sweep in the number of requests of each second, where no column names them.

Theory of operation: within a step the counts scatter about one level, so steps are the cheapest description of the
counts by levels: n log(variance about the levels), `PRICE` for each level, and 2 log n for each place that one of n
seconds names. Two kinds of description compete. A *common length* names the length and where the first step begins, and
pools the evidence of all steps: it finds small increments among random arrivals. *Change points* name the place of
each step: they follow steps of any length. Where steps begin in mid-second, the second at the edge belongs to neither
level and is left out, at the price of a level.

Source: minimum description length (Rissanen 1978); change points by dynamic programming (Jackson et al., An algorithm
for optimal partitioning of data on an interval, 2005).
"""

import math
from typing import Final

import numpy as np

from logreplay.analysis.statistics.quantiles import Floats, Ints

PRICE: Final = 2.5
"""Cost of a level; 2 (Akaike's) finds steps where there is only noise."""
LONGEST_S: Final = 7200
"""Seconds: a longer table is a recording, not a sweep."""
MOST_BINS: Final = 1200
"""Longer tables are looked at two, three … seconds at a time."""
SCATTER: Final = 2.0
"""Largest variance of the counts within a step, over that of random arrivals, at which they form steps."""

ALIKE: Final = 0.05
MOSTLY: Final = 0.6
"""A rate that stays within `ALIKE` for this share of the time is one rate with disturbances, no sweep."""

CURVED: Final = 0.2
"""Largest slope within steps, as a share of the slope between steps, at which the counts still form steps."""

_VARIES: Final = 1.5
"""Ratio of the largest to the smallest count of equal times from which their rates differ."""
_HALF: Final = 5
"""Tenths of a window that are counted together: short runs have few windows."""
_FEWEST_COUNTS: Final = 5
"""Fewest counts, and least mean of the counts, with which the chi-squared test of `rate_varies` holds."""
_SURELY: Final = 5.0
"""Standard deviations above the scatter of random arrivals at one rate from which rates differ."""
_TREND: Final = 3.5
"""Standard deviations of the slope of random arrivals at one rate, which 1 of 2,000 runs exceeds."""

_FEWEST_S: Final = 12
_MEDIAN_CHI_SQUARE: Final = 0.455
SHORTEST: Final = 3
"""Seconds of the shortest step; shorter stretches are remnants."""

_FEWEST_PAUSES: Final = 4
_BUSY: Final = 10
"""Requests/s from which a second without a request is a pause, not chance."""

_ROUNDED: Final = 0.5
_ROUNDING: Final = 0.25
"""Variance of a count that even arrivals have when steps begin between two requests."""


def find_steps(counts: Ints) -> Ints | None:
    """Return the seconds (steps + 1,) at which the steps of a sweep begin, and the one at which the last step ends.

    None where the rate is the same throughout, or no steps explain the counts of requests of each second. Seconds after
    `sending_ends` belong to no step.
    """
    counts = counts[: sending_ends(counts)]
    if not _FEWEST_S <= len(counts) <= LONGEST_S:
        return None
    if (busy := _between_pauses(counts)) is not None:
        return busy
    width = -(-len(counts) // MOST_BINS)
    bins = np.add.reduceat(counts, np.arange(0, len(counts), width))
    values, usual = _without_outliers(bins)
    noise = _Levels(values, 1 / np.maximum(usual, 1.0))
    price, variance, edges = noise.of_common_length()
    differences = np.diff(values) ** 2 / np.maximum(usual[1:] + usual[:-1], 1.0)
    scatter = float(np.median(differences)) / _MEDIAN_CHI_SQUARE  # as if there were no steps: too much, if anything
    other_price, change_points = noise.at_change_points(max(min(scatter, variance), noise.floor))
    if other_price < price:
        edges = change_points
    edges = _without_equals(values, edges)
    found = len(edges) > 2 and _is_sweep(values, edges) and not _is_curve(values, edges)
    return np.minimum(edges * width, len(counts)) if found else None


def steps_of_seconds(counts: Ints) -> Ints | None:
    """Return the step of each second, from 0; below 0 in remnants and after the last step; None as `find_steps`."""
    edges = find_steps(counts)
    if edges is None:
        return None
    length = np.diff(edges)
    whole = np.append(length >= min(SHORTEST, length.max()), False)
    label = np.where(whole, np.cumsum(whole) - 1, -1 - np.arange(len(edges)))
    found: Ints = label[np.searchsorted(edges, np.arange(len(counts)), side="right") - 1]
    return found


def rate_varies(counts: Ints) -> bool:
    """Return whether counts of equal times are of different rates, and not just of random arrivals at one rate.

    The squared errors of random arrivals, over their mean, add up to chi-squared (Wilson and Hilferty, The distribution
    of chi-square, 1931). Rare arrivals are counted over longer times. A ramp is found by the mean time of its arrivals
    (Cox and Lewis, The statistical analysis of series of events, 1966): at low rates its squared errors are too few.
    The counts are those of tenths of a window.
    """
    if not counts.any():
        return False
    together = max(_HALF, math.ceil(_FEWEST_COUNTS / counts.mean()))
    longer = counts[: len(counts) // together * together].reshape(-1, together).sum(axis=1)
    if len(longer) < _FEWEST_COUNTS:
        return False
    middles = (2 * np.arange(len(counts)) + 1) / len(counts) - 1
    rise = 3 * abs(counts @ middles) / counts.sum()  # of the line from 1 - rise to 1 + rise times the mean
    if rise > max((_VARIES - 1) / (_VARIES + 1), _TREND * math.sqrt(3 / counts.sum())):
        return True
    dispersion, spread = longer.var(ddof=1) / longer.mean(), 2 / (9 * (len(longer) - 1))
    surely = np.cbrt(dispersion) > 1 - spread + _SURELY * math.sqrt(spread)
    return bool(surely and longer.max() >= _VARIES * max(longer.min(), 1))


def usual_rate(counts: Ints) -> float:
    """Return the mean of the counts of a step within 3 standard deviations of their median; the median if none is."""
    median = float(np.median(counts))
    near = counts[abs(counts - median) <= 3 * np.sqrt(median)]
    return float(near.mean()) if len(near) else median


def sending_ends(counts: Ints) -> int:
    """Return the second from which only stragglers come: under a quarter of the rate before, to the end.

    A fifth of the table at most: a longer tail is a step.
    """
    for second in range(len(counts) - len(counts) // 5, len(counts)):
        if counts[second:].max() < np.median(counts[max(second - 5, 0) : second]) / 4:
            return second
    return len(counts)


def _without_outliers(counts: Ints) -> tuple[Floats, Floats]:
    """Counts with single seconds drawn to within 3 standard deviations of the median of five; and these medians."""
    around = np.lib.stride_tricks.sliding_window_view(np.pad(counts, 2, mode="edge"), 5)
    usual = np.median(around, axis=1)
    spread = 3 * np.sqrt(usual + 1)
    return np.clip(counts, usual - spread, usual + spread), usual


def _between_pauses(counts: Ints) -> Ints | None:
    """The edges of steps with a pause after each; None where there are no such pauses."""
    sending = counts > 0
    edges = np.append(np.flatnonzero(np.diff(sending, prepend=False) & sending), len(counts))
    lengths = np.add.reduceat(sending, edges[:-1]) if len(edges) > 1 else np.zeros(0)
    if len(edges) <= _FEWEST_PAUSES or np.median(lengths) < SHORTEST or np.median(counts[sending]) < _BUSY:
        return None
    return edges if _is_sweep(counts.astype(np.float64), edges) else None


def _without_equals(values: Floats, edges: Ints) -> Ints:
    """Leave out edges between two steps with the same count, except for rounding: a common length may divide a step."""
    level = np.array([np.median(step) for step in np.split(values, edges[1:-1])])
    different = np.abs(np.diff(level)) > _ROUNDED
    return edges[np.concatenate(([True], different, [True]))]


def _is_sweep(values: Floats, edges: Ints) -> bool:
    """Whether steps explain the values: a typical one scatters like random arrivals, and no level is nearly all."""
    parts = np.split(values[edges[0] :], edges[1:-1] - edges[0])
    steps = [part[part > 0] if part.any() else part for part in parts]
    level = np.array([step.mean() for step in steps])
    scatter = np.array([step.var() for step in steps]) / np.maximum(level, 1.0)
    each = np.repeat(np.arange(len(steps)), np.diff(edges))
    usual = max(float(np.median(level[each])), 1e-9)
    return bool(np.median(scatter[each]) <= SCATTER and np.mean(abs(level[each] / usual - 1) < ALIKE) <= MOSTLY)


def _is_curve(values: Floats, edges: Ints) -> bool:
    """Whether values within steps rise and fall with the line through the middles of steps, as ordinary traffic does.

    The seconds beside an edge are left out: those of a step that begins in mid-second lie between two levels.
    """
    second = np.arange(len(values))
    step = np.searchsorted(edges, second, side="right") - 1
    inside = ~np.isin(second, np.concatenate([edges, edges - 1])) & (values > 0)
    count = np.maximum(np.bincount(step[inside], minlength=len(edges) - 1), 1)

    def about_level(each: Floats) -> Floats:
        return each[inside] - (np.bincount(step[inside], each[inside], len(edges) - 1) / count)[step[inside]]

    level = np.array([part.mean() for part in np.split(values, edges[1:-1])])
    line = about_level(np.interp(second + 0.5, (edges[:-1] + edges[1:]) / 2, level))
    weight = 1 / np.maximum(values[inside], 1.0)
    known = float(np.sum(weight * line**2))
    share = float(np.sum(weight * line * about_level(values))) / max(known, 1e-9)
    return share > CURVED and share * known**0.5 > 1  # one standard deviation


class _Levels:
    """Descriptions of values by the level of each step."""

    def __init__(self, values: Floats, weights: Floats) -> None:
        self.number = len(values)
        self.floor = _ROUNDING * float(np.median(weights))
        self._place = 2 * float(np.log(self.number))
        self._sums = [np.concatenate(([0.0], np.cumsum(weights * values**power))) for power in range(3)]

    def _errors(self, start: Ints, stop: Ints) -> Floats:
        """Squared error of each stretch about its own level; 0 for empty ones."""
        weight, first, second = (total[stop] - total[start] for total in self._sums)
        result: Floats = np.maximum(second - first**2 / np.where(weight > 0, weight, 1.0), 0.0)
        return result

    def _price(self, error: Floats, levels: Ints, places: Ints | int) -> Floats:
        """Price of a description that leaves this squared error; inf if it has as many levels as values, nearly."""
        free = np.maximum(self.number - levels, 1)
        price = self.number * np.log(np.maximum(error / free, self.floor)) + PRICE * levels + self._place * places
        return np.where(4 * free >= self.number, price, np.inf)

    def of_common_length(self) -> tuple[float, float, Ints]:
        """The best division into steps of one length, or into none: its price, the variance within, and its edges."""
        whole = self._errors(np.array([0]), np.array([self.number]))
        price, variance = float(self._price(whole, np.array([1]), 0)[0]), float(whole[0]) / self.number
        edges = np.array([0, self.number])
        for length in range(2, self.number // 2 + 1):
            every = np.arange(length)[:, None] + length * (np.arange(self.number // length + 3) - 1)
            for left_out in (0, 1)[: length - 1]:
                start, stop = np.clip(every[:, :-1] + left_out, 0, self.number), np.clip(every[:, 1:], 0, self.number)
                stop = np.maximum(start, stop)
                error = self._errors(start, stop).sum(axis=1)
                levels = (stop > start).sum(axis=1) + self.number - (stop - start).sum(axis=1)
                prices = self._price(error, levels, 2)
                phase = int(prices.argmin())
                if prices[phase] < price:
                    price, variance = float(prices[phase]), float(error[phase] / (self.number - levels[phase]))
                    edges = np.unique(np.clip(every[phase], 0, self.number))
        return price, variance, edges

    def at_change_points(self, variance: float) -> tuple[float, Ints]:
        """The best division into steps of any length, given the variance within: its price and its edges."""
        price, error = np.zeros((2, self.number + 1))
        before, levels, places = np.zeros((3, self.number + 1), np.int64)
        price[1:SHORTEST] = np.inf
        for stop in range(SHORTEST, self.number + 1):
            start = np.arange(stop - SHORTEST + 1)
            whole, less = (self._errors(start + left_out, np.full_like(start, stop)) for left_out in (0, 1))
            leaves_out = less / variance + PRICE < whole / variance
            cost = price[start] + np.where(leaves_out, less / variance + PRICE, whole / variance) + PRICE + self._place
            at = int(cost.argmin())
            price[stop], before[stop] = cost[at], at
            error[stop] = error[at] + (less if leaves_out[at] else whole)[at]
            levels[stop], places[stop] = levels[at] + 1 + leaves_out[at], places[at] + 1
        edges = [self.number]
        while edges[-1]:
            edges.append(int(before[edges[-1]]))
        total = self._price(error[-1:], levels[-1:], places[-1:])
        return float(total[0]), np.array(edges[::-1])
